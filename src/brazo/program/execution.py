"""`Execution`: a program that runs in a simulation.

An execution is a task of the simulation.  When it is due, it updates the monitor and advances the
steps of each robot.  A program step is a generator (`brazo.program.actions`) that yields the time
of its next poll, so a running step costs almost nothing.

    execution = program.start(sim)
    sim.run(execution)
    execution.succeeded, execution.failure, execution.states
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.checks import positive
from brazo.deprecation import warn_renamed
from brazo.errors import BrazoError
from brazo.program import steps as s
from brazo.program.actions import Actions, UntilGrasp
from brazo.program.displaced_bodies import cause_of_failure, displaced_bodies
from brazo.program.frames import FrameErrors, position_text
from brazo.program.monitor import Monitor
from brazo.program.motions import braking, resuming
from brazo.program.planner import Planner
from brazo.program.program import Goal, Program
from brazo.program.steps import verb_of
from brazo.program.validate import force_mistake, validate
from brazo.simulation import Simulation
from brazo.simulation.conditions import Condition
from brazo.trajectory import Trajectory

Array = np.ndarray
Status = Literal["running", "waiting", "done", "stopped"]
GRACE = 3.0  # s after the last step in which goals may still be reached


@dataclass(frozen=True, slots=True)
class RobotProgress:
    """Progress of a robot through its steps."""

    robot: str
    index: int  # of the step, from 0; equal to `count` when done
    count: int
    text: str  # the verb of the step
    place: s.Place | None
    status: Status

    def __str__(self) -> str:
        if self.index >= self.count:
            return f"{self.robot}: done, {self.count} steps"
        at = f" ({self.place})" if self.place else ""
        return f"{self.robot}: step {self.index + 1} of {self.count}, {self.text}{at}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason why a program failed, with the time (s), the robot and the step."""

    time: float
    robot: str | None
    step: str  # what the robot was executing
    place: s.Place | None
    why: str

    def __str__(self) -> str:
        who = f"{self.robot}, {self.step}" if self.robot else self.step
        head = f"{self.place}: {who}" if self.place else who
        return f"{head}: {self.why}"


class Execution:
    """A running program; created by `Program.start`.

    `grip_force` (N) replaces the force of every grip.  `load` maps body names to the masses (kg)
    that controllers assume; the default is the true mass.  `frame_errors` are the errors in the
    poses that robots assume for bodies and for their own bases.

    `first` maps robot names to the index of the first step to execute (default 0).  Steps are
    counted after loops are unrolled.  A sync that one robot skips is also skipped by the others.

    The attribute `breakpoints` maps each robot name to a set of step indices.  The program pauses
    before these steps.  The sets may be changed during the run.
    """

    def __init__(
        self,
        program: Program,
        sim: Simulation,
        *,
        grip_force: float | None = None,
        load: Mapping[str, float] | None = None,
        first: Mapping[str, int] | None = None,
        frame_errors: FrameErrors | None = None,
    ) -> None:
        self.program = program
        self.sim = sim
        self.grip_force = grip_force
        self.load = dict(load or {})
        self.frame_errors = frame_errors
        flat = validate(program, sim)
        _check_start(sim)
        _check_idle(sim, flat)
        if grip_force is not None:
            _check_force(grip_force, sim, flat)
        through = [
            Goal(step.condition.body, step.condition.chute)
            for steps in flat.values()
            for step in steps
            if isinstance(step, s.WaitUntil) and isinstance(step.condition, s.Through)
        ]
        goals = dict.fromkeys([*program.goals, *through])
        self.monitor = Monitor(sim, goals, lambda: self in sim.tasks)
        self.planner = Planner(program.planner, sim.seed)
        self.signals: set[str] = set()
        self.syncs = _Syncs(flat)
        self.motions: dict[str, tuple[Trajectory, float]] = {}  # and their start times (s)
        self.failure: Failure | None = None
        self.finished: float | None = None  # s, when the last step was complete
        self.ended = False  # stopped by the user before it was done
        self.paused_at = 0.0  # s, time of the last pause
        self.breakpoints: dict[str, set[int]] = {name: set() for name in flat}
        starts = first_steps(flat, first or {})
        self._lists = {n: _StepRunner(self, n, steps, starts[n]) for n, steps in flat.items()}
        self._paused: dict[str, tuple[Trajectory, float]] | None = None
        self._once = False  # single step: pause when a robot's step is complete
        self._lost = 0.0  # s, total time in pauses
        self._checked = self._grasps = 0
        self.due = 0.0  # s; no tick is needed before, unless a contact or a grasp changes
        self.conditions: list[Condition] = []  # and as long as these hold
        self._over = False
        self._data = sim.world.mj_data
        self._displaced = displaced_bodies(sim)
        sim.log("program", f"{program.name} starts", program=program.name)

    # ---- state -----------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the program has completed, failed or been stopped."""
        return self._over

    @property
    def failed(self) -> bool:
        """Whether a step failed or a goal was not reached."""
        return self.failure is not None

    @property
    def succeeded(self) -> bool:
        """Whether every step is complete and every goal reached."""
        return self._over and self.failure is None and not self.ended

    @property
    def states(self) -> dict[str, RobotProgress]:
        """Progress of each robot, by name."""
        return {name: runner.state for name, runner in self._lists.items()}

    state = states

    @property
    def progress(self) -> float:
        """Fraction of steps completed, 0..1."""
        states = self.states.values()
        return sum(one.index for one in states) / max(sum(one.count for one in states), 1)

    @property
    def reached(self) -> dict[Goal, float | None]:
        """Time (s) at which each goal was reached; None for a goal not reached."""
        return {goal: self.monitor.reached(goal) for goal in self.program.goals}

    @property
    def clock(self) -> float:
        """Simulation time (s) minus the duration of past pauses.

        The timeouts of motions, grips, releases, waits and syncs are measured with this clock.
        """
        return self.sim.time - self._lost

    @property
    def paused(self) -> bool:
        """Whether the program is paused."""
        return self._paused is not None

    # ---- user commands ---------------------------------------------------------------------

    @property
    def watch(self) -> Monitor:
        """Deprecated name of `monitor`."""
        warn_renamed("watch", "monitor")
        return self.monitor

    def signal(self, name: str, on: bool = True) -> None:
        """Switch a signal of the program on or off."""
        (self.signals.add if on else self.signals.discard)(name)

    def pause(self) -> None:
        """Pause the program: decelerate every robot to rest along its path; grasps are kept."""
        with self.sim.lock:
            if self._paused is not None or self._over:
                return
            self._paused = {}
            now = self.paused_at = self.sim.time
            for name, (motion, began) in self.motions.items():
                robot = self.sim.robots[name]
                if robot.moving:
                    slower, rest = braking(motion, motion.start + now - began)
                    robot.move(slower)
                    self._paused[name] = motion, rest
            self.sim.log("program", "paused")

    def resume(self) -> None:
        """Continue the program after `pause`.

        Raises `BrazoError` if a robot is still moving, or if it was moved during the pause.
        """
        with self.sim.lock:
            self._once = False
            if self._paused is None:
                return
            robots = {name: self.sim.robots[name] for name in self._paused}
            for name, robot in robots.items():
                if robot.moving:
                    raise BrazoError(f"'{name}' is still moving; resume when it is at rest")
            resumed = {name: resuming(*motion) for name, motion in self._paused.items()}
            at_rest = {name: robot.motion for name, robot in robots.items()}
            for name, robot in robots.items():
                try:
                    robot.move(resumed[name])
                except BrazoError as error:  # moved away: no robot may continue without it
                    for other, motion in at_rest.items():
                        robots[other].motion = motion
                    raise BrazoError(
                        f"'{name}' cannot continue: it was moved during the pause; move it back, "
                        f"or stop the program ({error})"
                    ) from None
            self.motions.update({name: (one, self.sim.time) for name, one in resumed.items()})
            self._paused = None
            self._lost += self.sim.time - self.paused_at
            for runner in self._lists.values():
                runner.wake = 0.0
            self.due = 0.0
            self.sim.log("program", "resumed")

    def step(self) -> None:
        """Run until a robot completes a step, then pause before the next step."""
        with self.sim.lock:
            self.resume()
            self._once = True

    def stop(self, why: str = "") -> None:
        """Stop the program; if a reason `why` is given, the program counts as failed."""
        with self.sim.lock:
            if why:
                self._fail(None, "program", None, why)
            elif not self._over:
                self.ended = True
                self._halt()
                self._end(f"{self.program.name} stopped by user")

    # ---- called by the simulation ----------------------------------------------------------

    def cell_changed(self, renamed: Mapping[str, str]) -> None:
        """Continue after the cell was edited.

        The program fails if it is not valid for the new cell, or if one of its robots was replaced.
        """
        if self._over:
            return
        try:
            validate(self.program, self.sim)
        except BrazoError as error:
            self.stop(f"the cell was changed: {error}")
            return
        replaced = [n for n, one in self._lists.items() if one.robot is not self.sim.robots[n]]
        if replaced:
            self.stop(f"the cell was changed: '{replaced[0]}' was replaced by another robot")
        else:
            self.monitor.cell_changed()

    def tick(self, sim: Simulation) -> bool:
        """Advance by one simulation step; return False when the execution has ended."""
        now, monitor = sim.time, self.monitor
        if sim.world.mj_data is not self._data:  # an edit: the conditions read the old arrays
            self._data = sim.world.mj_data
            self.due = 0.0
        if monitor.grasps != self._grasps:
            self._grasps = monitor.grasps
            self.due = 0.0
            for runner in self._lists.values():
                if isinstance(runner.wake, UntilGrasp):
                    runner.wake = 0.0
        due = min(self.due, monitor.next_update)
        if now < due and len(monitor.collisions) == self._checked:
            return True
        active = not self._over and self._advance(now)
        wakes = [one.wake for one in self._lists.values() if one.status != "done"]
        if self._paused is not None:
            wakes = []
        elif not wakes:
            wakes = [now if self.finished is None else self.finished + GRACE - sim.dt]
        conditions = monitor.conditions()
        self.conditions = conditions or []
        self.due = min([monitor.next_update if conditions is None else math.inf, *wakes])
        return active

    def _advance(self, now: float) -> bool:
        """Update the monitor and poll the steps that are due; return False at the end."""
        self.monitor.update()
        if self._check_events():
            return False
        if self._paused is not None:
            return True
        busy = stepped = False
        for runner in self._lists.values():
            if runner.status == "done":
                continue
            busy = True
            if now >= runner.wake:
                stepped |= runner.advance(self._once)
                if self._over:
                    return False
                if self._paused is not None:  # at a breakpoint
                    self._once = False
                    return True
        if not busy:
            self._finish(now)
        elif self._once and stepped:
            self._once = False
            if any(one.status != "done" for one in self._lists.values()):
                self.pause()
        return not self._over

    def _check_events(self) -> bool:
        """Stop the program as failed if a body was dropped or a collision occurred.

        Returns whether the program was stopped.  Collisions are ignored if `watch` of the program
        is "warn", or if the contact response of a robot in the collision is off.
        """
        monitor = self.monitor
        if monitor.drops:
            drop = monitor.drops[0]
            self._fail_of(drop.robot, str(drop))
            return True
        for collision in monitor.collisions[self._checked :]:
            self._checked += 1
            if self.program.watch == "stop" and not collision.passes_through:
                self._fail_of(collision.first.partition("/")[0], str(collision))
                return True
        return False

    def _finish(self, now: float) -> None:
        if self.finished is None:
            self.finished = now
        missing = [goal for goal, when in self.reached.items() if when is None]
        if not missing:
            self._end(f"{self.program.name} is done")
        elif now - self.finished >= GRACE:
            where = []
            for goal in missing:
                at = position_text(self.sim.world.pose(goal.body)[:3, 3])
                if goal.chute is not None:
                    where.append(f"{goal.body} did not pass through {goal.chute}; it is at {at}")
                else:
                    holders = [n for n, held in self.monitor.held.items() if held == goal.body]
                    by = f", held by {' and '.join(holders)}" if holders else ""
                    where.append(f"not met: {goal}; {goal.body} is at {at}{by}")
            self._fail(None, "goals", None, "; ".join(where))

    def fail(self, runner: _StepRunner, why: str) -> None:
        """Stop the program as failed because a robot cannot continue; `why` is the reason."""
        state, step = runner.state, runner.step
        first = None if step is None else cause_of_failure(step, self._displaced, self.sim)
        why = why if first is None else f"{first}; {why}"
        self._fail(state.robot, f"step {state.index + 1} ({state.text})", state.place, why)

    def _fail_of(self, robot: str, why: str) -> None:
        if robot in self._lists:
            self.fail(self._lists[robot], why)
        else:
            self._fail(robot, "idle", None, why)

    def _fail(self, robot: str | None, step: str, place: s.Place | None, why: str) -> None:
        if self._over:
            return
        self.failure = Failure(self.sim.time, robot, step, place, why)
        self._halt()
        self.sim.log("failure", str(self.failure), robot=robot, why=why)
        self._over = True
        self.due = 0.0
        self.monitor.close()

    def _halt(self) -> None:
        for robot in self.sim.robots.values():
            robot.stop()
        for runner in self._lists.values():
            runner.stop()

    def _end(self, text: str) -> None:
        self._over = True
        self.due = 0.0
        self.monitor.close()
        self.sim.log("program", text, program=self.program.name)

    # ---- called by actions ------------------------------------------------------------------

    def wake(self, names: Iterable[str]) -> None:
        """Poll the steps of these robots in the next simulation step."""
        for name in names:
            self._lists[name].wake = 0.0

    def share_load(self, body: str) -> None:
        """Set the load of all robots that hold a body to an equal share of its assumed mass."""
        holders = self.monitor.holders(body)
        true = next(one.mass for one in self.sim.cell.bodies if one.name == body)
        assumed = self.load.get(body, true)
        for name in holders:
            self.sim.robots[name].carry(body, assumed / true / len(holders))


def _check_idle(sim: Simulation, flat: Mapping[str, list[s.Step]]) -> None:
    for task in sim.tasks:
        if isinstance(task, Execution) and not task.done:
            both = [name for name in flat if name in task.states]
            if both:
                raise BrazoError(
                    f"robot '{both[0]}' is running program '{task.program.name}'; stop it first"
                )


def _check_start(sim: Simulation) -> None:
    """Raise `BrazoError` if robots, bodies or fixtures overlap at t = 0.

    Robots whose contact response is off are not checked.
    """
    if sim.time > 0.0:
        return
    through = {name for name, robot in sim.robots.items() if not robot.contact_response}
    found = [
        one
        for one in sim.world.overlaps()
        if not through & {name.partition("/")[0] for name in (one.first, one.second)}
    ]
    if found:
        raise BrazoError("; ".join(str(one) for one in found[:5]) + "; move them apart")


def _check_force(force: float, sim: Simulation, flat: Mapping[str, list[s.Step]]) -> None:
    positive(force, "grip force (N)")
    for name, steps in flat.items():
        gripper = sim.world.robots[name].gripper
        if gripper is None or not any(isinstance(step, s.Grip) for step in steps):
            continue
        if mistake := force_mistake(force, gripper, sim.cell.gripper.hold_force):
            raise BrazoError(f"'{name}': grip {mistake}")


class _StepRunner:
    """Runner of the steps of one robot."""

    def __init__(
        self, execution: Execution, name: str, steps: list[s.Step], first: int = 0
    ) -> None:
        self.execution = execution
        self.name = name
        self.steps = steps
        self.index = first
        self.wake = 0.0
        self.status: Status = "running" if first < len(steps) else "done"
        self._passed = -1  # index of the breakpoint at which the program was paused last
        self.robot = execution.sim.robots[name]
        self._actions = Actions(execution, self.robot)
        self._current: Iterator[float] | None = None

    @property
    def step(self) -> s.Step | None:
        """Current step; None when all steps are done."""
        return self.steps[self.index] if self.index < len(self.steps) else None

    @property
    def state(self) -> RobotProgress:
        step = self.step
        return RobotProgress(
            self.name,
            self.index,
            len(self.steps),
            "" if step is None else verb_of(step),
            None if step is None else step.place,
            self.status,
        )

    def stop(self) -> None:
        if self.status != "done":
            self.status = "stopped"
        self._current = None

    def advance(self, once: bool) -> bool:
        """Poll the current step; if it is complete, start the next step, and so on.

        With `once`, at most one step is completed.  Returns whether a step was completed.
        """
        first = self.index
        try:
            while self.index < len(self.steps):
                if self._current is None:
                    if self._at_breakpoint():
                        self.wake = 0.0
                        break
                    step = self.steps[self.index]
                    self.status = "running"
                    self._log_start(step)
                    self._current = self._actions.of(step)
                wake = next(self._current, None)
                if wake is not None:
                    self.wake = wake
                    break
                self._current = None
                self.index += 1
                self._passed = -1
                if once:
                    self.wake = 0.0
                    break
            if self.index == len(self.steps):
                self.status = "done"
        except BrazoError as error:
            self.execution.fail(self, str(error))
        return self.index > first

    def _at_breakpoint(self) -> bool:
        """Pause the program if the next step has a breakpoint; return whether it was paused.

        After the program is resumed, the same breakpoint does not pause it again.
        """
        index = self.index
        if index == self._passed or index not in self.execution.breakpoints[self.name]:
            return False
        self._passed = index
        self.execution.pause()
        return True

    def _log_start(self, step: s.Step) -> None:
        if isinstance(step, (s.Note, s.Wait, s.WaitUntil, s.Sync, s.SetSignal)):
            if not isinstance(step, s.Note):
                self.status = "waiting"
            return
        self.execution.sim.log(
            "step",
            f"{self.name}: {verb_of(step)}",
            robot=self.name,
            step=self.index + 1,
            line=None if step.place is None else step.place.line,
        )


def first_steps(flat: Mapping[str, list[s.Step]], first: Mapping[str, int]) -> dict[str, int]:
    """Return the index of the first step to execute of each robot, by name.

    `flat` contains the steps of each robot with all loops unrolled, and `first` the requested
    indices of some robots.  If one robot starts after a sync, every other robot that has this sync
    also starts after it.
    """
    for name, index in first.items():
        if name not in flat or not 0 <= index <= len(flat[name]):
            raise BrazoError(
                f"robot '{name}' cannot start at step {index + 1}: it has "
                f"{len(flat.get(name, ()))} steps, with all loops unrolled"
            )
    starts = {name: first.get(name, 0) for name in flat}
    places: dict[str, dict[str, list[int]]] = {}  # by sync and robot: indices of its steps
    for name, steps in flat.items():
        for i, step in enumerate(steps):
            if isinstance(step, s.Sync):
                places.setdefault(step.name, {}).setdefault(name, []).append(i)
    changed = True
    while changed:
        changed = False
        for members in places.values():
            skipped = max(sum(i < starts[name] for i in own) for name, own in members.items())
            for name, own in members.items():
                least = own[min(skipped, len(own)) - 1] + 1 if skipped else 0
                if starts[name] < least:
                    starts[name], changed = least, True
    return starts


class _Syncs:
    """State of all syncs: for each sync, the robots that take part and those that have arrived."""

    def __init__(self, flat: Mapping[str, list[s.Step]]) -> None:
        self._members: dict[str, set[str]] = {}
        for robot, steps in flat.items():
            for step in steps:
                if isinstance(step, s.Sync):
                    self._members.setdefault(step.name, set()).add(robot)
        self._arrived: dict[str, set[str]] = {name: set() for name in self._members}
        self._round: dict[str, int] = dict.fromkeys(self._members, 0)

    def arrive(self, name: str, robot: str) -> int:
        """Register the arrival of a robot at a sync; return the round number for `complete`.

        A sync inside a loop has several rounds.  The first round has number 0.
        """
        self._arrived[name].add(robot)
        now = self._round[name]
        if self._arrived[name] == self._members[name]:
            self._arrived[name] = set()
            self._round[name] += 1
        return now

    def complete(self, name: str, number: int) -> bool:
        return self._round[name] > number

    def members(self, name: str) -> Iterable[str]:
        return self._members[name]

    def missing(self, name: str) -> list[str]:
        return sorted(self._members[name] - self._arrived[name])

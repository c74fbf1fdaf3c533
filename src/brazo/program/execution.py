"""`Execution`: a program at work in a simulation.

It is a task of the simulation: when that is due it looks at what is watched and lets every robot go
on with its list.  A robot's step is a generator (`brazo.program.actions`) that yields the time at
which it wants to be asked again, so a step under way costs next to nothing.

    execution = program.start(sim)
    sim.run(execution)
    execution.succeeded, execution.failure, execution.states
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.program import steps as s
from brazo.program.actions import Actions, UntilGrasp
from brazo.program.displaced import cause, displaced_bodies
from brazo.program.frames import position_text
from brazo.program.motions import braking, gathering
from brazo.program.planner import Planner
from brazo.program.program import Goal, Program
from brazo.program.steps import verb_of
from brazo.program.validate import validate
from brazo.program.watch import Watch
from brazo.simulation import Simulation
from brazo.trajectory import Trajectory

Array = np.ndarray
Status = Literal["running", "waiting", "done", "stopped"]
GRACE = 3.0  # s, in which goals may still be reached after the last step


@dataclass(frozen=True, slots=True)
class RobotProgress:
    """Where a robot is in its list."""

    robot: str
    index: int  # of the step, from 0; as many as there are when it is done
    count: int
    text: str  # what the step is
    place: s.Place | None
    status: Status

    def __str__(self) -> str:
        at = f" ({self.place})" if self.place else ""
        return f"{self.robot}: step {self.index + 1} of {self.count}, {self.text}{at}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a program could not go on."""

    time: float
    robot: str | None
    step: str  # what the robot was doing
    place: s.Place | None
    why: str

    def __str__(self) -> str:
        who = f"{self.robot}, {self.step}" if self.robot else self.step
        head = f"{self.place}: {who}" if self.place else who
        return f"{head}: {self.why}"


class Execution:
    """A program at work; made by `Program.start`.

    `grip_force` (N) replaces the force of every grip; `load` gives the mass (kg) the laws are told
    for a body, where that is not to be its true one.
    """

    def __init__(
        self,
        program: Program,
        sim: Simulation,
        *,
        grip_force: float | None = None,
        load: Mapping[str, float] | None = None,
    ) -> None:
        self.program = program
        self.sim = sim
        self.grip_force = grip_force
        self.load = dict(load or {})
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
        self.watch = Watch(sim, goals, lambda: self in sim.tasks)
        self.planner = Planner(program.planner, sim.seed)
        self.signals: set[str] = set()
        self.meetings = _Meetings(flat)
        self.motions: dict[str, tuple[Trajectory, float]] = {}  # and when they began
        self.failure: Failure | None = None
        self.finished: float | None = None  # when the last step was over
        self.ended = False  # by hand, before it was done
        self.paused_at = 0.0  # s, when it last paused
        self._lists = {name: _StepRunner(self, name, steps) for name, steps in flat.items()}
        self._paused: dict[str, tuple[Trajectory, float]] | None = None
        self._once = False  # it pauses when a robot's step is over
        self._lost = 0.0  # s in pauses, in all
        self._judged = self._grasps = 0
        self.due = 0.0  # s; there is nothing to do before, unless a contact or a grasp changes
        self._over = False
        self._displaced = displaced_bodies(sim)
        sim.log("program", f"{program.name} starts", program=program.name)

    # ---- how it goes -----------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do, or nothing can be done any more."""
        return self._over

    @property
    def failed(self) -> bool:
        """Whether a step failed, or a goal was not reached."""
        return self.failure is not None

    @property
    def succeeded(self) -> bool:
        """Whether it is done, every step and goal."""
        return self._over and self.failure is None and not self.ended

    @property
    def states(self) -> dict[str, RobotProgress]:
        """Where every robot is."""
        return {name: runner.state for name, runner in self._lists.items()}

    state = states

    @property
    def progress(self) -> float:
        """Share of all steps that are done, 0..1."""
        states = self.states.values()
        return sum(one.index for one in states) / max(sum(one.count for one in states), 1)

    @property
    def reached(self) -> dict[Goal, float | None]:
        """When each goal was reached; None where it was not yet."""
        return {goal: self.watch.reached(goal) for goal in self.program.goals}

    @property
    def clock(self) -> float:
        """The simulation's time without that in pauses: what patience is measured by."""
        return self.sim.time - self._lost

    @property
    def paused(self) -> bool:
        return self._paused is not None

    # ---- what a user may do ----------------------------------------------------------------

    def signal(self, name: str, on: bool = True) -> None:
        """Raise or lower a flag from outside."""
        (self.signals.add if on else self.signals.discard)(name)

    def pause(self) -> None:
        """Bring every robot to rest on its own way; grasps are kept."""
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
        """Go on where `pause` stopped."""
        with self.sim.lock:
            self._once = False
            if self._paused is None:
                return
            for name, (motion, rest) in self._paused.items():
                robot = self.sim.robots[name]
                if robot.moving:
                    raise BrazoError(f"'{name}' is still coming to rest; resume a moment later")
                again = gathering(motion, rest)
                robot.move(again)
                self.motions[name] = again, self.sim.time
            self._paused = None
            self._lost += self.sim.time - self.paused_at
            for runner in self._lists.values():
                runner.wake = 0.0
            self.due = 0.0
            self.sim.log("program", "resumed")

    def step(self) -> None:
        """Go on until a robot's step is over, and pause before its next one."""
        with self.sim.lock:
            self.resume()
            self._once = True

    def stop(self, why: str = "") -> None:
        """End it here: by hand, or for a reason, which is a failure."""
        with self.sim.lock:
            if why:
                self._fail(None, "program", None, why)
            elif not self._over:
                self.ended = True
                self._halt()
                self._end(f"{self.program.name} was ended by hand")

    # ---- the simulation's side -------------------------------------------------------------

    def tick(self, sim: Simulation) -> bool:
        """One step of the simulation; False when the execution is over."""
        now, watch = sim.time, self.watch
        if watch.grasps != self._grasps:
            self._grasps = watch.grasps
            for runner in self._lists.values():
                if isinstance(runner.wake, UntilGrasp):
                    runner.wake = self.due = 0.0
        if now < self.due and len(watch.collisions) == self._judged:
            return True
        goes_on = not self._over and self._go_on(now)
        wakes = [one.wake for one in self._lists.values() if one.status != "done"]
        if self._paused is not None:
            wakes = []
        elif not wakes:
            wakes = [now if self.finished is None else self.finished + GRACE - sim.dt]
        self.due = min([watch.due, *wakes])
        return goes_on

    def _go_on(self, now: float) -> bool:
        """Look at what is watched and ask the robots' steps that are due; False when over."""
        self.watch.look()
        if self._judge():
            return False
        if self._paused is not None:
            return True
        busy = stepped = False
        for runner in self._lists.values():
            if runner.status == "done":
                continue
            busy = True
            if now >= runner.wake:
                stepped |= runner.go_on(self._once)
                if self._over:
                    return False
        if not busy:
            self._finish(now)
        elif self._once and stepped:
            self._once = False
            if any(one.status != "done" for one in self._lists.values()):
                self.pause()
        return not self._over

    def _judge(self) -> bool:
        """Fail on what has been seen since the last step."""
        watch = self.watch
        if watch.drops:
            drop = watch.drops[0]
            self._fail_of(drop.robot, str(drop))
            return True
        for collision in watch.collisions[self._judged :]:
            self._judged += 1
            if self.program.watch == "stop" and not collision.rides_through:
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
                    where.append(f"{goal.body} did not go through {goal.chute}: it is at {at}")
                else:
                    holders = [n for n, held in self.watch.held.items() if held == goal.body]
                    by = f", held by {' and '.join(holders)}" if holders else ""
                    where.append(f"not so: {goal}; it is at {at}{by}")
            self._fail(None, "goals", None, "; ".join(where))

    def fail(self, runner: _StepRunner, why: str) -> None:
        """A robot cannot go on."""
        state, step = runner.state, runner.step
        first = None if step is None else cause(step, self._displaced, self.sim)
        why = why if first is None else f"{first}; {why}"
        self._fail(state.robot, f"step {state.index + 1} ({state.text})", state.place, why)

    def _fail_of(self, robot: str, why: str) -> None:
        if robot in self._lists:
            self.fail(self._lists[robot], why)
        else:
            self._fail(robot, "standing by", None, why)

    def _fail(self, robot: str | None, step: str, place: s.Place | None, why: str) -> None:
        if self._over:
            return
        self.failure = Failure(self.sim.time, robot, step, place, why)
        self._halt()
        self.sim.log("failure", str(self.failure), robot=robot, why=why)
        self._over = True
        self.due = 0.0
        self.watch.close()

    def _halt(self) -> None:
        for robot in self.sim.robots.values():
            robot.stop()
        for runner in self._lists.values():
            runner.stop()

    def _end(self, text: str) -> None:
        self._over = True
        self.due = 0.0
        self.watch.close()
        self.sim.log("program", text, program=self.program.name)

    # ---- for the actions -------------------------------------------------------------------

    def wake(self, names: Iterable[str]) -> None:
        """Ask these robots' steps again at once."""
        for name in names:
            self._lists[name].wake = 0.0

    def share_load(self, body: str) -> None:
        """Tell the laws of all who hold a body their part of it."""
        holders = self.watch.holders(body)
        true = next(one.mass for one in self.sim.cell.bodies if one.name == body)
        told = self.load.get(body, true)
        for name in holders:
            self.sim.robots[name].carry(body, told / true / len(holders))


def _check_idle(sim: Simulation, flat: Mapping[str, list[s.Step]]) -> None:
    for task in sim.tasks:
        if isinstance(task, Execution) and not task.done:
            both = [name for name in flat if name in task.states]
            if both:
                raise BrazoError(
                    f"'{both[0]}' is at work in program '{task.program.name}'; stop that first"
                )


def _check_start(sim: Simulation) -> None:
    """Nothing may stand inside something else when time begins, unless it rides through."""
    if sim.time > 0.0:
        return
    through = {name for name, robot in sim.robots.items() if not robot.force_feedback}
    found = [
        one
        for one in sim.world.overlaps()
        if not through & {name.partition("/")[0] for name in (one.first, one.second)}
    ]
    if found:
        raise BrazoError("; ".join(str(one) for one in found[:5]) + "; move them apart")


def _check_force(force: float, sim: Simulation, flat: Mapping[str, list[s.Step]]) -> None:
    if not (np.isfinite(force) and force > 0.0):
        raise BrazoError(f"grip force {force:g} N: wanted a finite number greater than 0")
    least = sim.cell.clamp.hold_force
    for name, steps in flat.items():
        clamp = sim.world.robots[name].clamp
        if clamp is None or not any(isinstance(step, s.Grip) for step in steps):
            continue
        if force < least and not clamp.weld:
            raise BrazoError(
                f"grip force {force:g} N holds nothing: a body counts as held from {least:g} N on "
                "each pad (hold_force of the cell's clamp)"
            )
        greatest = clamp.gripper.max_force
        if force > greatest:
            raise BrazoError(f"grip force {force:g} N: '{name}' gives at most {greatest:g} N")


class _StepRunner:
    """One robot going through its list."""

    def __init__(self, execution: Execution, name: str, steps: list[s.Step]) -> None:
        self.execution = execution
        self.name = name
        self.steps = steps
        self.index = 0
        self.wake = 0.0
        self.status: Status = "running" if steps else "done"
        self._actions = Actions(execution, execution.sim.robots[name])
        self._current: Iterator[float] | None = None

    @property
    def step(self) -> s.Step | None:
        """The current step; None when all are done."""
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

    def go_on(self, once: bool) -> bool:
        """Ask the present step; where it is over begin the next ones, unless only `once`.

        Whether a step is over now.
        """
        begun = self.index
        try:
            while self.index < len(self.steps):
                if self._current is None:
                    step = self.steps[self.index]
                    self.status = "running"
                    self._begins(step)
                    self._current = self._actions.of(step)
                wake = next(self._current, None)
                if wake is not None:
                    self.wake = wake
                    break
                self._current = None
                self.index += 1
                if once:
                    self.wake = 0.0
                    break
            if self.index == len(self.steps):
                self.status = "done"
        except BrazoError as error:
            self.execution.fail(self, str(error))
        return self.index > begun

    def _begins(self, step: s.Step) -> None:
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


class _Meetings:
    """Syncs: who comes to which, and who is there."""

    def __init__(self, flat: Mapping[str, list[s.Step]]) -> None:
        self._members: dict[str, set[str]] = {}
        for robot, steps in flat.items():
            for step in steps:
                if isinstance(step, s.Sync):
                    self._members.setdefault(step.name, set()).add(robot)
        self._there: dict[str, set[str]] = {name: set() for name in self._members}
        self._round: dict[str, int] = dict.fromkeys(self._members, 0)

    def come(self, name: str, robot: str) -> int:
        """Arrive; the number of the round to wait for the end of."""
        self._there[name].add(robot)
        now = self._round[name]
        if self._there[name] == self._members[name]:
            self._there[name] = set()
            self._round[name] += 1
        return now

    def met(self, name: str, number: int) -> bool:
        return self._round[name] > number

    def members(self, name: str) -> Iterable[str]:
        return self._members[name]

    def missing(self, name: str) -> list[str]:
        return sorted(self._members[name] - self._there[name])

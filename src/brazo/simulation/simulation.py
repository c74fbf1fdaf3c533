"""`Simulation`: the loop that connects controllers and world.

A step at time t:

    tasks → references → controllers → drives → world from t to t + dt → rows, events

Time advances only in `step`, so a run repeats bit for bit.  Other threads may read and act between
two steps while they hold `lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from brazo.control import Controller
from brazo.dynamics.definite import mass_findings
from brazo.errors import BrazoError
from brazo.model.description import Finding
from brazo.recording.recording import Recording
from brazo.robot import Robot
from brazo.simulation.clock import MAX_BATCH, moment, steps_before
from brazo.simulation.costs import Costs, Meter
from brazo.simulation.dump import (
    Replay,
    free_name,
    own_folder,
    prepare_folder,
    replay_dump,
    write_dump,
)
from brazo.simulation.events import Event, EventLog, Listening
from brazo.simulation.faults import Fault
from brazo.simulation.lock import StepLock
from brazo.simulation.native import NativeSteps
from brazo.simulation.player import Player
from brazo.simulation.recorder import RunRecorder
from brazo.simulation.robot import SimRobot, default_controller
from brazo.simulation.running import Progress, looks_on, run
from brazo.simulation.signals import Signals
from brazo.simulation.state import SimState, restore_robot, save_robot
from brazo.text import one_line
from brazo.world import Cell, ContactEvent, Diverged, GraspEvent, World
from brazo.world.build import Mode
from brazo.world.recorded_cell import recorded_source

WATCHED = ("robot-robot", "self", "robot-object", "robot-fixture")
_STANDING = ("control", "fault", "grasped")  # event kinds of lasting states; see `_present`


class Task(Protocol):
    """An object that acts in every step, before the controllers.

    A task with a true attribute `background` only observes: no run waits for it, and it is kept in
    a reset.
    """

    def tick(self, sim: Simulation) -> object:
        """Act; return False when the task is done.

        A task may also have an attribute `due` (s): no call is needed before that time, unless a
        contact or a grasp changes.
        """


class Simulation:
    """Simulation of the controlled robots of a cell.

    `cell` is a name, a path, a `Cell` or a `World`.  `controllers` maps robot names to a
    controller, its name, `"ideal"` or None (see `SimRobot.controller`).  By default robots use
    computed torque, or ideal positioning if their masses are unknown.  `mode="exact"` disables
    contacts and integrates with Runge–Kutta.
    """

    def __init__(
        self,
        cell: Cell | World | str | Path,
        controllers: Mapping[str, Controller | str | None] | None = None,
        *,
        mode: Mode = "contact",
        seed: int = 0,
    ) -> None:
        if isinstance(cell, Robot):
            raise BrazoError(
                f"a simulation runs a cell, not a robot: write `robots: [{{name: {cell.name}, "
                f"robot: {cell.name}}}]` into a cell file (or the robot file's path) and give that"
            )
        self.lock = StepLock()
        self.world = cell if isinstance(cell, World) else World(cell, mode)
        self.seed = int(seed)
        self._log = EventLog()
        self.meter = Meter()
        self._tasks: list[Task] = []
        self._scheduled: list[tuple[float, Fault]] = []
        self._injected = 0
        self._stepping = False
        self._epoch = 0  # counts calls of `restore`
        self._now = (0.0, 0.0)  # the engine's time, and the corresponding exact time
        self.recorder: RunRecorder | None = None
        #: Whether steps may be made in machine code, which only changes the computing time.
        self.native = True
        self._native = NativeSteps(self)
        self.robots: dict[str, SimRobot] = _Robots()
        for name in self.world.robots:
            self.robots[name] = SimRobot(self, name)
        given = dict(controllers or {})
        for name in given:
            self.robot(name)
        for name, robot in self.robots.items():
            robot.use(given[name] if name in given else default_controller(robot))
        self._actors = list(self.robots.values())
        self.player = Player(self)
        #: Folder for dumps of diverged runs; None writes none.
        self.dump_folder: Path | None = own_folder()
        self.world.remember()
        self.world.on_contact(self._on_contact, WATCHED)
        self.world.on_grasp(self._on_grasp)

    def __repr__(self) -> str:
        robots = ", ".join(f"{robot.name} ({robot.controller_name})" for robot in self._actors)
        return f"<brazo simulation of {self.cell.name} at {self.time:g} s: {robots}>"

    # ---- properties and queries ------------------------------------------------------------

    @property
    def cell(self) -> Cell:
        """The current cell, including edits."""
        return self.world.cell

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about the world, and about joints of its robots that move no inertia."""
        robots = [mass_findings(robot.model) for robot in self.cell.robots]
        return (*self.world.findings, *(found for each in robots for found in each))

    @property
    def time(self) -> float:
        """Simulated time since the start (s), without accumulated rounding errors."""
        t = self.world.mj_data.time
        if t != self._now[0]:  # read several times per step
            self._now = (t, moment(t, self.world.dt))
        return self._now[1]

    @property
    def dt(self) -> float:
        """Step size (s)."""
        return self.world.dt

    def robot(self, name: str) -> SimRobot:
        """Return a robot by name."""
        return self.robots[name]

    @property
    def events(self) -> list[Event]:
        """All events so far."""
        return self._log.events

    def log(self, kind: str, text: str, **data: Any) -> Event:
        """Log an event at the current time."""
        with self.lock:
            event = self._log.add(Event(self.time, one_line(kind), one_line(text), data))
            if self.recorder is not None:
                self.recorder.event(event)
            return event

    def on_event(self, callback: Callable[[Event], object]) -> Listening:
        """Call `callback` with every event from now on, in the step that caused it."""
        return self._log.listen(callback)

    @property
    def costs(self) -> Costs:
        """Mean computing time of a step and its parts, since the start or the last reset."""
        return self.meter.costs(self.dt)

    # ---- time ------------------------------------------------------------------------------

    def step(self, n: int = 1) -> None:
        """Make `n` steps."""
        if n < 0:
            raise BrazoError(f"cannot step {n} times; time only increases")
        while n > 0:
            with self.lock.inner:
                n -= self.step_locked(n)
            self.lock.hand_over()

    def step_locked(self, most: int = 1) -> int:
        """Make one step, or up to `most` if nothing is due between them; return their number.

        For loops that hold `lock` and call `lock.hand_over` themselves.
        """
        if self._stepping:
            raise BrazoError("a step cannot be made inside a step: return from it first")
        self._stepping = True
        try:
            return self._step(most)
        finally:
            self._stepping = False

    def _step(self, most: int) -> int:
        meter = self.meter
        begin = perf_counter()
        if self._scheduled:
            self._inject_due()
        if self._tasks and not self._run_tasks():
            most = 1  # the caller may be waiting for the end of a task
        if most > 1:
            most = min(most, self._steps_to_due())
        timed = meter.samples
        ticked = perf_counter()
        world, epoch, recorder = self.world, self._epoch, self.recorder
        made = self._native.make(most, timed) if self.native else 0
        half = made > 0 and self._native.half
        acted = kept = ticked
        if not made:
            t = world.mj_data.time
            for robot in self._actors:
                robot.act(t)
            acted = perf_counter() if timed else 0.0
            if recorder is not None:
                recorder.before()
            kept = perf_counter() if timed else 0.0
        try:
            if half:
                world.observe()
            elif not made:
                world.advance()
        except Diverged as error:
            raise self._broken_down(error) from None
        finally:
            meter.steps += made or 1
        if self._epoch != epoch:
            return made or 1  # a callback restored a state: the results of this step are outdated
        moved, derived = perf_counter(), meter.deriving
        if self.recorder is not None:
            self.recorder.after()
        written = perf_counter()
        if half or not made:
            for robot in self._actors:
                robot.go_on()
        end = perf_counter()
        meter.tasks += ticked - begin
        meter.whole += end - begin
        meter.control += end - written
        meter.recording += written - moved - (meter.deriving - derived)
        if timed and not half:
            parts = self._native.parts() if made else (acted - ticked, kept - acted, moved - kept)
            meter.sample(*parts)
        return made or 1

    def _steps_to_due(self) -> int:
        """Return the number of steps that start before a task or a scheduled fault is due."""
        now, dt = self.time, self.dt
        due = min([getattr(task, "due", now) for task in self._tasks], default=np.inf)
        if self._scheduled:  # a fault begins in the step nearest to its time
            due = min(due, self._scheduled[0][0] - 0.5 * dt)
        steps = steps_before(due - now, dt)
        # Due to rounding, a time such as now + 0.01 may be slightly after the step it refers to.
        if steps < MAX_BATCH and moment(now + steps * dt, dt) < due:
            steps += 1
        return steps

    def _run_tasks(self) -> bool:
        """Call all tasks and remove those that are done; return whether all of them continue."""
        tasks = tuple(self._tasks)
        for task in tasks:
            if task.tick(self) is False and task in self._tasks:
                self._tasks.remove(task)
        return len(self._tasks) == len(tasks)

    def add_task(self, task: Task) -> None:
        """Call `task.tick(sim)` before the controllers in every step, until it returns False."""
        if not callable(getattr(task, "tick", None)):
            raise BrazoError(f"a task has a method tick(sim); {task!r} has none")
        with self.lock:
            self._tasks.append(task)

    def remove_task(self, task: Task) -> None:
        """Stop calling a task; no effect if it is not active."""
        with self.lock:
            if task in self._tasks:
                self._tasks.remove(task)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Active tasks."""
        return tuple(self._tasks)

    @property
    def moving(self) -> bool:
        """Whether the reference of any robot is moving."""
        return any(robot.moving for robot in self._actors)

    # ---- runs and recordings ---------------------------------------------------------------

    def run(
        self,
        program: Any = None,
        until: float | None = None,
        *,
        record: str | Path | None = None,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Recording:
        """Run and record until a program ends or the time `until` (s), whichever is first.

        With neither, run until no task remains and no robot moves.  `record` is a .parquet file
        that is streamed during the run; an existing file is rejected unless `replace` is True.
        Without `record` the recording is kept in memory.  `progress` is called at intervals with
        the completed fraction (nan if unknown) and a message.  An error in a step ends the run; a
        streamed file is then readable up to that step.  A write error, such as a full disk, also
        ends it.  Ctrl+C ends the run and keeps the recording up to that step.
        """
        return run(self, program, until, record, progress, replace)

    def start_recording(self, path: str | Path | None = None, *, replace: bool = False) -> None:
        """Record every step from now on, in memory or streamed to a .parquet file.

        An existing file is rejected unless `replace` is True.  If the file cannot be written any
        more (full disk), the simulation pauses with an event of kind `recording`; it can be resumed
        without the recording, and the data written so far stays readable.
        """
        with self.lock:
            if self.recorder is not None:
                raise BrazoError("a recording is already running; stop it first")
            signals = Signals(self.world, self.robots)
            file = None if path is None else Path(path)
            self.recorder = RunRecorder(
                signals,
                file,
                self._about() | recorded_source(self.cell),
                self.meter,
                replace=replace,
                on_failure=self._recording_failed,
            )
            for event in self._present():
                self.recorder.event(event)

    def _recording_failed(self, reason: str) -> None:
        """Pause and log the failure; called once, from the writer's thread."""
        self.player.pause()
        self.log("recording", reason)

    def _present(self) -> Iterator[Event]:
        """Yield the events that describe the state at the start of a recording.

        These are controllers, faults and grasps, and other events logged at the current time, such
        as the start of a program.
        """
        t = self.time
        yield from (e for e in self.events if e.t == t and e.kind not in _STANDING)
        for robot in self._actors:
            yield Event(t, "control", *robot.controller_event())
            for fault in robot.faults:
                yield Event(t, "fault", *_told(fault))
            row = (
                -1 if robot.world.clamp is None else int(self.world.grips[robot.world.clamp_row, 0])
            )
            if row >= 0:
                body = self.cell.bodies[row].name
                data = {"robot": robot.name, "body": body}
                yield Event(t, "grasped", f"{robot.name} holds {body}", data)

    def stop_recording(self) -> Recording:
        """End the recording and return it."""
        with self.lock:
            recorder, self.recorder = self.recorder, None
            if recorder is None:
                raise BrazoError("no recording is running; start one first")
            return recorder.finish()

    def abandon_recording(self) -> None:
        """End the recording; a streamed file stays readable up to here."""
        with self.lock:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.abandon()

    @property
    def recording(self) -> bool:
        """Whether steps are being recorded."""
        return self.recorder is not None

    # ---- states and edits ------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the start at time 0; controllers and edits are kept.

        Tasks (except background tasks), loads, faults and events are removed.  A running recording
        is abandoned, because time would run backwards in it.
        """
        with self.lock:
            self.abandon_recording()
            self._tasks = [task for task in self._tasks if looks_on(task)]
            self._scheduled.clear()
            self._injected = 0
            self._log.events.clear()
            self.meter.clear()
            self.world.reset()
            for robot in self._actors:
                robot.restart()

    def save(self) -> SimState:
        """Return the current state, including controllers and motions."""
        with self.lock:
            robots = {robot.name: save_robot(robot) for robot in self._actors}
            return SimState(
                self.world.save(),
                robots,
                tuple(self._tasks),
                len(self.events),
                tuple(self._scheduled),
                self._injected,
            )

    def restore(self, state: SimState) -> None:
        """Return to a saved state; the run repeats bit for bit from there."""
        with self.lock:
            if set(state.robots) != set(self.robots):
                raise BrazoError("the state was saved from another simulation: its robots differ")
            self._epoch += 1
            self.world.restore(state.world)
            for name, saved in state.robots.items():
                restore_robot(self.robots[name], saved)
            self._tasks = list(state.tasks)
            self._scheduled, self._injected = list(state.scheduled), state.injected
            del self.events[state.events :]

    def edit(self, robot: str, parameters: Mapping[str, float] | None = None, **edits: Any) -> None:
        """Change a robot during the simulation (see `World.edit`).

        State, motions, controllers, loads and a running recording continue; controllers are bound
        to the new arm.
        """
        with self.lock:
            self.robot(robot)
            if self.recorder is not None:
                self.recorder.flush()
            self.world.edit(robot, parameters, **edits)
            for one in self._actors:
                one.rebind()
            if self.recorder is not None:
                self.recorder.rebind(Signals(self.world, self.robots))
            fields = edits.pop("fields", None) or {}
            restored = edits.pop("source", None) is not None
            changes = {
                **(parameters or {}),
                **{k: np.asarray(v).tolist() for k, v in {**edits, **fields}.items()},
            }
            text = ", ".join(f"{name} = {value}" for name, value in changes.items())
            if restored:
                text = ", ".join(filter(None, ["earlier edits reverted", text]))
            self.log("edit", f"{robot}: {text}", robot=robot, changes=changes)

    # ---- faults ----------------------------------------------------------------------------

    def inject(self, fault: Fault, at: float | None = None) -> None:
        """Activate a fault, now or at a time (s)."""
        with self.lock:
            if not isinstance(fault, Fault):
                raise BrazoError(f"a fault is one of brazo.simulation.faults, not {fault!r}")
            robot = self.robot(fault.robot)
            fault.check(robot.world, self.dt)
            if at is None:
                self._break(fault)
            elif not np.isfinite(at) or at < self.time - 0.5 * self.dt:
                raise BrazoError(f"a fault at {at:g} s: the time is {self.time:g} s already")
            else:
                self._scheduled.append((float(at), fault))
                self._scheduled.sort(key=lambda entry: entry[0])

    @property
    def scheduled_faults(self) -> tuple[tuple[float, Fault], ...]:
        """Pending faults, each with its time (s), earliest first."""
        return tuple(self._scheduled)

    def clear_faults(self, robot: str | None = None, fault: Fault | None = None) -> None:
        """Clear one fault, all of a robot, or all faults, including scheduled ones."""
        with self.lock:
            chosen = self._actors if robot is None else [self.robot(robot)]
            names = {one.name for one in chosen}
            self._scheduled = [
                (at, one)
                for at, one in self._scheduled
                if one.robot not in names or fault not in (None, one)
            ]
            for one in chosen:
                for gone in one.mend(fault):
                    text, data = _told(gone)
                    self.log("fault cleared", text, **data)

    def _inject_due(self) -> None:
        while self._scheduled and self._scheduled[0][0] <= self.time + 0.5 * self.dt:
            self._break(self._scheduled.pop(0)[1])

    def _break(self, fault: Fault) -> None:
        # Each fault has its own stream of random numbers, which is the same in every run.
        rng = np.random.default_rng([self.seed, self._injected])
        self._injected += 1
        self.robots[fault.robot].suffer(fault, rng)
        text, data = _told(fault)
        self.log("fault", text, **data)

    # ---- internals -------------------------------------------------------------------------

    def _broken_down(self, error: Diverged) -> Diverged:
        """Return the error with the path of a dump from which the last steps can be replayed."""
        box, folder = self.world.black_box, self.dump_folder
        if box is None or folder is None:
            return error
        try:
            prepare_folder(folder)
            path = free_name(folder, f"{self.cell.name}-{error.time:.4f}s", ".npz")
            write_dump(path, self.world.mj_model, box.states(), error, self._about())
        except (OSError, BrazoError) as problem:
            note = f"its last steps could not be saved: {problem}"
        else:
            note = f"its last steps are in {path}: Simulation.replay_dump runs them again"
            error.dump = path
        found = Diverged(f"{error}. {note[0].upper()}{note[1:]}", error.time, error.where)
        found.dump = error.dump
        dump = None if found.dump is None else str(found.dump)
        self.log("diverged", str(found), where=error.where, dump=dump)
        return found

    @staticmethod
    def replay_dump(path: str | Path) -> Replay:
        """Replay the last steps of a diverged run; see `brazo.simulation.dump`."""
        return replay_dump(path)

    def _about(self) -> dict[str, str]:
        return {
            "brazo": version("brazo"),
            "cell": self.cell.name,
            "mode": self.world.mode,
            "dt": repr(self.dt),
            "seed": str(self.seed),
            "robots": ", ".join(f"{r.name} ({r.controller_name})" for r in self._actors),
            "bodies": ", ".join(body.name for body in self.cell.bodies),
            # Needed to draw a replay; empty for a cell made in Python.
            "cell_file": "" if self.cell.path is None else str(self.cell.path.absolute()),
        }

    def _on_contact(self, event: ContactEvent) -> None:
        contact = event.contact
        verb = {"warning": "comes near", "begin": "touches", "end": "separates from"}[event.phase]
        self.log(
            f"contact {event.phase}",
            f"{contact.first} {verb} {contact.second}",
            first=contact.first,
            second=contact.second,
            between=contact.kind,
        )

    def _on_grasp(self, event: GraspEvent) -> None:
        verb = "holds" if event.phase == "grasped" else "releases"
        text = f"{event.robot} {verb} {event.body}"
        self.log(event.phase, text, robot=event.robot, body=event.body)


class _Robots(dict[str, SimRobot]):
    """Robots by name; an unknown name raises an error that lists the valid ones."""

    def __missing__(self, name: str) -> SimRobot:
        raise BrazoError(f"no robot named '{name}' in this cell; robots: {', '.join(self)}")


def _told(fault: Fault) -> tuple[str, dict[str, Any]]:
    return fault.text, {"robot": fault.robot, "fault": type(fault).__name__}

"""`Simulation`: the loop that connects controllers and world.

Time advances only in `step`, so a run repeats bit for bit.  Other threads may use the simulation
between two steps, while they hold `lock`.  `brazo.simulation.stepping` implements the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import Controller
from brazo.deprecation import renamed_attributes
from brazo.dynamics.definite import mass_findings
from brazo.errors import BrazoError
from brazo.model.description import Finding
from brazo.recording.recording import Recording
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.clock import exact_time
from brazo.simulation.costs import Costs, Meter
from brazo.simulation.dump import Replay, own_folder, replay_dump
from brazo.simulation.fault_injection import FaultInjection
from brazo.simulation.faults import Fault
from brazo.simulation.lone_robot import lone_cell
from brazo.simulation.player import Player
from brazo.simulation.robot import SimRobot
from brazo.simulation.robot_control import prepare_control
from brazo.simulation.run_events import Event, EventLog, Listening, contact_event, grasp_event
from brazo.simulation.run_recording import RunRecording
from brazo.simulation.running import Progress, run
from brazo.simulation.state import SimState, restore_robot, save_robot
from brazo.simulation.step_lock import StepLock
from brazo.simulation.stepping import Stepper
from brazo.simulation.tasks import Tasks
from brazo.text import one_line
from brazo.world import Cell, World
from brazo.world.build import Mode
from brazo.world.cell_change import CellChange

REPORTED = ("robot-robot", "self", "robot-object", "robot-fixture")  # contacts that become events


class Simulation:
    """Simulation of the controlled robots of a cell.

    `cell` is the name of a shipped cell, the path of a cell file, a `Cell`, a `World` or a `Robot`.
    A `Robot` is simulated alone on a floor.  `controllers` maps robot names to a controller, its
    name, `"ideal"` or None (see `SimRobot.controller`).  By default robots use computed torque, or
    ideal positioning if their masses are unknown.  `mode="exact"` disables contacts and joint
    limits and integrates with Runge–Kutta; a `World` keeps its own mode.  `seed` initialises the
    random numbers of faults.
    """

    def __init__(
        self,
        cell: Cell | World | Robot | str | Path,
        controllers: Mapping[str, Controller | str | None] | None = None,
        *,
        mode: Mode = "contact",
        seed: int = 0,
    ) -> None:
        if isinstance(cell, Robot):
            cell = lone_cell(cell)
        self.lock = StepLock()
        self.world = cell if isinstance(cell, World) else World(cell, mode)
        #: Step size (s).
        self.dt = self.world.dt
        self.seed = int(seed)
        self._log = EventLog()
        self.meter = Meter()
        self._now = (0.0, 0.0)  # the engine's time, and the corresponding exact time
        #: Objects that act in every step.
        self.tasks = Tasks(self.lock)
        #: Injects, schedules and clears faults.
        self.faults = FaultInjection(self)
        #: Start and end of recordings.
        self.recording = RunRecording(self)
        #: Whether steps may be made in machine code, which only changes the computing time.
        self.native = True
        self._stepper = Stepper(self)
        self.robots: dict[str, SimRobot] = _Robots()
        for name in self.world.robots:
            self.robots[name] = SimRobot(self, name)
        given = dict(controllers or {})
        for name in given:
            self.robots[name]  # raises an error for an unknown name
        for name, robot in self.robots.items():
            if name in given:
                robot.control.use(given[name])
            else:
                robot.control.use_default()
        self.player = Player(self)
        #: Folder for dumps of diverged runs; None writes none.
        self.dump_folder: Path | None = own_folder()
        self.world.stepper.remember()
        self.world.on_contact(lambda event: self._log_event(*contact_event(event)), REPORTED)
        self.world.on_grasp(lambda event: self._log_event(*grasp_event(event)))

    def __repr__(self) -> str:
        robots = ", ".join(
            f"{robot.name} ({robot.controller_name})" for robot in self.robots.values()
        )
        return f"<brazo simulation of {self.cell.name} at {self.time:g} s: {robots}>"

    # ---- properties and queries ------------------------------------------------------------

    @property
    def cell(self) -> Cell:
        """The current cell, including edits."""
        return self.world.cell

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about the world, and about joints that move no mass or inertia."""
        robots = [mass_findings(robot.model) for robot in self.cell.robots]
        return (*self.world.findings, *(found for each in robots for found in each))

    @property
    def time(self) -> float:
        """Simulated time since the start (s), without accumulated rounding errors."""
        t = self.world.mj_data.time
        if t != self._now[0]:  # read several times per step
            self._now = (t, exact_time(t, self.dt))
        return self._now[1]

    @property
    def events(self) -> list[Event]:
        """All events of the run so far, oldest first."""
        return self._log.events

    def log(self, kind: str, text: str, **data: Any) -> Event:
        """Log an event at the current time and return it."""
        with self.lock:
            event = self._log.add(Event(self.time, one_line(kind), one_line(text), data))
            if self.recording.recorder is not None:
                self.recording.recorder.event(event)
            return event

    def _log_event(self, kind: str, text: str, data: dict[str, Any]) -> None:
        self.log(kind, text, **data)

    def on_event(self, callback: Callable[[Event], object]) -> Listening:
        """Call `callback` with every event from now on, in the step that caused it."""
        return self._log.listen(callback)

    @property
    def costs(self) -> Costs:
        """Mean computing times of the steps since the start or the last reset."""
        return self.meter.costs(self.dt)

    # ---- time ------------------------------------------------------------------------------

    def step(self, n: int = 1) -> None:
        """Make `n` steps."""
        if n < 0:
            raise BrazoError(f"cannot make {n} steps; the number must be 0 or more")
        while n > 0:
            with self.lock.inner:
                n -= self.step_locked(n)
            self.lock.hand_over()

    def step_locked(self, most: int = 1) -> int:
        """Make one or more steps without acquiring the lock; return the number of steps.

        At most `most` steps are made.  Fewer are made if a task or fault is due, an event occurs,
        or the steps cannot be made in machine code.  The caller must hold `lock`, and call
        `lock.hand_over` after releasing it.
        """
        return self._stepper.make(most)

    @property
    def moving(self) -> bool:
        """Whether the reference of any robot is moving."""
        return any(robot.moving for robot in self.robots.values())

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
        """Run the simulation, record it, and return the recording.

        `program` is a `Program` or a task.  The run ends when `program` ends or at the time `until`
        (s), whichever is first.  If neither is given, it ends when no robot moves and no task
        remains except background tasks.  `record` is the path of a .parquet file to which the
        recording is streamed; an existing file is rejected unless `replace` is True.  Without
        `record` the recording is kept in memory.  `progress` is called at intervals with the
        completed fraction (nan if unknown) and a message.

        An error in a step ends the run; a streamed file is then readable up to that step.  A write
        error, such as a full disk, also ends the run.  Ctrl+C ends the run; a streamed file then
        contains all steps made so far, and a recording in memory is available as `recording.ended`.
        """
        return run(self, program, until, record, progress, replace)

    # ---- states and edits ------------------------------------------------------------------

    def reset(self) -> None:
        """Reset the simulation to time 0; controllers and edits are kept.

        Tasks (except background tasks), loads, faults and events are removed.  A running recording
        is ended, because its times must increase: a streamed file stays readable, and a recording
        in memory is discarded.
        """
        with self.lock:
            self.recording.abandon()
            self.tasks.replace(self.tasks.background)
            self.faults.restore()
            self._log.events.clear()
            self.meter.clear()
            self.world.reset()
            for robot in self.robots.values():
                robot.control.restart()

    def save(self) -> SimState:
        """Return the current state of world, controllers, motions, tasks and faults.

        Tasks and live sources of motions (`SimRobot.follow`) are stored by reference, without their
        internal state.
        """
        with self.lock:
            robots = {name: save_robot(robot) for name, robot in self.robots.items()}
            return SimState(
                self.world.save(),
                robots,
                tuple(self.tasks),
                len(self.events),
                *self.faults.save(),
            )

    def restore(self, state: SimState) -> None:
        """Restore a saved state; the run then continues exactly as it did after `save`.

        Tasks and live sources of motions are restored without their internal state.
        """
        with self.lock:
            if set(state.robots) != set(self.robots):
                raise BrazoError(
                    "the state was saved from another simulation, with other robots; restore it "
                    "in a simulation of the same cell"
                )
            self._stepper.discard()
            self.world.restore(state.world)
            for name, saved in state.robots.items():
                restore_robot(self.robots[name], saved)
            self.tasks.replace(state.tasks)
            self.faults.restore(state.scheduled, state.injected)
            del self.events[state.events :]

    def edit(self, robot: str, parameters: Mapping[str, float] | None = None, **edits: Any) -> None:
        """Change a robot during the simulation; the arguments are those of `World.edit`.

        State, motions, loads and a running recording continue.  The controller is adapted to the
        changed robot and keeps the gains that the user has set.
        """
        with self.lock:
            self.robots[robot]  # raises an error for an unknown name
            with self._changed_world():
                self.world.edit(robot, parameters, **edits)
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

    def change_cell(
        self, cell: Cell, renamed: Mapping[str, str] | None = None, label: str = ""
    ) -> None:
        """Continue the simulation with another description of the cell (see `World.change_cell`).

        Robots that are in both cells keep their state, motion, controller, gains and load; they
        keep their faults unless they are renamed.  New robots hold their start position with the
        default controller.  A task that needs a removed robot or body ends, for example a
        program that uses the body.  `label` is the text of the logged event.

        A recording continues if its signals stay the same, for example when a fixture is added.
        Otherwise it ends with an event: a streamed file stays readable, and a recording in memory
        is available as `recording.ended`.
        """
        with self.lock:
            change = CellChange(self.cell, cell, renamed or {})
            kept = set(change.before.values())
            for name in [*self.robots]:
                if name not in kept or name in change.renamed:
                    self.faults.clear(name)
            old = dict(self.robots)
            with self._changed_world():
                self.world.change_cell(cell, change.renamed)
                self.robots.clear()
                for given in cell.robots:
                    if given.name in change.before:
                        robot = old[change.before[given.name]]
                        robot.name = given.name
                        robot.control.rename_load(change.renamed)
                    else:
                        robot = SimRobot(self, given.name)
                    self.robots[given.name] = robot
            for name in self.robots:
                if name not in change.before:
                    self.robots[name].control.use_default()
            for task in tuple(self.tasks):
                changed = getattr(task, "cell_changed", None)
                if changed is not None:
                    changed(change.renamed)
            self.log("edit", label or "cell changed", cell=cell.name)

    def prepare(self, cell: Cell) -> None:
        """Compile the kernels of new robots before calling `change_cell` with the same cell.

        The simulation can run meanwhile.  Without this call, `change_cell` compiles the kernels
        while it holds `lock`, which may take seconds.
        """
        known = [one.model for one in self.cell.robots]
        same = np.array_equal(cell.gravity, self.cell.gravity)
        for given in cell.robots:
            if not (same and any(given.model is one for one in known)):
                arm = arm_of(given, cell.gravity)
                prepare_control(self, given.name, arm)
                arm.frames(given.start)
                arm.fk(given.start)
                known.append(given.model)

    @contextmanager
    def _changed_world(self) -> Iterator[None]:
        """Context manager for a change of the world.

        After the `with` block, robots and recorder are attached to the new model of the world.
        """
        if self.recording.recorder is not None:
            self.recording.recorder.flush()
        yield
        for one in self.robots.values():
            one.rebind()
        self.recording.rebind()

    def inject(self, fault: Fault, at: float | None = None) -> None:
        """Activate a fault now, or at the simulation time `at` (s).

        `sim.faults` lists the scheduled faults and has methods to clear faults.  `SimRobot.faults`
        lists the active faults.
        """
        self.faults.inject(fault, at)

    @staticmethod
    def replay_dump(path: str | Path) -> Replay:
        """Replay the dump file of a diverged run; see `brazo.simulation.dump`."""
        return replay_dump(path)

    if not TYPE_CHECKING:
        __getattr__ = renamed_attributes(
            {
                "abandon_recording": "recording.abandon",
                "add_task": "tasks.add",
                "clear_faults": "faults.clear",
                "recorder": "recording.recorder",
                "remove_task": "tasks.remove",
                "robot": "robots.__getitem__",
                "scheduled_faults": "faults.scheduled",
                "start_recording": "recording.start",
                "stop_recording": "recording.stop",
            }
        )


class _Robots(dict[str, SimRobot]):
    """Dict of robots by name; an unknown name raises an error that lists the valid names."""

    def __missing__(self, name: str) -> SimRobot:
        raise BrazoError(f"no robot named '{name}' in this cell; robots: {', '.join(self)}")

"""Capture of finished runs (trajectories, programs and step responses) from the live signals.

A run is a simulation task that moves robots.  It ends when the task is removed from the simulation.
The samples of the run are copied from the buffer of live signals (`brazo.lab.app.live`), until
`AFTER` seconds after the end of the run or until the next run starts.  The buffer has 100 rows per
second and covers the last minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.panels.common.controller_names import title_of
from brazo.operate.playing import Playing
from brazo.recording.metrics import AFTER, CHANGED, START
from brazo.recording.recording import Recording

if TYPE_CHECKING:
    from brazo.lab.app.context import PanelContext
    from brazo.simulation import Simulation

REST = 0.5  # s at rest that separate two motions
SHORTEST = 3  # rows


@dataclass(frozen=True, slots=True, eq=False)
class CapturedRun:
    """Samples of a finished run, with t = 0 at its start, and the data needed to repeat it."""

    name: str
    recording: Recording
    began: float  # s, time of the simulation
    motion: object = None  # equal for two runs of the same trajectory or program
    playing: Playing | None = None  # the trajectory


@dataclass(slots=True, eq=False)
class _Active:
    task: Any
    sim: Simulation
    name: str
    began: float | None = None
    ended: float | None = None


class RunCapture:
    """Watches the tasks of the simulation, and calls `done(run)` for each finished run.

    Use on the lab's thread only.
    """

    def __init__(self, context: PanelContext, done: Callable[[CapturedRun], None]) -> None:
        self._session, self._live, self._done = context.session, context.live, done
        self._active: _Active | None = None
        self._last = 0.0  # s, time of the last call of `follow`

    def drop(self) -> None:
        """Discard the active run; called after a reset of the simulation."""
        self._active = None

    @property
    def elapsed(self) -> float | None:
        """Time (s) since the start of the active run; None if no run is active.

        A run of a trajectory starts at the start of the trajectory, after the approach.
        """
        active = self._active
        if active is None or active.began is None or active.sim is not self._session.shown:
            return None
        return active.sim.time - active.began

    @property
    def motion(self) -> object:
        """Value that identifies the motion of the active run.

        Runs of the same trajectory or program have equal values.  None if no run is active or the
        run is neither a trajectory nor a program.
        """
        return None if self._active is None else _motion_of(self._active.task)

    def follow(self) -> None:
        """Detect runs that started or ended; call once per frame, with the simulation lock held."""
        sim = self._session.sim
        if sim.time < self._last or (self._active is not None and self._active.sim is not sim):
            self.drop()
        self._last = sim.time
        active = self._active
        if active is not None and active.ended is None and active.task not in sim.tasks:
            active.ended = sim.time
        task = _moving_task(sim)
        if active is not None and active.ended is not None:
            another = task is not None and task is not active.task
            if another or sim.time >= active.ended + AFTER:
                self._active = None
                self._take(active)
                active = None
        if active is None and task is not None:
            self._active = active = _Active(task, sim, _name_of(sim, task))
        if active is not None and active.began is None and active.ended is None:
            if not isinstance(active.task, Playing):
                active.began = sim.time
            elif active.task.on_path:
                active.began = active.task.began

    def last_motion(self, robot: str) -> CapturedRun:
        """Return the last motion of a robot in the live signals, from rest to rest.

        Raises `BrazoError` if the robot has not moved in the last minute.
        """
        sim, live = self._session.sim, self._live
        live.collect()
        arm = sim.robots[robot].arm
        names = [f"{robot}.q_ref.{joint}" for joint in arm.joint_names]
        if live.end - live.first < SHORTEST or names[0] not in live.columns:
            raise BrazoError("no motion yet: move the robot, then press Keep run")
        rows = live.rows(live.first, ["t", *names])
        moved = np.flatnonzero((np.abs(np.diff(rows[:, 1:], axis=0)) > CHANGED).any(axis=1))
        if not len(moved):
            raise BrazoError(
                f"{robot} has not moved in the last minute: move it, then press Keep run"
            )
        t = rows[:, 0]
        gaps = np.flatnonzero(np.diff(t[moved]) > REST)
        first = int(moved[gaps[-1] + 1] if len(gaps) else moved[0])
        began = float(t[first])
        return CapturedRun(
            title_of(sim.robots[robot].controller_name),
            self._rows(sim, began, float(t[moved[-1]]) + AFTER),
            began,
        )

    def _take(self, active: _Active) -> None:
        began, ended = active.began, active.ended
        self._live.collect()
        if began is None or ended is None:
            return  # stopped during the approach
        recording = self._rows(active.sim, began, ended + AFTER)
        if len(recording) >= SHORTEST:
            playing = active.task if isinstance(active.task, Playing) else None
            motion = _motion_of(active.task)
            late = float(recording.t[0])  # the live signals cover the last minute
            name = active.name if late < 0.1 else f"{active.name}, from {late:.0f} s"
            self._done(CapturedRun(name, recording, began, motion, playing))

    def _rows(self, sim: Simulation, began: float, end: float) -> Recording:
        live = self._live
        rows = live.rows(live.first, list(live.columns))
        t = rows[:, 0]
        rows = rows[(t >= began - 1e-9) & (t <= end)].copy()
        rows[:, 0] -= began
        columns = {name: (rows[:, k], unit) for k, (name, unit) in enumerate(live.columns.items())}
        controllers = {name: title_of(one.controller_name) for name, one in sim.robots.items()}
        about = {
            "cell": sim.cell.name,
            "controllers": ", ".join(f"{name}: {title}" for name, title in controllers.items()),
            START: "0",
        }
        return Recording(columns, [], about)


def _moving_task(sim: Simulation) -> Any:
    """First active task that moves robots; None if there is none.

    A paused program counts as such a task.  A task whose attribute `waits` is true does not count,
    because it only prepares a run.
    """
    moving = (task for task in sim.tasks.foreground if hasattr(task, "motions"))
    return next((task for task in moving if not getattr(task, "waits", False)), None)


def _motion_of(task: Any) -> object:
    """Value that is equal for two runs of the same trajectory or program; None if unknown."""
    if isinstance(task, Playing):
        planned = task.trajectory
        times = np.linspace(planned.start, planned.end, 5)
        points = np.array([planned.sample(float(t)).q for t in times])
        return task.robot.name, round(planned.duration, 6), points.round(6).tobytes()
    program = getattr(task, "program", None)
    return None if program is None else program.name


def _name_of(sim: Simulation, task: Any) -> str:
    program = getattr(task, "program", None)
    if program is not None:
        return str(program.name)
    robots = [sim.robots[name] for name in task.motions if name in sim.robots]
    return title_of(robots[0].controller_name) if robots else "Run"

"""`Session`: the simulation or replay open in a lab, its ownership, and the selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell, is_recording
from brazo.lab.app.replay import Replay, ReplayRobot
from brazo.recording.recording import Recording
from brazo.simulation import Simulation
from brazo.simulation.robot import SimRobot
from brazo.world import World


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected robot and, if a link is selected, the index of the joint that moves it."""

    robot: str
    joint: int | None = None


class Listener(Protocol):
    """Callbacks for changes of a session, called after the change."""

    def cell_opened(self) -> None:
        """Another cell or recording was opened."""

    def cell_edited(self) -> None:
        """Robots, dimensions or settings of the open cell were edited."""

    def selection_changed(self) -> None:
        """The selection changed."""


class Session:
    """The open simulation or replay; modify it on the lab's thread, read it from any thread."""

    listener: Listener

    def __init__(self, source: Any) -> None:
        self.shown: Simulation | Replay = as_shown(source)
        self._own = self.shown is not source
        self.selection = self._first()
        self.cells = 0  # number of cells opened after the first, without edits
        self.version = 0  # incremented for each new simulation, including edits

    @property
    def sim(self) -> Simulation:
        """The open simulation; raises for a replay."""
        if isinstance(self.shown, Replay):
            raise BrazoError("robots cannot be moved in a replay")
        return self.shown

    @property
    def replay(self) -> Replay | None:
        """The open replay; None for a simulation."""
        return self.shown if isinstance(self.shown, Replay) else None

    @property
    def robot(self) -> SimRobot:
        """The selected robot; raises for a replay."""
        return self.sim.robot(self.selection.robot)

    @property
    def shown_robot(self) -> SimRobot | ReplayRobot:
        """The selected robot, simulated or replayed."""
        return self.shown.robot(self.selection.robot)

    def change(self, shown: Simulation | Replay, own: bool) -> None:
        """Open another simulation or replay; with `own`, its player is closed on release."""
        old, self.shown = self.shown, shown
        if old is not shown:
            self._release(old)
        self._own = own
        self.version += 1
        self.cells += 1
        self.selection = self._first()
        self.listener.cell_opened()

    def replace(self, sim: Simulation, selected: str = "") -> None:
        """Continue with a rebuilt simulation of the same cell; keep view and selection.

        `selected` is the robot to select if the selected one no longer exists.
        """
        running = self.shown.player.running
        self._release(self.shown)
        self.shown, self._own = sim, True
        self.version += 1
        if selected and self.selection.robot not in sim.robots:
            self.selection = Selection(selected)
        self.listener.cell_edited()
        if running:
            sim.player.play()

    def edited(self) -> None:
        """Notify the listener that robots of the cell were edited in place."""
        self.listener.cell_edited()

    def select(self, robot: str, joint: int = -1) -> None:
        """Select a robot and one of its joints; no joint if the index is out of range.

        An unknown robot is ignored.
        """
        if robot in self.shown.robots:
            n = self.shown.robots[robot].n
            self.selection = Selection(robot, joint if 0 <= joint < n else None)
            self.listener.selection_changed()

    def place(self, robot: SimRobot, q: Any) -> None:
        """Set the joint positions of a simulated robot to q (n,), rad and m, at rest."""
        try:
            q = np.array(q, dtype=float)
        except (TypeError, ValueError):
            raise BrazoError(f"q: {robot.name} wants {robot.n} numbers") from None
        if q.shape != (robot.n,) or not np.isfinite(q).all():
            raise BrazoError(f"q has shape {q.shape}: {robot.name} needs ({robot.n},), all finite")
        with self.sim.lock:
            robot.world.set_state(q)
            robot.restart()

    def require_running(self) -> None:
        """Raise `BrazoError` if the simulation is paused: a motion would not start."""
        if not self.shown.player.running:
            raise BrazoError("the simulation is paused: press Play, then try again")

    def close(self) -> None:
        """Release the open simulation or replay; called when the lab closes."""
        self._release(self.shown)

    def _first(self) -> Selection:
        return Selection(next(iter(self.shown.robots), ""))

    def _release(self, sim: Simulation | Replay) -> None:
        """Close the player of a simulation created by the session; pause that of a given one."""
        if self._own:
            sim.player.close()
        else:
            sim.player.pause()


def as_shown(source: Any) -> Simulation | Replay:
    """Simulation of a cell, robot, world, name or file, or replay of a recording.

    A `Simulation` or `Replay` is returned unchanged.
    """
    if isinstance(source, Simulation | Replay):
        return source
    if isinstance(source, World):
        return Simulation(source)
    if isinstance(source, Recording) or is_recording(source):
        return Replay(source)
    return Simulation(as_cell(source))

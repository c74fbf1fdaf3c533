"""`Session`: what is open in a lab, whose it is, and what the user points at in it."""

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
    """What the user points at: a robot and, when a link was clicked, the joint that moves it."""

    robot: str
    joint: int | None = None


class Listener(Protocol):
    """Is told what changes in a session, after it changed."""

    def cell_opened(self) -> None:
        """Another cell is open."""

    def cell_edited(self) -> None:
        """The same cell has other robots, dimensions or settings."""

    def selection_changed(self) -> None:
        """The user points at something else."""


class Session:
    """The simulation or replay on show; changed on the lab's thread, read from any."""

    listener: Listener

    def __init__(self, source: Any) -> None:
        self.shown: Simulation | Replay = as_shown(source)
        self._own = self.shown is not source
        self.selection = self._first()
        self.cells = 0  # opened after the first; edits do not count
        self.version = 0  # counts simulations, edited ones too

    @property
    def sim(self) -> Simulation:
        """The simulation on show; raises for a replay."""
        if isinstance(self.shown, Replay):
            raise BrazoError("robots cannot be moved in a replay")
        return self.shown

    @property
    def replay(self) -> Replay | None:
        """The recording on show; None when it is a simulation."""
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
        """Show another cell; with `own` its simulation ends with the session."""
        old, self.shown = self.shown, shown
        if old is not shown:
            self._release(old)
        self._own = own
        self.version += 1
        self.cells += 1
        self.selection = self._first()
        self.listener.cell_opened()

    def replace(self, sim: Simulation, selected: str = "") -> None:
        """Continue with a rebuilt simulation of the same cell; view and selection stay.

        `selected` is the robot to point at when the selected one is not in it any more.
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
        """Robots of the cell were edited in place: show it anew."""
        self.listener.cell_edited()

    def select(self, robot: str, joint: int = -1) -> None:
        """Point at a robot and, from 0 up, one of its joints."""
        if robot in self.shown.robots:
            n = self.shown.robots[robot].n
            self.selection = Selection(robot, joint if 0 <= joint < n else None)
            self.listener.selection_changed()

    def place(self, robot: SimRobot, q: Any) -> None:
        """Put the joints of a simulated robot at q, at rest."""
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
        """Raise while the simulation is paused: a motion would never begin."""
        if not self.shown.player.running:
            raise BrazoError("the simulation is paused: press Play, then try again")

    def close(self) -> None:
        """The lab ends."""
        self._release(self.shown)

    def _first(self) -> Selection:
        return Selection(next(iter(self.shown.robots), ""))

    def _release(self, sim: Simulation | Replay) -> None:
        """A simulation made here ends; one that was given is only paused."""
        if self._own:
            sim.player.close()
        else:
            sim.player.pause()


def as_shown(source: Any) -> Simulation | Replay:
    """A simulation of whatever was given, or the replay of a recording."""
    if isinstance(source, Simulation | Replay):
        return source
    if isinstance(source, World):
        return Simulation(source)
    if isinstance(source, Recording) or is_recording(source):
        return Replay(source)
    return Simulation(as_cell(source))

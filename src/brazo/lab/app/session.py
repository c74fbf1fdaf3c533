"""`Session`: the simulation or replay open in a lab, its ownership, and the selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell, is_recording
from brazo.lab.app.replay import RecordingReplay, ReplayRobot
from brazo.recording.recording import Recording
from brazo.simulation import Simulation
from brazo.simulation.robot import SimRobot
from brazo.world import World
from brazo.world.cell_edits import elements

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected robot and, if a link is selected, the index of the joint that moves it.

    `element` is the selected element of the cell: this robot, or a body, fixture, chute or frame.
    """

    robot: str
    joint: int | None = None
    element: str = ""


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

    def __init__(self, shown: Simulation | RecordingReplay, own: bool) -> None:
        self.shown = shown
        self._own = own
        self.selection = self._first()
        self.cells = 0  # number of cells opened after the first, without edits
        self.version = 0  # incremented for each new simulation, including edits
        self._renamed: list[tuple[Callable[[Mapping[str, str]], None], bool]] = []

    @property
    def sim(self) -> Simulation:
        """The open simulation; raises for a replay."""
        if isinstance(self.shown, RecordingReplay):
            raise BrazoError("robots cannot be moved in a replay")
        return self.shown

    @property
    def replay(self) -> RecordingReplay | None:
        """The open replay; None for a simulation."""
        return self.shown if isinstance(self.shown, RecordingReplay) else None

    @property
    def robot(self) -> SimRobot:
        """The selected robot; raises for a replay."""
        return self.sim.robots[self.selection.robot]

    @property
    def shown_robot(self) -> SimRobot | ReplayRobot:
        """The selected robot, simulated or replayed."""
        return self.shown.robots[self.selection.robot]

    def change(self, shown: Simulation | RecordingReplay, own: bool) -> None:
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
            self.selection = Selection(selected, None, selected)
        self.listener.cell_edited()
        if running:
            sim.player.play()

    def edited(self, renamed: Mapping[str, str] | None = None) -> None:
        """Notify the listener that the cell was edited in place; `renamed` maps old names to new.

        A selected robot or element that no longer exists is deselected.
        """
        before, robots = self.selection, self.shown.robots
        new = renamed or {}
        robot, element = (new.get(n, n) for n in (before.robot, before.element))
        known = {*robots, *(one.name for one in elements(self.shown.cell))}
        kept = robot in robots
        self.selection = Selection(
            robot if kept else next(iter(robots), ""),
            before.joint if kept else None,
            element if element in known else "",
        )
        self.version += 1
        own = {old: name for old, name in new.items() if name in robots}
        for listener, every in self._renamed:
            if names := new if every else own:
                listener(names)
        self.listener.cell_edited()
        if self.selection != before:
            self.listener.selection_changed()

    def on_rename(self, listener: Callable[[Mapping[str, str]], None], every: bool = False) -> None:
        """Call `listener(renamed)` with the new names of robots, by old name, also by undo.

        With `every`, also for bodies, fixtures, chutes and frames.  It is called before the panels
        are informed of the edited cell.
        """
        self._renamed.append((listener, every))

    def select(self, robot: str, joint: int = -1) -> None:
        """Select a robot and one of its joints; no joint if the index is out of range.

        An unknown robot is ignored.
        """
        if robot in self.shown.robots:
            n = self.shown.robots[robot].n
            self.selection = Selection(robot, joint if 0 <= joint < n else None, robot)
            self.listener.selection_changed()

    def select_element(self, name: str) -> None:
        """Select a robot, body, fixture, chute or frame; an empty or unknown name deselects."""
        if name in self.shown.robots:
            self.select(name)
            return
        known = name in (one.name for one in elements(self.shown.cell))
        self.selection = Selection(self.selection.robot, None, name if known else "")
        self.listener.selection_changed()

    def place(self, robot: SimRobot, q: Any) -> None:
        """Set the joint positions of a simulated robot to q (n,), rad and m, at rest."""
        try:
            q = np.array(q, dtype=float)
        except (TypeError, ValueError):
            raise BrazoError(f"q: {robot.name}: expected {robot.n} numbers") from None
        if q.shape != (robot.n,) or not np.isfinite(q).all():
            raise BrazoError(f"q has shape {q.shape}: {robot.name} needs ({robot.n},), all finite")
        with self.sim.lock:
            robot.world.set_state(q)
            robot.control.restart()

    def require_running(self) -> None:
        """Raise `BrazoError` if the simulation is paused: a motion would not start."""
        if not self.shown.player.running:
            raise BrazoError("the simulation is paused: press Play, then try again")

    def close(self) -> None:
        """Release the open simulation or replay; called when the lab closes."""
        self._release(self.shown)

    def _first(self) -> Selection:
        first = next(iter(self.shown.robots), "")
        return Selection(first, None, first)

    def _release(self, sim: Simulation | RecordingReplay) -> None:
        """Close the player of a simulation created by the session; pause that of a given one."""
        if self._own:
            sim.player.close()
        else:
            sim.player.pause()


def with_new_names(found: Mapping[str, T], renamed: Mapping[str, str]) -> dict[str, T]:
    """Values by robot after robots were renamed.

    What a deleted robot left under a new name gets the old name, so that undo returns it.
    """
    names = {new: old for old, new in renamed.items()} | dict(renamed)
    return {names.get(robot, robot): value for robot, value in found.items()}


def as_shown(source: Any) -> Simulation | RecordingReplay:
    """Simulation of a cell, robot, world, name or file, or replay of a recording.

    A `Simulation` or `RecordingReplay` is returned unchanged.
    """
    if isinstance(source, Simulation | RecordingReplay):
        return source
    if isinstance(source, World):
        return Simulation(source)
    if isinstance(source, Recording) or is_recording(source):
        return RecordingReplay(source)
    return Simulation(as_cell(source))

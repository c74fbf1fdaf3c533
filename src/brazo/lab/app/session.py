"""`Session`: the simulation or replay that is open in a lab, and the selection."""

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
    """The selected robot, joint and element of a cell.

    `joint` is the index of the joint that moves the selected link; None if no link is selected.
    `element` is the name of the selected robot, body, fixture, chute or frame; empty if none is
    selected.
    """

    robot: str
    joint: int | None = None
    element: str = ""


class Listener(Protocol):
    """Callbacks that a session calls after it changed."""

    def cell_opened(self) -> None:
        """Called after another cell or recording was opened."""

    def cell_edited(self) -> None:
        """Called after robots, dimensions or settings of the open cell were edited."""

    def selection_changed(self) -> None:
        """Called after the selection changed."""


class Session:
    """The open simulation or replay, and the selection.

    Modify a session only on the lab's thread.  It can be read on any thread.
    """

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
        """The open simulation; raises `BrazoError` if a replay is open."""
        if isinstance(self.shown, RecordingReplay):
            raise BrazoError("robots cannot be moved in a replay: open a cell first")
        return self.shown

    @property
    def replay(self) -> RecordingReplay | None:
        """The open replay; None if a simulation is open."""
        return self.shown if isinstance(self.shown, RecordingReplay) else None

    @property
    def robot(self) -> SimRobot:
        """The selected robot; raises `BrazoError` if a replay is open."""
        return self.sim.robots[self.selection.robot]

    @property
    def shown_robot(self) -> SimRobot | ReplayRobot:
        """The selected robot of the simulation or replay."""
        return self.shown.robots[self.selection.robot]

    def change(self, shown: Simulation | RecordingReplay, own: bool) -> None:
        """Open another simulation or replay and release the current one.

        `own` is true if the lab created `shown`.  In this case, the player of `shown` is closed
        when `shown` is released later; otherwise, the player is only paused.
        """
        old, self.shown = self.shown, shown
        if old is not shown:
            self._release(old)
        self._own = own
        self.version += 1
        self.cells += 1
        self.selection = self._first()
        self.listener.cell_opened()

    def replace(self, sim: Simulation, selected: str = "") -> None:
        """Continue with a rebuilt simulation of the same cell; keep the view and the selection.

        `selected` is the robot to select if the currently selected robot no longer exists.
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
        """Notify the listener that the open cell was edited.

        `renamed` maps old names of elements to new ones.  A selected element that no longer exists
        is deselected.  If the selected robot no longer exists, the first robot is selected.
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
        """Call `listener(renamed)` after robots were renamed, including by undo.

        `renamed` maps old names to new ones.  If `every` is true, the listener is also called for
        renamed bodies, fixtures, chutes and frames.  The listener is called before the panels are
        notified of the edited cell.
        """
        self._renamed.append((listener, every))

    def select(self, robot: str, joint: int = -1) -> None:
        """Select a robot and one of its joints; no joint if the index is out of range.

        The call is ignored if the robot does not exist.
        """
        if robot in self.shown.robots:
            n = self.shown.robots[robot].n
            self.selection = Selection(robot, joint if 0 <= joint < n else None, robot)
            self.listener.selection_changed()

    def select_element(self, name: str) -> None:
        """Select a robot, body, fixture, chute or frame by its name.

        An empty or unknown name clears the selected element.
        """
        if name in self.shown.robots:
            self.select(name)
            return
        known = name in (one.name for one in elements(self.shown.cell))
        self.selection = Selection(self.selection.robot, None, name if known else "")
        self.listener.selection_changed()

    def place(self, robot: SimRobot, q: Any) -> None:
        """Set the joint positions of a robot to q (n,), in rad and m, with zero velocity."""
        try:
            q = np.array(q, dtype=float)
        except (TypeError, ValueError):
            raise BrazoError(f"q: expected {robot.n} numbers for {robot.name}") from None
        if q.shape != (robot.n,):
            raise BrazoError(f"q has shape {q.shape}; expected ({robot.n},) for {robot.name}")
        if not np.isfinite(q).all():
            raise BrazoError(f"q of {robot.name}: every value must be finite")
        with self.sim.lock:
            robot.world.set_state(q)
            robot.control.restart()

    def require_running(self) -> None:
        """Raise `BrazoError` if the simulation is paused, because a motion would not start."""
        if not self.shown.player.running:
            raise BrazoError("the simulation is paused: press Play, then try again")

    def close(self) -> None:
        """Release the open simulation or replay; called when the lab closes."""
        self._release(self.shown)

    def _first(self) -> Selection:
        first = next(iter(self.shown.robots), "")
        return Selection(first, None, first)

    def _release(self, sim: Simulation | RecordingReplay) -> None:
        """Close the player of `sim` if the lab created `sim`; otherwise only pause the player."""
        if self._own:
            sim.player.close()
        else:
            sim.player.pause()


def with_new_names(found: Mapping[str, T], renamed: Mapping[str, str]) -> dict[str, T]:
    """Return a copy of `found` (robot name -> value) with the keys of renamed robots changed.

    `renamed` maps old names to new ones.  `found` also contains the values of deleted robots, for
    undo.  If a robot gets the name of a deleted robot, the two robots exchange their keys.  When
    the rename is undone, the keys are exchanged back.
    """
    names = {new: old for old, new in renamed.items()} | dict(renamed)
    return {names.get(robot, robot): value for robot, value in found.items()}


def as_shown(source: Any) -> Simulation | RecordingReplay:
    """Return a simulation of a cell, robot, world, name or file, or a replay of a recording.

    A `Simulation` or `RecordingReplay` is returned unchanged.
    """
    if isinstance(source, Simulation | RecordingReplay):
        return source
    if isinstance(source, World):
        return Simulation(source)
    if isinstance(source, Recording) or is_recording(source):
        return RecordingReplay(source)
    return Simulation(as_cell(source))

"""`SharedPoints`: the named points of the open cell, shared by all panels, with undoable edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from brazo.lab.app.session import with_new_names
from brazo.operate import Point, Points
from brazo.project.history import History


class SharedPoints:
    """Named points of each robot of the open cell.  Use only on the lab's thread.

    Change points only with `edit`, so that the change can be undone and all panels are notified.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._robots: dict[str, Points] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._renamed: list[Callable[[str, str, str], None]] = []

    def of(self, robot: str) -> Points:
        """Points of a robot; empty if none were taught."""
        return self._robots.setdefault(robot, Points())

    def edit(self, label: str, robot: str, change: Callable[[Points], object]) -> None:
        """Call `change(points)` with the points of a robot, and store the change for undo.

        `label` describes the change to the user.
        """
        points = self.of(robot)

        def make(call: Callable[[], object]) -> None:
            before = {point.number: point.name for point in points}
            call()
            for point in points:
                if (old := before.get(point.number, point.name)) != point.name:
                    for listener in self._renamed:
                        listener(robot, old, point.name)
            for listener in self._listeners:
                listener(robot)

        self._history.record(
            label,
            lambda: make(lambda: change(points)),
            lambda: points.state,
            lambda state: make(lambda: points.restore(state)),
        )

    def replace(self, points: Mapping[str, Iterable[Point]]) -> None:
        """Replace all points by those of another project, without undo."""
        self._robots = {robot: Points(some) for robot, some in points.items()}

    def rename_robots(self, renamed: Mapping[str, str]) -> None:
        """Move the points of renamed robots to the new names.

        `renamed` maps old robot names to new ones.
        """
        self._robots = with_new_names(self._robots, renamed)

    def rename_frames(self, renamed: Mapping[str, str]) -> None:
        """Update the frame names of taught poses after elements of the cell were renamed.

        `renamed` maps old element names to new ones.
        """
        for points in self._robots.values():
            points.rename_frames(renamed)

    def lists(self) -> dict[str, list[Point]]:
        """All points: robot name -> points.  Robots without points are omitted."""
        return {robot: list(points) for robot, points in self._robots.items() if len(points)}

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener(robot)` after the points of a robot changed."""
        self._listeners.append(listener)

    def on_rename(self, listener: Callable[[str, str, str], None]) -> None:
        """Call `listener(robot, old, new)` after a point was renamed, including by undo."""
        self._renamed.append(listener)

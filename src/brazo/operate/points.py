"""Taught points of a robot, and running through them in sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.operate.mover import Mover
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot

MOST = 500
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Joint values with a name."""

    number: int
    name: str
    q: np.ndarray  # (n,)


class Points:
    """Points of one robot, in the order in which they were taught."""

    def __init__(self) -> None:
        self._points: dict[int, Point] = {}
        self._count = 0

    def __iter__(self):
        return iter(self._points.values())

    def __len__(self) -> int:
        return len(self._points)

    def teach(self, q: np.ndarray, name: str = "") -> Point:
        """Store joint values as a new point."""
        if len(self) >= MOST:
            raise BrazoError(f"at most {MOST} points: delete some first")
        self._count += 1
        point = Point(self._count, self._named(name or f"P{self._count}"), q.copy())
        self._points[point.number] = point
        return point

    def get(self, number: int) -> Point:
        """Return a point by number."""
        if number not in self._points:
            raise BrazoError("that point no longer exists")
        return self._points[number]

    def rename(self, number: int, name: str) -> None:
        """Rename a point."""
        name = " ".join(name.split())[:LONGEST_NAME]
        if name and name != self.get(number).name:
            self._points[number] = replace(self.get(number), name=self._named(name))

    def update(self, number: int, q: np.ndarray) -> None:
        """Touch up a point: set its joint values."""
        self._points[number] = replace(self.get(number), q=q.copy())

    def delete(self, number: int) -> None:
        """Delete a point."""
        self.get(number)
        del self._points[number]

    def _named(self, name: str) -> str:
        taken = {point.name for point in self}
        again, number = name, 2
        while again in taken:
            again, number = f"{name} {number}", number + 1
        return again


class PointRun:
    """Task of a simulation that runs through points; `pause` ends it, as STOP does.

    `failed` is called with a message if a point cannot be reached.
    """

    def __init__(
        self, robot: SimRobot, points: list[Point], mover: Mover, failed: Callable[[str], None]
    ) -> None:
        self.robot = robot.name
        self.at = -1  # index of the current target point
        self.over = False
        self._robot, self._points, self._mover, self._failed = robot, points, mover, failed

    @property
    def point(self) -> int:
        """Number of the current target point; 0 after the end."""
        return 0 if self.over else self._points[max(self.at, 0)].number

    def tick(self, sim: Simulation) -> bool:
        """Start the move to the next point when the robot is at rest."""
        if not self.over and not self._robot.moving:
            self.at += 1
            self.over = self.at >= len(self._points)
            if not self.over:
                try:
                    self._mover.go_to(self._robot, self._points[self.at].q)
                except BrazoError as error:
                    self.over = True
                    self._failed(str(error))
        return not self.over

    def pause(self) -> None:
        """End the run."""
        self.over = True

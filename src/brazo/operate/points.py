"""Named points of a robot, and a run through them in sequence.

A point is a target: joint values, or a tool pose in a frame.  The frame may be that of a moving
body.  The pendant, trajectories and programs refer to the same points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
    """A named target: joint values `q`, or a tool pose `T` in the frame `frame`.

    If both are given, `T` is the target, and `q` contains the joint values at which the pose was
    taught.  They are the initial guess of the inverse kinematics.
    """

    number: int  # identifies the point when it is renamed or moved in the list
    name: str
    q: np.ndarray | None = None  # (n,) rad and m
    T: np.ndarray | None = None  # (4, 4), m
    frame: str = "base"  # of T

    def __post_init__(self) -> None:
        if self.q is None and self.T is None:
            raise BrazoError(f"point '{self.name}' needs joint values or a pose")


class Points:
    """Ordered list of the points of one robot.

    `state` is a snapshot of all points, and `restore` restores it.  Points are immutable.
    """

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._points = {point.number: point for point in points}
        self._count = max(self._points, default=0)

    def __iter__(self):
        return iter(self._points.values())

    def __len__(self) -> int:
        return len(self._points)

    @property
    def state(self) -> tuple[Point, ...]:
        """All points, in order."""
        return tuple(self._points.values())

    def restore(self, state: Iterable[Point]) -> None:
        """Replace all points by those of an earlier `state`."""
        self._points = {point.number: point for point in state}
        self._count = max(self._count, *self._points, 0)

    def teach(
        self,
        q: np.ndarray | None,
        name: str = "",
        T: np.ndarray | None = None,
        frame: str = "base",
    ) -> Point:
        """Add and return a new point: joint values q (n,), or the tool pose T (4, 4) in a frame.

        If both are given, `q` is the initial guess of the inverse kinematics for `T`.  An empty
        name is replaced by `next_name`.  If the name is in use, a number is appended.
        """
        if len(self) >= MOST:
            raise BrazoError(f"a robot can have at most {MOST} points: delete some first")
        self._count += 1
        name = self._named(_short(name) or self.next_name)
        point = Point(self._count, name, _copied(q), _copied(T), frame)
        self._points[point.number] = point
        return point

    @property
    def next_name(self) -> str:
        """Default name of the next point: `P` and a number, one above the highest in use."""
        numbers = (re.fullmatch(r"P(\d{1,9})", point.name) for point in self)
        return f"P{1 + max((int(found[1]) for found in numbers if found), default=0)}"

    def get(self, number: int) -> Point:
        """Return the point with this number; raise `BrazoError` if it does not exist."""
        if number not in self._points:
            raise BrazoError("the selected point no longer exists")
        return self._points[number]

    def find(self, name: str) -> Point | None:
        """Return the point with this name; None if there is none."""
        return next((point for point in self if point.name == name), None)

    def rename(self, number: int, name: str) -> None:
        """Rename the point with this number; if the name is in use, a number is appended.

        An empty name has no effect.
        """
        name = _short(name)
        if name and name != self.get(number).name:
            self._points[number] = replace(self.get(number), name=self._named(name))

    def update(self, number: int, q: np.ndarray | None, T: np.ndarray | None = None) -> None:
        """Touch up a point: replace its joint values and its pose.

        `T` is the pose in the frame of the point; None for a point that consists of joint values.
        """
        self._points[number] = replace(self.get(number), q=_copied(q), T=_copied(T))

    def rename_frames(self, renamed: Mapping[str, str]) -> None:
        """Rename the frames of taught poses; `renamed` maps old names to new ones."""
        self._points = {
            number: replace(point, frame=renamed.get(point.frame, point.frame))
            for number, point in self._points.items()
        }

    def move(self, number: int, by: int) -> None:
        """Move the point with this number by `by` places, towards the end if positive."""
        self.get(number)
        order = list(self._points)
        at = order.index(number)
        order.insert(min(max(at + by, 0), len(order) - 1), order.pop(at))
        self._points = {one: self._points[one] for one in order}

    def delete(self, number: int) -> None:
        """Delete the point with this number."""
        self.get(number)
        del self._points[number]

    def _named(self, name: str) -> str:
        taken = {point.name for point in self}
        again, number = name, 2
        while again in taken:
            again, number = f"{name} {number}", number + 1
        return again


def _short(name: str) -> str:
    return " ".join(name.split())[:LONGEST_NAME]


def _copied(values: np.ndarray | None) -> np.ndarray | None:
    if values is None:
        return None
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy


class PointRun:
    """Task of a simulation that moves a robot through points in sequence.

    `target(point)` returns the joint values of a point; it is called when the move to that point
    starts.  `failed(message)` is called if a move cannot be started, for example because the point
    is out of reach.  `done()` is called after the last point.
    """

    def __init__(
        self,
        robot: SimRobot,
        points: list[Point],
        mover: Mover,
        failed: Callable[[str], None],
        target: Callable[[Point], np.ndarray] = lambda point: np.asarray(point.q),
        done: Callable[[], None] = lambda: None,
    ) -> None:
        self.robot = robot.name
        self.at = -1  # index of the current target point
        self.over = False
        self._robot, self._points, self._mover, self._failed = robot, points, mover, failed
        self._target, self._done = target, done

    @property
    def point(self) -> int:
        """Number of the current target point; 0 after the end of the run, or without points."""
        if self.over or not self._points:
            return 0
        return self._points[max(self.at, 0)].number

    def tick(self, sim: Simulation) -> bool:
        """Start the move to the next point if the robot is at rest.

        Returns whether the run continues.
        """
        if not self.over and not self._robot.moving:
            self.at += 1
            self.over = self.at >= len(self._points)
            if self.over:
                self._done()
            else:
                try:
                    self._mover.go_to(self._robot, self._target(self._points[self.at]))
                except BrazoError as error:
                    self.over = True
                    self._failed(str(error))
        return not self.over

    def pause(self) -> None:
        """End the run; called by STOP."""
        self.over = True

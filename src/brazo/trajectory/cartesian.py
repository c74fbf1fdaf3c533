"""`CartesianPath`: the pose of the tool over time, with velocity and acceleration of the tool.

A pose is a matrix (4, 4) in the base frame.  Velocities and accelerations of the tool point have
six elements in base axes, linear then angular, as in the Jacobian.  The tool is at rest before the
start of the path (t = 0) and after its end.

`CurvePath` combines a curve p(x), an orientation R(x) and the progress x(t):

    v = p' ẋ      a = p'' ẋ² + p' ẍ      and likewise for ω and its derivative.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between
from brazo.trajectory.base import Trajectory, even_times, read_times
from brazo.trajectory.curves import Affine, Curve
from brazo.trajectory.reading import vector
from brazo.trajectory.tool_orientation import ToolOrientation

Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class PathSample:
    """Pose, velocity and acceleration of the tool at one time or several times."""

    T: Array  # (..., 4, 4)
    velocity: Array  # (..., 6) m/s, rad/s
    acceleration: Array  # (..., 6) m/s², rad/s²


class CartesianPath(ABC):
    """Base class of tool paths: the pose of the tool as a function of time."""

    @property
    @abstractmethod
    def breaks(self) -> Array:
        """Increasing times (s) from 0 to `duration`, between which the path is smooth."""

    @abstractmethod
    def within(self, t: Array) -> PathSample:
        """Evaluate the path at times (m,) between 0 and `duration`."""

    @property
    def duration(self) -> float:
        """Duration in seconds."""
        return float(self.breaks[-1])

    def sample(self, t: Any) -> PathSample:
        """Pose, velocity and acceleration at a time or at times (...,)."""
        times = read_times(t)
        flat = times.ravel()
        found = self.within(np.clip(flat, 0.0, self.duration))
        outside = (flat < 0.0) | (flat > self.duration)
        if outside.any():
            found.velocity[outside] = 0.0
            found.acceleration[outside] = 0.0
        shape = times.shape
        return PathSample(
            found.T.reshape(*shape, 4, 4),
            found.velocity.reshape(*shape, 6),
            found.acceleration.reshape(*shape, 6),
        )

    def pose(self, t: Any) -> Array:
        """Pose of the tool (..., 4, 4) at times (...,)."""
        return self.sample(t).T

    def velocity(self, t: Any) -> Array:
        """Linear (m/s) and angular velocity (rad/s) of the tool (..., 6), in base axes."""
        return self.sample(t).velocity

    def acceleration(self, t: Any) -> Array:
        """Linear (m/s²) and angular acceleration (rad/s²) of the tool (..., 6), in base axes."""
        return self.sample(t).acceleration

    def moved(
        self, shift: Any = (0.0, 0.0, 0.0), scale: float = 1.0, about: Any = None
    ) -> CartesianPath:
        """Return the path scaled about a point, then shifted, with the same timing.

        `about` (3,) is the point that does not move in scaling, by default the start of the path.
        `shift` (3,) is in m, in base axes.  A constant tool orientation stays constant; an
        orientation that depends on the path follows the new path.
        """
        factor = positive(scale, "scale")
        centre = self.pose(0.0)[:3, 3] if about is None else vector(about, 3, "about")
        return self._placed(factor, (1.0 - factor) * centre + vector(shift, 3, "shift"))

    @abstractmethod
    def _placed(self, scale: float, b: Array) -> CartesianPath:
        """Return the path with each position p replaced by scale · p + b; `b` is (3,) in m."""

    def points(self, dt: float) -> Array:
        """Points (m, 3) of the path every dt seconds, for drawing."""
        return self.pose(even_times(0.0, self.duration, dt))[:, :3, 3]


class CurvePath(CartesianPath):
    """Path defined by a curve, a tool orientation and the progress over time."""

    def __init__(self, curve: Curve, orientation: ToolOrientation, progress: Trajectory) -> None:
        self.curve, self.orientation, self.progress = curve, orientation, progress
        self._breaks = _with_corners(progress, curve.breaks)

    @property
    def breaks(self) -> Array:
        return self._breaks

    @property
    def length(self) -> float:
        """Path length in m."""
        return self.curve.length

    def _placed(self, scale: float, b: Array) -> CurvePath:
        return CurvePath(Affine(self.curve, scale * np.eye(3), b), self.orientation, self.progress)

    def within(self, t: Array) -> PathSample:
        s = self.progress.sample(t)
        x, xd, xdd = np.clip(s.q[:, 0], 0.0, 1.0), s.qd, s.qdd
        p = self.curve.at(x)
        R, w, w1 = self.orientation.at(x, p)
        T = np.zeros((len(t), 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = R, p[0], 1.0
        return PathSample(
            T,
            np.concatenate([p[1] * xd, w * xd], axis=1),
            np.concatenate([p[2] * xd**2 + p[1] * xdd, w1 * xd**2 + w * xdd], axis=1),
        )


class SequencePath(CartesianPath):
    """Path that consists of other paths, one after another."""

    def __init__(self, paths: Sequence[CartesianPath]) -> None:
        self.paths = tuple(paths)
        if not self.paths:
            raise BrazoError("a sequence needs at least one path")
        for k, (first, second) in enumerate(zip(self.paths[:-1], self.paths[1:], strict=True)):
            _check_continuous(first.pose(first.duration), second.pose(0.0), k)
        self._starts = np.concatenate([[0.0], np.cumsum([path.duration for path in self.paths])])

    @property
    def breaks(self) -> Array:
        parts = [start + path.breaks for start, path in zip(self._starts, self.paths, strict=False)]
        return np.unique(np.concatenate([*[part[:-1] for part in parts], self._starts[1:]]))

    def _placed(self, scale: float, b: Array) -> SequencePath:
        return SequencePath([path._placed(scale, b) for path in self.paths])

    def within(self, t: Array) -> PathSample:
        which = np.searchsorted(self._starts[1:-1], t, side="right")
        found = PathSample(np.empty((len(t), 4, 4)), np.empty((len(t), 6)), np.empty((len(t), 6)))
        for k, path in enumerate(self.paths):
            rows = which == k
            if rows.any():
                part = path.within(np.clip(t[rows] - self._starts[k], 0.0, path.duration))
                found.T[rows] = part.T
                found.velocity[rows] = part.velocity
                found.acceleration[rows] = part.acceleration
        return found


def sequence(*paths: CartesianPath) -> CartesianPath:
    """Concatenate paths; each must start where the previous one ends."""
    return SequencePath(paths)


def _check_continuous(end: Array, start: Array, k: int) -> None:
    gap = float(np.linalg.norm(end[:3, 3] - start[:3, 3]))
    turn = float(angle_between(end[:3, :3], start[:3, :3]))
    if gap > 1e-6 or turn > 1e-6:
        raise BrazoError(
            f"path {k + 2} does not start at the end of path {k + 1}: the poses differ by "
            f"{1000 * gap:.3f} mm and {np.degrees(turn):.3f}°"
        )


def _with_corners(progress: Trajectory, corners: tuple[float, ...]) -> Array:
    """Times (s) at which `progress` has a break or passes one of the values `corners`.

    `corners` are the values of the progress, from 0 to 1, at which the curve has a break.
    """
    x = np.array(corners)
    low, high = np.full(len(x), progress.start), np.full(len(x), progress.end)
    for _ in range(100 if len(x) else 0):
        middle = 0.5 * (low + high)
        if not ((low < middle) & (middle < high)).any():
            break
        before = progress.sample(middle).q[:, 0] < x
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.unique(np.concatenate([progress.breaks, high]))

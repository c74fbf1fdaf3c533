"""`Hand`: a simple operator, who pulls the handle along an intended way.

    F = K (x_wanted(t) − x) + D (ẋ_wanted(t) − ẋ)

A relaxed human arm has a few hundred N/m and some 10 N s/m; it gives way to what it feels, and so
closes the loop a bilateral scheme has to be stable in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.teleop.bilateral.scheme import Array, positive
from brazo.trajectory import Trajectory, quintic_via_points


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """Stiffness (N/m) and damping (N s/m) towards a way (3 numbers over time, m from the start)."""

    way: Trajectory
    stiffness: float = 300.0
    damping: float = 20.0

    def __post_init__(self) -> None:
        if self.way.n != 3:
            raise BrazoError(f"the way of a hand has 3 numbers (x, y, z), not {self.way.n}")
        positive(self.stiffness, "stiffness", zero=True)
        positive(self.damping, "damping", zero=True)

    def wanted(self, t: float) -> tuple[Array, Array]:
        """Place and speed (3,) intended at t."""
        sample = self.way.sample(t)
        return sample.q, sample.qd

    def force(self, t: float, x: Array, v: Array) -> Array:
        """The pull (3,) on a handle at x that moves with v."""
        return self.pull(*self.wanted(t), x, v)

    def pull(self, goal: Array, speed: Array, x: Array, v: Array) -> Array:
        """The pull (3,) towards a goal that moves with a speed."""
        return self.stiffness * (goal - x) + self.damping * (speed - v)


def strokes(points: Any) -> Trajectory:
    """A way through (t, x, y, z) rows, at rest at each of them."""
    try:
        rows = np.array(points, dtype=float)
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if rows.ndim != 2 or rows.shape[1] != 4 or len(rows) < 2:
        raise BrazoError("a way is at least two rows of t (s), x, y, z (m)")
    rest = np.zeros((len(rows), 3))
    return quintic_via_points(rows[:, 0], rows[:, 1:], rest, rest)

"""`Hand`: operator model that pulls the master handle along a reference trajectory.

    F = K (x_wanted(t) − x) + D (ẋ_wanted(t) − ẋ)

F is the force on the handle, x its position and x_wanted the reference position.  K is the
stiffness of the operator's arm and D its damping.

A relaxed human arm has a stiffness of a few hundred N/m and a damping of about 10 N s/m.  The arm
yields to the reflected force, which closes a control loop through operator and link.  A bilateral
scheme must be stable in this loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.teleop.bilateral.scheme import Array
from brazo.trajectory import Trajectory, quintic_via_points


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """Operator model: a spring (N/m) and a damper (N s/m) pull the handle along a trajectory.

    The trajectory has the coordinates x, y and z (m), relative to the handle's start position.
    """

    trajectory: Trajectory
    stiffness: float = 300.0
    damping: float = 20.0

    def __post_init__(self) -> None:
        if self.trajectory.n != 3:
            raise BrazoError(
                f"trajectory has {self.trajectory.n} coordinates; it must have 3 (x, y, z)"
            )
        positive(self.stiffness, "stiffness", zero=True)
        positive(self.damping, "damping", zero=True)

    def wanted(self, t: float) -> tuple[Array, Array]:
        """Return the reference position (3,) and velocity (3,) at time t (s)."""
        sample = self.trajectory.sample(t)
        return sample.q, sample.qd

    def force(self, t: float, x: Array, v: Array) -> Array:
        """Return the force (3,), N, on the handle at time t (s).

        x (3,), m, is the position of the handle, relative to its start position, and v (3,), m/s,
        is its velocity.
        """
        return self.pull(*self.wanted(t), x, v)

    def pull(self, goal: Array, speed: Array, x: Array, v: Array) -> Array:
        """Return the force (3,), N, that pulls a handle from x towards `goal`.

        `speed` (3,) is the velocity of `goal`, and v (3,) is the velocity of the handle, in m/s.
        """
        return self.stiffness * (goal - x) + self.damping * (speed - v)


def strokes(points: Any) -> Trajectory:
    """Return a trajectory that stops at each of the points (t, x, y, z), in s and m."""
    try:
        rows = np.array(points, dtype=float)
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if rows.ndim != 2 or rows.shape[1] != 4 or len(rows) < 2:
        raise BrazoError("strokes: expected at least two rows of t (s), x, y, z (m)")
    rest = np.zeros((len(rows), 3))
    return quintic_via_points(rows[:, 0], rows[:, 1:], rest, rest)

"""Tool orientation along a path: constant, interpolated, or following the path.

Each class computes three functions of the progress x: the rotation R(x) of the tool in the base
frame, the angular rate ω(x) per unit of progress (dR/dx = [ω]× R), and dω/dx.

    Constant            R is constant
    Between             the shortest rotation from R₀ to R₁, linear in x (slerp):
                        R = exp(x [φ]×) R₀, where φ is the rotation vector from R₀ to R₁
    AlongPath           the tool's x axis along the path, its z axis as close as possible to
                        `approach`
    Radial              R = Rot(z, azimuth of the point) R₀: the tool rotates with the arm, which
                        is feasible for an arm with five joints
    ThroughRotations    interpolates rotations at given values of x.  Between two of them, the
                        rotation progresses as 10 y³ − 15 y⁴ + 6 y⁵, where y goes from 0 to 1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec, rotvec_from_matrix
from brazo.trajectory.reading import direction, rotation, vector

Array = np.ndarray
Turn = tuple[Array, Array, Array]  # R (m, 3, 3), ω (m, 3), dω/dx (m, 3)

DOWN = np.diag([1.0, -1.0, -1.0])  # tool z down, tool x along the base's x
DOWN.flags.writeable = False


class ToolOrientation(ABC):
    """Base class of tool orientations along a curve."""

    @abstractmethod
    def at(self, x: Array, p: Array) -> Turn:
        """Return R, ω and dω/dx at progress x (m,).

        p (4, m, 3) has the points of the curve and their first three derivatives.
        """


class Constant(ToolOrientation):
    """Constant orientation, given as a rotation matrix (3, 3)."""

    def __init__(self, R: Any) -> None:
        self.R = rotation(R, "orientation")

    def at(self, x: Array, p: Array) -> Turn:
        zero = np.zeros((len(x), 3))
        return np.broadcast_to(self.R, (len(x), 3, 3)), zero, zero


class Between(ToolOrientation):
    """Shortest rotation between two orientations, linear in the progress (slerp)."""

    def __init__(self, R0: Any, R1: Any) -> None:
        self.R0 = rotation(R0, "first orientation")
        R1 = rotation(R1, "last orientation")
        self.turn = rotvec_from_matrix(R1 @ self.R0.T)

    @property
    def angle(self) -> float:
        """Angle (rad) of the rotation between the two orientations, from 0 to π."""
        return float(np.linalg.norm(self.turn))

    def at(self, x: Array, p: Array) -> Turn:
        R = matrix_from_rotvec(x[:, None] * self.turn) @ self.R0
        return R, np.broadcast_to(self.turn, (len(x), 3)), np.zeros((len(x), 3))


class AlongPath(ToolOrientation):
    """Orientation with the tool x axis along the tangent of the path.

    The z axis is as close as possible to `approach`.
    """

    def __init__(self, approach: Any = (0.0, 0.0, -1.0)) -> None:
        self.approach = direction(approach, "approach")

    def at(self, x: Array, p: Array) -> Turn:
        if (np.linalg.norm(p[1], axis=-1) < 1e-12).any():
            raise BrazoError(
                "the path has a point with zero velocity, where it has no tangent; use a constant "
                "orientation"
            )
        e = _unit(p[1], p[2], p[3])
        across = np.cross(self.approach, np.stack(e))
        if (np.linalg.norm(across[0], axis=-1) < 1e-6).any():
            raise BrazoError(
                "the path is parallel to the approach direction, so the rotation about it is "
                "undefined; give another approach or another orientation"
            )
        side = _unit(*across)
        up = [
            np.cross(e[0], side[0]),
            np.cross(e[1], side[0]) + np.cross(e[0], side[1]),
            np.cross(e[2], side[0]) + 2.0 * np.cross(e[1], side[1]) + np.cross(e[0], side[2]),
        ]
        axes = [e, side, up]
        R = np.stack([axis[0] for axis in axes], axis=-1)
        # eᵢ' = ω × eᵢ for all three axes gives 2 ω = Σ eᵢ × eᵢ'.
        w = 0.5 * sum(np.cross(axis[0], axis[1]) for axis in axes)
        w1 = 0.5 * sum(np.cross(axis[0], axis[2]) for axis in axes)
        return R, np.asarray(w), np.asarray(w1)


class Radial(ToolOrientation):
    """Orientation that rotates about z with the azimuth of the point, as seen from `centre`.

    R0 (3, 3) is the orientation at points that are in the direction of the base x axis from
    `centre`.
    """

    def __init__(self, R0: Any = DOWN, centre: Any = (0.0, 0.0, 0.0)) -> None:
        self.R0 = rotation(R0, "orientation")
        self.centre = vector(centre, 3, "centre")

    def at(self, x: Array, p: Array) -> Turn:
        X, Y = (p[0, :, i] - self.centre[i] for i in (0, 1))
        square = X * X + Y * Y
        if (square < 1e-12).any():
            raise BrazoError(
                f"the path passes through the vertical axis at x = {self.centre[0]:g} m, y = "
                f"{self.centre[1]:g} m, where a Radial orientation is undefined; move the path"
            )
        area = X * p[1, :, 1] - Y * p[1, :, 0]
        area1 = X * p[2, :, 1] - Y * p[2, :, 0]
        square1 = 2.0 * (X * p[1, :, 0] + Y * p[1, :, 1])
        azimuth = np.zeros((3, len(x), 3))
        azimuth[0, :, 2] = np.arctan2(Y, X)
        azimuth[1, :, 2] = area / square
        azimuth[2, :, 2] = (area1 - area * square1 / square) / square
        return matrix_from_rotvec(azimuth[0]) @ self.R0, azimuth[1], azimuth[2]


class ThroughRotations(ToolOrientation):
    """Orientation through rotations (k, 3, 3) at progress (k,), with zero rate at each of them."""

    def __init__(self, x: Array, R: Array) -> None:
        self.x = x
        self.turns = [Between(a, b) for a, b in pairwise(R)]

    def at(self, x: Array, p: Array) -> Turn:
        which = np.clip(np.searchsorted(self.x[1:-1], x, side="right"), 0, len(self.turns) - 1)
        R, w, w1 = np.empty((len(x), 3, 3)), np.empty((len(x), 3)), np.empty((len(x), 3))
        for k, turn in enumerate(self.turns):
            rows = which == k
            width = self.x[k + 1] - self.x[k]
            y = np.clip((x[rows] - self.x[k]) / width, 0.0, 1.0)[:, None]
            share = y**3 * (10.0 - 15.0 * y + 6.0 * y**2)
            R[rows] = turn.at(share[:, 0], p)[0]
            w[rows] = turn.turn * (30.0 * y**2 * (1.0 - y) ** 2) / width
            w1[rows] = turn.turn * (60.0 * y * (1.0 - y) * (1.0 - 2.0 * y)) / width**2
        return R, w, w1


@dataclass(frozen=True, eq=False)
class FunctionOrientation(ToolOrientation):
    """Orientation from a function of x (m,) that returns R (m, 3, 3), dR/dx and d²R/dx²."""

    function: Callable[[Array], tuple[Array, Array, Array]]

    def at(self, x: Array, p: Array) -> Turn:
        R, R1, R2 = self.function(x)
        back = np.swapaxes(R, -1, -2)
        # [ω]× = R' Rᵀ, and the skew part of R'' Rᵀ is [ω']×.
        return R, _vee(R1 @ back), _vee(R2 @ back)


def read_orientation(value: Any) -> ToolOrientation:
    """Return an orientation unchanged; a rotation matrix becomes a constant orientation."""
    return value if isinstance(value, ToolOrientation) else Constant(value)


def _unit(v: Array, v1: Array, v2: Array) -> tuple[Array, Array, Array]:
    """Unit vector along v and its first two derivatives; v1 and v2 are the derivatives of v."""
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    length1 = np.sum(v * v1, axis=-1, keepdims=True) / length
    squares = np.sum(v1 * v1 + v * v2, axis=-1, keepdims=True)
    length2 = (squares - length1**2) / length
    e = v / length
    e1 = (v1 - e * length1) / length
    e2 = (v2 - 2.0 * e1 * length1 - e * length2) / length
    return e, e1, e2


def _vee(M: Array) -> Array:
    """Vector of the skew-symmetric part of matrices (..., 3, 3)."""
    return 0.5 * np.stack(
        [
            M[..., 2, 1] - M[..., 1, 2],
            M[..., 0, 2] - M[..., 2, 0],
            M[..., 1, 0] - M[..., 0, 1],
        ],
        axis=-1,
    )

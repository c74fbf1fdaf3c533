"""Single-pose kinematics of a Delta robot: the formulas of `closed_form.delta` with plain floats.

A control loop evaluates one pose at a time. For arrays of three elements the overhead of NumPy is
much larger than the arithmetic, so this module does not use NumPy. The functions return None if no
pose exists or the pose is singular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from brazo.kinematics.closed_form.delta import DeltaShape

Vector = tuple[float, float, float]
_EDGE = 1e-12  # as in `closed_form.delta`


class DeltaPoint:
    """Forward kinematics and Jacobian of one Delta robot."""

    __slots__ = ("_L1", "_gap", "_reach2", "_turns")

    def __init__(self, shape: DeltaShape) -> None:
        self._gap, self._L1, self._reach2 = shape.R - shape.r, shape.L1, shape.L2**2
        self._turns = [(math.cos(phi), math.sin(phi)) for phi in shape.azimuths]

    def place(self, theta: Sequence[float]) -> Vector | None:
        """Return the lower of the two possible platform centres P (m) at arm angles θ (rad).

        Return None if the rods cannot be connected to the platform at these angles.
        """
        first, second, third = self._centres(theta)
        a, b = _minus(second, first), _minus(third, first)
        normal = _cross(a, b)
        area2 = _dot(normal, normal)
        if not area2 > 0.0:
            return None
        u, v, aa, bb = _cross(b, normal), _cross(normal, a), _dot(a, a), _dot(b, b)
        x, y, z = ((aa * p + bb * q) / (2.0 * area2) for p, q in zip(u, v, strict=True))
        height2 = self._reach2 - (x * x + y * y + z * z)
        if height2 < -_EDGE * self._reach2:
            return None
        away = math.sqrt(max(height2, 0.0) / area2)
        if normal[2] > 0.0:
            away = -away
        return (
            first[0] + x + away * normal[0],
            first[1] + y + away * normal[1],
            first[2] + z + away * normal[2],
        )

    def jacobian(self, theta: Sequence[float], P: Vector) -> list[list[float]] | None:
        """Return the rows of dP/dθ (m/rad) with the platform at P; None if the pose is singular."""
        u = [_minus(P, centre) for centre in self._centres(theta)]
        columns = [_cross(u[i - 2], u[i - 1]) for i in range(3)]
        det = _dot(u[0], columns[0])
        if det == 0.0:
            return None
        shares = []
        for angle, (c, s), rod in zip(theta, self._turns, u, strict=True):
            down, up = -self._L1 * math.sin(angle), self._L1 * math.cos(angle)
            shares.append((rod[0] * down * c + rod[1] * down * s + rod[2] * up) / det)
        return [[columns[j][i] * shares[j] for j in range(3)] for i in range(3)]

    def _centres(self, theta: Sequence[float]) -> list[Vector]:
        found = []
        for angle, (c, s) in zip(theta, self._turns, strict=True):
            out = self._gap + self._L1 * math.cos(angle)
            found.append((out * c, out * s, self._L1 * math.sin(angle)))
        return found


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )

"""Transforms between the frames of a link and its parent, by planar rotations.

Every constant rotation can be written as Rz(φ) Rx(α) Rz(ψ), and ψ is added to the angle of a joint
about z:

    R = Rz(φ) · Rx(α) · Rz(θ),      θ = ψ + joint angle      (prismatic joints: θ = ψ)

Transforming a vector takes three planar rotations of at most four products each.  φ is zero for D-H
frames, and α is often ±90°.  Rotations by 0 or ±90° need no operations in compiled code, so three
planar rotations are usually cheaper than the nine products of a matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.ring import sincos
from brazo.dynamics.vectors import add

__all__ = ["JointTransform", "Turn", "euler_turns", "joint_transform"]

Scalar = Any
Vector = list[Scalar]
Turn = tuple[Scalar, Scalar]  # cosine, sine

_PARALLEL = 1e-12  # a sine below which the direction is not determined


@dataclass(frozen=True, slots=True)
class JointTransform:
    """Pose of a link's frame in its parent's frame: the angles φ, α, θ and the origin p."""

    phi: Turn
    alpha: Turn
    theta: Turn
    p: Vector

    def to_parent(self, v: Vector) -> Vector:
        """Express a vector, given in the link's axes, in the parent's axes."""
        x, y, z = v
        x, y = _turn(self.theta, x, y)
        y, z = _turn(self.alpha, y, z)
        x, y = _turn(self.phi, x, y)
        return [x, y, z]

    def to_link(self, v: Vector) -> Vector:
        """Express a vector, given in the parent's axes, in the link's axes."""
        x, y, z = v
        x, y = _turn_back(self.phi, x, y)
        y, z = _turn_back(self.alpha, y, z)
        x, y = _turn_back(self.theta, x, y)
        return [x, y, z]

    def matrix_to_parent(self, S: Vector) -> Vector:
        """Rotated symmetric matrix R S Rᵀ; S and the result are given as xx, xy, xz, yy, yz, zz."""
        xx, xy, xz, yy, yz, zz = S
        xx, xy, yy = _turn_matrix(self.theta, xx, xy, yy)
        xz, yz = _turn(self.theta, xz, yz)
        yy, yz, zz = _turn_matrix(self.alpha, yy, yz, zz)
        xy, xz = _turn(self.alpha, xy, xz)
        xx, xy, yy = _turn_matrix(self.phi, xx, xy, yy)
        xz, yz = _turn(self.phi, xz, yz)
        return [xx, xy, xz, yy, yz, zz]

    def pose(self) -> tuple[Vector, Vector]:
        """Rotation matrix (nine scalars, row by row) and origin."""
        columns = [self.to_parent(axis) for axis in np.eye(3).tolist()]
        return [columns[j][i] for i in range(3) for j in range(3)], self.p


def joint_transform(K: np.ndarray, kind: str, value: Scalar) -> JointTransform:
    """Transform of a joint: the constant transform K, then the joint motion by `value`.

    The motion is a rotation about z (rad) or a translation along z (m).
    """
    phi, alpha, psi = euler_turns(K[:3, :3])
    p: Vector = K[:3, 3].tolist()
    if kind == "prismatic":
        axis = K[:3, 2].tolist()
        return JointTransform(phi, alpha, psi, add(p, [x * value for x in axis]))
    if 0.0 in psi:  # a rotation by 90° swaps sine and cosine, without rounding
        s, c = sincos(value)
        theta = psi[0] * c - psi[1] * s, psi[1] * c + psi[0] * s
    else:
        s, c = sincos(value + math.atan2(psi[1], psi[0]))
        theta = c, s
    return JointTransform(phi, alpha, theta, p)


def euler_turns(R: np.ndarray) -> tuple[Turn, Turn, Turn]:
    """Angles φ, α, ψ of R = Rz(φ) Rx(α) Rz(ψ), with −90° < φ ≤ 90°, each as (cosine, sine).

    Multiples of 90° are exact.
    """
    # Column z of R is (sφ sα, −cφ sα, cα), row z is (sα sψ, sα cψ, cα).
    x, y, z = R[:, 2].tolist()
    sine = math.hypot(x, y)
    if sine < _PARALLEL:
        flip = math.copysign(1.0, z)
        return (1.0, 0.0), (flip, 0.0), (float(R[0, 0]), -float(R[0, 1]))
    if y > 0.0 or (y == 0.0 and x < 0.0):
        sine = -sine
    return (-y / sine, x / sine), (z, sine), (float(R[2, 1]) / sine, float(R[2, 0]) / sine)


def _turn(by: Turn, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    c, s = by
    return c * x - s * y, s * x + c * y


def _turn_back(by: Turn, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    c, s = by
    return c * x + s * y, c * y - s * x


def _turn_matrix(by: Turn, xx: Scalar, xy: Scalar, yy: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Rotate a symmetric 2x2 matrix with 10 operations instead of 21."""
    c, s = by
    if type(s) is float and s == 0.0:
        return xx, xy, yy
    if type(c) is float and c == 0.0:
        return yy, -xy, xx
    w = s * (xx - yy) + c * (2.0 * xy)
    moved = s * w
    return xx - moved, c * w - xy, yy + moved

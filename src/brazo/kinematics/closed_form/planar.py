"""Planar kinematics of joints with parallel axes, with points of the plane as complex numbers.

In the plane perpendicular to the direction a of the axes, a point is a complex number, and a
rotation by ψ about a multiplies it by e^{iψ}. In this module a *turn* is the angle by which a joint
rotates about a (the joint value, with the opposite sign if the joint axis is −a). Two links are the
complex numbers l₁, l₂ at q = 0, with lengths L₁, L₂. After turns α and β of their joints, the end
of the second link is at

    W = e^{iα} (l₁ + e^{iβ} l₂),        |W|² = L₁² + L₂² + 2 L₁ L₂ cos bend,   bend = β + arg l₂/l₁.

The half-angle form tan²(bend/2) = ((L₁+L₂)² − |W|²) / (|W|² − (L₁−L₂)²) solves this equation
without loss of precision where the arm is stretched or folded.

An arm with few joints cannot reach every orientation. `nearest_turn` and `nearest_two_turns` return
the rotation with the smallest angle to a target rotation R: about an axis a, or about b and then
about a (a ⊥ b). This rotation maximises the dot product of its unit quaternion with that of R. For
one rotation, by ψ, the product is linear in (cos(ψ/2), sin(ψ/2)). For two rotations, by θ about b
and ψ about a, it is bilinear in (cos(ψ/2), sin(ψ/2)) and (cos(θ/2), sin(θ/2)). With c = a × b the
angles are the directions of the plane vectors

    about a:            ψ: (tr R − a·R a, a·vee R)
    about b, then a:    ψ: (b·R b, c·R b),    θ: (a·R a, a·R c).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.ring import maximum, sqrt, where
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import ACCEPTED, GEOMETRY_TOLERANCE
from brazo.kinematics.closed_form.pairs import (
    Pair,
    Vector,
    angle_of,
    back,
    length,
    select,
    sum_of,
    times,
    unit,
)

Array = np.ndarray
Scalar = Any


@dataclass(frozen=True, eq=False)
class Plane:
    """Plane perpendicular to the unit vector a, with real axis `u` and imaginary axis `v`.

    u × v = a.
    """

    a: Array
    u: Array
    v: Array

    @staticmethod
    def across(a: Array, real: Array | None = None) -> Plane:
        """Make the plane perpendicular to the unit vector a; u is the projection of `real`.

        If `real` is not given, u is arbitrary.
        """
        u = np.eye(3)[np.argmin(np.abs(a))] if real is None else real
        u = u - (u @ a) * a
        u = u / np.linalg.norm(u)
        return Plane(a, u, np.cross(a, u))

    def flat(self, x: Array) -> Array:
        """Project points (..., 3) onto the plane; return them as complex numbers (...)."""
        return x @ self.u + 1j * (x @ self.v)

    def pair(self, x: Vector) -> Pair:
        """Return the real and imaginary part of a projected point (three scalars)."""
        return sum_of(self.u.tolist(), x), sum_of(self.v.tolist(), x)

    def height(self, x: Vector) -> Scalar:
        """Return the component of a vector along a, the normal of the plane."""
        return sum_of(self.a.tolist(), x)


@dataclass(frozen=True, eq=False)
class ParallelJoints:
    """Geometry at q = 0 of revolute joints and one prismatic joint with parallel axes."""

    plane: Plane
    revolute: tuple[int, ...]  # joint indices, base to tool
    turn_signs: Array  # ±1: same direction as the first revolute axis, or opposite
    places: Array  # (revolute,) complex: intersections of the axes with the plane
    prismatic: int  # joint index
    slide_sign: float  # ±1, as in `turn_signs`

    @staticmethod
    def of(chain: Chain, joints: int) -> ParallelJoints | str:
        """Return the geometry of the first `joints` joints of a chain.

        They must be parallel, and exactly one of them prismatic. Otherwise the result is a text
        with the reason.
        """
        kinds = chain.kinds[:joints]
        directions, points = chain.home_axes
        if kinds.count("prismatic") != 1:
            found = kinds.count("prismatic")
            return f"its first {joints} joints must include one prismatic joint, not {found}"
        revolute = tuple(i for i, kind in enumerate(kinds) if kind == "revolute")
        a = directions[revolute[0]]
        for i in range(joints):
            tilt = np.linalg.norm(np.cross(a, directions[i]))
            if tilt > GEOMETRY_TOLERANCE:
                angle = np.rad2deg(np.arcsin(min(tilt, 1)))
                return f"axis {i + 1} is tilted by {angle:.4g}° to axis {revolute[0] + 1}"
        plane = Plane.across(a)
        prismatic = kinds.index("prismatic")
        signs = np.sign(directions[:joints] @ a)
        places = plane.flat(points[list(revolute)])
        return ParallelJoints(
            plane, revolute, signs[list(revolute)], places, prismatic, float(signs[prismatic])
        )

    @property
    def links(self) -> Array:
        """Complex vectors (m) from each revolute axis to the next at q = 0."""
        return np.diff(self.places)

    def aim(self, p: Vector, psi: Pair, tool: Vector) -> tuple[Pair, Scalar]:
        """Return the position of the last revolute axis relative to the first, and the slide (m).

        The position is a point of the plane. The slide is the displacement of the prismatic joint
        along a, the direction of the axes. p is the target position, psi the sum of the rotations
        of all joints about a, and tool the tool position at q = 0.
        """
        last, first = self.places[-1], self.places[0]
        target, point = self.plane.pair(p), self.plane.pair(tool)
        x, y = times(psi, (point[0] - last.real, point[1] - last.imag))
        W = target[0] - x - first.real, target[1] - y - first.imag
        return W, self.plane.height([a - b for a, b in zip(p, tool, strict=True)])

    def fill(self, n: int, turns: list[Scalar], slide: Scalar) -> list[Scalar]:
        """Return n joint values from the rotations and the displacement of the parallel joints.

        `turns` are the rotations (rad) of the revolute joints about a, the direction of the axes.
        `slide` is the displacement (m) of the prismatic joint along a. Other joints are 0.
        """
        q: list[Scalar] = [0.0] * n
        for joint, sign, turn in zip(self.revolute, self.turn_signs, turns, strict=True):
            q[joint] = turn if sign > 0 else -turn
        q[self.prismatic] = slide if self.slide_sign > 0 else -slide
        return q

    def first_turn(self, q: Vector) -> Scalar:
        """Return the rotation of the first revolute joint about a at joint values q (rad)."""
        return self.turn_signs[0].item() * q[self.revolute[0]]

    def turns(self, q: Array) -> list[Array]:
        """Return the rotations (...) of all revolute joints about a at joint values q (..., n)."""
        return [s * q[..., j] for j, s in zip(self.revolute, self.turn_signs, strict=True)]


def bend_of(l1: complex, l2: complex, turn: Array) -> Array:
    """Return the angle (rad, −π..π) from link l1 to link l2.

    l1 and l2 are the link vectors at q = 0. The joint between them has rotated by `turn` (rad).
    """
    return np.angle(np.exp(1j * turn) * (l2 / l1))


def two_links(
    l1: complex, l2: complex, W: Pair, free: Pair = (1.0, 0.0)
) -> list[tuple[Pair, Pair]]:
    """Return the two solutions (α, β) of e^{iα}(l1 + e^{iβ} l2) = W.

    α and β are the rotations of two joints, as (cos, sin). l1 and l2 are the link vectors at q = 0.
    The first solution is bent to the left, the second to the right. If W is out of reach, the arm
    is stretched (or folded) towards W. If W is 0, α is `free`.
    """
    L1, L2, rho = abs(l1), abs(l2), length(*W)
    stretch = maximum((L1 + L2 - rho) * (L1 + L2 + rho), 0.0)
    fold = maximum((rho - abs(L1 - L2)) * (rho + abs(L1 - L2)), 0.0)
    scale = 1.0 / (fold + stretch)
    bend = (fold - stretch) * scale, 2.0 * sqrt(fold * stretch) * scale
    own = (l2 / l1) / abs(l2 / l1)
    somewhere = rho - 1e-12 * (L1 + L2)
    found: list[tuple[Pair, Pair]] = []
    reached: Scalar = None
    for way in (bend, back(bend)):
        beta = times(way, (own.real, -own.imag))
        x, y = times(beta, (l2.real, l2.imag))
        x, y = x + l1.real, y + l1.imag
        if reached is None:
            reached = rho * length(x, y)  # the same for both
        alpha = unit(*times(W, (x, -y)), r=reached)
        found.append((select(somewhere, alpha, free), beta))
    return found


def reach_of(l1: complex, l2: complex) -> tuple[float, float]:
    """Return the min and max distance (m) of the end of two links from their first axis."""
    return float(abs(abs(l1) - abs(l2))), float(abs(l1) + abs(l2))


def within(distance: Scalar, reach: tuple[float, float]) -> Scalar:
    """Return a value that is ≥ 0 where reach[0] ≤ distance ≤ reach[1] up to rounding."""
    slack = ACCEPTED * reach[1]
    return where(distance - (reach[0] - slack), (reach[1] + slack) - distance, -1.0)


def headed(psi: Pair, *turns: Pair) -> Scalar:
    """Return the angle ψ minus the sum of `turns`, in (−π, π]; the arguments are (cos, sin)."""
    for turn in turns:
        psi = times(psi, back(turn))
    return angle_of(psi)


def nearest_turn(R: Vector, a: Array) -> Pair:
    """Return the angle ψ, as (cos, sin), of the rotation about a that is nearest to R.

    a is a unit vector. R has nine scalars, row by row.
    """
    trace = R[0] + R[4] + R[8]
    vee = [R[7] - R[5], R[2] - R[6], R[3] - R[1]]
    return unit(trace - through(a, R, a), sum_of(a.tolist(), vee))


def nearest_two_turns(R: Vector, a: Array, b: Array) -> tuple[Pair, Pair]:
    """Return (ψ, θ) for which the rotation by θ about b, then by ψ about a, is nearest to R.

    The angles are (cos, sin). The unit vectors a and b must be perpendicular. If all values of an
    angle give rotations equally near to R, the angle is exactly 0.
    """
    c = np.cross(a, b)
    psi = unit(through(b, R, b), through(c, R, b), negligible=1e-12)
    return psi, unit(through(a, R, a), through(a, R, c), negligible=1e-12)


def through(a: Array, R: Vector, b: Array) -> Scalar:
    """Return a · R b for constant vectors a and b; R has nine scalars."""
    column = [sum_of(b.tolist(), R[3 * i : 3 * i + 3]) for i in range(3)]
    return sum_of(a.tolist(), column)

"""Joints with parallel axes, projected along their axes: the plane as complex numbers.

Looking down a direction a, a point is a complex number and a turn by ψ about a multiplies by
e^{iψ}. An arm of two links l₁, l₂ (complex, at q = 0) whose joints turn by α and
then β reaches

    W = e^{iα} (l₁ + e^{iβ} l₂),        |W|² = L₁² + L₂² + 2 L₁ L₂ cos bend,   bend = β + arg l₂/l₁,

which the half-angle form tan²(bend/2) = ((L₁+L₂)² − |W|²) / (|W|² − (L₁−L₂)²) solves without
losing digits at the stretched and at the folded arm.

An arm with few joints cannot reach every orientation.  The rotation about a given axis, or about
two perpendicular axes one after the other, that is nearest (by angle) to a target R is a maximum of
the product of unit quaternions: linear in (cos ψ/2, sin ψ/2), or bilinear in that and (cos θ/2, sin
θ/2).  Its angles are those of entries of R: with c = a × b,

    about a:            ψ of (tr R − a·R a, a·vee R)
    about b, then a:    ψ of (b·R b, c·R b),    θ of (a·R a, a·R c).
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
    """The plane perpendicular to a direction: real axis `u`, imaginary axis `v`, u × v = a."""

    a: Array
    u: Array
    v: Array

    @staticmethod
    def across(a: Array, real: Array | None = None) -> Plane:
        """The plane perpendicular to unit vector a, with the real axis nearest to `real` if
        given."""
        u = np.eye(3)[np.argmin(np.abs(a))] if real is None else real
        u = u - (u @ a) * a
        u = u / np.linalg.norm(u)
        return Plane(a, u, np.cross(a, u))

    def flat(self, x: Array) -> Array:
        """Points (..., 3) as complex numbers (...)."""
        return x @ self.u + 1j * (x @ self.v)

    def pair(self, x: Vector) -> Pair:
        """A point of three scalars as real and imaginary part."""
        return sum_of(self.u.tolist(), x), sum_of(self.v.tolist(), x)

    def height(self, x: Vector) -> Scalar:
        return sum_of(self.a.tolist(), x)


@dataclass(frozen=True, eq=False)
class ParallelJoints:
    """Revolute joints and one prismatic joint, all along one direction, at q = 0."""

    plane: Plane
    revolute: tuple[int, ...]  # joint indices, base to tool
    turn_signs: Array  # ±1, whether each turns with or against the first
    places: Array  # (revolute,) complex: where the axes pierce the plane
    prismatic: int
    slide_sign: float

    @staticmethod
    def of(chain: Chain, joints: int) -> ParallelJoints | str:
        """The first `joints` joints of a chain, or the reason why they are not all parallel."""
        kinds = chain.kinds[:joints]
        directions, points = chain.home_axes
        if kinds.count("prismatic") != 1:
            return f"{kinds.count('prismatic')} of its first {joints} joints are prismatic, not one"
        revolute = tuple(i for i, kind in enumerate(kinds) if kind == "revolute")
        a = directions[revolute[0]]
        for i in range(joints):
            tilt = np.linalg.norm(np.cross(a, directions[i]))
            if tilt > GEOMETRY_TOLERANCE:
                return f"axis {i + 1} is {np.rad2deg(np.arcsin(min(tilt, 1))):.4g}° off the others"
        plane = Plane.across(a)
        prismatic = kinds.index("prismatic")
        signs = np.sign(directions[:joints] @ a)
        places = plane.flat(points[list(revolute)])
        return ParallelJoints(
            plane, revolute, signs[list(revolute)], places, prismatic, float(signs[prismatic])
        )

    @property
    def links(self) -> Array:
        """(revolute − 1,) complex: from each axis to the next at q = 0."""
        return np.diff(self.places)

    def aim(self, p: Vector, psi: Pair, tool: Vector) -> tuple[Pair, Scalar]:
        """Position of the last revolute axis relative to the first, and the slide.

        p is the target's position, psi the heading after all turns, tool the tool point at q = 0.
        """
        last, first = self.places[-1], self.places[0]
        target, point = self.plane.pair(p), self.plane.pair(tool)
        x, y = times(psi, (point[0] - last.real, point[1] - last.imag))
        W = target[0] - x - first.real, target[1] - y - first.imag
        return W, self.plane.height([a - b for a, b in zip(p, tool, strict=True)])

    def fill(self, n: int, turns: list[Scalar], slide: Scalar) -> list[Scalar]:
        """Joint values from the turns about a and the slide along it."""
        q: list[Scalar] = [0.0] * n
        for joint, sign, turn in zip(self.revolute, self.turn_signs, turns, strict=True):
            q[joint] = turn if sign > 0 else -turn
        q[self.prismatic] = slide if self.slide_sign > 0 else -slide
        return q

    def first_turn(self, q: Vector) -> Scalar:
        """The turn of the first joint about a, of joint values."""
        return self.turn_signs[0].item() * q[self.revolute[0]]

    def turns(self, q: Array) -> list[Array]:
        """The turns (...) about a of joint values (..., n)."""
        return [s * q[..., j] for j, s in zip(self.revolute, self.turn_signs, strict=True)]


def bend_of(l1: complex, l2: complex, turn: Array) -> Array:
    """Angle (rad, −π..π) of link l2 relative to l1 at a value of the joint between them."""
    return np.angle(np.exp(1j * turn) * (l2 / l1))


def two_links(
    l1: complex, l2: complex, W: Pair, free: Pair = (1.0, 0.0)
) -> list[tuple[Pair, Pair]]:
    """Turns α, β with e^{iα}(l1 + e^{iβ} l2) = W: bent to the left, then right.

    Out of reach the arm stretches (or folds) towards W.  With W at the shoulder α is `free`.
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
    """Min and max distance (m) reached by two links."""
    return float(abs(abs(l1) - abs(l2))), float(abs(l1) + abs(l2))


def within(distance: Scalar, reach: tuple[float, float]) -> Scalar:
    """A value that is ≥ 0 where a distance is inside a reach, up to rounding."""
    slack = ACCEPTED * reach[1]
    return where(distance - (reach[0] - slack), (reach[1] + slack) - distance, -1.0)


def headed(psi: Pair, *turns: Pair) -> Scalar:
    """A heading minus the sum of some angles."""
    for turn in turns:
        psi = times(psi, back(turn))
    return angle_of(psi)


def nearest_turn(R: Vector, a: Array) -> Pair:
    """The ψ whose turn about unit vector a is nearest to a rotation R (nine scalars)."""
    trace = R[0] + R[4] + R[8]
    vee = [R[7] - R[5], R[2] - R[6], R[3] - R[1]]
    return unit(trace - through(a, R, a), sum_of(a.tolist(), vee))


def nearest_two_turns(R: Vector, a: Array, b: Array) -> tuple[Pair, Pair]:
    """The ψ, θ whose turn by θ about b, then by ψ about a, is nearest to R; a ⊥ b.

    An angle is exactly 0 where all its values are equally near.
    """
    c = np.cross(a, b)
    psi = unit(through(b, R, b), through(c, R, b), negligible=1e-12)
    return psi, unit(through(a, R, a), through(a, R, c), negligible=1e-12)


def through(a: Array, R: Vector, b: Array) -> Scalar:
    """a · R b for constant vectors a, b."""
    column = [sum_of(b.tolist(), R[3 * i : 3 * i + 3]) for i in range(3)]
    return sum_of(a.tolist(), column)

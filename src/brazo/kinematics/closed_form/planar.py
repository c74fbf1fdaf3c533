"""Joints with parallel axes, seen along their axes: the plane as complex numbers.

Looking down a direction a, a point is a complex number and a turn by ψ about a multiplies by
e^{iψ}. An arm of two links l₁, l₂ (complex, as they lie at q = 0) whose joints turn by α and
then β reaches

    W = e^{iα} (l₁ + e^{iβ} l₂),        |W|² = L₁² + L₂² + 2 L₁ L₂ cos bend,   bend = β + arg l₂/l₁,

which the half-angle form tan²(bend/2) = ((L₁+L₂)² − |W|²) / (|W|² − (L₁−L₂)²) solves without
losing digits at the stretched and at the folded arm.

Few joints cannot turn a tool any way.  The rotation about a given axis, or about two square axes
one after the other, that is nearest (by angle) to a wanted one is a maximum of the product of
unit quaternions: linear in (cos ψ/2, sin ψ/2), or bilinear in that and (cos θ/2, sin θ/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import ACCEPTED, GEOMETRY_TOLERANCE
from brazo.kinematics.orientation import wxyz_from_matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane square to a direction: real axis `u`, imaginary axis `v`, u × v = a."""

    a: Array
    u: Array
    v: Array

    @staticmethod
    def across(a: Array, real: Array | None = None) -> Plane:
        """The plane square to unit vector a, with the real axis nearest to `real` if given."""
        u = np.eye(3)[np.argmin(np.abs(a))] if real is None else real
        u = u - (u @ a) * a
        u = u / np.linalg.norm(u)
        return Plane(a, u, np.cross(a, u))

    def flat(self, x: Array) -> Array:
        """Points (..., 3) as complex numbers (...)."""
        return x @ self.u + 1j * (x @ self.v)

    def height(self, x: Array) -> Array:
        return x @ self.a


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
        """The first `joints` joints of a chain, or what keeps them from being all parallel."""
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

    def aim(self, T: Array, psi: Array, tool: Array) -> tuple[Array, Array]:
        """Place (N,) of the last revolute axis seen from the first, and the slide (N,).

        T are targets (N, 4, 4), psi the heading after all turns, tool the tool point at q = 0.
        """
        flat, height = self.plane.flat, self.plane.height
        W = flat(T[:, :3, 3]) - np.exp(1j * psi) * (flat(tool) - self.places[-1])
        return W - self.places[0], height(T[:, :3, 3] - tool)

    def fill(self, n: int, turns: list[Array], slide: Array) -> Array:
        """Joint values (..., n) from the turns (...) about a and the slide (...) along it."""
        batch = np.broadcast_shapes(*(np.shape(turn) for turn in turns))
        q = np.zeros((*batch, n))
        for joint, sign, turn in zip(self.revolute, self.turn_signs, turns, strict=True):
            q[..., joint] = sign * turn
        q[..., self.prismatic] = self.slide_sign * slide
        return q

    def turns(self, q: Array) -> list[Array]:
        """The turns (...) about a of joint values (..., n)."""
        return [s * q[..., j] for j, s in zip(self.revolute, self.turn_signs, strict=True)]


def bend_of(l1: complex, l2: complex, turn: Array) -> Array:
    """How far (rad, −π..π) link l2 is bent against l1 when the joint between them turned."""
    return np.angle(np.exp(1j * turn) * (l2 / l1))


def two_links(l1: complex, l2: complex, W: Array, free: ArrayLike = 0.0) -> tuple[Array, Array]:
    """Turns α, β (..., 2) with e^{iα}(l1 + e^{iβ} l2) = W (...): bent to the left, then right.

    Out of reach the arm stretches (or folds) towards W.  With W at the shoulder α is `free`.
    """
    L1, L2, rho = abs(l1), abs(l2), np.abs(W)
    stretch = np.maximum((L1 + L2 - rho) * (L1 + L2 + rho), 0.0)
    fold = np.maximum((rho - abs(L1 - L2)) * (rho + abs(L1 - L2)), 0.0)
    bend = 2 * np.arctan2(np.sqrt(stretch), np.sqrt(fold))
    beta = np.stack([bend, -bend], axis=-1) - np.angle(l2 / l1)
    alpha = np.angle(W)[..., None] - np.angle(l1 + np.exp(1j * beta) * l2)
    somewhere = rho > 1e-12 * (L1 + L2)
    return np.where(somewhere[..., None], alpha, np.asarray(free)[..., None]), beta


def reach_of(l1: complex, l2: complex) -> tuple[float, float]:
    """Min and max distance (m) reached by two links."""
    return float(abs(abs(l1) - abs(l2))), float(abs(l1) + abs(l2))


def within(distance: Array | float, reach: tuple[float, float]) -> Array:
    """Whether distances are inside a reach, give or take rounding."""
    distance, slack = np.asarray(distance), ACCEPTED * reach[1]
    return (distance >= reach[0] - slack) & (distance <= reach[1] + slack)


def nearest_turn(R: Array, a: Array) -> Array:
    """The ψ (...) whose turn about unit vector a is nearest to rotations R (..., 3, 3)."""
    wxyz = wxyz_from_matrix(R)
    return 2 * np.arctan2(wxyz[..., 1:] @ a, wxyz[..., 0])


def nearest_two_turns(R: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """The ψ, θ (...) whose turn by θ about b, then by ψ about a, is nearest to R; a, b square."""
    (w, qb), (qa, qc) = quaternion_square(R, a, b)
    minus = np.arctan2(qa - qb, w + qc)
    plus = np.arctan2(qa + qb, w - qc)
    return plus + minus, plus - minus


def quaternion_square(R: Array, a: Array, b: Array) -> tuple[tuple[Array, Array], ...]:
    """The 2x2 matrix M of the product with turns about b, then a:

    cos(gap/2) = (cos ψ/2, sin ψ/2) M (cos θ/2, sin θ/2)ᵀ.
    """
    wxyz = wxyz_from_matrix(R)
    w, q = wxyz[..., 0], wxyz[..., 1:]
    return (w, q @ b), (q @ a, q @ np.cross(a, b))

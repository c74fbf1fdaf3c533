"""Rigid-body dynamics as code unrolled link by link, the fastest for robots with few joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.linear import definite_solve
from brazo.dynamics.composite import mass_matrix
from brazo.dynamics.coriolis import coriolis_matrix
from brazo.dynamics.derivatives import Slopes, inverse_slopes
from brazo.dynamics.links import Links
from brazo.dynamics.newton_euler import joint_transforms, newton_euler

__all__ = ["UnrolledDynamics"]

Scalar = Any
Vector = list[Scalar]


class UnrolledDynamics:
    """Rigid-body dynamics of a set of links, without friction, for any scalar type.

    `up` is the upward acceleration of the base that replaces gravity: minus the gravity vector.
    """

    def __init__(self, links: Links) -> None:
        self.links = links

    def inverse(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar] | None,
        qdd: Sequence[Scalar] | None,
        up: Vector,
        wrench: Vector | None = None,
        base_spin: tuple[Vector, Vector] | None = None,
    ) -> Vector:
        """Joint torques without friction and motors."""
        transforms = joint_transforms(self.links, q)
        return newton_euler(self.links, transforms, qd, qdd, up, wrench, base_spin)

    def slopes(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], up: Vector
    ) -> Slopes:
        """Derivatives of `inverse` with respect to q, q̇ and q̈."""
        return inverse_slopes(self.links, joint_transforms(self.links, q), qd, qdd, up)

    def mass_matrix(self, q: Sequence[Scalar], armature: bool = True) -> list[Vector]:
        """Mass matrix M (n x n), with motor inertia unless `armature=False`."""
        return mass_matrix(self.links, joint_transforms(self.links, q), armature)

    def coriolis_matrix(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Vector]:
        """Coriolis matrix C (n x n) from Christoffel symbols; q must be inputs of a graph."""
        return coriolis_matrix(self.mass_matrix(q, armature=False), q, qd)

    def forward(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        tau: Sequence[Scalar],
        up: Vector,
        wrench: Vector | None = None,
    ) -> Vector:
        """Joint accelerations from M q̈ = τ − h(q, q̇), by L D Lᵀ factorisation.

        M includes motor inertia, and h is `inverse` at q̈ = 0.  The result is not finite if M is
        not positive definite.
        """
        bias = self.inverse(q, qd, None, up, wrench)
        rest = [t - h for t, h in zip(tau, bias, strict=True)]
        # Both recursions produce the tip first; eliminating from there avoids waiting for them.
        M = [row[::-1] for row in self.mass_matrix(q)[::-1]]
        return definite_solve(M, rest[::-1])[::-1]

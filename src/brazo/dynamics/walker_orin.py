"""Walker and Orin's first method: forward dynamics by recursive Newton–Euler (RNE) alone.

    B             = RNE(q, q̇, 0)     with gravity and friction
    column j of M = RNE(q, 0, e_j)   without gravity and friction, with motor inertia
    M q̈           = τ − B

The method takes n + 1 Newton–Euler evaluations.  The compiled kernels use composite or articulated
bodies instead; this method serves as an independent check and for teaching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.linear import ldl_solve
from brazo.dynamics.friction import friction
from brazo.dynamics.links import Links
from brazo.dynamics.newton_euler import joint_transforms, newton_euler

Scalar = Any


def mass_matrix_by_columns(model: Links, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """Mass matrix M (n x n) with motor inertia; column j is the torque for the acceleration e_j."""
    transforms = joint_transforms(model, q)
    n = model.n
    columns = []
    for j in range(n):
        unit = [1.0 if i == j else 0.0 for i in range(n)]
        columns.append(newton_euler(model, transforms, None, unit, [0.0, 0.0, 0.0]))
    M = [[columns[j][i] for j in range(n)] for i in range(n)]
    for link in model.links:
        i = link.coordinate
        M[i][i] = M[i][i] + link.multiplier**2 * link.armature
    return M


def forward_dynamics(
    model: Links,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    gravity: Sequence[Scalar],
) -> list[Scalar]:
    """Joint accelerations q̈ (n) by Walker and Orin's first method."""
    transforms = joint_transforms(model, q)
    B = newton_euler(model, transforms, qd, None, [-g for g in gravity])
    B = [b + f for b, f in zip(B, friction(model, qd), strict=True)]
    rest = [t - b for t, b in zip(tau, B, strict=True)]
    return ldl_solve(mass_matrix_by_columns(model, q), rest)[0]

"""Coriolis matrix C(q, q̇) from the Christoffel symbols of the mass matrix, as graph expressions.

    C_ij = Σ_k ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k

With this choice of C, Ṁ − 2C is skew-symmetric, as required by adaptive and passivity-based
control.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.derivative import derivative

Scalar = Any


def coriolis_matrix(
    M: Sequence[Sequence[Scalar]], q: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Coriolis matrix C (n x n); M must be given as graph expressions of the inputs q."""
    n = len(M)
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    entries = [M[i][j] for i, j in pairs]
    dM: list[list[list[Scalar]]] = []  # dM[k][i][j]
    for k in range(n):
        values = dict(zip(pairs, derivative(entries, q[k]), strict=True))
        dM.append([[values[max(i, j), min(i, j)] for j in range(n)] for i in range(n)])
    C: list[list[Scalar]] = []
    for i in range(n):
        row = []
        for j in range(n):
            total: Scalar = 0.0
            for k in range(n):
                # ½ last, so that symbols that cancel or repeat are folded first.
                total = total + (dM[k][i][j] + dM[j][i][k] - dM[i][j][k]) * qd[k]
            row.append(0.5 * total)
        C.append(row)
    return C

"""One damped least-squares step within lower and upper limits, for any scalar type.

For a residual e(x) with Jacobian J the step solves (Levenberg 1944, Marquardt 1963)

    (J^T J + lambda I) dx = -J^T e,    lambda = mu * cost + 1e-14.

Damping proportional to the cost (Chan and Lawrence 1988) is large far away, where the linear model
is poor, and vanishes at a solution, where convergence is then quadratic. With more unknowns than
rows the equal form ``dx = -J^T (J J^T + lambda I)^-1 e`` is solved, which is smaller.

Limits: a coordinate that is at a limit and whose gradient points outwards is held (its column of
J is zero for this step), and ``x + dx`` is projected into the box. A periodic coordinate that
leaves the box is first shifted by whole revolutions towards the middle of its range, so it may
enter from the other side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from brazo.codegen import ring
from brazo.codegen.linear import dot, ldl_solve

__all__ = ["lm_step", "project"]

Vector = Sequence[Any]

_LEAST_DAMPING = 1e-14


def lm_step(
    x: Vector, e: Vector, J: Sequence[Vector], cost: Any, mu: Any, lower: Vector, upper: Vector
) -> list[Any]:
    """The step dx, with held coordinates exactly 0; project ``x + dx`` afterwards."""
    n, rows = len(x), range(len(e))
    gradient = [dot([J[i][j] for i in rows], e) for j in range(n)]
    free = [_free(*args) for args in zip(x, gradient, lower, upper, strict=True)]
    damping = mu * cost + _LEAST_DAMPING
    Jf = [[J[i][j] * free[j] for j in range(n)] for i in rows]
    if n > len(e):
        A = [[dot(Jf[i], J[k]) for k in range(i + 1)] for i in rows]
        _add_to_diagonal(A, damping)
        (z,) = ldl_solve(A, e)
        return [-dot([Jf[i][j] for i in rows], z) for j in range(n)]
    columns = [[Jf[i][j] for i in rows] for j in range(n)]
    A = [[dot(columns[j], columns[k]) for k in range(j + 1)] for j in range(n)]
    _add_to_diagonal(A, damping)
    (z,) = ldl_solve(A, [g * f for g, f in zip(gradient, free, strict=True)])
    return [-v for v in z]


def project(x: Any, lower: Any, upper: Any, periodic: bool) -> Any:
    """The coordinate x projected to [lower, upper], see the module; limits may be infinite."""
    if periodic:
        turns = (x - (lower + upper) * 0.5) * (0.5 / math.pi)
        turned = x - ring.rint(turns) * math.tau
        x = ring.where(ring.minimum(x - lower, upper - x), x, turned)
    return ring.minimum(ring.maximum(x, lower), upper)


def _free(x: Any, gradient: Any, lower: Any, upper: Any) -> Any:
    """0 for a coordinate that descent would push through its limit, otherwise 1."""
    at_lower = ring.where(lower - x, ring.where(-gradient, 1.0, 0.0), 1.0)
    at_upper = ring.where(x - upper, ring.where(gradient, 1.0, 0.0), 1.0)
    return ring.minimum(at_lower, at_upper)


def _add_to_diagonal(A: list[list[Any]], value: Any) -> None:
    for i, row in enumerate(A):
        row[i] = row[i] + value

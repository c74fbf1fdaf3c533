"""One damped least-squares step within lower and upper limits, for any scalar type.

For a residual e(x) with Jacobian J, the step dx solves (Levenberg 1944, Marquardt 1963)

    (J^T J + lambda I) dx = -J^T e,    lambda = mu * cost + 1e-14.

The cost is a function with the gradient J^T e, such as e.e/2. The damping lambda is proportional to
the cost, with the factor mu (Chan and Lawrence 1988). It is large far from a solution, where the
linear model is poor. It nearly vanishes at a solution, where convergence is quadratic. If there are
more unknowns than rows, the equivalent smaller system ``dx = -J^T (J J^T + lambda I)^-1 e`` is
solved.

Limits: a coordinate is held if it is at a limit and descent would push it outwards. Its column of J
is then zero for this step. ``x + dx`` is projected into the limits. A periodic coordinate that
leaves its limits is first shifted by whole revolutions towards the middle of its range.
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
    """Return the step dx, which is 0 for held coordinates; ``x + dx`` is not yet projected."""
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
    """Project a coordinate to [lower, upper]; the limits may be infinite.

    A periodic coordinate is first shifted by whole revolutions, see the module docstring.
    """
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

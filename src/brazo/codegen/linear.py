"""Small dense symmetric linear systems, for any scalar type; on a graph the code is unrolled.

The factorisation is ``A = L D L^T`` with unit lower triangular L. It needs n divisions and no
square roots. On a graph, zeros of A that stay zero in L cost no operations.

A is positive definite if every pivot D_j is positive. A pivot below ``LEAST_PIVOT`` times A_jj is
considered rounding error and counts as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import where

__all__ = ["LEAST_PIVOT", "definite_columns", "definite_solve", "dot", "ldl_solve"]

LEAST_PIVOT = 1e-13
_HUGE = 1.7e308  # twice that is infinite; a graph has no infinite constants


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return ``sum(a_i * b_i)``, summed from left to right."""
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def ldl_solve(A: Sequence[Sequence[Any]], *columns: Sequence[Any]) -> list[list[Any]]:
    """Solve ``A x = b`` for symmetric positive definite A and one or more right-hand sides b.

    Only the lower triangle of A is read. Returns one solution per right-hand side.
    """
    L, _, inverse = _factored(A)
    return [_substituted(L, inverse, b) for b in columns]


def definite_solve(A: Sequence[Sequence[Any]], b: Sequence[Any]) -> list[Any]:
    """Solve ``A x = b``; if A is not positive definite, the result contains infinity or NaN.

    The pivots are tested while the solution is computed, so the test adds no latency.
    """
    return definite_columns(A, b)[0]


def definite_columns(A: Sequence[Sequence[Any]], *columns: Sequence[Any]) -> list[list[Any]]:
    """Like `definite_solve`, for several right-hand sides; return one solution for each.

    If A is not positive definite, the first element of the first solution is infinite or NaN. The
    other solutions may then be finite.
    """
    L, pivots, inverse = _factored(A)
    solutions = [_substituted(L, inverse, b) for b in columns]
    mark: Any = 0.0
    for j, pivot in enumerate(pivots):
        mark = where(LEAST_PIVOT * A[j][j] - pivot, _HUGE, mark)
    solutions[0][0] = solutions[0][0] + (mark + mark)  # 0 or infinity
    return solutions


def _factored(A: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Return L, the pivots D and the inverses of the pivots."""
    n = len(A)
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    LD: list[list[Any]] = [[0.0] * n for _ in range(n)]  # L D, shared by both uses of each product
    pivots: list[Any] = []
    inverse: list[Any] = []
    for j in range(n):
        for k in range(j):
            L[j][k] = LD[j][k] * inverse[k]
        pivots.append(_less(A[j][j], LD[j][:j], L[j][:j]))
        inverse.append(1.0 / pivots[j])
        for i in range(j + 1, n):
            LD[i][j] = _less(A[i][j], LD[i][:j], L[j][:j])
    return L, pivots, inverse


def _substituted(L: list[list[Any]], inverse: list[Any], b: Sequence[Any]) -> list[Any]:
    """Return the solution x of ``L D L^T x = b``; ``inverse`` contains the inverse pivots."""
    n = len(L)
    y: list[Any] = []
    for i in range(n):
        y.append(_less(b[i], L[i][:i], y))
    x = [y[i] * inverse[i] for i in range(n)]
    for i in reversed(range(n)):
        later = range(n - 1, i, -1)  # the value computed last is used last
        x[i] = _less(x[i], [L[k][i] for k in later], [x[k] for k in later])
    return x


def _less(value: Any, a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return ``value - a_0 b_0 - a_1 b_1 - ...``, computed from left to right.

    Pass the factors that are computed last as the last elements of a and b.  Then only one
    subtraction waits for them.
    """
    for x, y in zip(a, b, strict=True):
        value = value - x * y
    return value

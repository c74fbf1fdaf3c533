"""Small dense linear algebra over any scalar, unrolled where the scalar is a graph's.

``A = L D L^T`` with unit lower triangular L: n divisions, no square root. Zeros of A that stay zero
in L cost nothing on a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["dot", "ldl_solve"]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """``sum(a_i * b_i)``, from left to right."""
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def ldl_solve(A: Sequence[Sequence[Any]], *columns: Sequence[Any]) -> list[list[Any]]:
    """Solve ``A x = b`` for symmetric positive definite A and each right side given.

    Only the lower triangle of A is read. Returns one solution per right side.
    """
    n = len(A)
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    LD: list[list[Any]] = [[0.0] * n for _ in range(n)]  # L D, shared by both uses of each product
    inverse: list[Any] = []
    for j in range(n):
        for k in range(j):
            L[j][k] = LD[j][k] * inverse[k]
        pivot = _less(A[j][j], LD[j][:j], L[j][:j])
        inverse.append(1.0 / pivot)
        for i in range(j + 1, n):
            LD[i][j] = _less(A[i][j], LD[i][:j], L[j][:j])
    solutions = []
    for b in columns:
        y: list[Any] = []
        for i in range(n):
            y.append(_less(b[i], L[i][:i], y))
        x = [y[i] * inverse[i] for i in range(n)]
        for i in reversed(range(n)):
            later = range(n - 1, i, -1)  # the one known last comes last
            x[i] = _less(x[i], [L[k][i] for k in later], [x[k] for k in later])
        solutions.append(x)
    return solutions


def _less(value: Any, a: Sequence[Any], b: Sequence[Any]) -> Any:
    """``value - a_0 b_0 - a_1 b_1 - ...``, one after the other: the last product, which is known
    last, waits for one subtraction only."""
    for x, y in zip(a, b, strict=True):
        value = value - x * y
    return value

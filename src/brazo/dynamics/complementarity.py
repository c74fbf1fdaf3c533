"""Dry friction of joints at rest as a linear complementarity problem.

Let a be the accelerations that the joints at rest would have without their friction.  With friction
torques f the accelerations are a − A f, where A has the rows and columns of the inverse mass matrix
for these joints.  Coulomb friction between the limits low and high requires

    low ≤ f ≤ high,   a − A f > 0 only where f = high,   a − A f < 0 only where f = low

A is positive definite, so the solution is unique.
"""

from __future__ import annotations

import numpy as np


def projected_gauss_seidel(
    a: np.ndarray,
    A: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    start: np.ndarray,
    *,
    sweeps: int,
    tolerance: float,
) -> np.ndarray:
    """Friction torques f (k,) of k joints at rest, by projected Gauss–Seidel sweeps from `start`.

    The iteration ends after `sweeps` sweeps, or when no element of f changes by more than
    `tolerance` times the largest range `high - low`.
    """
    f = start.copy()
    least = tolerance * (high - low).max()
    for _ in range(sweeps):
        before = f.copy()
        for k in range(len(f)):
            f[k] = min(max(f[k] + (a[k] - A[k] @ f) / A[k, k], low[k]), high[k])
        if np.abs(f - before).max() <= least:
            break
    return f

"""Dry friction of joints at rest as a linear complementarity problem.

Without friction the joints at rest would have the accelerations a; with friction torques f they
have a − A f, where A has the rows and columns of M⁻¹ of these joints.  Coulomb friction requires

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
    """Friction torques f (n,), by projected Gauss–Seidel sweeps over the joints from `start`.

    It ends after `sweeps`, or if f changes by less than `tolerance` times the largest range.
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

"""Joint stops: unilateral constraints at the joint limits.

After a step, joints at or beyond a limit that still move outward are stopped by inward impulses
Λ ≥ 0.  With M⁻¹ = A and G the rows of the stopped joints (signed inward) this is the linear
complementarity problem

    v⁺ = G (q̇ + A Gᵀ Λ) ≥ −e v⁻,   Λ ≥ 0,   one of the two zero for every joint,

solved by sweeps over the joints (projected Gauss–Seidel).  e is the coefficient of restitution:
0 is a plastic, 1 an elastic impact.  The impulses also act on the other joints through M.
"""

from __future__ import annotations

import numpy as np

SWEEPS = 100


def hold_at_limits(
    q: np.ndarray,
    qd: np.ndarray,
    limits: np.ndarray,
    mass_matrix,
    restitution: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Position and speed (n,) after the stops: q within the limits (n, 2), no outward speed there.

    `restitution` is the coefficient e.
    """
    low, high = q <= limits[:, 0], q >= limits[:, 1]
    inward = np.where(low, 1.0, -1.0)
    outward = (low | high) & (inward * qd < 0.0)
    clipped = np.clip(q, limits[:, 0], limits[:, 1])
    if not outward.any():
        return clipped, qd
    at = np.flatnonzero(low | high)
    signs = inward[at]
    A = np.linalg.inv(mass_matrix(clipped))[at][:, at] * np.outer(signs, signs)
    before = signs * qd[at]
    wanted = np.where(before < 0.0, -restitution * before, 0.0)
    impulse = np.zeros(len(at))
    for _ in range(SWEEPS):
        change = 0.0
        for k in range(len(at)):
            speed = before[k] + A[k] @ impulse
            new = max(0.0, impulse[k] - (speed - wanted[k]) / A[k, k])
            change = max(change, abs(new - impulse[k]))
            impulse[k] = new
        if change <= 1e-14 * (1.0 + impulse.max()):
            break
    push = np.zeros(len(q))
    push[at] = signs * impulse
    after = qd + np.linalg.solve(mass_matrix(clipped), push)
    return clipped, after

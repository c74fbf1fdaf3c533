"""Joint stops: unilateral constraints at the joint limits.

If a joint at or beyond a limit still moves outward after a step, inward impulses Λ ≥ 0 act on all
joints at or beyond a limit.  G selects the speeds of these joints, positive inward.  v⁻ and v⁺ are
these speeds before and after the impact.  e is the coefficient of restitution: 0 for a plastic and
1 for an elastic impact.  With A = M⁻¹, the impulses solve the linear complementarity problem

    v⁺ = G (q̇ + A Gᵀ Λ) ≥ e max(−v⁻, 0),        Λ ≥ 0.

For every joint, at least one of the two conditions holds with equality.  The problem is solved by
projected Gauss–Seidel sweeps over the joints.  Through M, the impulses also change the speeds of
joints that are not at a limit.
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
    """Return q and qd (n,) after the joint stops have acted.

    The returned q is within the limits (n, 2), and no joint at a limit moves outward.
    `mass_matrix(q)` returns M (n, n).  `restitution` is the coefficient e of the module docstring.
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

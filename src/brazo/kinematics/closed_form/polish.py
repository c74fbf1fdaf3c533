"""Newton refinement of closed-form solutions to rounding.

Closed forms lose digits near double roots (a stretched arm) and if a nearly special geometry was
treated as exactly special.  Solutions that miss the target by more than rounding are refined by
damped Newton steps on the pose error; a step that does not reduce it is rejected.
"""

from __future__ import annotations

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import pose_errors

Array = np.ndarray

_FINE = 1e-13  # rad, and fraction of the arm's size: converged
_HOPELESS = 1e-3  # a miss this large is no rounding: the target is out of reach
_STEPS = 16


def polish(chain: Chain, q: Array, T: Array) -> tuple[Array, Array]:
    """Improve q (N, B, n) in place for targets T (N, 4, 4); return both errors (N, B)."""
    position, orientation = pose_errors(chain, q, T)
    miss = np.maximum(position / chain.size, orientation)
    rows, slots = np.nonzero((miss > _FINE) & (miss < _HOPELESS))
    caution = np.ones(rows.size)
    for _ in range(_STEPS):
        if rows.size == 0:
            break
        trial = q[rows, slots] + _step(chain, q[rows, slots], T[rows], caution)
        p, o = (error[:, 0] for error in pose_errors(chain, trial[:, None], T[rows]))
        better = np.maximum(p / chain.size, o) < miss[rows, slots]
        r, b = rows[better], slots[better]
        q[r, b], position[r, b], orientation[r, b] = trial[better], p[better], o[better]
        miss[r, b] = np.maximum(p / chain.size, o)[better]
        caution = np.where(better, np.maximum(0.1 * caution, 1.0), 30 * caution)
        # Rounding stops the descent near 1e-13; a dozen steps in vain mean the same elsewhere.
        going = (miss[rows, slots] > _FINE) & (caution < 1e6)
        rows, slots, caution = rows[going], slots[going], caution[going]
    return position, orientation


def _step(chain: Chain, q: Array, T: Array, caution: Array) -> Array:
    """Newton steps (M, n), damped by the size of the error times `caution` (M,)."""
    J = chain.jacobian(q)
    reached = chain.fk(q)
    R = T[:, :3, :3] @ np.swapaxes(reached[:, :3, :3], 1, 2)
    turn = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1
    )
    error = np.concatenate([(T[:, :3, 3] - reached[:, :3, 3]) / chain.size, turn], axis=-1)
    J[:, :3] /= chain.size
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    damping = np.linalg.norm(error, axis=-1, keepdims=True) * caution[:, None]
    along = np.einsum("mij,mi->mj", U, error) * sigma / (sigma**2 + damping**2)
    return np.einsum("mij,mi->mj", Vt, along)

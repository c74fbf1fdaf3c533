"""Time derivative of the Jacobian of a Delta robot.

Cᵢ are the elbow positions, shifted inward by the platform's radius, and E = dC/dθ. P is the centre
of the platform and u = P − C are the rod vectors. The loop equations u·(Ṗ − Ċ) = 0 are U J = D in
matrix form, where U has the rows uᵢ and D = diag(u·E). Therefore

    J̇ = U⁻¹ (Ḋ − U̇ J),        U̇ = Ṗ − E θ̇,        Ḋ = U̇·E + u·Ė.
"""

from __future__ import annotations

import numpy as np

from brazo.model.description import DeltaModel

Array = np.ndarray


def jacobian_rate(model: DeltaModel, q: Array, qd: Array, P: Array, J: Array) -> Array:
    """Return the time derivative (..., 3, 3) of the Jacobian J (..., 3, 3) of the platform centre.

    q (rad), qd (rad/s) and the platform centre P (m) have shape (..., 3).
    """
    azimuths = np.asarray(model.azimuths)
    cx, sx, s, c = np.cos(azimuths), np.sin(azimuths), np.sin(q), np.cos(q)
    out = model.R - model.r + model.L1 * c
    C = np.stack([cx * out, sx * out, model.L1 * s], axis=-1)
    E = model.L1 * np.stack([-cx * s, -sx * s, c], axis=-1)
    E_rate = -model.L1 * np.stack([cx * c, sx * c, s], axis=-1) * qd[..., None]
    U = P[..., None, :] - C
    U_rate = np.einsum("...ij,...j->...i", J, qd)[..., None, :] - E * qd[..., None]
    D_rate = (U_rate * E + U * E_rate).sum(-1)
    return np.linalg.solve(U, D_rate[..., None] * np.eye(3) - U_rate @ J)

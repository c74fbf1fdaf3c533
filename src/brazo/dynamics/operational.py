"""Operational-space inertia Λ: the apparent inertia of the robot at the tool (Khatib 1987).

    Λ⁻¹ = J M⁻¹ Jᵀ        f = Λ ẍ + …

f is a force at the tool, and ẍ the acceleration of the tool.  Λ⁻¹, the mobility, exists in every
configuration.  Λ is infinite in directions in which the tool cannot move.  With the singular value
decomposition J = U σ Vᵀ, these directions are the columns of U with small σ.  They are left out, so
Λ is zero instead of infinite in these directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.kinematics.measures import ROWS

__all__ = ["operational_inertia"]


def operational_inertia(robot: Any, q: Any, rows: str, frame: Any, tolerance: float) -> np.ndarray:
    """Operational-space inertia Λ (..., m, m); see `Robot.operational_inertia`."""
    one_of(rows, ROWS, "rows")
    if not 0.0 < tolerance < 1.0:
        raise BrazoError(f"tolerance = {tolerance:g}; it must be between 0 and 1")
    J = robot.jacobian(q, frame)[..., ROWS[rows], :]
    M = robot.mass_matrix(q)
    U, sigma, _ = np.linalg.svd(J)
    kept = np.zeros(U.shape[:-1], dtype=bool)
    kept[..., : sigma.shape[-1]] = sigma > tolerance * sigma[..., :1]
    rows_kept = np.where(kept[..., None], np.swapaxes(U, -1, -2) @ J, 0.0)
    try:
        L = np.linalg.cholesky(M)  # M = L Lᵀ
    except np.linalg.LinAlgError:
        raise BrazoError(
            f"robot '{robot.name}': the mass matrix is not positive definite; see Robot.findings"
        ) from None
    half = np.linalg.solve(L, np.swapaxes(rows_kept, -1, -2))
    mobility = np.swapaxes(half, -1, -2) @ half
    # Ones for the directions that are left out make the matrix invertible; they are removed again.
    size = mobility.shape[-1]
    inverse = np.linalg.inv(mobility + np.where(kept, 0.0, 1.0)[..., None] * np.eye(size))
    inverse = np.where(kept[..., None] & kept[..., None, :], inverse, 0.0)
    inertia = U @ inverse @ np.swapaxes(U, -1, -2)
    return 0.5 * (inertia + np.swapaxes(inertia, -1, -2))

"""Calibration of the tool centre point: the tool tip touches one point in several orientations.

With the flange at (R_k, p_k) in the base frame, the tip at t in the flange frame and the point at c
in the base frame, every touch k gives three equations,

    R_k t + p_k = c,

which are linear in t and c.  They are solved by least squares.  Three touches with rotations about
different axes determine the solution.  At least four are required here, so that the residuals also
show how accurately the tip touched the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brazo.errors import BrazoError

MIN_TOUCHES = 4
WELL_POSED = 0.05  # min singular value of the equations, over that of orthogonal orientations


@dataclass(frozen=True, slots=True, eq=False)
class TcpFit:
    """Result of a calibration of the tool centre point."""

    position: np.ndarray  # (3,) m, tip in the flange frame
    point: np.ndarray  # (3,) m, touched point in the base frame
    residuals: np.ndarray  # (k,) m, distance of the tip from the point at each touch

    @property
    def rms(self) -> float:
        """Root mean square of the residuals (m)."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def max(self) -> float:
        """Largest residual (m)."""
        return float(self.residuals.max())


def tcp_from_touches(flanges: Sequence[np.ndarray]) -> TcpFit:
    """Compute the position of the tool tip from poses in which the tip touches one fixed point.

    `flanges` are at least four flange poses (4, 4) in the base frame.
    """
    F = np.array(flanges, dtype=float)
    if F.ndim != 3 or F.shape[1:] != (4, 4) or not np.isfinite(F).all():
        shaped = F.ndim == 3 and F.shape[1:] == (4, 4)
        got = "a value that is not finite" if shaped else f"shape {F.shape}"
        raise BrazoError(f"touches must be an array (k, 4, 4) of finite poses; got {got}")
    k = len(F)
    if k < MIN_TOUCHES:
        raise BrazoError(
            f"{k} touch{'es' if k != 1 else ''} of the point: at least {MIN_TOUCHES} are needed, "
            "each with a different orientation of the tool"
        )
    A = np.concatenate([F[:, :3, :3], np.broadcast_to(-np.eye(3), (k, 3, 3))], axis=2)
    A, b = A.reshape(3 * k, 6), -F[:, :3, 3].reshape(3 * k)
    if np.linalg.svd(A, compute_uv=False)[-1] < WELL_POSED * np.sqrt(k):
        raise BrazoError(
            "the orientations of the touches are too similar: turn the tool by 30° or more, about "
            "two different axes"
        )
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    residuals = np.linalg.norm((A @ x - b).reshape(k, 3), axis=1)
    return TcpFit(x[:3], x[3:], residuals)

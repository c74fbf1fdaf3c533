"""Velocity and force ellipsoids: tool velocities or forces for joint speeds or torques of norm 1.

S is a diagonal matrix with one scale per joint: the joint speed or torque that counts as 1. The
ellipsoids follow from a singular value decomposition U σ Vᵀ:

    velocity   {J q̇ : |S⁻¹ q̇| ≤ 1}       J S = U σ Vᵀ        axes U, radii σ
    force      {f : |S⁻¹ Jᵀ f| ≤ 1}       J S⁻¹ = U σ Vᵀ      axes U, radii 1/σ

They are dual: in a direction of high velocity the possible force is small. At a singularity one
radius of the velocity ellipsoid is zero, and one radius of the force ellipsoid is infinite. Linear
and angular rows of J have different units, so an ellipsoid uses either the linear or the angular
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.kinematics.measures import ROWS

__all__ = ["Ellipsoid", "EllipsoidRows", "ellipsoid"]

EllipsoidRows = Literal["linear", "angular"]
_FLAT = 1e-12  # of the largest singular value: a direction in which the tool does not move


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """Velocity or force ellipsoid of the tool in the base frame, or a batch of ellipsoids."""

    centre: np.ndarray
    """Position (..., 3) of the tool, m."""
    axes: np.ndarray
    """Unit vectors (..., 3, 3) of the axes in columns, the longest axis first."""
    radii: np.ndarray
    """Semi-axis lengths (..., 3): m/s, rad/s, N or N m; infinite if no torque limits the force."""

    def points(self, scale: float = 1.0, count: int = 24) -> np.ndarray:
        """Return a grid of surface points (..., count + 1, 2 count + 1, 3) in m.

        `scale` is in m per unit of the radii. An infinite radius raises an error. Matplotlib plots
        the surface with `plot_surface(*points.T)`.
        """
        if not np.isfinite(self.radii).all():
            raise BrazoError(
                "the ellipsoid has an infinite radius (the tool cannot move in one direction), so "
                "it has no surface points; use its axes and radii, or another configuration"
            )
        polar = np.linspace(0.0, np.pi, count + 1)[:, None]
        around = np.linspace(0.0, 2.0 * np.pi, 2 * count + 1)
        sphere = np.stack(
            [
                np.sin(polar) * np.cos(around),
                np.sin(polar) * np.sin(around),
                np.cos(polar) * np.ones_like(around),
            ],
            axis=-1,
        )
        stretched = scale * self.axes * self.radii[..., None, :]
        return np.einsum("...ij,abj->...abi", stretched, sphere) + self.centre[..., None, None, :]


def ellipsoid(
    kind: Literal["velocity", "force"],
    J: np.ndarray,
    centre: np.ndarray,
    rows: EllipsoidRows,
    scale: Any = None,
) -> Ellipsoid:
    """Compute the ellipsoids of Jacobians J (..., 6, n) with centres (..., 3).

    See `Robot.velocity_ellipsoid` and `Robot.force_ellipsoid`.
    """
    one_of(rows, ("linear", "angular"), "rows")
    n = J.shape[-1]
    try:
        unit = np.broadcast_to(np.asarray(1.0 if scale is None else scale, dtype=float), (n,))
    except (TypeError, ValueError):
        raise BrazoError(
            f"scale: expected a number, or an array of shape ({n},) with one value per joint"
        ) from None
    if not (np.isfinite(unit).all() and (unit > 0.0).all()):
        raise BrazoError("scale: every value must be finite and above 0")
    J = J[..., ROWS[rows], :]
    U, sigma, _ = np.linalg.svd(J * unit if kind == "velocity" else J / unit, full_matrices=True)
    radii = np.zeros((*J.shape[:-2], 3))
    radii[..., : sigma.shape[-1]] = sigma
    if kind == "velocity":
        return Ellipsoid(centre, U, radii)
    flat = radii <= _FLAT * radii[..., :1]
    with np.errstate(divide="ignore"):
        radii = np.where(flat, np.inf, 1.0 / radii)
    return Ellipsoid(centre, U[..., ::-1], radii[..., ::-1])

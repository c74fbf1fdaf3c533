"""Dexterity measures: the distance of a configuration from singularities.

They are computed from the singular values sigma_1 >= … >= sigma_m of the Jacobian J. m is the
rank of J away from singularities. It can be less than 6: a SCARA can never tilt its tool, which is
not a singularity.

    manipulability  w = sigma_1 … sigma_m   (Yoshikawa: sqrt det J Jᵀ)
    condition       kappa = sigma_1 / sigma_m
    smallest        sigma_m, the gain along the worst direction

Linear and angular rows have different units. `rows` selects "linear", "angular" or "all", and
`length` (m) scales the angular rows to make them comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from brazo.checks import one_of

Rows = Literal["all", "linear", "angular"]
ROWS = {"all": slice(0, 6), "linear": slice(0, 3), "angular": slice(3, 6)}


@dataclass(frozen=True, slots=True)
class Dexterity:
    """Dexterity measures of one or many Jacobians; each array has the batch shape."""

    manipulability: np.ndarray
    condition: np.ndarray
    smallest_singular_value: np.ndarray
    rank: np.ndarray


def dexterity(
    J: np.ndarray,
    rows: Rows = "all",
    mobility: int = 6,
    length: float = 1.0,
    tolerance: float = 1e-9,
) -> Dexterity:
    """Compute dexterity measures of Jacobians (..., 6, n).

    `mobility` is the number m of singular values to use. The rank is the number of these singular
    values that are greater than `tolerance` times the largest.
    """
    one_of(rows, ROWS, "rows")
    J = np.array(J, dtype=float)
    J[..., 3:, :] *= length
    sigma = np.linalg.svd(J[..., ROWS[rows], :], compute_uv=False)
    sigma = sigma[..., : max(mobility, 1)]
    largest, smallest = sigma[..., 0], sigma[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.where(smallest > 0.0, largest / smallest, np.inf)
    return Dexterity(
        manipulability=np.prod(sigma, axis=-1),
        condition=condition,
        smallest_singular_value=smallest,
        rank=np.sum(sigma > tolerance * largest[..., None], axis=-1),
    )

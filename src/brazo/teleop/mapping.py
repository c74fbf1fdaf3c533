"""From the master's motion to the follower's, for mechanisms of different shape and size.

Motion travels as increments, so the two may stand anywhere when they engage:

    ΔP_follower = S ΔP_master / k

S turns directions and has to be a rotation (a mirror would swap left and right in the operator's
hands); k is the master's length over the follower's: above 1 the follower moves finer, below 1
wider.  The default S is the one of the Delta and SCARA pair: master X to follower Y, Y to −Z,
Z to −X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from brazo.errors import BrazoError

DIRECTIONS = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
DIRECTIONS.flags.writeable = False


@dataclass(frozen=True, eq=False)
class IncrementMap:
    """Direction matrix S (3, 3) and scale k."""

    directions: np.ndarray = field(default_factory=lambda: DIRECTIONS)
    scale: float = 1.0

    def __post_init__(self) -> None:
        S = np.array(self.directions, dtype=float)
        if S.shape != (3, 3) or not np.isfinite(S).all():
            raise BrazoError(f"directions have shape {S.shape}; wanted a finite (3, 3) matrix")
        if np.abs(S @ S.T - np.eye(3)).max() > 1e-9 or np.linalg.det(S) < 0.0:
            raise BrazoError(
                "directions must be a rotation: unit rows, square to each other, right-handed"
            )
        if not (math.isfinite(self.scale) and self.scale > 0.0):
            raise BrazoError(f"scale k is {self.scale}; it must be a number greater than 0")
        S.flags.writeable = False
        object.__setattr__(self, "directions", S)

    def __call__(self, increment) -> np.ndarray:
        """The follower's increment (..., 3) for one of the master's, in metres."""
        try:
            step = np.asarray(increment, dtype=float)
        except (TypeError, ValueError) as error:
            raise BrazoError(f"increment: not an array of numbers ({error})") from None
        if step.ndim == 0 or step.shape[-1] != 3 or not np.isfinite(step).all():
            raise BrazoError(f"increment has shape {step.shape}; wanted (..., 3), finite values")
        return step @ self.directions.T / self.scale

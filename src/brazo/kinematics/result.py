"""Results of inverse kinematics, and wrapping of joint values into limits.

A closed form finds all *branches*, the IK solutions for a target (left or right shoulder, elbow
above or below, ...).  `IKResult` has the selected one and all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.model.description import JointKind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray

TURN = 2 * math.pi
# Tolerance of joint limits (rad or m).
LIMIT_TOLERANCE = 1e-9
_SHOWN: dict[str, tuple[float, str]] = {
    "revolute": (180.0 / math.pi, "°"),
    "prismatic": (1e3, " mm"),
}


@dataclass(frozen=True, slots=True)
class Residual:
    """Distance of the tool from the target; `float(r)` is the larger of the two."""

    position: float  # m
    orientation: float  # rad; 0 if the orientation is free

    def __float__(self) -> float:
        return max(self.position, self.orientation)


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One IK solution."""

    q: Array  # (n,) wrapped by full turns into the limits if possible
    name: str  # e.g. "LEFTY ABOVE NOFLIP"; "" from the numeric method (see `Robot.configuration`)
    within_limits: bool
    limit_violations: tuple[int, ...]  # indices of joints out of limits
    position_error: float  # m, by forward kinematics of q
    orientation_error: float  # rad, by forward kinematics of q

    @property
    def residual(self) -> Residual:
        return Residual(self.position_error, self.orientation_error)


@dataclass(frozen=True, slots=True, eq=False)
class IKResult:
    """The result of `Robot.ik`."""

    q: Array  # (n,) the selected solution; without success, the best one found
    success: bool  # q reaches the target within the tolerances and the limits
    reason: str  # why there is no success; "" on success
    residual: Residual  # of q
    # All solutions found, including those out of limits; on success, q is one of them.
    all: tuple[Branch, ...] = ()
    branch: str | None = None  # name of the selected branch; None if the method has no branches
    method: str = ""  # the closed form's family, or the numeric method
    iterations: int = 0  # of the numeric method

    def __bool__(self) -> bool:
        return self.success


def into_limits(
    q: ArrayLike, limits: ArrayLike, kinds: Sequence[JointKind], q0: ArrayLike | None = None
) -> Array:
    """Add full turns to revolute joint values (..., n) to bring them into the limits (n, 2).

    Of several the one nearest to q0 is returned, or without q0 the one nearest to the middle of the
    range (for an unbounded range, nearest to 0).  If none fits, the one with the smallest
    violation.
    """
    q = np.asarray(q, dtype=float)
    low, high = np.moveaxis(np.asarray(limits, dtype=float), -1, 0)
    wanted = _middle(low, high) if q0 is None else np.asarray(q0, dtype=float)
    first = np.ceil((low - LIMIT_TOLERANCE - q) / TURN)
    last = np.floor((high + LIMIT_TOLERANCE - q) / TURN)
    turns = np.minimum(np.maximum(np.round((wanted - q) / TURN), first), last)
    # No full turn fits: `first` is above the range, `last` below.
    with np.errstate(invalid="ignore"):  # inf − inf for an unbounded range
        over, under = q + TURN * first - high, low - (q + TURN * last)
        turns = np.where(first > last, np.where(over <= under, first, last), turns)
    revolute = np.array([kind == "revolute" for kind in kinds])
    return np.where(revolute, q + TURN * np.where(revolute, turns, 0.0), q)


def violations(q: ArrayLike, limits: ArrayLike) -> Array:
    """(..., n) True where a joint value is out of limits by more than 1e-9."""
    q, limits = np.asarray(q, dtype=float), np.asarray(limits, dtype=float)
    return (q < limits[..., 0] - LIMIT_TOLERANCE) | (q > limits[..., 1] + LIMIT_TOLERANCE)


def joint_text(kind: str, value: float) -> str:
    """A joint value with its unit for messages: `90.00°` or `200.00 mm`."""
    scale, unit = _SHOWN[kind]
    return f"{scale * value:.2f}{unit}"


def range_text(kind: str, limits: ArrayLike) -> str:
    """The limits (2,) of a joint for messages: `-90.00 to 90.00°`."""
    scale, unit = _SHOWN[kind]
    low, high = scale * np.asarray(limits, dtype=float)
    return f"{low:.2f} to {high:.2f}{unit}"


def _middle(low: Array, high: Array) -> Array:
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, 0.5 * (low + high), np.clip(0.0, low, high))

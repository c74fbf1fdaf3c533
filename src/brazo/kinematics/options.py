"""Options of inverse kinematics and their validation, for all kinds of robots."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

import numpy as np

from brazo.arrays import float_array
from brazo.checks import one_of
from brazo.errors import BrazoError

Orientation = Literal["full", "nearest", "free"]
Method = Literal["auto", "closed", "numeric"]
Redundancy = Literal["auto", "rule", "nearest"]

_CHOICES = {
    "orientation": ("full", "nearest", "free"),
    "method": ("auto", "closed", "numeric"),
    "redundancy": ("auto", "rule", "nearest"),
}


@dataclass(frozen=True, slots=True)
class IKOptions:
    """Options of inverse kinematics; see `brazo.kinematics.ik.solve`."""

    orientation: Orientation = "full"
    method: Method = "auto"
    redundancy: Redundancy | Any = "auto"  # or values (...) of the parameter of a redundant arm
    weights: Any = None  # (6,), the largest 1
    tolerance: float = 1e-9
    seed: int = 0
    attempts: int = 100

    @property
    def by_name(self) -> str:
        """`redundancy` if it is a string such as "nearest"; "" if it contains numbers."""
        return self.redundancy if isinstance(self.redundancy, str) else ""


class IKKeywords(TypedDict, total=False):
    """The options as keywords of `Robot.ik`, for type checkers."""

    orientation: Orientation
    method: Method
    redundancy: Redundancy | Any
    weights: Any
    tolerance: float
    seed: int
    attempts: int


_DEFAULT = IKOptions()
_NAMES = tuple(field.name for field in fields(IKOptions))


def read_options(branch: str | None, given: dict[str, Any]) -> IKOptions:
    """Return the validated options `given`; raise an error if they are invalid or contradictory."""
    if branch is not None and not isinstance(branch, str):
        raise BrazoError(f"branch is {branch!r}; expected a name such as 'LEFTY ABOVE'")
    if not given:
        return _DEFAULT
    for name, value in given.items():
        if name not in _NAMES:
            raise BrazoError(f"ik has no option '{name}'; options: {', '.join(_NAMES)}")
        if name == "redundancy" and not isinstance(value, str):
            continue
        if name in _CHOICES:
            one_of(value, _CHOICES[name], name)
    if not isinstance(given.get("redundancy", ""), str):
        given = {**given, "redundancy": _values(given["redundancy"])}
    options = IKOptions(**given)
    _whole(options.seed, "seed", least=0)
    _whole(options.attempts, "attempts", least=1)
    tolerance = options.tolerance
    if not isinstance(tolerance, (int, float)) or not 0.0 < tolerance < math.inf:
        raise BrazoError(
            f"tolerance is {tolerance!r}; it must be a number greater than 0 (m and rad)"
        )
    if branch is not None and options.by_name == "nearest":
        raise BrazoError("give a branch or redundancy='nearest', not both")
    if options.weights is None:
        return options
    if options.method == "closed" or options.orientation != "full":
        raise BrazoError(
            "weights need the numeric method and orientation 'full'; to free a direction, set its "
            "weight to 0"
        )
    return IKOptions(**{**given, "weights": _weights(options.weights)})


def _values(given: Any) -> np.ndarray:
    """Convert redundancy parameter values to an array; raise an error if one is not finite."""
    values = float_array(given, "redundancy")
    if not np.isfinite(values).all():
        raise BrazoError("redundancy: every value must be finite")
    return values


def _weights(weights: Any) -> np.ndarray:
    values = float_array(weights, "weights")
    if values.shape != (6,) or not np.isfinite(values).all() or (values < 0).any():
        raise BrazoError(
            "weights: expected 6 non-negative numbers: along x, y, z, then about x, y, z"
        )
    if not values.any():
        raise BrazoError("weights: at least one must be greater than 0")
    return values / values.max()


def _whole(value: Any, name: str, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise BrazoError(f"{name} is {value!r}; it must be an integer of at least {least}")

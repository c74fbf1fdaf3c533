"""Results of inverse kinematics, and wrapping of joint values into limits.

A closed form finds all *branches*, the IK solutions for a target (left or right shoulder, elbow
above or below, ...). `IKResult` contains the selected solution and all others, `IKBatch` the
solutions of many targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brazo.model.description import JointKind
from brazo.text import html_table

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
    """Pose error of the tool; `float(residual)` is the larger of `position` and `orientation`."""

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
    orientation_error: float  # rad, by forward kinematics of q; 0 if the orientation is free

    @property
    def residual(self) -> Residual:
        """Pose error of the tool at q, relative to the target."""
        return Residual(self.position_error, self.orientation_error)


class IKResult:
    """Result of `Robot.ik` for one target; true in a boolean context if it succeeded.

    The list of all branches is computed when it is first read.
    """

    __slots__ = (
        "_all", "_branch", "_iterations", "_list", "_method", "_q", "_reason", "_residual",
        "_success",
    )  # fmt: skip

    def __init__(
        self,
        q: Array,
        success: bool,
        reason: str,
        residual: Residual,
        all: Sequence[Branch] | Callable[[], Sequence[Branch]] = (),
        branch: str | None = None,
        method: str = "",
        iterations: int = 0,
    ) -> None:
        self._q, self._success, self._reason, self._residual = q, success, reason, residual
        self._branch, self._method, self._iterations = branch, method, iterations
        self._all: tuple[Branch, ...] | None
        self._list: Callable[[], Sequence[Branch]] | None
        if callable(all):
            self._all, self._list = None, all
        else:
            self._all, self._list = tuple(all), None

    @property
    def q(self) -> Array:
        """Selected solution (n,); on failure, an approximate solution with the error `residual`."""
        return self._q

    @property
    def success(self) -> bool:
        """True if q reaches the target within tolerance and is within the joint limits."""
        return self._success

    @property
    def reason(self) -> str:
        """Reason for the failure; empty on success."""
        return self._reason

    @property
    def residual(self) -> Residual:
        """Pose error of the tool at q, relative to the target."""
        return self._residual

    @property
    def all(self) -> tuple[Branch, ...]:
        """All solutions found, also those out of limits; on success, `q` is one of them."""
        if self._all is None:
            assert self._list is not None
            self._all = tuple(self._list())
        return self._all

    @property
    def all_q(self) -> Array:
        """Joint values (B, n) of every branch, in the order of `names`.

        Branches that are not `valid` do not reach the target.
        """
        return np.array([one.q for one in self.all]).reshape(-1, len(self.q))

    @property
    def valid(self) -> Array:
        """Boolean array (B,), True for branches that reach the target."""
        return np.ones(len(self.all), dtype=bool)

    @property
    def names(self) -> tuple[str, ...]:
        """Branch names of the B rows of `all_q`."""
        return tuple(one.name for one in self.all)

    @property
    def branch(self) -> str | None:
        """Name of the branch of `q`; None if `q` is not a solution of a named branch."""
        return self._branch

    @property
    def method(self) -> str:
        """Name of the method, e.g. the family of a closed form."""
        return self._method

    @property
    def iterations(self) -> int:
        """Number of iterations of the numeric method; 0 if only the closed form was used."""
        return self._iterations

    def __bool__(self) -> bool:
        return self.success

    def __reduce__(self) -> tuple[type[IKResult], tuple[Any, ...]]:
        """Support copy and pickle: copies contain the list of all branches, but no solver."""
        q, residual = self.q, self.residual
        values = (q, self.success, self.reason, residual, self.all, self.branch, self.method)
        return IKResult, (*values, self.iterations)

    def __repr__(self) -> str:
        q = np.array2string(self.q, precision=4, separator=", ", suppress_small=True)
        found = f"{self.branch or 'found'}, {len(self.all)} solutions" if self else self.reason
        return f"<brazo.IKResult {q}: {found}>"

    def _repr_html_(self) -> str:
        """HTML table of the solutions for notebooks, in rad and m."""
        header = ("solution", *(f"q{i + 1}" for i in range(len(self.q))), "within limits")
        rows = [
            (one.name or "-", *(f"{x:.5f}" for x in one.q), "yes" if one.within_limits else "no")
            for one in self.all
        ]
        return html_table(repr(self).strip("<>"), header, rows)


@dataclass(frozen=True, slots=True, eq=False)
class IKBatch:
    """Result of `Robot.ik` for many targets; leading dimensions are those of the targets."""

    q: Array  # (..., n) the selected solutions; NaN without success
    success: Array  # (...) bool
    branch: Array  # (...) int, the selected branch as an index of `names`; -1 without success
    all_q: Array  # (..., B, n) every branch, wrapped by full turns into the limits if possible
    valid: Array  # (..., B) bool, the branch reaches the target
    within_limits: Array  # (..., B) bool, it is valid and within the limits
    position_error: Array  # (..., B) m, by forward kinematics
    orientation_error: Array  # (..., B) rad, by forward kinematics; 0 if the orientation is free
    names: tuple[str, ...]  # (B,) e.g. "LEFTY ABOVE NOFLIP"
    method: str  # the closed form's family, or the numeric method

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        shape = self.success.shape
        return (
            f"IKBatch({int(self.success.sum())} of {self.success.size} targets {shape} reached, "
            f"{len(self.names)} branches, method={self.method!r})"
        )


def into_limits(
    q: ArrayLike, limits: ArrayLike, kinds: Sequence[JointKind], q0: ArrayLike | None = None
) -> Array:
    """Shift revolute joint values (..., n) by full turns into the limits (n, 2).

    If several equivalent values are within the limits, the nearest to q0 is returned. The default
    of q0 is the middle of the range; if a limit is infinite, it is the value of the range nearest
    to 0. If no value is within the limits, the value with the smallest violation is returned.
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
    """Return a mask (..., n), True for joint values out of limits by more than 1e-9 (rad or m)."""
    q, limits = np.asarray(q, dtype=float), np.asarray(limits, dtype=float)
    return (q < limits[..., 0] - LIMIT_TOLERANCE) | (q > limits[..., 1] + LIMIT_TOLERANCE)


def joint_text(kind: str, value: float, spec: str = ".2f") -> str:
    """Format a joint value with its unit for messages: `90.00°` or `200.00 mm`.

    `spec` is the format of the number.
    """
    scale, unit = _SHOWN[kind]
    return f"{scale * value:{spec}}{unit}"


def range_text(kind: str, limits: ArrayLike) -> str:
    """Format the limits (2,) of a joint for messages: `-90.00 to 90.00°`."""
    scale, unit = _SHOWN[kind]
    low, high = scale * np.asarray(limits, dtype=float)
    return f"{low:.2f} to {high:.2f}{unit}"


def _middle(low: Array, high: Array) -> Array:
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, 0.5 * (low + high), np.clip(0.0, low, high))

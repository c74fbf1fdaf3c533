"""Soft walls: the way to the edge of a workspace becomes longer the nearer it is.

Within `width` of an edge a step outwards counts only by the share room/width, so the room that is
left shrinks as

    dr/ds = −r / width,   r(s) = r₀ exp(−s / width),

solved exactly: the edge is never passed, whatever the size of a step.  Steps inwards count in full,
and nothing is wound up behind a wall: whoever turns back moves at once.  Below `warn` of room the
wall says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from brazo.errors import BrazoError

Array = np.ndarray
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Soft:
    """How soft a wall is, in the unit of what it bounds; a width of 0 is hard."""

    width: float
    warn: float

    def __post_init__(self) -> None:
        if not (0.0 <= self.width <= self.warn and math.isfinite(self.warn)):
            raise BrazoError(
                f"a wall of width {self.width:g} that warns at {self.warn:g}: wanted 0 ≤ width ≤ "
                "warn, both finite"
            )

    def step(self, x: float, dx: float, low: float, high: float) -> float:
        """Where a step of dx from x ends between the edges."""
        room = high - x if dx > 0.0 else x - low
        way = abs(dx)
        free = max(room - self.width, 0.0)
        if way <= free:
            return x + dx
        left = max(min(room, self.width), 0.0)
        gone = free
        if left > 0.0:
            gone += left * -math.expm1((free - way) / self.width)
        # Rounding must not pass the edge either; whoever is outside stays where it is.
        return min(x + gone, max(high, x)) if dx > 0.0 else max(x - gone, min(low, x))

    def warning(self, x: float, low: float, high: float) -> float | None:
        """The room that is left where it is little, below 0 outside."""
        room = min(high - x, x - low)
        return room if room < self.warn else None


TOOL_WALL = Soft(0.03, 0.05)  # m
JOINT_WALL = Soft(0.05, 0.1)  # rad; m for prismatic joints, where it is narrowed to the travel


class Workspace(Protocol):
    """A region the tool point stays in, in the follower's base frame."""

    def step(self, p: Array, dp: Array) -> Array:
        """Where a step from p ends."""
        ...

    def warnings(self, p: Array) -> tuple[str, ...]:
        """The edges that are near."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Between two corners (3,), m; an infinite number leaves its side open."""

    low: Any
    high: Any
    wall: Soft = TOOL_WALL

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _numbers(getattr(self, name), 3, name))
        for axis, low, high in zip(AXES, self.low, self.high, strict=True):
            _ordered(low, high, axis)

    def step(self, p: Array, dp: Array) -> Array:
        ways = zip(p.tolist(), dp.tolist(), self.low, self.high, strict=True)
        return np.array([self.wall.step(*way) for way in ways])

    def warnings(self, p: Array) -> tuple[str, ...]:
        found = []
        for axis, x, low, high in zip(AXES, p.tolist(), self.low, self.high, strict=True):
            room = self.wall.warning(x, low, high)
            if room is not None:
                side = "upper" if high - x < x - low else "lower"
                found.append(_text(f"{side} {axis}", room))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """Round the base's z axis, m: radii r and heights z; a radius from 0 leaves no hole."""

    r: tuple[float, float]
    z: tuple[float, float]
    wall: Soft = TOOL_WALL

    def __post_init__(self) -> None:
        for name in ("r", "z"):
            low, high = _numbers(getattr(self, name), 2, name)
            _ordered(low, high, name)
            object.__setattr__(self, name, (low, high))
        if self.r[0] < 0.0:
            raise BrazoError(f"r begins at {self.r[0]:g} m; a radius is at least 0")

    @property
    def _radii(self) -> tuple[float, float]:
        return (self.r[0] or -math.inf, self.r[1])

    def step(self, p: Array, dp: Array) -> Array:
        z = self.wall.step(float(p[2]), float(dp[2]), *self.z)
        x, y = (p[:2] + dp[:2]).tolist()
        before, after = math.hypot(p[0], p[1]), math.hypot(x, y)
        if after == 0.0:
            # Straight through the axis: no direction to move outwards in.
            return np.array([x, y, z] if self.r[0] == 0.0 else [p[0], p[1], z])
        share = self.wall.step(before, after - before, *self._radii) / after
        return np.array([share * x, share * y, z])

    def warnings(self, p: Array) -> tuple[str, ...]:
        found = []
        r = math.hypot(p[0], p[1])
        room = self.wall.warning(r, *self._radii)
        if room is not None:
            found.append(_text("outer" if self.r[1] - r <= room else "inner", room))
        room = self.wall.warning(float(p[2]), *self.z)
        if room is not None:
            found.append(_text("upper" if self.z[1] - p[2] <= room else "lower", room))
        return tuple(found)


def _text(edge: str, room: float) -> str:
    if room < 0.0:
        return f"{-1e3 * room:.0f} mm past the {edge} edge of the workspace"
    return f"{1e3 * room:.0f} mm to the {edge} edge of the workspace"


def _numbers(value: Any, n: int, what: str) -> tuple[float, ...]:
    try:
        found = tuple(float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        raise BrazoError(f"{what}: wanted {n} numbers, got {value!r}") from None
    if len(found) != n or any(map(math.isnan, found)):
        raise BrazoError(f"{what}: wanted {n} numbers, got {value!r}")
    return found


def _ordered(low: float, high: float, what: str) -> None:
    if not low < high:
        raise BrazoError(f"workspace {what} runs from {low:g} to {high:g} m; wanted low < high")

"""Soft walls: steps towards the edge of a workspace are shortened near the edge.

Let r be the distance to the edge and s the length of the outward motion.  Where r < `width`,
outward steps are scaled by r/width, so the distance decreases as

    dr/ds = −r / width,   r(s) = r₀ exp(−s / width).

This solution is evaluated exactly, so a step of any size cannot pass the edge.  Inward steps are
not scaled.  The removed parts of steps are not stored, so reversing the motion has an immediate
effect.  A warning is given when the distance is below `warn`.
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
    """Soft wall: steps are shortened within `width` of an edge, with a warning within `warn`.

    Both are in the unit of the bounded value.  A width of 0 is a hard wall.
    """

    width: float
    warn: float

    def __post_init__(self) -> None:
        if not (0.0 <= self.width <= self.warn and math.isfinite(self.warn)):
            raise BrazoError(
                f"a wall has width {self.width:g} and warn {self.warn:g}; expected 0 ≤ width ≤ "
                "warn, both finite"
            )

    def step(self, x: float, dx: float, low: float, high: float) -> float:
        """Return where a step dx from x ends, shortened near the edges `low` and `high`."""
        room = high - x if dx > 0.0 else x - low
        travel = abs(dx)
        free = max(room - self.width, 0.0)
        if travel <= free:
            return x + dx
        left = max(min(room, self.width), 0.0)
        gone = free
        if left > 0.0:
            gone += left * -math.expm1((free - travel) / self.width)
        # Rounding must not pass the edge either; a position outside stays where it is.
        return min(x + gone, max(high, x)) if dx > 0.0 else max(x - gone, min(low, x))

    def warning(self, x: float, low: float, high: float) -> float | None:
        """Return the distance to the nearest edge if it is below `warn`, else None.

        The distance is negative outside of the range from `low` to `high`.
        """
        room = min(high - x, x - low)
        return room if room < self.warn else None


TOOL_WALL = Soft(0.03, 0.05)  # m
JOINT_WALL = Soft(0.05, 0.1)  # rad; m for prismatic joints, narrowed to their range


class Workspace(Protocol):
    """Allowed region of the tool point, in the base frame of the follower."""

    def step(self, p: Array, dp: Array) -> Array:
        """Return the end position (3,), m, of a step dp from p, shortened near the walls."""
        ...

    def warnings(self, p: Array) -> tuple[str, ...]:
        """Return a warning for each edge near the position p (3,), m."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class BoxWall:
    """Workspace in the shape of a box between the corners `low` and `high` (3,), m.

    Infinite values leave a side open.
    """

    low: Any
    high: Any
    wall: Soft = TOOL_WALL

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _numbers(getattr(self, name), 3, name))
        for axis, low, high in zip(AXES, self.low, self.high, strict=True):
            _ordered(low, high, axis)

    def step(self, p: Array, dp: Array) -> Array:
        """Return the end position (3,), m, of a step dp from p, shortened near the walls."""
        axes = zip(p.tolist(), dp.tolist(), self.low, self.high, strict=True)
        return np.array([self.wall.step(*axis) for axis in axes])

    def warnings(self, p: Array) -> tuple[str, ...]:
        """Return a warning for each edge near the position p (3,), m."""
        found = []
        for axis, x, low, high in zip(AXES, p.tolist(), self.low, self.high, strict=True):
            room = self.wall.warning(x, low, high)
            if room is not None:
                side = "upper" if high - x < x - low else "lower"
                found.append(_text(f"{side} {axis}", room))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CylinderWall:
    """Workspace in the shape of a cylinder about the z axis of the base.

    `r` and `z` are the min and max of radius and height (m).  A min radius above 0 excludes the
    inner part of the cylinder.
    """

    r: tuple[float, float]
    z: tuple[float, float]
    wall: Soft = TOOL_WALL

    def __post_init__(self) -> None:
        for name in ("r", "z"):
            low, high = _numbers(getattr(self, name), 2, name)
            _ordered(low, high, name)
            object.__setattr__(self, name, (low, high))
        if self.r[0] < 0.0:
            raise BrazoError(
                f"the min radius of the workspace is {self.r[0]:g} m; it must be 0 m or more"
            )

    @property
    def _radii(self) -> tuple[float, float]:
        return (self.r[0] or -math.inf, self.r[1])

    def step(self, p: Array, dp: Array) -> Array:
        """Return the end position (3,), m, of a step dp from p, shortened near the walls."""
        z = self.wall.step(float(p[2]), float(dp[2]), *self.z)
        x, y = (p[:2] + dp[:2]).tolist()
        before, after = math.hypot(p[0], p[1]), math.hypot(x, y)
        if after == 0.0:
            # The step ends on the axis: there is no outward direction.
            return np.array([x, y, z] if self.r[0] == 0.0 else [p[0], p[1], z])
        share = self.wall.step(before, after - before, *self._radii) / after
        return np.array([share * x, share * y, z])

    def warnings(self, p: Array) -> tuple[str, ...]:
        """Return a warning for each edge near the position p (3,), m."""
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
        raise BrazoError(f"workspace {what}: expected {n} numbers, got {value!r}") from None
    if len(found) != n or any(map(math.isnan, found)):
        raise BrazoError(f"workspace {what}: expected {n} numbers, got {value!r}")
    return found


def _ordered(low: float, high: float, what: str) -> None:
    if not low < high:
        raise BrazoError(
            f"workspace {what} is {low:g} to {high:g} m; the lower limit must be below the upper"
        )

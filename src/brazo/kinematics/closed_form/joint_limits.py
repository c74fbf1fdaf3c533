"""Shift joint values by full turns into the joint limits, for any scalar type.

Angles that differ by full turns are equivalent. Of those within the limits, the nearest to the
start value is chosen: the angle within half a turn of a *centre*. The centre is the start value,
moved until it is at least half a turn from both limits. If the limits are less than a turn apart,
the centre is their midpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.codegen.ring import absolute, maximum, minimum, rint, where
from brazo.kinematics.result import LIMIT_TOLERANCE, TURN

Array = np.ndarray
Scalar = Any

_UNLIMITED = 1e300


def centre(low: float, high: float, start: Scalar) -> Scalar:
    """Return the centre: the angle (rad) within half a turn of which a joint value is chosen.

    It is the start value, moved until it is at least half a turn from both limits. If the limits
    are less than a turn apart, it is their midpoint.
    """
    low, high = low - LIMIT_TOLERANCE, high + LIMIT_TOLERANCE
    if high - low < TURN:
        return 0.5 * (low + high)
    value = start
    if math.isfinite(low):
        value = maximum(value, low + 0.5 * TURN)
    if math.isfinite(high):
        value = minimum(value, high - 0.5 * TURN)
    return value


def turned(q: Scalar, centre: Scalar) -> Scalar:
    """Shift the angle q by full turns to within half a turn of `centre`."""
    return q - TURN * rint((q - centre) * (1.0 / TURN))


def bounds(low: float, high: float) -> tuple[float, float]:
    """Return the limits widened by `LIMIT_TOLERANCE`; infinite limits become ±1e300."""
    return max(low - LIMIT_TOLERANCE, -_UNLIMITED), min(high + LIMIT_TOLERANCE, _UNLIMITED)


def beyond(q: Scalar, low: Scalar, high: Scalar, bit: Scalar) -> Scalar:
    """Return `bit` where q is below `low` or above `high`, otherwise 0."""
    return where(q - low, where(high - q, 0.0, bit), bit)


def placed(
    kinds: Sequence[str], limits: Array, x: Sequence[Scalar], start: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar, Scalar]:
    """Shift joint values x by full turns into the limits (n, 2); return (q, bits, distance).

    `bits` is a bit mask of the joints out of limits (bit i: joint i). `distance` is the max norm of
    q − start.
    """
    values: list[Scalar] = []
    bits: Scalar = 0.0
    away: Scalar = 0.0
    for i, (kind, (low, high)) in enumerate(zip(kinds, limits.tolist(), strict=True)):
        value = x[i] if kind == "prismatic" else turned(x[i], centre(low, high, start[i]))
        values.append(value)
        bits = bits + beyond(value, *bounds(low, high), 2.0**i)
        away = maximum(away, absolute(value - start[i]))
    return values, bits, away

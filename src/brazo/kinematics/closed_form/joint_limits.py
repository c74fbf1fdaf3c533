"""Joint values moved by full turns into the joint limits, for any scalar type.

Of the values of an angle within the limits the nearest to the start is chosen: the one within half
a turn of a *centre*.  The centre is the start, moved into the limits until half a turn fits on
either side.  If the limits are less than a turn apart the centre is their midpoint.
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
    """The centre, see the module docstring, for limits and a start value (rad)."""
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
    """The angle q plus full turns, within half a turn of `centre`."""
    return q - TURN * rint((q - centre) * (1.0 / TURN))


def bounds(low: float, high: float) -> tuple[float, float]:
    """Limits widened by `LIMIT_TOLERANCE`; infinite ones become ±1e300."""
    return max(low - LIMIT_TOLERANCE, -_UNLIMITED), min(high + LIMIT_TOLERANCE, _UNLIMITED)


def beyond(q: Scalar, low: Scalar, high: Scalar, bit: Scalar) -> Scalar:
    """`bit` where q is out of `bounds`, otherwise 0."""
    return where(q - low, where(high - q, 0.0, bit), bit)


def placed(
    kinds: Sequence[str], limits: Array, x: Sequence[Scalar], start: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar, Scalar]:
    """Joint values x moved by full turns into the limits (n, 2), and two scalars.

    These are a bit field of the joints out of limits (bit i: joint i) and max |q − start|.
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

"""Simulation times without accumulated rounding errors.

The engine adds dt in every step: after 35871 steps of 1 ms its time is 35.8710000000071 s.  If dt
is the ratio a/b of two integers, the exact time of step k is the float nearest to k·a/b.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

NEAR = 0.01  # steps; a time farther from the grid was set between two steps and is not rounded
MAX_BATCH = 200  # max steps per call; other threads wait this long for the simulation's lock


def exact_time(t: float, dt: float) -> float:
    """Return the engine's time `t` (s), corrected for the rounding errors of adding `dt` (s).

    A time that differs by more than 0.01 `dt` from a multiple of `dt` is returned unchanged.
    """
    k = round(t / dt)
    if abs(t - k * dt) > NEAR * dt:
        return t
    a, b = _ratio(dt)
    return k * a / b


def exact_times(t: np.ndarray, dt: float) -> np.ndarray:
    """Return `exact_time` for each element of the array `t`, with bit-identical results."""
    k = np.rint(t / dt)
    a, b = _ratio(dt)
    return np.where(np.abs(t - k * dt) > NEAR * dt, t, k * a / b)


def steps_before(wait: float, dt: float) -> int:
    """Return the number of steps of `dt` seconds that start within the next `wait` seconds.

    The current step is included.  The result is at least 1 and at most `MAX_BATCH`.
    """
    return max(1, math.ceil(wait / dt - NEAR)) if wait < MAX_BATCH * dt else MAX_BATCH


@lru_cache(maxsize=64)
def _ratio(dt: float) -> tuple[int, int]:
    """Return integers a and b such that a/b, rounded to a float, is dt; b ≤ 10⁶ if possible."""
    near = Fraction(dt).limit_denominator(1_000_000)
    return (near if float(near) == dt else Fraction(dt)).as_integer_ratio()

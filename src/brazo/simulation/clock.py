"""Exact simulation times: step k of 1 ms is at k/1000 s, to the last bit.

The engine accumulates steps and shows 35.8710000000071 after 35871 of them.  With dt = a/b in
integers the time is the float nearest to k·a/b, which is the same in every run.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

NEAR = 0.01  # steps; a time farther from the grid was set between two steps and is not rounded
MAX_BATCH = 200  # max steps per call; other threads wait this long for the simulation's lock


def exact_time(t: float, dt: float) -> float:
    """Return the exact time (s) for an accumulated time `t` (s) in steps of `dt`."""
    k = round(t / dt)
    if abs(t - k * dt) > NEAR * dt:
        return t
    a, b = _ratio(dt)
    return k * a / b


def exact_times(t: np.ndarray, dt: float) -> np.ndarray:
    """Vectorised `exact_time`, with bit-identical results."""
    k = np.rint(t / dt)
    a, b = _ratio(dt)
    return np.where(np.abs(t - k * dt) > NEAR * dt, t, k * a / b)


def steps_before(wait: float, dt: float) -> int:
    """Return the number of steps that start within the next `wait` seconds.

    The current step is included.  The result is at least 1 and at most `MAX_BATCH`.
    """
    return max(1, math.ceil(wait / dt - NEAR)) if wait < MAX_BATCH * dt else MAX_BATCH


@lru_cache(maxsize=64)
def _ratio(dt: float) -> tuple[int, int]:
    """Return dt as a ratio of integers, with a denominator up to 10⁶ if that is exact."""
    near = Fraction(dt).limit_denominator(1_000_000)
    return (near if float(near) == dt else Fraction(dt)).as_integer_ratio()

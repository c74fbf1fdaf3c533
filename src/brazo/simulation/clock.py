"""Moments as people write them: the k-th step of 1 ms is at k/1000 s, to the last bit.

The engine adds step to step and shows 35.8710000000071 after 35871 of them.  With dt = a/b in whole
numbers the moment is k·a/b, the float nearest to it, and the same in every run.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

NEAR = 0.01  # of a step; a clock farther from the grid was set between two steps and is left alone
MAX_BATCH = 200  # steps made at once; others who want the simulation's lock wait for so long


def moment(t: float, dt: float) -> float:
    """The time (s) of a clock that added up steps of `dt`."""
    k = round(t / dt)
    if abs(t - k * dt) > NEAR * dt:
        return t
    a, b = _ratio(dt)
    return k * a / b


def moments(t: np.ndarray, dt: float) -> np.ndarray:
    """The same for many; bit for bit what `moment` gives for each."""
    k = np.rint(t / dt)
    a, b = _ratio(dt)
    return np.where(np.abs(t - k * dt) > NEAR * dt, t, k * a / b)


def steps_before(wait: float, dt: float) -> int:
    """How many steps begin before `wait` seconds are over, the present one included.

    At least 1 and at most `MAX_BATCH`.
    """
    return max(1, math.ceil(wait / dt - NEAR)) if wait < MAX_BATCH * dt else MAX_BATCH


@lru_cache(maxsize=64)
def _ratio(dt: float) -> tuple[int, int]:
    """dt as a ratio of whole numbers, as short as the float allows."""
    near = Fraction(dt).limit_denominator(1_000_000)
    return (near if float(near) == dt else Fraction(dt)).as_integer_ratio()

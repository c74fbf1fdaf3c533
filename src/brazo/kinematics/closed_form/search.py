"""Minimisation of functions of one angle, for many functions at once.

Each function is evaluated on a grid over the circle, then on finer grids around the angle with the
smallest value. A function returns infinity at infeasible angles, so the result is feasible if any
evaluated angle is feasible. Feasible arcs that are narrower than the grid are found if `edges`
contains their end points.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray

_FAN = np.linspace(-1.0, 1.0, 33)
_LEVELS = 7  # each reduces the step by a factor of 16: from 1° to less than 1e-9 rad


def lowest_on_circle(
    f: Callable[[Array], Array], count: int, edges: Array | None = None, grid: int = 360
) -> tuple[Array, Array]:
    """Return the angle and value (count,) of the minimum of each of `count` functions.

    f maps angles (count, K) to values (count, K); row i belongs to function i. `edges` (count, M)
    are additional angles to evaluate. The midpoints between them are evaluated too.
    """
    angles = np.broadcast_to(np.linspace(-math.pi, math.pi, grid, endpoint=False), (count, grid))
    if edges is not None:
        edges = np.sort(edges, axis=1)
        middles = 0.5 * (edges + np.roll(edges, -1, axis=1))
        middles[:, -1] += math.pi  # between the last one and, a turn later, the first
        angles = np.concatenate([angles, edges, middles], axis=1)
    best, value = _pick(f, angles)
    step = 2 * math.pi / grid
    for _ in range(_LEVELS):
        best, value = _pick(f, best[:, None] + step * _FAN)
        step /= 16
    return best, value


def _pick(f: Callable[[Array], Array], angles: Array) -> tuple[Array, Array]:
    """Return the angle with the smallest f in each row of `angles` (count, K), and this f."""
    values = f(angles)
    lowest = np.argmin(values, axis=1)[:, None]
    pick = (np.take_along_axis(part, lowest, axis=1)[:, 0] for part in (angles, values))
    best, value = pick
    return best, value

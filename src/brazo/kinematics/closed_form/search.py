"""Minimum of a function of one angle, for many functions at once.

A grid over the circle brackets the minimum, then finer grids around the best point refine it.  A
function is infinite where it is infeasible: the best feasible point is kept, also on the boundary.
Feasible arcs narrower than the grid are found if `edges` gives their possible ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray

_FAN = np.linspace(-1.0, 1.0, 33)
_LEVELS = 7  # each closes in by sixteen: from a degree to below 1e-9


def lowest_on_circle(
    f: Callable[[Array], Array], count: int, edges: Array | None = None, grid: int = 360
) -> tuple[Array, Array]:
    """Angles and values (count,) of the lowest points of f: (count, K) angles -> values.

    `edges` (count, M) are angles to try, and also the middles between them.
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
    values = f(angles)
    lowest = np.argmin(values, axis=1)[:, None]
    pick = (np.take_along_axis(part, lowest, axis=1)[:, 0] for part in (angles, values))
    best, value = pick
    return best, value

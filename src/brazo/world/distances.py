"""How far apart two robots, bodies or fixtures are, and where.

The distance of two sets of convex solids is the least over their pairs.  A pair cannot be nearer
than its bounding balls, so pairs are asked in the order of that bound until it exceeds the least
found: a handful of exact questions instead of hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array

SPARE = 1e-3  # m


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """The least distance (m, negative inside) and the nearest points, world frame."""

    value: float
    first: str  # part
    second: str
    first_point: Array  # (3,)
    second_point: Array


def nearest(
    model: Any,
    data: Any,
    first: Array,
    second: Array,
    names: tuple[str, ...],
    part: Array,
    limit: float,
) -> Distance | None:
    """The nearest pair of two sets of solids (geom numbers); None when all are beyond `limit`."""
    mujoco = engine()
    bound = _bounds(model, data, first, second)
    best, found = limit, None
    points, nearest_points = np.zeros(6), np.zeros(6)
    for flat in np.argsort(bound, axis=None).tolist():
        i, k = divmod(flat, len(second))
        if bound[i, k] >= best:
            break
        value = mujoco.mj_geomDistance(model, data, int(first[i]), int(second[k]), best, points)
        if value < best:
            best, found = value, (int(first[i]), int(second[k]))
            nearest_points = points.copy()
    if found is None:
        return None
    return Distance(
        float(best),
        names[part[found[0]]],
        names[part[found[1]]],
        nearest_points[:3],
        nearest_points[3:],
    )


class Nearest:
    """The distance of two sets of solids, asked again and again.

    The pair that was nearest last time gives a first value, and nearly everything else is ruled
    out by it: a pair whose bounding balls are farther apart needs no question.
    """

    def __init__(self, model: Any, first: Array, second: Array, limit: float) -> None:
        self._mujoco = engine()
        self._model = model
        self._first, self._second = first, second
        self.limit = limit
        radius = np.where(model.geom_rbound > 0.0, model.geom_rbound, np.inf)  # planes go on
        self._reach = radius[first][:, None] + radius[second]
        self.last = int(first[0]), int(second[0])  # the pair that was nearest last time
        self._points = np.zeros(6)

    def value(self, data: Any) -> float:
        """The least distance (m), `limit` when beyond it; of the frames in `data`."""
        distance, model, points = self._mujoco.mj_geomDistance, self._model, self._points
        best = distance(model, data, *self.last, self.limit, points)
        A, B = data.geom_xpos[self._first], data.geom_xpos[self._second]
        apart2 = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * (A @ B.T)
        # Rounding of the squares is far below the millimetre that is added here.
        near = np.flatnonzero(apart2 < (self._reach + (best + SPARE)) ** 2)
        rows, columns = np.divmod(near, len(self._second))
        pairs = zip(self._first[rows].tolist(), self._second[columns].tolist(), strict=True)
        for a, b in pairs:
            found = distance(model, data, a, b, best, points)
            if found < best:
                best, self.last = found, (a, b)
        return float(best)


def _bounds(model: Any, data: Any, first: Array, second: Array) -> Array:
    """What no pair can be nearer than (a, b), from balls around the solids."""
    centre, radius = data.geom_xpos, model.geom_rbound
    apart = centre[first][:, None] - centre[second]
    bound = np.sqrt((apart * apart).sum(axis=-1)) - radius[first][:, None] - radius[second]
    # A plane has no ball around it: what counts is the height of the other's above it.
    for i in np.flatnonzero(radius[first] == 0.0):
        up = data.geom_xmat[first[i]].reshape(3, 3)[:, 2]
        bound[i] = -apart[i] @ up - radius[second]
    for k in np.flatnonzero(radius[second] == 0.0):
        up = data.geom_xmat[second[k]].reshape(3, 3)[:, 2]
        bound[:, k] = apart[:, k] @ up - radius[first]
    return bound

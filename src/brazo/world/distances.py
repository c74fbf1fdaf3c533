"""Min distance between robots, bodies or fixtures, and the closest points.

The distance between two sets of convex geoms is the min over all pairs of geoms.  For each pair,
the distance between the bounding spheres is a lower bound.  Exact distances are computed in the
order of this bound, until the bound exceeds the min found so far.  Most pairs are thus skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array
from brazo.world.assembly import Label

SPARE = 1e-3  # m


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """Min distance of two robots, bodies or fixtures, and their closest points in world axes (m).

    The distance `value` (m) is negative if they penetrate.
    """

    value: float
    first: str  # name of a part
    second: str
    first_point: Array  # (3,)
    second_point: Array


def nearest(
    model: Any, data: Any, labels: Sequence[Label], first: str, second: str, limit: float
) -> Distance | None:
    """Return the min distance between two robots, bodies, fixtures or parts.

    Return None if the distance exceeds `limit` (m).
    """
    return _closest(model, data, labels, geoms_of(labels, first), geoms_of(labels, second), limit)


def geoms_of(labels: Sequence[Label], name: str) -> Array:
    """Return the geom ids of the robot, body, fixture or part with this name."""
    found = np.flatnonzero([name in (label.owner, label.name) for label in labels])
    if not len(found):
        owners = ", ".join(dict.fromkeys(label.owner for label in labels))
        raise BrazoError(f"nothing named '{name}' in this cell; it contains: {owners}")
    return found


def _closest(
    model: Any, data: Any, labels: Sequence[Label], first: Array, second: Array, limit: float
) -> Distance | None:
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
        labels[found[0]].name,
        labels[found[1]].name,
        nearest_points[:3],
        nearest_points[3:],
    )


class Nearest:
    """Evaluator of the min distance between two robots, bodies or fixtures, for repeated use.

    `names` are the names of the two objects.  A distance above `limit` (m) is returned as `limit`.

    The pair of geoms that was closest in the previous evaluation is evaluated first.  Its distance
    is an upper bound.  Pairs whose bounding spheres are farther apart than this bound are skipped;
    these are nearly all pairs.
    """

    def __init__(
        self, model: Any, labels: Sequence[Label], names: tuple[str, str], limit: float
    ) -> None:
        self._mujoco = engine()
        self._model = model
        first, second = self._first, self._second = (
            geoms_of(labels, names[0]),
            geoms_of(labels, names[1]),
        )
        self.limit = limit
        radius = np.where(model.geom_rbound > 0.0, model.geom_rbound, np.inf)  # planes are infinite
        self._reach = radius[first][:, None] + radius[second]
        self.last = int(first[0]), int(second[0])  # the closest pair of the last evaluation
        self._points = np.zeros(6)

    def value(self, data: Any) -> float:
        """Return the min distance (m), at most `limit`, at the geom poses in `data` (`MjData`).

        After a step, the geom poses in `World.mj_data` are those at the start of the step.
        """
        distance, model, points = self._mujoco.mj_geomDistance, self._model, self._points
        best = distance(model, data, *self.last, self.limit, points)
        A, B = data.geom_xpos[self._first], data.geom_xpos[self._second]
        apart2 = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * (A @ B.T)
        # `SPARE` exceeds the rounding errors of the squares by far.
        near = np.flatnonzero(apart2 < (self._reach + (best + SPARE)) ** 2)
        rows, columns = np.divmod(near, len(self._second))
        pairs = zip(self._first[rows].tolist(), self._second[columns].tolist(), strict=True)
        for a, b in pairs:
            found = distance(model, data, a, b, best, points)
            if found < best:
                best, self.last = found, (a, b)
        return float(best)


def _bounds(model: Any, data: Any, first: Array, second: Array) -> Array:
    """Return lower bounds of the distances (m) between all pairs of geoms.

    `first` and `second` are geom ids.  Entry (i, k) of the result belongs to first[i] and
    second[k].  The bounds are computed from bounding spheres.
    """
    centre, radius = data.geom_xpos, model.geom_rbound
    apart = centre[first][:, None] - centre[second]
    bound = np.sqrt((apart * apart).sum(axis=-1)) - radius[first][:, None] - radius[second]
    # A plane has no bounding sphere: the bound is the height of the other sphere above the plane.
    for i in np.flatnonzero(radius[first] == 0.0):
        up = data.geom_xmat[first[i]].reshape(3, 3)[:, 2]
        bound[i] = -apart[i] @ up - radius[second]
    for k in np.flatnonzero(radius[second] == 0.0):
        up = data.geom_xmat[second[k]].reshape(3, 3)[:, 2]
        bound[:, k] = apart[:, k] @ up - radius[first]
    return bound

"""How far apart two robots, bodies or fixtures are, and where.

The distance of two sets of convex solids is the least over their pairs.  A pair cannot be nearer
than its bounding balls, so pairs are asked in the order of that bound until it exceeds the least
found: a handful of exact questions instead of hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.model.description import Array
from brazo.model.mjcf.engine import engine


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
    centre, radius = data.geom_xpos, model.geom_rbound
    gap = np.linalg.norm(centre[first][:, None] - centre[second][None], axis=-1)
    bound = gap - radius[first][:, None] - radius[second][None]
    # A plane has no bounding ball: what counts is the height of the other's above it.
    for planes, others, flip in ((first, second, False), (second, first, True)):
        for i, g in enumerate(planes):
            if radius[g] == 0.0:
                up = data.geom_xmat[g].reshape(3, 3)[:, 2]
                height = (centre[others] - centre[g]) @ up - radius[others]
                if flip:
                    bound[:, i] = height
                else:
                    bound[i] = height
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

"""Convex pieces that approximate a solid for collision detection.

The surface is cut by planes normal to the coordinate axes, one at a time.  Each cut is chosen from
several candidates: it is the cut that reduces the total volume of the convex hulls most.  Cutting
ends when the reduction is below `WORTH` times the hull volume of the uncut solid, or at the max
number of pieces.  The hulls of the pieces cover the solid with less empty space than a single hull.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.body.mesh_inertia import hull_of
from brazo.errors import BrazoError
from brazo.model.description import Array

MOST_PIECES = 6
WORTH = 0.04  # of the volume of one hull of the whole
MOST_CORNERS = 256  # of a piece
_FRACTIONS = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)  # of the extent, where cuts are tried,
_FACES = 4  # and in the planes of as many faces
_MOST_TRIANGLES = 20_000  # more are merged on a grid
_GRID = 100  # cells along the longest side


def convex_pieces(
    vertices: Array, faces: Array, most: int = MOST_PIECES
) -> list[tuple[Array, Array]]:
    """Return convex pieces that cover a surface, each as vertices (v, 3) and faces (f, 3).

    `most` is the max number of pieces.  Raises BrazoError if all points are in one plane.
    """
    triangles = _moderate(vertices, faces)
    pieces = [(triangles, _volume(triangles))]
    if not pieces[0][1]:
        raise BrazoError("the mesh is flat: all its points are in one plane")
    worth = WORTH * pieces[0][1]
    known: dict[int, tuple[float, list[tuple[Array, float]]]] = {}
    while len(pieces) < most:
        for piece, volume in pieces:
            if id(piece) not in known:
                known[id(piece)] = _best_cut(piece, volume)
        gain, index = max((known[id(piece)][0], -i) for i, (piece, _) in enumerate(pieces))
        if gain < worth:
            break
        pieces[-index : -index + 1] = known[id(pieces[-index][0])][1]
    return [_hull(piece.reshape(-1, 3)) for piece, _ in pieces]


def _moderate(vertices: Array, faces: Array) -> Array:
    """Return the corners (f, 3, 3) of the triangles, simplified if the mesh is large.

    If there are more than `_MOST_TRIANGLES`, the vertices are rounded to a grid.  Triangles that
    become degenerate or equal to another one are then removed.
    """
    if len(faces) > _MOST_TRIANGLES:
        cell = float(np.ptp(vertices, axis=0).max()) / _GRID
        vertices = np.round(vertices / cell) * cell
        _, index = np.unique(vertices, axis=0, return_inverse=True)
        places = index.reshape(-1)[faces]
        kept = (places != np.roll(places, 1, axis=1)).all(axis=1)
        _, first = np.unique(np.sort(places[kept], axis=1), axis=0, return_index=True)
        faces = faces[kept][first]
    return vertices[faces]


def _best_cut(triangles: Array, volume: float) -> tuple[float, list[tuple[Array, float]]]:
    """Return the best cut: the reduction of hull volume, and both halves with their hull volumes.

    `volume` is the hull volume of the uncut triangles.  If no cut reduces it, the result is
    (0, []).
    """
    best: tuple[float, list[tuple[Array, float]]] = (0.0, [])
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    for axis in range(3):
        fractions = low[axis] + np.array(_FRACTIONS) * (high[axis] - low[axis])
        for at in (*fractions.tolist(), *_faces_across(triangles, axis)):
            halves = [_clipped(triangles, axis, at, side) for side in (1.0, -1.0)]
            if min(map(len, halves)) == 0:
                continue
            sized = [(half, _volume(half)) for half in halves]
            gain = volume - sum(size for _, size in sized)
            if gain > best[0] and all(size > 0.0 for _, size in sized):
                best = (gain, sized)
    return best


def _faces_across(triangles: Array, axis: int) -> list[float]:
    """Return the coordinates along `axis` of the largest flat regions normal to this axis.

    At most `_FACES` coordinates are returned.
    """
    along = triangles[:, :, axis]
    size = float(np.ptp(triangles, axis=(0, 1)).max())
    flat = triangles[np.ptp(along, axis=1) <= 1e-7 * size]
    sides = flat[:, 1:] - flat[:, :1]
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    places, index = np.unique(np.round(flat[:, 0, axis] / (1e-6 * size)), return_inverse=True)
    largest = np.argsort(-np.bincount(index, area, len(places)), kind="stable")[:_FACES]
    return (places[largest] * (1e-6 * size)).tolist()


def _clipped(triangles: Array, axis: int, at: float, side: float) -> Array:
    """Return the triangles clipped to one side of the plane x[axis] = at, as corners (f, 3, 3).

    The side is x[axis] <= at if `side` is 1, and x[axis] >= at if `side` is -1.
    """
    inside = side * (triangles[:, :, axis] - at) <= 0.0
    count = inside.sum(axis=1)
    whole = triangles[count == 3]
    pieces = [whole]
    for number in (1, 2):
        some, flags = triangles[count == number], inside[count == number]
        if not len(some):
            continue
        odd = flags.argmax(axis=1) if number == 1 else (~flags).argmax(axis=1)
        rows = np.arange(len(some))
        a, b, c = (some[rows, (odd + k) % 3] for k in range(3))
        ab, ac = _crossing(a, b, axis, at), _crossing(a, c, axis, at)
        if number == 1:
            pieces.append(np.stack([a, ab, ac], axis=1))
        else:
            pieces += [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
    return np.concatenate(pieces)


def _crossing(a: Array, b: Array, axis: int, at: float) -> Array:
    share = (at - a[:, axis]) / (b[:, axis] - a[:, axis])
    return a + share[:, None] * (b - a)


def _volume(triangles: Array) -> float:
    """Return the volume of the convex hull of the corners; 0 if they are in one plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(triangles.reshape(-1, 3)).volume)
    except (QhullError, ValueError):
        return 0.0


def _hull(points: Array) -> tuple[Array, Array]:
    """Return the vertices and faces of a convex hull that contains the points.

    If the exact hull has more than `MOST_CORNERS` vertices, an approximation is returned.  The
    approximation is the hull of the points that are extreme in `MOST_CORNERS` evenly spread
    directions, scaled up until it contains all points.
    """
    vertices, faces = hull_of(points)
    if len(vertices) <= MOST_CORNERS:
        return vertices, faces
    k = np.arange(MOST_CORNERS) + 0.5
    z, turn = 1.0 - 2.0 * k / MOST_CORNERS, k * math.pi * (1.0 + math.sqrt(5.0))
    r = np.sqrt(1.0 - z * z)
    directions = np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
    middle = vertices.mean(axis=0)
    centred = vertices - middle
    extreme = (centred / np.ptp(centred, axis=0)) @ directions.T
    few, sides = hull_of(centred[np.unique(extreme.argmax(axis=0))])
    a, b, c = (few[sides[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    heights = np.einsum("fi,fi->f", normals, a)
    kept = heights > 1e-9 * heights.max()
    factor = float(((centred @ normals[kept].T) / heights[kept]).max())
    return middle + max(1.0, factor) * few, sides

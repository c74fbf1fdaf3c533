"""Vertex normals of a mesh: smooth across flat edges, sharp across creases.

Two faces that share an edge are smooth neighbours if the angle between their normals is below
`CREASE`.  Corners at the same point that are connected through smooth neighbours share one normal:
the area-weighted mean of the normals of their faces.  Edges are sorted, not compared in pairs.  The
cost is therefore O(n log n) for any number of faces at a vertex or an edge.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.errors import BrazoError

CREASE = math.radians(35.0)  # faces at a larger angle have separate normals

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def creased(vertices: np.ndarray, faces: np.ndarray) -> Arrays:
    """Return the vertices (v, 3), faces (f, 3) and vertex normals (v, 3) of a mesh for drawing.

    Vertices are duplicated along creases, so that each copy has the normal of its side.  Triangles
    of zero area are removed.  Raises BrazoError if all triangles have zero area.
    """
    same = same_place(vertices)
    places = same[faces]
    corner = vertices[places]
    across = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    area = np.linalg.norm(across, axis=1)
    keep = area > 0.0
    if not keep.any():
        raise BrazoError("all triangles of the mesh have zero area")
    places, across, area = places[keep], across[keep], area[keep]
    flat = across / area[:, None]
    group = _smooth_groups(vertices, places, flat)
    count = int(group.max()) + 1
    weighted = np.repeat(across / area.max(), 3, axis=0)
    sums = np.stack([np.bincount(group, weighted[:, k], count) for k in range(3)], axis=1)
    length = np.linalg.norm(sums, axis=1)
    first = np.zeros(count, dtype=np.intp)
    first[group[::-1]] = np.arange(len(group))[::-1]
    # The normals around a needle may cancel; any of them is used then.
    lost = length < 1e-12 * np.bincount(group, np.linalg.norm(weighted, axis=1), count)
    normals = np.divide(sums, length[:, None], out=flat[first // 3], where=~lost[:, None])
    return vertices[places.reshape(-1)[first]], group.reshape(-1, 3).astype(np.int32), normals


def same_place(vertices: np.ndarray) -> np.ndarray:
    """Return for each vertex the index of the first vertex at the same point.

    The tolerance is 1e-9 of the size of the mesh.
    """
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    # The offset of a third of a step keeps exact values such as 0 away from the rounding boundary.
    keys = np.floor((vertices - vertices.min(axis=0)) / (1e-9 * size) + 1.0 / 3.0)
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    # The sort is stable: the first of each run has the lowest index.
    first = np.empty(len(order), dtype=np.intp)
    first[order] = order[new][np.cumsum(new) - 1]
    return first


def _smooth_groups(vertices: np.ndarray, places: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return the group index (3 f,) of each triangle corner.

    All corners of a group are at the same point and share a normal.  `places` (f, 3) are the
    vertex indices of the faces after `same_place`, `flat` (f, 3) the face normals.
    """
    corners = np.arange(places.size).reshape(-1, 3)
    # Edge k of a face connects corners k and k + 1, ordered here from the lower point index to the
    # higher.
    a, b = corners.reshape(-1), np.roll(corners, -1, axis=1).reshape(-1)
    place = places.reshape(-1)
    turned = place[a] > place[b]
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    edge = place[a].astype(np.int64) * len(vertices) + place[b]
    normal = np.repeat(flat, 3, axis=0)
    # The normals at an edge are all perpendicular to it, so one angle sorts them.
    order = np.lexsort((_angle_about(vertices[place[b]] - vertices[place[a]], normal), edge))
    new = np.ones(len(order), dtype=bool)
    new[1:] = edge[order[1:]] != edge[order[:-1]]
    start = np.flatnonzero(new)
    after = np.arange(1, len(order) + 1)
    after[np.append(start[1:], len(order)) - 1] = start  # the last at an edge precedes the first
    one, other = order, order[after]
    smooth = np.einsum("ij,ij->i", normal[one], normal[other]) > math.cos(CREASE)
    one, other = one[smooth], other[smooth]
    rows, columns = np.concatenate([a[one], b[one]]), np.concatenate([a[other], b[other]])
    return _components(places.size, rows, columns)


def _components(count: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the index of the connected component of each of `count` nodes.

    `rows[i]` and `columns[i]` are the two nodes of link i.  Components are numbered in the order of
    their first nodes.  Each node has a label, the index of a node of the same component.  Every
    pass lowers the labels at both ends of each link to the smaller of the two, until nothing
    changes.  SciPy has such a function, but importing SciPy takes longer than this function for a
    typical robot.
    """
    label = np.arange(count)
    while True:
        low = np.minimum(label[rows], label[columns])
        new = label.copy()
        for nodes in (rows, columns, label[rows], label[columns]):
            np.minimum.at(new, nodes, low)
        new = new[new]
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1]
        label = new


def _angle_about(axes: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the angle (rad) of each direction about its axis.

    For each axis, all angles are measured from the same zero direction.
    """
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    helper = np.zeros_like(axes)
    helper[np.arange(len(axes)), np.abs(axes).argmin(axis=1)] = 1.0
    u = np.cross(axes, helper)
    v = np.cross(axes, u)
    return np.arctan2(np.einsum("ij,ij->i", directions, v), np.einsum("ij,ij->i", directions, u))

"""Volume, centre of mass and inertia of the solid that a triangle surface encloses.

The solid is a sum of tetrahedra.  Each tetrahedron has a triangle of the surface as base, and all
have the same apex.  p₁, p₂ and p₃ are the corners of a triangle relative to the apex, and s is
their sum.  The tetrahedron has the signed volume V = det(p₁, p₂, p₃) / 6 and the second moments
V/20 (Σ pᵢpᵢᵀ + s sᵀ) (Tonon, J. Math. Stat. 1, 2005).  The result is exact for every closed surface
whose triangles are all counter-clockwise, or all clockwise, when seen from outside.  The surface
may have several separate parts.
"""

from __future__ import annotations

import numpy as np

from brazo.body.creases import same_place
from brazo.errors import BrazoError
from brazo.model.description import Array, Inertia, frozen

MIN_FILLED = 1e-9  # volume over that of the bounding cube, below which a surface encloses nothing


def solid_inertia(vertices: Array, faces: Array, density: float) -> Inertia:
    """Return the inertia of the solid inside a closed surface, with uniform density (kg/m³).

    Raises BrazoError if the surface encloses no volume.
    """
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    corners = vertices[faces] - middle  # (f, 3, 3)
    volumes = np.linalg.det(corners) / 6.0
    sums = corners.sum(axis=1)
    volume = float(volumes.sum())
    if abs(volume) <= MIN_FILLED * float(np.ptp(vertices, axis=0).max()) ** 3:
        raise BrazoError("the surface encloses no volume")
    com = (volumes @ sums) / (4.0 * volume)
    squares = np.einsum("f,fki,fkj->ij", volumes, corners, corners)
    moments = (squares + np.einsum("f,fi,fj->ij", volumes, sums, sums)) / 20.0
    moments -= volume * np.outer(com, com)
    if volume < 0.0:  # inside out
        volume, moments = -volume, -moments
    tensor = density * (np.trace(moments) * np.eye(3) - moments)
    return Inertia(density * volume, frozen(middle + com), frozen((tensor + tensor.T) / 2.0))


def hull_of(vertices: Array) -> tuple[Array, Array]:
    """Return the vertices (v, 3) and faces (f, 3) of the convex hull of the points.

    The faces are counter-clockwise when seen from outside.  Raises BrazoError if all points are in
    one plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        raise BrazoError("the mesh is flat") from None
    used, index = np.unique(hull.simplices, return_inverse=True)
    faces = index.reshape(-1, 3)
    points = vertices[used]
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return points, faces.astype(np.int32)


def open_edges(vertices: Array, faces: Array) -> int:
    """Return the number of open edges of a surface; 0 if the surface is closed.

    The edges of a face are directed.  Each edge from vertex a to vertex b is paired with one edge
    of another face from b to a; an edge without a partner is open.  Vertices at the same point
    count as one vertex.
    """
    places = same_place(vertices)[faces].astype(np.int64)
    kept = (places != np.roll(places, 1, axis=1)).all(axis=1)  # without needles
    a = places[kept].reshape(-1)
    b = np.roll(places[kept], -1, axis=1).reshape(-1)
    size = len(vertices)
    forward, count = np.unique(a * size + b, return_counts=True)
    backward, other = np.unique(b * size + a, return_counts=True)
    common, i, j = np.intersect1d(forward, backward, return_indices=True)
    paired = np.minimum(count[i], other[j]).sum() if len(common) else 0
    return int(count.sum() - paired)

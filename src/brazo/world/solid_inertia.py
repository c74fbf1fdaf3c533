"""Inertia of a homogeneous free body from its shape and mass."""

from __future__ import annotations

import math

import numpy as np

from brazo.body.solids import triangles
from brazo.errors import BrazoError
from brazo.model.description import Array, Inertia, frozen
from brazo.model.inertia import merge, shape_tensor, transformed
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from brazo.world.cell import STEEL, BinShape, BodyShape


def solid_inertia(shape: BodyShape, mass: float) -> Inertia:
    """Return the inertia of a homogeneous solid, in its frame; a mesh counts as its convex hull."""
    match shape:
        case BinShape():
            return _plates(shape, mass)
        case Mesh():
            return hull_inertia(triangles(shape)[0], mass)
        case Box(size):
            tensor = shape_tensor("box", mass, size)
        case Cylinder(radius, length):
            tensor = shape_tensor("cylinder", mass, (radius, length))
        case Capsule(radius, length):
            tensor = shape_tensor("capsule", mass, (radius, length))
        case Sphere(radius):
            tensor = shape_tensor("sphere", mass, (radius,))
    return Inertia(mass, frozen(np.zeros(3)), frozen(tensor))


def hull_inertia(vertices: Array, mass: float) -> Inertia:
    """Return the inertia of the homogeneous convex hull of points (v, 3).

    The hull is divided into tetrahedra from an inner point to its faces; the second moments of a
    tetrahedron with the corners 0, a, b, c and the volume V are V/20 (Σ pᵢpᵢᵀ + s sᵀ), with s the
    sum of its corners pᵢ.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        raise BrazoError("a free body needs a solid mesh; this one is flat") from None
    inner = vertices[hull.vertices].mean(axis=0)
    corners = vertices[hull.simplices] - inner  # (faces, 3, 3)
    volumes = np.abs(np.linalg.det(corners)) / 6.0
    sums = corners.sum(axis=1)
    whole = float(volumes.sum())
    com = (volumes[:, None] * sums).sum(axis=0) / (4.0 * whole)
    squares = np.einsum("fki,fkj->fij", corners, corners) + np.einsum("fi,fj->fij", sums, sums)
    moments = np.einsum("f,fij->ij", volumes, squares) / 20.0
    density = mass / whole
    about = density * (np.trace(moments) * np.eye(3) - moments)
    tensor = about - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Inertia(mass, frozen(inner + com), frozen((tensor + tensor.T) / 2.0))


def _plates(shape: BinShape, mass: float) -> Inertia:
    """Return the inertia of a body made of boxes of one density."""
    boxes = [(one.shape.size, one.pose) for one in shape.parts(STEEL) if isinstance(one.shape, Box)]
    volume = sum(math.prod(size) for size, _ in boxes)
    found = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
    for size, T in boxes:
        plate = solid_inertia(Box(size), mass * math.prod(size) / volume)
        found = merge(found, transformed(plate, T))
    return found

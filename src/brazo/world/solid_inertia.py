"""Inertia of a homogeneous free body from its shape and mass."""

from __future__ import annotations

import math

import numpy as np

from brazo.body.mesh_inertia import hull_of
from brazo.body.mesh_inertia import solid_inertia as surface_inertia
from brazo.body.solids import triangles
from brazo.errors import BrazoError
from brazo.model.description import Array, Inertia, frozen
from brazo.model.inertia import merge, shape_tensor, transformed
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from brazo.world.cell import STEEL, BinShape, BodyShape


def solid_inertia(shape: BodyShape, mass: float) -> Inertia:
    """Return the inertia of a homogeneous solid with the mass `mass` (kg), in the solid's frame.

    A mesh is treated as its convex hull.
    """
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
    """Return the inertia of the convex hull of `vertices` (v, 3), with uniform density."""
    try:
        one = surface_inertia(*hull_of(vertices), 1.0)
    except BrazoError:
        raise BrazoError(
            "the mesh of a free body is flat; a free body needs a mesh with a volume"
        ) from None
    return Inertia(mass, one.com, frozen(one.tensor * (mass / one.mass)))


def _plates(shape: BinShape, mass: float) -> Inertia:
    """Return the inertia of a bin; its plates are boxes of equal density."""
    boxes = [(one.shape.size, one.pose) for one in shape.parts(STEEL) if isinstance(one.shape, Box)]
    volume = sum(math.prod(size) for size, _ in boxes)
    found = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
    for size, T in boxes:
        plate = solid_inertia(Box(size), mass * math.prod(size) / volume)
        found = merge(found, transformed(plate, T))
    return found

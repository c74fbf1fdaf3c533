"""Collision geometry: conversion of parts to convex geoms.

The geoms are boxes, cylinders, capsules, spheres and convex hulls.  Where they only approximate a
part, most of them enclose it: bevels are filled, and a tapered beam becomes up to three straight
beams, each with the thickness of its thicker end.  Patterns and meshes become their convex hulls.
A mesh with convex pieces becomes the hulls of its pieces.

Two kinds of part are not enclosed.  A lever becomes its two end discs and a box whose width is the
sum of their radii, so the sides of the box deviate from those of the lever by at most half the
difference of the radii.  A square beam with strongly rounded corners becomes cylinders, outside of
which the corners extend by a few per cent of its width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from brazo.body.solids import triangles
from brazo.model.description import Array, Part
from brazo.model.shapes import (
    Beam,
    Box,
    Capsule,
    CircularPattern,
    Cylinder,
    Lever,
    Mesh,
    Shape,
    Sphere,
)
from brazo.model.transforms import translate

TAPER = 0.010  # m, change of width per slice of a tapered beam
MAX_SLICES = 3
ROUND_CORNER = 0.9  # `Beam.corner` from which on a square cross-section counts as round
FLAT = 1e-3  # relative thickness below which a hull is replaced by a box


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """A convex geom: `size` (radii and half lengths, m) as in MuJoCo, `pose` in the body frame."""

    kind: Literal["box", "cylinder", "capsule", "sphere", "mesh"]
    size: tuple[float, ...]
    pose: Array
    vertices: Array | None = None  # (v, 3) of a mesh, in the frame of `pose`


def primitives(part: Part) -> tuple[Primitive, ...]:
    """Return the convex geoms that represent a part in collision detection."""
    return tuple(
        Primitive(solid.kind, solid.size, part.pose @ solid.pose, solid.vertices)
        for solid in _solids(part.shape)
    )


@lru_cache(maxsize=4096)
def _solids(shape: Shape) -> tuple[Primitive, ...]:
    middle = np.eye(4)
    match shape:
        case Box((x, y, z)):
            return (_box(x, y, z, middle),)
        case Cylinder(radius, length):
            return (Primitive("cylinder", (radius, length / 2), middle),)
        case Capsule(radius, length):
            if length == 0.0:
                return (Primitive("sphere", (radius,), middle),)
            return (Primitive("capsule", (radius, length / 2), middle),)
        case Sphere(radius):
            return (Primitive("sphere", (radius,), middle),)
        case Beam():
            return _beam(shape)
        case Lever(length, (first, second), thickness):
            discs = [
                Primitive("cylinder", (radius, thickness / 2), translate(x=x))
                for radius, x in ((first, -length / 2), (second, length / 2))
            ]
            return (
                (*discs, _box(length, first + second, thickness, middle))
                if length
                else (max(discs, key=lambda disc: disc.size[0]),)
            )
        case Mesh():
            return tuple(_hull(one) for one in shape.colliding)
        case CircularPattern():
            return (_hull(shape),)


def _beam(beam: Beam) -> tuple[Primitive, ...]:
    change = max(abs(a - b) for a, b in zip(beam.start, beam.end, strict=True))
    slices = min(MAX_SLICES, max(1, math.ceil(change / TAPER)))
    length = beam.length / slices
    round_ = beam.corner >= ROUND_CORNER and all(
        math.isclose(*ends) for ends in (beam.start, beam.end)
    )
    found = []
    for k in range(slices):
        x, y = (
            max(a + (b - a) * t for t in (k / slices, (k + 1) / slices))
            for a, b in zip(beam.start, beam.end, strict=True)
        )
        at = translate(z=(k + 0.5) * length - beam.length / 2)
        if round_:
            found.append(Primitive("cylinder", (x / 2, length / 2), at))
        else:
            found.append(_box(x, y, length, at))
    return tuple(found)


def _hull(shape: Shape) -> Primitive:
    vertices, _ = triangles(shape)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    spread = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    if len(vertices) < 4 or spread[2] < FLAT * spread[0]:
        least = FLAT * float((high - low).max())
        x, y, z = np.maximum(high - low, least)
        return _box(float(x), float(y), float(z), translate(*((low + high) / 2)))
    return Primitive("mesh", (), np.eye(4), vertices)


def _box(x: float, y: float, z: float, pose: Array) -> Primitive:
    return Primitive("box", (x / 2, y / 2, z / 2), pose)

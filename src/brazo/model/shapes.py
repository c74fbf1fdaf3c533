"""Solid shapes of a part; sizes are in metres. All shapes except `Mesh` are centred on the origin.

Cylinders, capsules and beams are aligned with z. A `Beam` tapers from one rounded section to
another. A `Lever` is a flat link with two round ends. The links of generated robots consist of
beams and levers. `CircularPattern` repeats a shape around z (bolts). `Mesh` refers to a file or
contains triangles. All shapes except `CircularPattern` and `Mesh` are convex. `brazo.body.solids`
converts any shape to triangles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Box:
    size: tuple[float, float, float]
    bevel: float = 0.0  # edge radius


@dataclass(frozen=True, slots=True)
class Cylinder:
    radius: float
    length: float
    bevel: float = 0.0


@dataclass(frozen=True, slots=True)
class Capsule:
    radius: float
    length: float  # of the straight part


@dataclass(frozen=True, slots=True)
class Sphere:
    radius: float


@dataclass(frozen=True, slots=True)
class Beam:
    """Bar along z with rounded rectangular cross-sections `start` (at -z) and `end` (at +z)."""

    length: float
    start: tuple[float, float]  # full width in x and y at -z
    end: tuple[float, float]  # full width in x and y at +z
    corner: float = 0.5  # corner radius over the smaller half width; 1 makes a square section round
    bevel: float = 0.0  # edge radius of the two ends


@dataclass(frozen=True, slots=True)
class Lever:
    """Convex hull of two discs normal to z, at x = -length/2 and x = +length/2.

    The discs have the radii `radii[0]` and `radii[1]`.
    """

    length: float  # between the disc centres
    radii: tuple[float, float]
    thickness: float
    bevel: float = 0.0


@dataclass(frozen=True, slots=True)
class CircularPattern:
    """`count` copies of a shape, evenly spaced on a circle around z; the first is on the x axis."""

    shape: Box | Cylinder | Capsule | Sphere | Beam | Lever
    count: int
    radius: float


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangle mesh, from the file `path` or from `vertices` and `faces`, multiplied by `scale`.

    `pieces` are mesh files with the same scale. If there are any, collision detection uses the
    convex hulls of the pieces instead of the convex hull of the mesh.
    """

    path: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    vertices: np.ndarray | None = None  # (v, 3)
    faces: np.ndarray | None = None  # (f, 3)
    pieces: tuple[Path, ...] = ()

    @property
    def colliding(self) -> tuple[Mesh, ...]:
        """Meshes whose convex hulls are used for collision detection: the pieces, or this mesh."""
        return tuple(Mesh(path, self.scale) for path in self.pieces) or (self,)


Shape = Box | Cylinder | Capsule | Sphere | Beam | Lever | CircularPattern | Mesh

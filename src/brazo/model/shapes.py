"""Solid shapes of a part; sizes in metres, each centred on its own frame.

Cylinders, capsules and beams are aligned with z.  `Beam` tapers from one rounded section to another
and `Lever` from one round end to another; they form the segments.  `CircularPattern` repeats a
shape around z (bolts), `Mesh` refers to a file or contains its triangles.  All but these two are
convex.  `brazo.body.solids` converts any of them to triangles.
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
    """Bar along z, centred, with a rounded section that tapers from start to end."""

    length: float
    start: tuple[float, float]  # full width in x and y at -z
    end: tuple[float, float]  # full width in x and y at +z
    corner: float = 0.5  # corner radius over the smaller half width; 1 makes a square section round
    bevel: float = 0.0  # edge radius of the two ends


@dataclass(frozen=True, slots=True)
class Lever:
    """Hull of two discs normal to z: radii[0] at x = -length/2 and radii[1] at x = +length/2."""

    length: float  # between the disc centres
    radii: tuple[float, float]
    thickness: float
    bevel: float = 0.0


@dataclass(frozen=True, slots=True)
class CircularPattern:
    """`count` copies of a shape, evenly spaced on a circle of `radius` around z; the first on x."""

    shape: Box | Cylinder | Capsule | Sphere | Beam | Lever
    count: int
    radius: float


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangle mesh, from a file (`path`, scaled) or from `vertices` and `faces`.

    `pieces` are mesh files with the same scale; their convex hulls are used for collisions instead
    of the convex hull of the mesh.
    """

    path: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    vertices: np.ndarray | None = None  # (v, 3)
    faces: np.ndarray | None = None  # (f, 3)
    pieces: tuple[Path, ...] = ()

    @property
    def colliding(self) -> tuple[Mesh, ...]:
        """The meshes whose convex hulls are used for collisions."""
        return tuple(Mesh(path, self.scale) for path in self.pieces) or (self,)


Shape = Box | Cylinder | Capsule | Sphere | Beam | Lever | CircularPattern | Mesh

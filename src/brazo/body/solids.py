"""Shapes as triangles: closed surfaces that face outward, with normals for smooth shading.

Every convex shape is a *loft*: rings of points stacked along z.  Each ring is an outline at the
distance ρ around a core:

    ring(φ) = core(φ) + ρ (cos φ, sin φ)

The core is a point (round shapes), the corners of a rectangle (boxes, beams) or the centres of two
discs (levers).  A bevel of radius b is the same outline, offset inward by b (1 - sin t) while z
changes by b (1 - cos t), for t from 0 (the flat end) to 90° (the side).  The normal of such a point
is known exactly, (sin t cos φ, sin t sin φ, cos t), so ends stay flat and edges smooth.  Two rings
at the same position with different normals give a sharp edge.

`mesh` returns the surface for drawing: vertices are duplicated at sharp edges.  `triangles` returns
the same surface with duplicate vertices merged, for volumes and collision detection.  This surface
is watertight, except for a mesh file with holes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from brazo.body.creases import creased, same_place
from brazo.body.meshes import MAX_COORDINATE, mesh_triangles, require_readable
from brazo.errors import BrazoError
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
from brazo.model.transforms import exact_sincos, rot_z, translate

ROUND = 48  # points per circle; a multiple of 8
BEVEL_STEPS = 3
BALL_STEPS = 7
SMALL_ROUND, SMALL_STEPS = 16, 1  # for the copies of a pattern: bolts are small
SETTLED = 3_000_000_000  # ns; a later change of a file has another time on every file system


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceMesh:
    """Surface for drawing: vertices (v, 3), counter-clockwise faces (f, 3), normals (v, 3)."""

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray


@lru_cache(maxsize=4096)
def mesh(shape: Shape) -> SurfaceMesh:
    """Return the surface of a shape for drawing.

    Vertices are shared where the surface is smooth and duplicated at sharp edges.  Raises
    BrazoError if a size is invalid or a mesh file cannot be read.
    """
    _require_positive(shape)
    with np.errstate(all="ignore"):  # checked below
        surface = _surface(shape, ROUND, BEVEL_STEPS)
    if not len(surface.faces) or not np.isfinite(surface.normals).all():
        raise BrazoError(f"{_name(shape)}: too thin for its length; increase its thickness")
    if not np.abs(surface.vertices).max() <= MAX_COORDINATE:
        raise BrazoError(
            f"{_name(shape)}: larger than {MAX_COORDINATE:g} m, the maximum; check its unit"
        )
    for array in (surface.vertices, surface.faces, surface.normals):
        array.flags.writeable = False
    return surface


def triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices (v, 3) float64 and faces (f, 3) int32 of the surface of a shape.

    No two vertices are at the same point.
    """
    return _merged(mesh(shape))


@lru_cache(maxsize=4096)
def _merged(surface: SurfaceMesh) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = _merge(surface.vertices, surface.faces)
    vertices.flags.writeable = False
    faces.flags.writeable = False
    return vertices, faces


# ---- the shapes ------------------------------------------------------------------------------


def _surface(shape: Shape, points: int, steps: int) -> SurfaceMesh:
    match shape:
        case Box((x, y, z), bevel):
            bevel = min(bevel, x / 2, y / 2, z / 2)
            outline = _rectangle(x / 2, y / 2, bevel, points)
            return _prism(outline, outline, z, bevel, steps)
        case Cylinder(radius, length, bevel):
            outline = _circle(radius, points)
            return _prism(outline, outline, length, min(bevel, radius, length / 2), steps)
        case Capsule(radius, length):
            outline = _circle(radius, points)
            return _prism(outline, outline, length + 2 * radius, radius, BALL_STEPS)
        case Sphere(radius):
            outline = _circle(radius, points)
            return _prism(outline, outline, 2 * radius, radius, BALL_STEPS)
        case Beam(length, start, end, corner, bevel):
            first, last = (
                _rectangle(w / 2, h / 2, min(max(corner, 0.0), 1.0) * min(w, h) / 2, points)
                for w, h in (start, end)
            )
            return _prism(first, last, length, min(bevel, first.rho, last.rho, length / 2), steps)
        case Lever(length, radii, thickness, bevel):
            outline = _two_discs(length, *radii, points)
            return _prism(outline, outline, thickness, min(bevel, *radii, thickness / 2), steps)
        case CircularPattern(copied, count, radius):
            return _pattern(_surface(copied, SMALL_ROUND, SMALL_STEPS), count, radius)
        case Mesh():
            return _from_mesh(shape)
    raise BrazoError(f"{type(shape).__name__} is not a shape; see brazo.model.shapes for the list")


@dataclass(frozen=True, slots=True, eq=False)
class _Outline:
    """Closed outline in the plane: point i is core[i] + rho · direction[i], counter-clockwise."""

    core: np.ndarray  # (m, 2)
    direction: np.ndarray  # (m, 2), unit
    rho: float

    @property
    def support(self) -> np.ndarray:
        """Distance from the origin to the tangent of the outline at each point, shape (points,)."""
        return np.einsum("ij,ij->i", self.core, self.direction) + self.rho


def _circle(radius: float, points: int) -> _Outline:
    angles = np.arange(points) * (2 * math.pi / points)
    return _Outline(np.zeros((points, 2)), _directions(angles), radius)


def _rectangle(x: float, y: float, rho: float, points: int) -> _Outline:
    """Return a rectangle with half widths x and y and corner radius rho, centred at the origin.

    `points` is the number of points of a full circle.  For rho = 0, each corner has two points with
    different normals.
    """
    steps = points // 4 if rho > 0.999 * min(x, y) else (points // 8 if rho > 0.0 else 1)
    corners = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    quarter = np.linspace(0.0, math.pi / 2, steps + 1)
    core = np.repeat([((x - rho) * sx, (y - rho) * sy) for sx, sy in corners], steps + 1, axis=0)
    angles = np.concatenate([quarter + k * math.pi / 2 for k in range(4)])
    return _Outline(core, _directions(angles), rho)


def _two_discs(length: float, r_start: float, r_end: float, points: int) -> _Outline:
    """Return the convex hull of two circles with centres at x = -length/2 and x = +length/2.

    `r_start` and `r_end` are their radii.  If one circle contains the other, the result is the
    larger circle.
    """
    slope = (r_start - r_end) / length if length > 0.0 else math.copysign(2.0, r_start - r_end)
    if abs(slope) >= 1.0:
        larger = _circle(max(r_start, r_end), points)
        centre = (-length / 2 if r_start > r_end else length / 2, 0.0)
        return _Outline(larger.core + centre, larger.direction, larger.rho)
    phi = math.acos(slope)  # direction of the common tangent's normal
    n_end = max(4, round(points * phi / math.pi / 2) * 2)
    n_start = max(4, round(points * (1 - phi / math.pi) / 2) * 2)
    end = np.linspace(-phi, phi, n_end + 1)
    start = np.linspace(phi, 2 * math.pi - phi, n_start + 1)
    angles = np.concatenate([end, start])
    x = np.concatenate([np.full(n_end + 1, length / 2), np.full(n_start + 1, -length / 2)])
    extra = np.concatenate([np.full(n_end + 1, r_end), np.full(n_start + 1, r_start)])
    rho = min(r_start, r_end)
    direction = _directions(angles)
    core = np.stack([x, np.zeros_like(x)], axis=1) + (extra - rho)[:, None] * direction
    return _Outline(core, direction, rho)


# ---- lofting ---------------------------------------------------------------------------------


def _prism(first: _Outline, last: _Outline, height: float, bevel: float, steps: int) -> SurfaceMesh:
    """Return the bevelled loft from `first` at z = -height/2 to `last` at z = +height/2.

    `bevel` is the radius of the bevels at both ends; `steps` is the number of strips of a bevel.
    """
    turns = [exact_sincos(t) for t in np.linspace(0.0, math.pi / 2, (steps if bevel else 1) + 1)]
    run = height - 2 * bevel
    lean = (first.support - last.support) / run if run > 1e-9 * height else 0.0 * first.support
    rings, normals = [], []
    for outline, side in ((first, -1.0), (last, 1.0)):
        for s, c in turns if side < 0 else turns[::-1]:
            flat = outline.core + (outline.rho - bevel * (1.0 - s)) * outline.direction
            z = side * (height / 2 - bevel * (1.0 - c))
            rings.append(np.column_stack([flat, np.full(len(flat), z)]))
            normal = np.column_stack([s * outline.direction, side * c + s * lean])
            normals.append(normal / np.linalg.norm(normal, axis=1, keepdims=True))
    return _loft(np.array(rings), np.array(normals))


def _loft(rings: np.ndarray, normals: np.ndarray) -> SurfaceMesh:
    """Return the surface that joins k rings of m points by strips, with a flat fan at both ends.

    `rings` and `normals` have shape (k, m, 3).
    """
    k, m = rings.shape[:2]
    low, high = rings[0].mean(axis=0), rings[-1].mean(axis=0)
    vertices = np.concatenate([rings.reshape(-1, 3), [low, high]])
    all_normals = np.concatenate([normals.reshape(-1, 3), [[0, 0, -1.0], [0, 0, 1.0]]])
    here = np.arange(m)
    there = (here + 1) % m
    strips = []
    for i in range(k - 1):
        a, b, c, d = i * m + here, i * m + there, (i + 1) * m + there, (i + 1) * m + here
        strips += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    bottom = np.column_stack([np.full(m, k * m), there, here])
    top = np.column_stack([np.full(m, k * m + 1), (k - 1) * m + here, (k - 1) * m + there])
    faces = np.concatenate([bottom, *strips, top])
    return _without_slivers(vertices, faces, all_normals)


def _without_slivers(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray) -> SurfaceMesh:
    """Return the surface without degenerate faces.

    Vertices with equal position and normal are shared.
    """
    same = same_place(vertices)
    f = same[faces]
    faces = faces[(f[:, 0] != f[:, 1]) & (f[:, 1] != f[:, 2]) & (f[:, 2] != f[:, 0])]
    keys = np.column_stack([same, np.round(1e6 * normals)])
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    used, compact = np.unique(first[inverse.reshape(-1)][faces], return_inverse=True)
    return SurfaceMesh(vertices[used], compact.reshape(-1, 3).astype(np.int32), normals[used])


def _merge(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    same = same_place(vertices)
    kept, index = np.unique(same, return_inverse=True)
    return vertices[kept], index[faces].reshape(-1, 3).astype(np.int32)


def _directions(angles: np.ndarray) -> np.ndarray:
    return np.array([exact_sincos(a)[::-1] for a in angles])


# ---- copies and files ------------------------------------------------------------------------


def _pattern(one: SurfaceMesh, count: int, radius: float) -> SurfaceMesh:
    vertices, normals, faces = [], [], []
    for k in range(count):
        T = rot_z(2 * math.pi * k / count) @ translate(x=radius)
        vertices.append(one.vertices @ T[:3, :3].T + T[:3, 3])
        normals.append(one.normals @ T[:3, :3].T)
        faces.append(one.faces + k * len(one.vertices))
    return SurfaceMesh(
        np.concatenate(vertices), np.concatenate(faces).astype(np.int32), np.concatenate(normals)
    )


def _from_mesh(shape: Mesh) -> SurfaceMesh:
    if shape.path is None or shape.vertices is not None:
        return _with_normals(shape)
    path = Path(shape.path)
    # An STL file contains the whole geometry, so its status shows whether it has changed.
    status = require_readable(path)
    if path.suffix.lower() != ".stl" or time.time_ns() - status.st_mtime_ns < SETTLED:
        return _with_normals(shape)
    version = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    return _from_stl(path, tuple(shape.scale), version)


@lru_cache(maxsize=1024)
def _from_stl(
    path: Path, scale: tuple[float, float, float], version: tuple[int, ...]
) -> SurfaceMesh:
    """Return the surface of an STL file; `version` changes when the file changes.

    Results are cached by arguments, because each load of a robot creates new `Mesh` objects.
    """
    return _with_normals(Mesh(path, scale))


def _with_normals(shape: Mesh) -> SurfaceMesh:
    vertices, faces = mesh_triangles(shape)
    try:
        return SurfaceMesh(*creased(vertices, faces))
    except BrazoError as error:
        raise BrazoError(f"{shape.path}: {error}" if shape.path else str(error)) from None


def _name(shape: Shape) -> str:
    return str(shape.path or "mesh") if isinstance(shape, Mesh) else type(shape).__name__.lower()


def _require_positive(shape: Shape) -> None:
    """Raise BrazoError if a size is negative or not finite, or zero where zero is invalid."""
    straight = 0.0  # may be zero
    match shape:
        case Box(size):
            sizes: Sequence[float] = size
        case Cylinder(radius, length):
            sizes = (radius, length)
        case Capsule(radius, straight):
            sizes = (radius,)
        case Sphere(radius):
            sizes = (radius,)
        case Beam(length, start, end):
            sizes = (length, *start, *end)
        case Lever(straight, radii, thickness):
            sizes = (*radii, thickness)
        case CircularPattern(copied, count, straight):
            _require_positive(copied)
            sizes = (count,)
        case _:
            return
    if not all(math.isfinite(s) and s > 0.0 for s in sizes) or not 0.0 <= straight < math.inf:
        raise BrazoError(f"{shape}: every size must be a number above 0")

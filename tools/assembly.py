"""Solids, collision pieces and mesh files that the scripts `*_assembly.py` have in common.

A script has a function for each part of a robot, which makes a casting and dark or steel trim with
a `Shop`.  Meshes are in the axes of the link, with the origin where the robot file places them, so
that the file can stretch them with its parameters.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from manifold3d import CrossSection, Manifold

from brazo.body.convex import convex_pieces
from brazo.body.meshes import stl_bytes
from brazo.formats.library import mesh_directory

FINE, MEDIUM, COARSE = 48, 28, 16  # segments of a circle; those with COARSE have no bevels
HULL = 12  # segments of a circle in collision pieces
GRADED = 0.1  # m, radius below which graded circles have fewer segments
NEEDLE = 1e-6  # m, edges shorter than this are removed


class Shop:
    """Solids with circles of a given number of segments; with few, bevels are left out.

    Circles are drawn inside their radius, or `around` it: such a solid contains the exact one.
    With `graded`, circles below 100 mm have fewer segments.
    """

    def __init__(self, segments: int, around: bool = False, graded: bool = False) -> None:
        self.segments = segments
        self.detailed = segments > COARSE
        self.factor = 1.0 / math.cos(math.pi / segments) if around else 1.0
        self.graded = graded

    def steps(self, radius: float) -> int:
        """Number of segments of a circle, a multiple of 4 if it depends on the radius."""
        if not self.graded:
            return self.segments
        return min(self.segments, 4 * math.ceil(self.segments * math.sqrt(radius / GRADED) / 4))

    def circle(self, radius: float, x: float = 0.0, y: float = 0.0) -> CrossSection:
        outline = CrossSection.circle(radius * self.factor, self.steps(radius))
        return outline.translate((x, y))

    def rounded(self, width: float, depth: float, radius: float) -> CrossSection:
        inner = CrossSection.square((width - 2 * radius, depth - 2 * radius), True)
        return inner.offset(radius * self.factor, circular_segments=self.steps(radius))

    def slab(self, outline: CrossSection, low: float, high: float, bevel: float = 0.0) -> Manifold:
        """Extrude a convex outline along z, with bevelled edges."""
        if bevel == 0.0 or not self.detailed:
            return outline.extrude(high - low).translate((0, 0, low))
        small = outline.offset(-bevel, circular_segments=self.segments)
        whole = small.extrude(high - low).translate((0, 0, low))
        middle = outline.extrude(high - low - 2 * bevel).translate((0, 0, low + bevel))
        return Manifold.batch_hull([whole, middle])

    def column(
        self, radius: float, low: float, high: float, bevel: float = 0.0, at=(0.0, 0.0)
    ) -> Manifold:
        return self.slab(self.circle(radius, *at), low, high, bevel)

    def across(
        self, outline: CrossSection, low: float, high: float, bevel: float = 0.0
    ) -> Manifold:
        """Extrude a convex outline of (x, z) along y."""
        # Rotating by 90 degrees about x maps z to -y, so the range is mirrored before.
        return self.slab(outline, -high, -low, bevel).rotate((90, 0, 0))

    def drum(
        self, z: float, radius: float, low: float, high: float, bevel: float = 0.0, x: float = 0.0
    ) -> Manifold:
        return self.across(self.circle(radius, x, z), low, high, bevel)

    def lathe(self, *profile: tuple[float, float]) -> Manifold:
        """Solid of revolution about z of points (z, radius), from low to high."""
        first, last = profile[0][0], profile[-1][0]
        points = [(r * self.factor, z) for z, r in profile]
        outline = CrossSection([np.array([(0.0, first), *points, (0.0, last)])])
        return outline.revolve(self.steps(max(r for _, r in profile)))

    def lever(self, *discs: tuple[float, float, float]) -> CrossSection:
        """Hull of discs (x, z, radius)."""
        return CrossSection.batch_hull([self.circle(r, x, z) for x, z, r in discs])

    def ring(
        self, solid: Callable[[float, float], Manifold], count: int, radius: float
    ) -> Manifold:
        """Copies of a solid on a circle, the first between the axes."""
        angles = (np.arange(count) + 0.5) * (2 * np.pi / count)
        spots = [(radius * np.cos(t), radius * np.sin(t)) for t in angles.tolist()]
        return union([solid(*spot) for spot in spots])

    def both(self, solid: Manifold) -> Manifold:
        """A solid and its mirror image about the plane of the arm, y = 0."""
        return solid + solid.mirror((0, 1, 0))

    def bolts(self, count: int, radius: float, low: float, high: float, size: float) -> Manifold:
        """Hexagonal bolt heads along z, on a circle."""
        head = Shop(6)
        return self.ring(lambda x, y: head.column(size, low, high, at=(x, y)), count, radius)

    def screws(
        self, z: float, radius: float, low: float, high: float, size: float = 0.003
    ) -> Manifold:
        """Six screw heads around a joint axis."""
        if not self.detailed:
            return Manifold()
        angles = np.arange(6) * (np.pi / 3)
        spots = [(radius * np.cos(t), z + radius * np.sin(t)) for t in angles.tolist()]
        head = Shop(COARSE)
        return union([head.across(head.circle(size, *spot), low, high) for spot in spots])


Maker = Callable[[Shop], tuple[Manifold, Manifold]]  # casting and trim; both may be empty


def union(solids: list[Manifold]) -> Manifold:
    total = Manifold()
    for solid in solids:
        total = total + solid
    return total


def along_x(solid: Manifold) -> Manifold:
    """The solid with its z axis along x, and its x axis along -z."""
    return solid.rotate((0, 90, 0))


def along_y(solid: Manifold) -> Manifold:
    """The solid with its z axis along y, and its y axis along -z."""
    return solid.rotate((-90, 0, 0))


def triangles(solid: Manifold) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (v, 3) and faces (f, 3) of a solid, without needles."""
    mesh = solid.simplify(NEEDLE).to_mesh64()
    return np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts, dtype=np.int64)


def part_files(
    name: str,
    solids: tuple[Manifold, Manifold],
    outer: Manifold | None = None,
    local: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> dict[str, bytes]:
    """Binary STL of casting and trim of a part and of its convex pieces, by file name.

    The pieces are those of `outer`, by default casting and trim.  `local` maps points to the axes
    of the link.
    """
    files, stem = {}, name.replace(" ", "_")
    for solid, suffix in zip(solids, ("", "_trim"), strict=True):
        if not solid.is_empty():
            vertices, faces = triangles(solid)
            files[f"{stem}{suffix}.stl"] = stl_bytes(local(vertices), faces)
    # Added only now: the kernel evaluates lazily, and the last digits depend on the order.
    outer = solids[0] + solids[1] if outer is None else outer
    if not outer.is_empty():
        for k, (corners, sides) in enumerate(convex_pieces(*triangles(outer)), start=1):
            files[f"{stem}_hull_{k}.stl"] = stl_bytes(local(corners), sides)
    return files


def mesh_files(parts: Mapping[str, Maker], segments: int = MEDIUM) -> dict[str, bytes]:
    """Mesh files of parts in the axes of their links; trim is left out of collision pieces.

    The pieces are those of the castings with fewer corners, which contain them.
    """
    fine, simple = Shop(segments, graded=True), Shop(HULL, around=True)
    files = {}
    for name, make in parts.items():
        files |= part_files(name, make(fine), make(simple)[0])
    return files


def folder_of(robot: str) -> Path:
    """Folder of the shipped meshes of a robot."""
    return mesh_directory() / robot


def write(description: str | None, robot: str, files: Callable[[], Mapping[str, bytes]]) -> None:
    """Write the files of a robot, as a command with the option `--out`."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=folder_of(robot))
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files().items():
        (folder / name).write_bytes(data)
        print(f"{name}: {len(data) / 1000:.0f} kB")

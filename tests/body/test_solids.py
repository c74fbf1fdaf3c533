"""Shapes as triangles: closed, outward, of the right volume, shaded flat or round as they are."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
import trimesh

from brazo.body.solids import ROUND, mesh, triangles
from brazo.errors import BrazoError
from brazo.model.shapes import Beam, Box, Capsule, CircularPattern, Cylinder, Lever, Mesh, Sphere
from tests.body.volume import volume

BOX = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)

SHAPES = [
    Box((1.0, 2.0, 3.0)),
    Box((1.0, 2.0, 3.0), 0.1),
    Box((1.0, 1.0, 1.0), 0.5),
    Cylinder(0.5, 1.0),
    Cylinder(0.5, 1.0, 0.05),
    Cylinder(0.5, 0.1, 9.0),
    Capsule(0.1, 1.0),
    Capsule(0.1, 0.0),
    Sphere(1.0),
    Beam(1.0, (0.2, 0.3), (0.1, 0.1)),
    Beam(1.0, (0.2, 0.3), (0.1, 0.1), 0.0),
    Beam(1.0, (0.2, 0.2), (0.1, 0.1), 1.0, 0.02),
    Lever(1.0, (0.3, 0.2), 0.1),
    Lever(1.0, (0.2, 0.3), 0.1, 0.02),
    Lever(0.05, (0.3, 0.2), 0.1, 0.02),
    Lever(0.0, (0.2, 0.2), 0.1),
    CircularPattern(Cylinder(0.01, 0.02, 0.002), 8, 0.2),
    CircularPattern(Box((0.01, 0.02, 0.01), 0.002), 3, 0.2),
    Cylinder(2e-6, 5e-6, 1e-6),
    Box((4e3, 1.0, 2e3), 0.1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_surface_is_closed_and_looks_outward(shape) -> None:
    vertices, faces = triangles(shape)
    assert vertices.dtype == np.float64 and faces.dtype == np.int32
    solid = trimesh.Trimesh(vertices, faces, process=False)
    assert solid.is_watertight and solid.is_winding_consistent
    assert solid.volume > 0.0
    assert volume(shape) == pytest.approx(solid.volume, rel=1e-9)
    assert len(faces) < 1500


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_drawn_surface_is_the_same_and_its_normals_follow_it(shape) -> None:
    surface = mesh(shape)
    corners = surface.vertices[surface.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = across / np.linalg.norm(across, axis=1, keepdims=True)
    assert np.einsum("ij,ij->", corners[:, 0], across) / 6.0 == pytest.approx(volume(shape))
    assert np.linalg.norm(surface.normals, axis=1) == pytest.approx(1.0)
    cosines = np.einsum("fkj,fj->fk", surface.normals[surface.faces], flat)
    # The corner of a rounded box is an eighth of a ball in few steps, that of a bolt in one.
    widest = 50.0 if isinstance(shape, CircularPattern) else 25.0
    assert cosines.min() > math.cos(math.radians(widest))


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if not isinstance(s, CircularPattern)], ids=repr
)
def test_single_shapes_are_convex(shape) -> None:
    vertices, faces = triangles(shape)
    solid = trimesh.Trimesh(vertices, faces, process=False)
    assert solid.convex_hull.volume == pytest.approx(solid.volume, rel=1e-6)


def polygon(points: int) -> float:
    """Area of a regular polygon in the unit circle."""
    return points / 2.0 * math.sin(2.0 * math.pi / points)


def test_volumes_of_flat_sided_solids_are_exact() -> None:
    assert volume(Box((1.0, 2.0, 3.0))) == pytest.approx(6.0, rel=1e-14)
    assert volume(Cylinder(0.5, 2.0)) == pytest.approx(polygon(ROUND) * 0.25 * 2.0, rel=1e-13)
    start, middle, end = 0.2 * 0.3, 0.15 * 0.2, 0.1 * 0.1
    prismatoid = (start + 4.0 * middle + end) / 6.0
    assert volume(Beam(1.0, (0.2, 0.3), (0.1, 0.1), 0.0)) == pytest.approx(prismatoid, rel=1e-13)


def rounded_box(x: float, y: float, z: float, r: float) -> float:
    """Steiner's formula for a box and the ball that rolls round it."""
    a, b, c = x - 2 * r, y - 2 * r, z - 2 * r
    return a * b * c + 2 * r * (a * b + b * c + c * a) + math.pi * r * r * (a + b + c) + ball(r)


def ball(r: float) -> float:
    return 4.0 / 3.0 * math.pi * r**3


def two_discs(length: float, r0: float, r1: float) -> float:
    """Area of the hull of two circles: two sectors and the two trapezia between the tangents."""
    phi = math.acos((r0 - r1) / length)
    tangent = math.sqrt(length**2 - (r0 - r1) ** 2)
    return (math.pi - phi) * r0**2 + phi * r1**2 + tangent * (r0 + r1)


@pytest.mark.parametrize(
    ("shape", "exact"),
    [
        (Box((1.0, 2.0, 3.0), 0.2), rounded_box(1.0, 2.0, 3.0, 0.2)),
        (Cylinder(0.5, 2.0), math.pi * 0.25 * 2.0),
        (Capsule(0.1, 1.0), math.pi * 0.01 + ball(0.1)),
        (Sphere(2.0), ball(2.0)),
        (Lever(1.0, (0.3, 0.2), 0.1), two_discs(1.0, 0.3, 0.2) * 0.1),
        (Lever(1.0, (0.1, 0.4), 0.1), two_discs(1.0, 0.1, 0.4) * 0.1),
        (Beam(1.0, (0.4, 0.4), (0.2, 0.2), 1.0), math.pi / 3.0 * (0.04 + 0.02 + 0.01)),
        (Beam(2.0, (0.4, 0.6), (0.4, 0.6), 0.5), 2.0 * (0.24 - (4.0 - math.pi) * 0.01)),
    ],
    ids=repr,
)
def test_volumes_of_round_solids_approach_the_formula_from_inside(shape, exact) -> None:
    assert 0.98 * exact < volume(shape) < exact


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (Box((1.0, 2.0, 3.0), 0.2), (1.0, 2.0, 3.0)),
        (Cylinder(0.5, 2.0, 0.1), (1.0, 1.0, 2.0)),
        (Capsule(0.25, 1.0), (0.5, 0.5, 1.5)),
        (Sphere(0.25), (0.5, 0.5, 0.5)),
        (Beam(1.0, (0.2, 0.3), (0.4, 0.1), 0.5, 0.02), (0.4, 0.3, 1.0)),
        (Lever(1.0, (0.2, 0.2), 0.3, 0.05), (1.4, 0.4, 0.3)),
    ],
    ids=repr,
)
def test_sizes_are_met_exactly_and_centred(shape, size) -> None:
    vertices, _ = triangles(shape)
    assert vertices.max(axis=0) == pytest.approx(np.array(size) / 2, rel=1e-12)
    assert vertices.min(axis=0) == pytest.approx(-np.array(size) / 2, rel=1e-12)


def test_ends_are_flat_and_sides_are_round() -> None:
    surface = mesh(Cylinder(0.5, 1.0, 0.1))
    z = surface.vertices[:, 2]
    assert surface.normals[z == 0.5] == pytest.approx(
        np.tile([0.0, 0.0, 1.0], (ROUND + 1, 1)), abs=1e-15
    )
    side = np.abs(z) < 0.41
    radial = surface.vertices[side, :2] / 0.5
    assert surface.normals[side, :2] == pytest.approx(radial, abs=1e-12)


def test_sharp_edges_are_split_and_smooth_ones_shared() -> None:
    sharp = mesh(Box((1.0, 1.0, 1.0)))
    corner = np.all(np.abs(sharp.vertices) == 0.5, axis=1)
    normals = {tuple(np.round(n, 12) + 0.0) for n in sharp.normals[corner]}
    assert len(normals) == 6 and corner.sum() == 24
    smooth = mesh(Cylinder(0.5, 1.0, 0.1))
    assert len(smooth.vertices) == len(triangles(Cylinder(0.5, 1.0, 0.1))[0])


def test_pattern_repeats_its_shape() -> None:
    bolt = Cylinder(0.01, 0.02)
    vertices, faces = triangles(CircularPattern(bolt, 6, 0.2))
    bodies = trimesh.Trimesh(vertices, faces, process=False).split()
    assert len(bodies) == 6
    distances = [np.hypot(*body.center_mass[:2]) for body in bodies]
    assert distances == pytest.approx([0.2] * 6)


def test_equal_shapes_share_one_read_only_mesh() -> None:
    assert mesh(Cylinder(0.125, 0.5)) is mesh(Cylinder(0.125, 0.5))
    vertices, _ = triangles(Cylinder(0.125, 0.5))
    with pytest.raises(ValueError, match="read-only"):
        vertices[0] = 0.0


def test_given_mesh_is_scaled_and_a_mirror_keeps_it_outward() -> None:
    hull = trimesh.convex.convex_hull(BOX)
    shape = Mesh(vertices=hull.vertices, faces=hull.faces, scale=(-2.0, 1.0, 3.0))
    assert volume(shape) == pytest.approx(6.0)
    corners = mesh(shape).vertices[:, 0]
    assert corners.min() == -2.0 and corners.max() == 0.0
    assert len(mesh(shape).vertices) == 24  # the edges of a box are creases


def test_stl_file_is_read_again_only_if_it_has_changed(tmp_path) -> None:
    path = tmp_path / "box.stl"
    for size in (1.0, 2.0):
        trimesh.creation.box((size, size, size)).export(path)
        os.utime(path, (1e9 + size, 1e9 + size))
        first, second = mesh(Mesh(path=path)), mesh(Mesh(path=path))
        assert first is second
        assert volume(Mesh(path=path)) == pytest.approx(size**3)
    assert mesh(Mesh(path=path, scale=(2.0, 2.0, 2.0))) is not first


def test_mesh_file_is_read(tmp_path) -> None:
    ball_file = tmp_path / "ball.stl"
    trimesh.creation.icosphere(subdivisions=3, radius=0.5).export(ball_file)
    shape = Mesh(path=ball_file, scale=(2.0, 2.0, 2.0))
    assert volume(shape) == pytest.approx(ball(1.0), rel=0.02)
    normals, places = mesh(shape).normals, mesh(shape).vertices
    assert np.einsum("ij,ij->i", normals, places).min() > 0.99


@pytest.mark.parametrize("content", [None, b"", b"solid nothing\nendsolid nothing\n"])
def test_mesh_file_that_holds_no_mesh_is_named(tmp_path, content) -> None:
    path = tmp_path / "hand.stl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BrazoError, match=r"hand\.stl"):
        mesh(Mesh(path=path))


@pytest.mark.parametrize(
    "shape",
    [
        Box((1.0, 0.0, 1.0)),
        Cylinder(-0.1, 1.0),
        Cylinder(0.1, math.nan),
        Capsule(0.1, -1.0),
        Sphere(math.inf),
        Beam(1.0, (0.1, 0.1), (0.1, 0.0)),
        Lever(-0.1, (0.1, 0.1), 0.1),
        Lever(0.1, (0.1, 0.1), 0.0),
        CircularPattern(Sphere(0.0), 3, 0.1),
        CircularPattern(Sphere(0.1), 0, 0.1),
        Mesh(),
    ],
    ids=repr,
)
def test_empty_solids_are_refused(shape) -> None:
    with pytest.raises(BrazoError):
        mesh(shape)

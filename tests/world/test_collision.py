"""The solids that collide contain the parts that are drawn, and hardly more."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import brazo
from brazo.body.solids import triangles
from brazo.formats.library import robot_names
from brazo.model.description import Part, frozen
from brazo.model.shapes import Beam, Box, Capsule, CircularPattern, Cylinder, Lever, Mesh, Sphere
from brazo.model.transforms import pose
from brazo.world.collision import Primitive, primitives


def outside(solid: Primitive, points: np.ndarray) -> np.ndarray:
    """How far points are outside a solid (at most; negative inside)."""
    local = (points - solid.pose[:3, 3]) @ solid.pose[:3, :3]
    if solid.kind == "box":
        return (np.abs(local) - solid.size).max(axis=1)
    if solid.kind == "sphere":
        return np.linalg.norm(local, axis=1) - solid.size[0]
    if solid.kind == "mesh":
        planes = ConvexHull(solid.vertices).equations
        return (local @ planes[:, :3].T + planes[:, 3]).max(axis=1)
    radius, half = solid.size
    if solid.kind == "cylinder":
        return np.maximum(np.hypot(local[:, 0], local[:, 1]) - radius, np.abs(local[:, 2]) - half)
    axis = np.zeros_like(local)
    axis[:, 2] = np.clip(local[:, 2], -half, half)
    return np.linalg.norm(local - axis, axis=1) - radius


def excess(part: Part) -> tuple[float, float]:
    """How far the part sticks out of its solids, and they out of its bounding box."""
    vertices = triangles(part.shape)[0] @ part.pose[:3, :3].T + part.pose[:3, 3]
    solids = primitives(part)
    sticks_out = np.min([outside(solid, vertices) for solid in solids], axis=0).max()
    local = triangles(part.shape)[0]
    low, high = local.min(axis=0), local.max(axis=0)
    over = 0.0
    for solid in solids:
        T = np.linalg.inv(part.pose) @ solid.pose
        if solid.kind == "box":
            corners = np.array(np.meshgrid(*[[-s, s] for s in solid.size])).reshape(3, -1).T
        elif solid.kind == "mesh":
            corners = np.asarray(solid.vertices)
        else:
            r, h = solid.size[0], solid.size[-1] if len(solid.size) > 1 else 0.0
            tall = h + (r if solid.kind != "cylinder" else 0.0)
            corners = np.array([[r, 0, 0], [-r, 0, 0], [0, r, 0], [0, -r, 0], [0, 0, tall],
                                [0, 0, -tall]])  # fmt: skip
        corners = corners @ T[:3, :3].T + T[:3, 3]
        over = max(over, (corners - high).max(), (low - corners).max())
    return float(sticks_out), float(over)


PLACED = frozen(pose((0.1, -0.2, 0.3), (0.4, 0.5, -0.6)))


@pytest.mark.parametrize(
    ("shape", "slack"),
    [
        (Box((0.1, 0.2, 0.3), 0.01), 0.0),
        (Cylinder(0.1, 0.3, 0.02), 0.0),
        (Capsule(0.05, 0.2), 0.0),
        (Capsule(0.05, 0.0), 0.0),
        (Sphere(0.2), 0.0),
        (Beam(0.4, (0.10, 0.06), (0.07, 0.05)), 0.0),
        (Beam(0.4, (0.20, 0.20), (0.14, 0.14), 1.0), 0.0),
        (Lever(0.3, (0.08, 0.06), 0.05, 0.01), 0.01),
        (Lever(0.0, (0.08, 0.06), 0.05), 0.0),
    ],
)
def test_solids_contain_their_part(shape, slack):
    sticks_out, over = excess(Part("p", shape, PLACED))
    assert sticks_out <= slack + 1e-12
    assert over <= 1e-9 + slack


@pytest.mark.parametrize("name", robot_names())
def test_solids_of_shipped_robots_contain_their_parts(name):
    for parts in brazo.load(name).parts:
        for part in parts:
            if part.collides:
                sticks_out, over = excess(part)
                size = np.ptp(triangles(part.shape)[0], axis=0).max()
                slack = 0.0
                if isinstance(part.shape, Lever):
                    slack = abs(part.shape.radii[0] - part.shape.radii[1]) / 2
                elif isinstance(part.shape, Mesh):
                    slack = 1e-7  # STL has single precision
                    over = 0.0  # the hulls of a casting also contain its trim
                assert sticks_out <= slack + 1e-9
                assert over <= slack + 1e-9 * size


def test_patterns_and_meshes_become_their_hull():
    (solid,) = primitives(Part("bolts", CircularPattern(Cylinder(0.01, 0.02), 6, 0.1)))
    assert solid.kind == "mesh" and solid.vertices is not None
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    (solid,) = primitives(Part("tetra", Mesh(vertices=corners, faces=faces), PLACED))
    assert solid.kind == "mesh" and np.array_equal(solid.pose, PLACED)


def test_a_flat_mesh_becomes_a_thin_box():
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    (solid,) = primitives(Part("sheet", Mesh(vertices=corners, faces=faces)))
    assert solid.kind == "box" and solid.size == pytest.approx((0.5, 0.5, 0.0005))
    assert solid.pose[:3, 3] == pytest.approx([0.5, 0.5, 0])

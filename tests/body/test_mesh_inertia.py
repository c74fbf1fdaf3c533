"""Inertia of closed surfaces against formulas, trimesh and MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import trimesh

from brazo.body.mesh_inertia import hull_of, open_edges, solid_inertia
from brazo.errors import BrazoError
from brazo.model.inertia import broken_rules, shape_tensor
from brazo.model.transforms import pose


def placed(mesh: trimesh.Trimesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices and faces of a mesh somewhere in space, and the pose."""
    T = pose((0.3, -0.2, 0.5), (0.4, 0.5, -0.6))
    return np.array(mesh.vertices) @ T[:3, :3].T + T[:3, 3], np.array(mesh.faces), T


def test_a_box_has_the_inertia_of_the_formula():
    vertices, faces, T = placed(trimesh.creation.box((0.1, 0.2, 0.3)))
    one = solid_inertia(vertices, faces, 2700.0)
    R = T[:3, :3]
    assert one.mass == pytest.approx(2700.0 * 0.006, rel=1e-13)
    np.testing.assert_allclose(one.com, T[:3, 3], rtol=0, atol=1e-15)
    expected = R @ shape_tensor("box", one.mass, (0.1, 0.2, 0.3)) @ R.T
    np.testing.assert_allclose(one.tensor, expected, rtol=0, atol=1e-14)


def test_a_cylinder_approaches_the_formula_with_the_square_of_its_sides():
    errors = []
    for sides in (64, 256):
        mesh = trimesh.creation.cylinder(0.05, 0.3, sections=sides)
        one = solid_inertia(np.array(mesh.vertices), np.array(mesh.faces), 1000.0)
        exact = shape_tensor("cylinder", 1000.0 * np.pi * 0.05**2 * 0.3, (0.05, 0.3))
        errors.append(np.abs(one.tensor - exact).max() / exact.max())
    assert errors[1] < 1.1e-4
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.02)


def torus() -> trimesh.Trimesh:
    return trimesh.creation.torus(0.1, 0.03, major_sections=24, minor_sections=12)


@pytest.mark.parametrize("make", [torus, lambda: trimesh.creation.annulus(0.03, 0.08, 0.1)])
def test_a_body_with_a_hole_agrees_with_mujoco(make):
    """MuJoCo integrates the exact volume of a mesh itself, for its default density of 1000."""
    vertices, faces, _ = placed(make())
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="m", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT)
    mesh.uservert, mesh.userface = vertices.ravel(), faces.ravel()
    spec.worldbody.add_body(name="b").add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    model = spec.compile()
    one = solid_inertia(vertices, faces, 1000.0)
    # MuJoCo stores vertices in single precision.
    assert one.mass == pytest.approx(model.body_mass[1], rel=1e-6)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(one.com, data.xipos[1], atol=1e-7)
    R = data.ximat[1].reshape(3, 3)
    np.testing.assert_allclose(
        one.tensor, R @ np.diag(model.body_inertia[1]) @ R.T, rtol=0, atol=1e-6 * one.tensor.max()
    )


def test_random_hulls_agree_with_trimesh_and_are_physical():
    rng = np.random.default_rng(3)
    for _ in range(10):
        points, faces = hull_of(rng.normal(size=(30, 3)) * rng.uniform(0.01, 0.3, 3))
        mesh = trimesh.Trimesh(points, faces, process=False)
        one = solid_inertia(points, faces, 1.0)
        assert open_edges(points, faces) == 0
        assert mesh.volume > 0.0 and one.mass == pytest.approx(mesh.volume, rel=1e-12)
        np.testing.assert_allclose(one.com, mesh.center_mass, atol=1e-14)
        np.testing.assert_allclose(one.tensor, mesh.moment_inertia, rtol=1e-9, atol=1e-16)
        assert not broken_rules(one)


def test_open_edges_are_counted():
    box = trimesh.creation.box()
    vertices, faces = np.array(box.vertices), np.array(box.faces)
    assert open_edges(vertices, faces) == 0
    assert open_edges(vertices[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3)) == 0
    assert open_edges(vertices, faces[1:]) == 3
    turned = faces.copy()
    turned[0] = turned[0][::-1]
    assert open_edges(vertices, turned) == 6


def test_a_flat_surface_has_no_volume():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    with pytest.raises(BrazoError, match="encloses no volume"):
        solid_inertia(square, np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 2, 0]]), 1.0)
    with pytest.raises(BrazoError, match="flat"):
        hull_of(square)

"""Normals of given meshes: smooth across flat edges, sharp across creases, at O(n log n) cost."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import trimesh

from brazo.body.creases import creased
from brazo.errors import BrazoError


def fan(n: int, height: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """n triangles round one vertex: a cone."""
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.full(n, -height)])
    k = np.arange(n)
    return np.vstack([np.zeros(3), ring]), np.column_stack([0 * k, 1 + k, 1 + (k + 1) % n])


def book(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n triangles on one edge, like the pages of a book."""
    angle = 2 * np.pi * np.arange(n) / n
    pages = np.column_stack([np.cos(angle), np.sin(angle), np.full(n, 0.5)])
    k = np.arange(n)
    return np.vstack([[0, 0, 0], [0, 0, 1], pages]), np.column_stack([0 * k, 0 * k + 1, 2 + k])


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        fan(8000),
        fan(8000, height=1.0),
        book(8000),
        (np.tile(np.eye(3), (8000, 1)), np.arange(24000).reshape(-1, 3)),
    ],
    ids=["flat fan", "cone", "pages at one edge", "duplicates"],
)
def test_many_faces_at_one_place_take_little_memory(vertices, faces):
    creased(*fan(4))  # imports
    tracemalloc.start()
    creased(vertices, faces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * len(faces)  # bytes; all pairs would be 600,000 bytes a face


def test_a_fine_cone_is_smooth_and_its_tip_looks_along_its_axis():
    vertices, _, normals = creased(*fan(100, height=1.0))
    assert len(vertices) == 101
    assert normals[np.linalg.norm(vertices, axis=1) == 0] == pytest.approx(np.array([[0, 0, 1.0]]))
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)


def test_a_coarse_cone_has_creases():
    vertices, _, _ = creased(*fan(4, height=1.0))
    assert len(vertices) == 12


def test_both_sides_of_a_sheet_have_their_own_normals():
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    front = np.array([[0, 1, 2], [0, 2, 3]])
    vertices, faces, normals = creased(corners, np.vstack([front, front[:, ::-1]]))
    assert len(vertices) == 8
    assert normals[faces[:2]] == pytest.approx(np.broadcast_to([0, 0, 1.0], (2, 3, 3)))
    assert normals[faces[2:]] == pytest.approx(np.broadcast_to([0, 0, -1.0], (2, 3, 3)))


def test_normals_agree_with_trimesh_on_a_smooth_body():
    body = trimesh.creation.icosphere(subdivisions=3)
    body.vertices *= (1.0, 1.2, 0.9)
    vertices, faces, normals = creased(np.array(body.vertices), np.array(body.faces))
    assert len(vertices) == len(body.vertices)
    expected = np.asarray(body.vertex_normals)[body.faces]
    cosines = np.einsum("fij,fij->fi", normals[faces], expected)
    assert cosines.min() > np.cos(np.radians(1.0))  # weights by area and by angle differ a little


def test_a_mesh_without_area_is_refused():
    with pytest.raises(BrazoError, match="all triangles of the mesh have zero area"):
        creased(np.zeros((3, 3)), np.array([[0, 1, 2]]))

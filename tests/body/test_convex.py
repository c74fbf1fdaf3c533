"""Convex pieces contain the solid, with less empty space than one hull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

from brazo.body.convex import MOST_CORNERS, convex_pieces
from brazo.errors import BrazoError


def arrays(mesh: trimesh.Trimesh) -> tuple[np.ndarray, np.ndarray]:
    return np.array(mesh.vertices), np.array(mesh.faces)


def outside(pieces, points: np.ndarray) -> float:
    """How far points are outside all pieces."""
    planes = [ConvexHull(vertices).equations for vertices, _ in pieces]
    return float(
        np.min([(points @ p[:, :3].T + p[:, 3]).max(axis=1) for p in planes], axis=0).max()
    )


def fork() -> Any:
    boxes = [
        trimesh.creation.box(bounds=[[-0.1, y - 0.02, 0], [0.1, y + 0.02, 0.3]])
        for y in (-0.1, 0.1)
    ]
    return trimesh.util.concatenate(
        [*boxes, trimesh.creation.box(bounds=[[-0.1, -0.12, -0.05], [0.1, 0.12, 0]])]
    )


def test_a_convex_body_is_one_piece():
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    (piece,) = convex_pieces(*arrays(box))
    assert len(piece[0]) == 8
    assert trimesh.Trimesh(*piece).volume == pytest.approx(0.006)


def test_the_slot_of_a_fork_stays_open():
    mesh = fork()
    pieces = convex_pieces(*arrays(mesh))
    points = np.array(trimesh.sample.sample_surface(mesh, 2000, seed=1)[0])
    assert outside(pieces, points) < 1e-9
    volume = sum(trimesh.Trimesh(*piece).volume for piece in pieces)
    assert volume == pytest.approx(mesh.volume, rel=0.05)
    assert outside(pieces, np.array([[0.0, 0.0, 0.2]])) > 0.05


def test_a_large_hull_has_few_corners_and_contains_the_body():
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.1)
    pieces = convex_pieces(*arrays(ball), most=1)
    assert len(pieces[0][0]) <= MOST_CORNERS < len(ball.vertices)
    assert outside(pieces, np.array(ball.vertices)) < 1e-12
    assert trimesh.Trimesh(*pieces[0]).volume < 1.06 * ball.volume


def test_a_large_mesh_is_simplified_first():
    ball = trimesh.creation.icosphere(subdivisions=6, radius=0.1)  # 81,920 triangles
    pieces = convex_pieces(*arrays(ball), most=1)
    assert outside(pieces, np.array(ball.vertices)) < 0.2 / 100  # a cell of the grid


def test_a_flat_mesh_has_no_pieces():
    with pytest.raises(BrazoError, match="flat"):
        convex_pieces(np.eye(3), np.array([[0, 1, 2]]))

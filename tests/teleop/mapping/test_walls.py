"""Soft walls: never passed, smooth, without memory, and they warn in time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.teleop.mapping.walls import BoxWall, CylinderWall, Soft

WALL = Soft(0.03, 0.05)
INSIDE = st.floats(-0.5, 0.5)


@given(INSIDE, st.floats(-10.0, 10.0))
def test_no_step_passes_the_edge(x, dx):
    after = WALL.step(x, dx, -0.5, 0.5)
    assert -0.5 <= after <= 0.5
    assert (after - x) * dx >= 0.0 and abs(after - x) <= abs(dx) + 1e-15


@given(INSIDE, st.floats(0.0, 0.2), st.integers(1, 50))
def test_small_steps_end_where_one_large_step_does(x, dx, parts):
    y = x
    for _ in range(parts):
        y = WALL.step(y, dx / parts, -0.5, 0.5)
    assert y == pytest.approx(WALL.step(x, dx, -0.5, 0.5), abs=1e-13)


def test_speed_decreases_with_the_distance_to_the_wall():
    for room in (0.029, 0.015, 0.003):
        moved = WALL.step(0.5 - room, 1e-7, -0.5, 0.5) - (0.5 - room)
        assert moved / 1e-7 == pytest.approx(room / 0.03, rel=1e-4)
    assert WALL.step(0.0, 0.4, -0.5, 0.5) == 0.4
    assert WALL.step(0.499, -0.1, -0.5, 0.5) == 0.399  # back is free at once


def test_a_hard_wall_and_a_start_outside():
    hard = Soft(0.0, 0.05)
    assert hard.step(0.4, 1.0, -0.5, 0.5) == 0.5
    assert hard.step(0.6, 0.1, -0.5, 0.5) == 0.6
    assert WALL.step(0.6, -0.05, -0.5, 0.5) == pytest.approx(0.55)
    assert WALL.warning(0.46, -0.5, 0.5) == pytest.approx(0.04)
    assert WALL.warning(0.44, -0.5, 0.5) is None


def test_box():
    box = BoxWall([-0.3, -0.3, 0.0], [0.3, 0.3, math.inf])
    rng = np.random.default_rng(0)
    p = np.array([0.0, 0.0, 0.2])
    for _ in range(5000):
        p = box.step(p, rng.normal(scale=0.05, size=3))
        assert (np.abs(p[:2]) < 0.3).all() and p[2] > 0.0
    assert box.warnings(np.array([0.28, 0.0, 0.01])) == (
        "20 mm to the upper x edge of the workspace",
        "10 mm to the lower z edge of the workspace",
    )


def test_cylinder():
    ring = CylinderWall((0.15, 0.55), (0.1, 0.4))
    rng = np.random.default_rng(0)
    p = np.array([0.3, 0.0, 0.2])
    for _ in range(5000):
        p = ring.step(p, rng.normal(scale=0.02, size=3))
        assert 0.15 < math.hypot(p[0], p[1]) < 0.55 and 0.1 < p[2] < 0.4
    assert ring.warnings(np.array([0.16, 0.0, 0.2])) == (
        "10 mm to the inner edge of the workspace",
    )
    # Along the rim the step keeps its angle.
    q = ring.step(np.array([0.54, 0.0, 0.2]), np.array([0.0, 0.01, 0.0]))
    assert math.atan2(q[1], q[0]) == pytest.approx(math.atan2(0.01, 0.54))
    # Without a hole the axis is a place like any other.
    full = CylinderWall((0.0, 0.5), (0.0, 1.0))
    assert full.step(np.array([0.01, 0.0, 0.5]), np.array([-0.01, 0.0, 0.0])).tolist() == [
        0,
        0,
        0.5,
    ]
    assert not full.warnings(np.array([0.001, 0.0, 0.5]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: BoxWall([0, 0, 0], [1, 1]),
        lambda: BoxWall([0, 0, 0], [1, 0, 1]),
        lambda: BoxWall("abc", [1, 1, 1]),
        lambda: CylinderWall((0.5, 0.1), (0, 1)),
        lambda: CylinderWall((-0.5, 0.1), (0, 1)),
        lambda: Soft(0.2, 0.1),
    ],
)
def test_invalid_regions_are_rejected(make):
    with pytest.raises(BrazoError):
        make()

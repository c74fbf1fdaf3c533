"""RRT-Connect with planar walls: it finds gaps, is repeatable and has a limit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from brazo.program.ompl_planner import ompl_connect
from brazo.program.rrt import rrt_connect, shortened

BOX = np.array([[-1.0, 1.0], [-1.0, 1.0]])
ONES = np.ones(2)
START, GOAL = np.array([-0.8, 0.0]), np.array([0.8, 0.0])


def wall_with_gap(low: float, high: float):
    """A wall on x = 0 with an opening from y = low to high."""

    def free(a: np.ndarray, b: np.ndarray) -> bool:
        if (a[0] > 0) == (b[0] > 0):
            return True
        y = a[1] + (b[1] - a[1]) * a[0] / (a[0] - b[0])
        return low <= y <= high

    return free


def length(way) -> float:
    return sum(float(np.linalg.norm(b - a)) for a, b in pairwise(way))


@pytest.mark.parametrize("connect", [rrt_connect, ompl_connect])
def test_a_gap_is_found_and_corners_are_cut(connect):
    free = wall_with_gap(0.6, 0.8)
    way = connect(START, GOAL, BOX, ONES, free, 3)
    assert way is not None
    assert (way[0] == START).all() and (way[-1] == GOAL).all()
    assert all(free(a, b) for a, b in pairwise(way))
    short = shortened(way, ONES, free, 3)
    assert all(free(a, b) for a, b in pairwise(short))
    shortest = 2 * np.hypot(0.8, 0.6)
    assert shortest <= length(short) <= length(way) + 1e-12
    assert length(short) < 1.15 * shortest


def test_same_seed_gives_the_same_path():
    free = wall_with_gap(-0.9, -0.8)
    ways = [rrt_connect(START, GOAL, BOX, ONES, free, seed) for seed in (5, 5, 6)]
    assert np.array_equal(ways[0], ways[1])
    assert len(ways[2]) != len(ways[0]) or not np.array_equal(ways[0], ways[2])


@pytest.mark.parametrize("connect", [rrt_connect, ompl_connect])
def test_closed_wall_has_no_path(connect):
    assert connect(START, GOAL, BOX, ONES, wall_with_gap(2, 3), 0, 200) is None


@pytest.mark.parametrize("connect", [rrt_connect, ompl_connect])
def test_free_straight_line_is_the_path(connect):
    way = connect(START, GOAL, BOX, ONES, lambda a, b: True, 0)
    assert len(way) == 2

"""Distances between robots, bodies and fixtures."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from brazo.model.transforms import translate
from brazo.world import World
from tests.world.scenes import cell


def test_distances_of_simple_bodies():
    world = World(cell(
        "floor: {height: -1}\nbodies:\n"
        "  - {name: ball, sphere: 0.1, mass: 1}\n"
        "  - {name: cube, box: [0.2, 0.2, 0.2], mass: 1, xyz: [0.5, 0, 0]}\n"
    ))  # fmt: skip
    found = world.distance("ball", "cube")
    assert found.value == pytest.approx(0.3, abs=1e-6)
    assert found.first_point == pytest.approx([0.1, 0, 0], abs=1e-4)
    assert found.second_point == pytest.approx([0.4, 0, 0], abs=1e-4)
    assert (found.first, found.second) == ("ball", "cube")
    assert world.distance("ball", "cube", limit=0.2) is None
    world.place("ball", translate(0.35))
    assert world.distance("ball", "cube").value == pytest.approx(-0.05, abs=1e-6)
    assert world.distance("cube", "floor").value == pytest.approx(0.9, abs=1e-6)
    assert world.distance("floor", "ball").value == pytest.approx(0.9, abs=1e-6)


def test_the_nearest_pair_of_two_robots_is_the_nearest_of_all_pairs():
    world = World("cooperative")
    m, d = world.mj_model, world.compiled.body_poses
    rng = np.random.default_rng(5)
    for _ in range(6):
        for robot in world.robots.values():
            low, high = np.array([j.limits for j in robot.model.coordinates]).T
            robot.set_state(rng.uniform(low, high))
        found = world.distance("scara1", "scara2", limit=2.0)
        now = d.now(world.mj_data)
        every = [
            mujoco.mj_geomDistance(m, now, int(a), int(b), 2.0, None)
            for a in world.robots["scara1"].geom_ids
            for b in world.robots["scara2"].geom_ids
        ]
        assert found.value == pytest.approx(min(every), abs=1e-9)
        if found.value > 0:
            gap = np.linalg.norm(found.first_point - found.second_point)
            assert gap == pytest.approx(found.value, abs=1e-6)
        assert found.first.startswith("scara1/") and found.second.startswith("scara2/")


def test_distances_are_of_the_present_pose():
    world = World("cooperative")
    before = world.distance("scara1", "bar 1").value
    world.place("bar 1", translate(0, 0, 0.6) @ world.pose("bar 1"))
    assert world.distance("scara1", "bar 1").value != before
    assert world.distance("scara2/finger left", "bar 2").first == "scara2/finger left"

"""A robot that was changed in Python, alone in a cell."""

from __future__ import annotations

import numpy as np

import brazo
from brazo.robot import Robot
from brazo.simulation import Simulation
from brazo.simulation.lone_robot import source_of
from brazo.world import parse_cell


def same_robot(a: Robot, b: Robot) -> None:
    q = a.random_q(5, seed=1)
    assert np.abs(a.fk(q) - b.fk(q)).max() < 1e-14
    assert (
        np.abs(a.mass_matrix(q) - b.mass_matrix(q)).max() < 1e-13 * np.abs(a.mass_matrix(q)).max()
    )


def test_parameters_and_payload_survive_an_edit():
    changed = brazo.load("planar-2r").with_parameters(L1=0.77).with_payload(2.0, (0.1, 0.0, 0.0))
    sim = Simulation(changed)
    (robot,) = sim.robots.values()
    same_robot(robot.arm, changed)
    sim.edit(robot.name, {"L2": 0.33})
    expected = changed.with_parameters(L2=0.33)
    same_robot(robot.arm, expected)
    same_robot(brazo.loads(sim.cell.robots[0].source.text()), expected)
    # A robot of a cell, as the only robot of another one.
    again = source_of(robot.arm.with_parameters(L1=0.5))
    same_robot(brazo.loads(again.text()), expected.with_parameters(L1=0.5))


def test_the_robots_own_gravity_acts():
    gravity = (0.0, -1.62, 0.3)
    text = brazo.load("planar-2r").to_yaml() + f"gravity: {list(gravity)}\n"
    arm = brazo.loads(text)
    sim = Simulation(arm)
    assert sim.world.mj_model.opt.gravity.tolist() == list(gravity)
    assert not any("gravity" in str(finding) for finding in sim.findings)
    (robot,) = sim.robots.values()
    q = [0.3, 0.4]
    assert np.array_equal(robot.arm.gravity(q), arm.gravity(q))
    moon = parse_cell("name: c\ngravity: [0, 0, -1.62]\nrobots: [{name: r, robot: planar-2r}]")
    assert Simulation(Simulation(moon).robots["r"].arm).cell.gravity.tolist() == [0, 0, -1.62]


def test_the_payload_is_separate_from_the_masses_of_the_links():
    source = source_of(brazo.load("planar-2r").with_payload(2.0))
    assert source.links()[-1].mass == source_of(brazo.load("planar-2r")).links()[-1].mass

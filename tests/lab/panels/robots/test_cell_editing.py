"""Robots come into a running cell and leave it; the others do not notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.lab.panels.robots import cell_editing
from brazo.model.transforms import pose, translate
from brazo.simulation import Simulation
from brazo.world.robot_source import RobotSource


@pytest.fixture(scope="module")
def sim():
    sim = Simulation("cooperative")
    sim.robots["scara1"].grip(25.0)
    sim.world.place("bar 2", translate(-0.3, -0.4, 0.5))
    sim.step(50)
    yield sim
    sim.player.close()


@pytest.fixture(scope="module")
def grown(sim):
    source = RobotSource.load("puma560")
    base = cell_editing.free_place(sim.cell, source)
    cell, name = cell_editing.with_robot(sim.cell, source, base)
    new = cell_editing.carried_over(sim, cell)
    yield new, name
    new.player.close()


def test_a_robot_is_placed_clear_of_the_others_and_on_the_floor(sim, grown):
    new, name = grown
    assert name == "puma560" and list(new.robots) == ["scara1", "scara2", "puma560"]
    assert cell_editing.in_the_way(new, name) == ""
    assert new.robots[name].base[2, 3] == pytest.approx(sim.cell.floor.height)


def test_what_stays_goes_on_from_where_it_is(sim, grown):
    new, _ = grown
    assert new.time == sim.time
    for robot in ("scara1", "scara2"):
        assert np.array_equal(new.robots[robot].q, sim.robots[robot].q)
        assert np.array_equal(new.robots[robot].qd, sim.robots[robot].qd)
        assert new.robots[robot].controller is sim.robots[robot].controller
    assert np.array_equal(new.world.pose("bar 2"), sim.world.pose("bar 2"))
    assert new.world.velocity("bar 2")[2] < -0.3  # it goes on falling
    assert new.robots["scara1"].world.clamp.command == ("force", 25.0)
    before = new.robots["puma560"].q
    new.step(100)
    assert np.abs(new.robots["puma560"].q - before).max() < 1e-3  # its law holds it


def test_names_stay_different(sim):
    source = RobotSource.load("scara1")
    cell, name = cell_editing.with_robot(sim.cell, source, pose((5, 0, 0), (0, 0, 0)))
    assert name == "scara1 2"
    _, third = cell_editing.with_robot(cell, source, pose((7, 0, 0), (0, 0, 0)))
    assert third == "scara1 3"
    assert cell_editing.free_name(sim.cell, "bar 1") == "bar 1 2"
    assert cell_editing.free_name(sim.cell, "a/b") == "a-b"
    assert cell_editing.free_name(sim.cell, "floor") == "floor 2"


def test_a_robot_in_another_is_noticed(sim):
    inside = np.array(sim.cell.robots[0].base)
    cell, name = cell_editing.with_robot(sim.cell, RobotSource.load("scara2"), inside)
    crowded = cell_editing.carried_over(sim, cell)
    assert cell_editing.in_the_way(crowded, name).startswith("scara1 (by ")
    crowded.player.close()


def test_robots_leave(sim):
    cell = cell_editing.without_robot(sim.cell, "scara1")
    new = cell_editing.carried_over(sim, cell)
    assert list(new.robots) == ["scara2"]
    assert np.array_equal(new.robots["scara2"].q, sim.robots["scara2"].q)
    new.step(5)
    new.player.close()
    with pytest.raises(BrazoError, match="the only robot"):
        cell_editing.without_robot(cell, "scara2")
    with pytest.raises(BrazoError, match="no robot named 'x'"):
        cell_editing.without_robot(cell, "x")


def test_places_that_cannot_be_are_refused(sim):
    source = RobotSource.load("scara1")
    with pytest.raises(BrazoError, match="within 100 m"):
        cell_editing.with_robot(sim.cell, source, translate(1e6, 0, 0))
    full = replace(sim.cell, robots=sim.cell.robots * 8)
    with pytest.raises(BrazoError, match="16 robots"):
        cell_editing.with_robot(full, source, np.eye(4))


def test_a_base_is_moved_part_by_part():
    base = pose((1, 2, 3), (0.1, 0.2, 0.3))
    assert np.allclose(cell_editing.moved(base, 1, 5.0), pose((1, 5, 3), (0.1, 0.2, 0.3)))
    assert np.allclose(cell_editing.moved(base, 5, -1.0), pose((1, 2, 3), (0.1, 0.2, -1.0)))


def test_a_delta_hangs_above_the_floor(sim):
    base = cell_editing.free_place(sim.cell, RobotSource.load("delta"))
    assert base[2, 3] > sim.cell.floor.height + 0.3

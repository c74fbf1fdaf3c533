"""Tool centre points in cells: files, kinematics, and what they must not change."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.model.transforms import pose
from brazo.simulation import Simulation
from brazo.world import cell_edits as edits
from brazo.world import parse_cell
from brazo.world.cell_writer import cell_files
from brazo.world.tcp import Tcp, own_tcp

CELL = """\
name: tools
robots:
  - name: arm
    robot: rv2aj
    base: {xyz: [0.2, 0, 0], rpy: [0, 0, 90deg]}
    tcps:
      probe: {xyz: [10mm, 0, 120mm], rpy: [0, 30deg, 0]}
      torch: {xyz: [0, 0, 0.2]}
    tcp: probe
"""
PROBE = pose((0.010, 0.0, 0.120), (0.0, np.radians(30.0), 0.0))


def test_the_selected_tool_is_the_tool_of_the_robot():
    cell = parse_cell(CELL)
    sim = Simulation(cell)
    robot, plain = sim.robots["arm"], brazo.load("rv2aj")
    expected = plain.with_tool(PROBE).fk(robot.q)  # the last link's frame, as `with_tool` has it
    assert np.abs(robot.arm.fk(robot.q) - expected).max() < 1e-15
    assert np.abs(robot.tool() - robot.base @ expected).max() < 1e-12
    assert np.abs(own_tcp(cell.robots[0].model) - PROBE).max() < 1e-15


def test_a_cell_file_keeps_the_tools():
    (text,) = cell_files(parse_cell(CELL)).values()
    robot = parse_cell(text).robots[0]
    assert [one.name for one in robot.tcps] == ["probe", "torch"] and robot.tcp == "probe"
    assert np.abs(robot.tcps[0].pose - PROBE).max() < 1e-15


def test_another_tool_keeps_the_state_of_a_running_simulation():
    sim = Simulation(parse_cell(CELL))
    sim.step(20)
    q, t = sim.robots["arm"].q, sim.time
    tcps = sim.cell.robots[0].tcps
    sim.change_cell(edits.with_tcps(sim.cell, "arm", tcps, "torch"))
    robot = sim.robots["arm"]
    assert sim.time == t and np.array_equal(robot.q, q)
    shifted = brazo.load("rv2aj").with_tool([0, 0, 0.2]).fk(q)
    assert np.abs(robot.arm.fk(q) - shifted).max() < 1e-15
    sim.change_cell(edits.with_tcps(sim.cell, "arm", tcps))
    assert np.abs(sim.robots["arm"].arm.fk(q) - brazo.load("rv2aj").fk(q)).max() < 1e-15


def test_the_fingers_of_a_gripper_stay_where_they_are():
    text = "name: grip\nrobots:\n  - {name: arm, robot: scara1%s}\n"
    plain = Simulation(parse_cell(text % ""))
    moved = Simulation(parse_cell(text % ", tcps: {tip: {xyz: [0, 0, 0.3]}}, tcp: tip"))
    for sim in (plain, moved):
        sim.step(5)
    assert np.abs(plain.world.poses() - moved.world.poses()).max() < 1e-12
    assert np.abs(plain.robots["arm"].tool() - moved.robots["arm"].tool()).max() > 0.1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("    tcp: nail\n", "no tool centre point 'nail' in 'tcps'; available: probe, torch"),
        ("    tcp: probe\n    tcps: {}\n", "twice|duplicate|already"),
    ],
)
def test_a_tool_that_does_not_exist_is_refused(change, why):
    with pytest.raises(BrazoError, match=why):
        parse_cell(CELL.replace("    tcp: probe\n", change))


def test_a_delta_has_no_tools_to_choose_from():
    cell = parse_cell("name: d\nrobots:\n  - {name: arm, robot: delta}\n")
    with pytest.raises(BrazoError, match="serial and tree robots"):
        edits.with_tcps(cell, "arm", [Tcp("tip", np.eye(4))])
    with pytest.raises(BrazoError, match="serial and tree robots"):
        parse_cell("name: d\nrobots:\n  - {name: arm, robot: delta, tcps: {a: {}}}\n")


def test_names_of_tools_are_checked():
    cell = parse_cell(CELL)
    tip = Tcp("tip", np.eye(4))
    for tcps, selected, why in (
        ([tip, tip], "", "two tool centre points"),
        ([Tcp(" ", np.eye(4))], "", "not a valid name"),
        ([tip], "nail", "no tool centre point 'nail'"),
        ([Tcp("tip", np.zeros((4, 4)))], "", "rotation"),
    ):
        with pytest.raises(BrazoError, match=why):
            edits.with_tcps(cell, "arm", tcps, selected)

"""Two Pumas with attached grippers hand over a box: a cell made by edits, run headless."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brazo
from brazo.model.shapes import Box
from brazo.model.transforms import pose
from brazo.program import parse_program
from brazo.program.references import names_used
from brazo.world import Cell, CellRobot, Fixture, FreeBody
from brazo.world.attachment import AttachedGripper
from brazo.world.cell import TableShape
from brazo.world.cell_edits import add, attach, duplicate, move, rename
from brazo.world.cell_writer import save_cell
from brazo.world.robot_source import RobotSource

PROGRAM = """
name: hand over
goals:
  - {body: box, on: table}
robots:
  left:
    - move_to: {xyz: [-8cm, 0, 12cm], rpy: [180deg, 0, 0], in: box, gripper_symmetric: on, plan: free}
    - line: {xyz: [-8cm, 0, 5mm], in: box}
    - grip: {body: box}
    - line: {by: [0, 0, 15cm]}
    - move_to: {of: box, xyz: [0, 0, 25cm], rpy: [0, 0, 0], in: table, plan: free}
    - sync: offered
    - sync: both hold
    - release:
    - line: {by: [0, 0, 10cm]}
    - move_to: {xyz: [-35cm, 0, 35cm], rpy: [180deg, 0, 0], in: table, gripper_symmetric: on, plan: free}
    - sync: free
  right:
    - sync: offered
    - move_to: {xyz: [8cm, 0, 12cm], rpy: [180deg, 0, 0], in: box, gripper_symmetric: on, plan: free}
    - line: {xyz: [8cm, 0, 5mm], in: box}
    - grip: {body: box}
    - sync: both hold
    - sync: free
    - move_to: {of: box, xyz: [10cm, -20cm, 10cm], rpy: [0, 0, 0], in: table, plan: free}
    - line: {of: box, xyz: [10cm, -20cm, 22mm], rpy: [0, 0, 0], in: table}
    - release:
    - line: {by: [0, 0, 12cm]}
"""  # noqa: E501


@pytest.fixture(scope="module")
def cell(tmp_path_factory) -> Cell:
    """Built by edits, written to a file and read again."""
    start = np.radians([0, 90, -180, 0, 90, 0])
    cell = add(Cell(name="two pumas"), CellRobot("puma", RobotSource.load("puma560"), start=start))
    cell = attach(move(cell, "puma", pose((-0.75, 0, 0))), "puma", AttachedGripper())
    cell, right = duplicate(rename(cell, "puma", "left"), "left", (1.5, 0, 0))
    cell = move(rename(cell, right, "right"), "right", pose((0.75, 0, 0), (0, 0, math.pi)))
    cell = add(cell, Fixture.of("table", TableShape((0.5, 1.0, 0.5)), pose((0, 0, 0.5))))
    cell = add(cell, FreeBody("box", Box((0.24, 0.04, 0.04)), 0.4, pose((-0.1, 0.15, 0.52))))
    (path,) = save_cell(cell, tmp_path_factory.mktemp("cell") / "cell.yaml")
    return brazo.load_cell(path)


@pytest.mark.parametrize(
    ("x", "y", "yaw"), [(-0.1, 0.15, 0.0), (-0.12, 0.2, 8.0), (-0.08, 0.1, -6.0)]
)
def test_one_picks_hands_over_and_the_other_places(cell, x, y, yaw):
    sim = brazo.Simulation(move(cell, "box", pose((x, y, 0.52), (0, 0, math.radians(yaw)))))
    run = parse_program(PROGRAM).start(sim)
    sim.run(run)
    assert run.succeeded, run.failure
    at = sim.world.pose("box")
    assert np.abs(at[:3, 3] - (0.1, -0.2, 0.52)).max() < 2e-3
    assert sim.world.grasp("left").held is sim.world.grasp("right").held is None
    assert not run.monitor.collisions and not run.monitor.drops


def test_the_names_that_a_program_uses_are_found():
    used = names_used(parse_program(PROGRAM))
    assert set(used) == {"left", "right", "table", "box"}
    assert used["box"][0] == "left, step 1 (move_to, line 7)"
    assert used["table"][-1] == "goals"
    assert used["right"] == ["steps of right"]


@pytest.mark.parametrize(
    "steps",
    [
        "[{move_to: {to: above}}]",
        "[{line: {to: above}}]",
        "[{move_joints: above}]",
        "[{repeat: {times: 2, do: [{move_to: {to: above}}]}}]",
        "[{for_each: {as: p, of: [above], do: [{move_to: {to: $p}}]}}]",
    ],
)
def test_the_frame_of_a_point_is_used_by_the_steps_that_move_to_it(steps):
    points = "points: {left: [{name: above, xyz: [0, 0, 0.1], rpy: [180deg, 0, 0], in: box}]}\n"
    used = names_used(parse_program(f"name: t\n{points}robots: {{left: {steps}}}\n"))
    assert used["box"][0].startswith("left, step 1 (")
    other = names_used(parse_program(f"name: t\n{points}robots: {{left: [{{wait: 1s}}]}}\n"))
    assert "box" not in other

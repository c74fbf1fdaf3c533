"""Elements are added to a running simulation, moved and removed; everything else is unaffected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.model.shapes import Box, Cylinder
from brazo.model.transforms import pose, translate
from brazo.program import parse_program
from brazo.simulation import Simulation
from brazo.simulation.faults import TorqueLoss
from brazo.trajectory import quintic
from brazo.world import CellRobot, Fixture, FreeBody
from brazo.world.attachment import AttachedGripper
from brazo.world.cell import default_start
from brazo.world.cell_edits import add, attach, move, remove, rename
from brazo.world.robot_source import RobotSource
from tests.simulation.scenes import both_holding_sim

PILLAR = Fixture.of("pillar", Cylinder(0.05, 0.2), pose((0, 3, -0.2)))
CUBE = FreeBody("cube", Box((0.05, 0.05, 0.05)), 0.1, pose((0, 2, 0.5)))


def puma(name: str = "puma") -> CellRobot:
    source = RobotSource.load("puma560")
    start = default_start(source.model, source.model.limits)
    return CellRobot(name, source, base=translate(0, 4, 0), start=start)


@pytest.fixture
def sim() -> Simulation:
    return prepared()


def prepared() -> Simulation:
    """Both robots move, one with a changed gain; a bar falls."""
    sim = Simulation("cooperative", {"scara2": "PID"})
    for name, by in (
        ("scara1", [0.4, -0.3, 0.05, 0.2, 0.3]),
        ("scara2", [0.3, 0.2, -0.2, 0.05, 1]),
    ):
        robot = sim.robots[name]
        robot.move(quintic(robot.reference.q, robot.reference.q + by, 0.8))
    sim.robots["scara2"].controller.gains["kp"] = 900.0  # type: ignore[union-attr]
    sim.robots["scara1"].grip(25.0)
    sim.world.place("bar 2", translate(-0.3, -0.4, 0.5))
    sim.step(200)
    return sim


def state(sim: Simulation, bodies=("bar 1", "bar 2")) -> list:
    robots = [sim.robots[name] for name in ("scara1", "scara2")]
    found = [sim.time, *(one.q for one in robots), *(one.qd for one in robots)]
    found += [one.reference.q for one in robots]
    found += [sim.world.pose(name) for name in bodies]
    return found + [sim.world.velocity(name) for name in bodies]


def assert_same(a: list, b: list) -> None:
    for one, other in zip(a, b, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("element", [PILLAR, CUBE, puma()], ids=lambda one: one.name)
def test_unchanged_elements_continue_bit_for_bit(sim, element):
    before, controllers = state(sim), [one.controller for one in sim.robots.values()]
    kept = list(sim.robots.values())
    sim.change_cell(add(sim.cell, element))
    assert_same(state(sim), before)
    assert list(sim.robots.values())[:2] == kept
    assert [one.controller for one in kept] == controllers
    assert kept[1].controller.gains["kp"][0] == 900.0  # type: ignore[index]
    assert all(one.moving for one in kept)
    assert sim.world.robots["scara1"].gripper.command == ("force", 25.0)  # type: ignore[union-attr]
    sim.change_cell(remove(sim.cell, element.name))
    assert_same(state(sim), before)


def test_an_edit_does_not_change_the_motion_of_what_it_does_not_touch():
    ends = []
    for edited in (False, True):
        sim = prepared()
        if edited:
            sim.change_cell(add(sim.cell, PILLAR))
        sim.step(400)
        ends.append(state(sim))
    for one, other in zip(*ends, strict=True):
        assert np.abs(np.subtract(one, other)).max() < 1e-9


def test_a_new_robot_holds_its_start_and_can_leave(sim):
    sim.change_cell(add(sim.cell, puma()))
    start = sim.robots["puma"].q
    sim.step(200)
    assert np.abs(sim.robots["puma"].q - start).max() < 1e-4
    sim.change_cell(attach(sim.cell, "puma", AttachedGripper()))
    sim.robots["puma"].grip()
    sim.step(200)
    assert np.abs(sim.robots["puma"].q - start).max() < 1e-3
    assert sim.world.robots["puma"].gripper.opening < 0.06  # type: ignore[union-attr]
    assert sim.world.robots["scara1"].gripper.command == ("force", 25.0)  # type: ignore[union-attr]
    sim.change_cell(remove(sim.cell, "scara1"))
    assert list(sim.robots) == ["scara2", "puma"]
    assert sim.world.robots["puma"].gripper.command == ("force", 120.0)  # type: ignore[union-attr]
    with pytest.raises(BrazoError, match="no robot named 'scara1'"):
        sim.robots["scara1"]
    sim.step(10)


def test_a_moved_body_is_at_rest_there_and_a_held_one_stays_held():
    sim = both_holding_sim()
    sim.change_cell(move(sim.cell, "bar 2", translate(0, 1.0, 0.5)))
    assert np.abs(sim.world.pose("bar 2") - translate(0, 1.0, 0.5)).max() < 1e-15
    assert not sim.world.velocity("bar 2").any()
    sim.step(100)
    held = {name: sim.world.grasp(name).held for name in sim.robots}
    assert held == {"scara1": "bar 1", "scara2": "bar 1"}
    sim.change_cell(rename(sim.cell, "bar 1", "beam"), {"bar 1": "beam"})
    sim.step(100)
    assert {name: sim.world.grasp(name).held for name in sim.robots} == {
        "scara1": "beam",
        "scara2": "beam",
    }


def test_a_renamed_robot_keeps_everything_but_its_faults(sim):
    sim.inject(TorqueLoss("scara1", "elbow", 0.5))
    before, robot = state(sim), sim.robots["scara1"]
    sim.change_cell(rename(sim.cell, "scara1", "left"), {"scara1": "left"})
    assert sim.robots["left"] is robot and robot.name == "left"
    assert np.array_equal(robot.q, before[1]) and np.array_equal(robot.qd, before[3])
    assert not robot.faults
    sim.step(20)


def test_recording_continues_if_its_signals_are_unchanged(sim):
    sim.recording.start()
    sim.step(50)
    sim.change_cell(add(sim.cell, PILLAR))
    sim.step(50)
    assert sim.recording
    sim.change_cell(add(sim.cell, CUBE))
    assert not sim.recording
    rec = sim.recording.ended
    assert rec is not None
    assert np.diff(rec["t"]) == pytest.approx(sim.dt) and len(rec["t"]) == 100
    assert any("recording ended" in event.text for event in sim.events)
    sim.recording.start()
    sim.step(5)
    assert "cube.x" in sim.recording.stop().columns


def test_a_streamed_recording_is_readable_up_to_the_change(sim, tmp_path):
    sim.recording.start(tmp_path / "run.parquet")
    sim.step(50)
    sim.change_cell(add(sim.cell, CUBE))
    (file,) = tmp_path.iterdir()
    assert len(brazo.Recording.open(file)["t"]) == 50


PROGRAM = """
name: wave
robots:
  scara1:
    - move_joints: {to: start, time: 0.2s}
    - wait_until: {held: cube, by: scara1, timeout: 5s}
"""


def test_program_continues_while_it_applies_and_fails_otherwise():
    sim = Simulation("cooperative")
    sim.change_cell(add(sim.cell, CUBE))
    run = parse_program(PROGRAM).start(sim)
    sim.step(100)
    sim.change_cell(add(sim.cell, PILLAR))
    sim.step(200)
    assert not run.done
    sim.change_cell(remove(sim.cell, "cube"))
    assert run.failed and "the cell was changed" in str(run.failure)
    assert "cube" in str(run.failure)
    sim.step(10)


def test_the_step_of_a_running_simulation_is_fixed(sim):
    with pytest.raises(BrazoError, match=r"cannot become 0\.002 s"):
        sim.change_cell(replace(sim.cell, step=0.002))

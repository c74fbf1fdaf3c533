"""Jogs in World, Base, Tool and user frames, with several axes at once and with the elbow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brazo.errors import BrazoError
from brazo.operate import HoldToRun, JogKeys, Mover
from brazo.simulation import Simulation
from brazo.world import parse_cell

CELL = """\
name: frames
robots:
  - {name: arm, robot: iiwa14, base: {xyz: [0.3, 0.1, 0.2], rpy: [0, 30deg, 50deg]}, start: [0, 40deg, 0, -80deg, 0, 60deg, 0]}
frames:
  - {name: tilted, xyz: [0.5, 0, 0.3], rpy: [20deg, -35deg, 70deg]}
floor: none
"""  # noqa: E501
TILTED = Rotation.from_euler("xyz", [20, -35, 70], degrees=True).as_matrix()


@pytest.fixture(scope="module")
def sim():
    return Simulation(parse_cell(CELL))


@pytest.fixture
def rig(sim):
    sim.reset()
    sim.robots["arm"].controller = "ideal"
    mover = Mover(lambda: sim, lambda: None)
    return mover, JogKeys(mover, HoldToRun(clock=lambda: sim.time)), sim.robots["arm"]


def settle(sim):
    """Run until the robot rests, in the world too."""
    while sim.robots["arm"].moving:
        sim.step()
    sim.step(3)


def held(sim, keys, press, seconds, renew):
    """Run with the key held; the tool (4, 4) in the world before and after."""
    robot = sim.robots["arm"]
    before = robot.tool().copy()
    for _ in range(round(seconds / 0.05)):
        renew()
        for _ in range(round(0.05 / sim.dt)):
            sim.step()
    keys.release()
    settle(sim)
    return before, robot.tool().copy()


@pytest.mark.parametrize("frame", ["world", "base", "tool", "tilted"])
@pytest.mark.parametrize("axis", [0, 2, 4])
def test_a_key_moves_the_tool_along_or_about_the_axis_of_the_frame(sim, rig, frame, axis):
    _, keys, robot = rig
    press = keys.press(axis, 1)
    keys.begin(robot, frame, press)
    before, after = held(sim, keys, press, 0.3, lambda: keys.renew(axis, 1))
    axes = {
        "world": np.eye(3),
        "base": robot.base[:3, :3],
        "tool": before[:3, :3],
        "tilted": TILTED,
    }[frame]
    moved = axes.T @ (after - before)[:3, 3]
    turned = axes.T @ Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec()
    along = np.concatenate([moved, turned])
    assert along[axis] > 0.01
    along[axis] = 0.0
    assert np.abs(along).max() < 1e-6


def test_a_step_is_exact_in_every_frame(sim, rig):
    mover, _, robot = rig
    for frame, axes in (("tilted", TILTED), ("world", np.eye(3))):
        before = robot.tool().copy()
        mover.step(robot, frame, 1, 0.01)
        settle(sim)
        moved = axes.T @ (robot.tool() - before)[:3, 3]
        assert moved == pytest.approx([0.0, 0.01, 0.0], abs=1e-8)


def test_elbow_moves_with_the_tool_at_rest(sim, rig):
    mover, keys, robot = rig
    q = robot.q
    press = keys.press(6, 1)
    keys.begin(robot, "world", press)
    before, after = held(sim, keys, press, 0.5, lambda: keys.renew(6, 1))
    assert np.abs(after - before).max() < 1e-8
    assert np.linalg.norm(robot.q - q) > 0.05
    q = robot.q
    mover.step(robot, "base", 6, -0.3)
    away = 0.0
    while robot.moving:
        sim.step(10)
        away = max(away, np.abs(robot.tool() - before).max())
    assert away < 1e-7  # not only at the end
    assert 0.29 < np.linalg.norm(robot.q - q) < 0.3  # the chord of the curve


def test_stick_changes_between_tool_and_elbow_at_rest(sim, rig):
    _, keys, robot = rig
    shares = [0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0]
    press = keys.press_stick(shares)
    keys.begin(robot, "world", press)
    before, lower = held_stick(sim, keys, shares, 0.4)
    assert (lower - before)[2, 3] < -0.01 and np.abs((lower - before)[:2, 3]).max() < 1e-6
    q = robot.q
    _, same = held_stick(sim, keys, [*[0.0] * 6, 1.0], 0.6)
    stopped = (same - lower)[:3, 3]  # braking continues along z
    assert np.abs(stopped[:2]).max() < 1e-6 and stopped[2] < 0.0
    assert np.linalg.norm(robot.q - q) > 0.05
    keys.release()
    settle(sim)


def held_stick(sim, keys, shares, seconds):
    robot = sim.robots["arm"]
    before = robot.tool().copy()
    for _ in range(round(seconds / 0.05)):
        keys.renew_stick(shares)
        for _ in range(round(0.05 / sim.dt)):
            sim.step()
    return before, robot.tool().copy()


def test_the_speed_is_shared_by_the_axes_of_a_stick(sim, rig):
    """Two axes fully deflected give the jog speed along their diagonal, not √2 of it."""
    _, keys, robot = rig
    shares = [1.0, 1.0, 0, 0, 0, 0]
    keys.begin(robot, "base", keys.press_stick(shares))
    held_stick(sim, keys, shares, 0.5)
    at = robot.arm.fk(robot.reference.q)[:3, 3]
    for _ in range(round(0.05 / sim.dt)):
        sim.step()
    moved = robot.arm.fk(robot.reference.q)[:3, 3] - at
    assert np.linalg.norm(moved) <= 0.25 * 0.05 * (1 + 1e-6) and moved[0] > 0 and moved[1] > 0
    keys.release()
    settle(sim)


def test_an_unknown_frame_is_named_with_the_known_ones(rig):
    mover, _, robot = rig
    with pytest.raises(
        BrazoError, match=r"no frame 'bench' in this cell; frames: .*base, tool, tilted"
    ):
        mover.frame_pose(robot, "bench")

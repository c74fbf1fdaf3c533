"""Dry friction between bodies and in joints, against Coulomb's law."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brazo
from brazo.world import World
from tests.world.scenes import cell

SLOPE = """\
floor: none
fixtures:
  - {{name: slope, box: [4, 1, 0.1], rpy: [0, {angle}, 0], friction: {mu}}}
bodies:
  - {{name: block, {shape}, mass: 0.5, xyz: [{x}, 0, {z}], rpy: [0, {angle}, 0], friction: 0.05}}
"""


def on_slope(angle: float, mu: float, shape="box: [0.1, 0.1, 0.06]", up: float = 0.03) -> World:
    """A block on a slope that leads down along +x."""
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    x, _, z = (0.05 + up) * normal
    return World(cell(SLOPE.format(angle=angle, mu=mu, shape=shape, x=x, z=z)))


def speed_after(world: World, seconds: float) -> float:
    world.step(round(seconds / world.dt))
    return float(np.linalg.norm(world.velocity("block")[:3]))


@pytest.mark.parametrize("mu", [0.2, 0.5, 1.0])
def test_a_block_sticks_below_the_friction_angle_and_slides_above_it(mu):
    edge = math.atan(mu)
    assert speed_after(on_slope(edge - math.radians(0.05), mu), 1.0) < 1e-6
    steeper = math.radians(0.05)
    sliding = speed_after(on_slope(edge + steeper, mu), 1.0)
    gain = 9.81 * (math.sin(edge + steeper) - mu * math.cos(edge + steeper))
    assert sliding > 0.5 * gain


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.4])
def test_block_slides_on_30_degree_slope_with_analytic_acceleration(mu):
    world = on_slope(math.radians(30), mu)
    downhill = world.pose("block")[:3, 0]
    times, speeds = [], []
    for _ in range(500):
        world.step()
        times.append(world.time)
        speeds.append(world.velocity("block")[:3] @ downhill)
    wanted = 9.81 * (math.sin(math.radians(30)) - mu * math.cos(math.radians(30)))
    assert np.polyfit(times[100:], speeds[100:], 1)[0] == pytest.approx(wanted, rel=0.01)


def test_bars_slide_down_the_chute_with_analytic_acceleration():
    world = World("cooperative")
    chute = world.cell.chutes[0]
    lying = np.array(chute.pose)
    downhill, up = lying[:3, 0], lying[:3, 2]
    # In the chute all along, on its bottom.
    lying[:3, 3] += 0.10 * downhill - 0.0149 * up
    world.place("bar 1", lying)
    times, speeds = [], []
    for _ in range(250):
        world.step()
        times.append(world.time)
        speeds.append(world.velocity("bar 1")[:3] @ downhill)
    wanted = 9.81 * (math.sin(chute.angle) - 0.2 * math.cos(chute.angle))
    assert np.polyfit(times[50:], speeds[50:], 1)[0] == pytest.approx(wanted, rel=0.01)


def test_supporting_surface_determines_the_friction():
    """The block alone is slippery (0.05); the slope's 0.5 counts."""
    assert speed_after(on_slope(math.radians(20), 0.5), 0.5) < 1e-6
    assert speed_after(on_slope(math.radians(20), 0.01), 0.5) > 1.0


JOINT = """\
floor: none
gravity: [0, 0, 0]
robots: [{{name: arm, robot: {path}}}]
"""
ROBOT = """\
name: turntable
joints:
  - mass: 1
    inertia: [1, 1, 1]
    friction: {{coulomb: {coulomb}, viscous: 0.3, smooth: {smooth}}}
"""


def turntable(tmp_path, coulomb: str, smooth: str = "0", mode="contact") -> World:
    path = tmp_path / "turntable.yaml"
    path.write_text(ROBOT.format(coulomb=coulomb, smooth=smooth), encoding="utf-8")
    return World(cell(JOINT.format(path=path)), mode=mode)


def acceleration(world: World, qd: float, torque: float) -> float:
    robot = world.robots["arm"]
    robot.set_state([0.0], [qd])
    robot.set_torque([torque])
    world.step()
    return float((robot.qd[0] - qd) / world.dt)


@pytest.mark.parametrize("mode", ["contact", "exact"])
@pytest.mark.parametrize("smooth", ["0", "0.2"])
@pytest.mark.parametrize("qd", [2.0, 0.5, -0.5, -2.0])
def test_a_moving_joint_is_braked_by_the_files_friction(tmp_path, mode, smooth, qd):
    world = turntable(tmp_path, "[0.8, 0.5]", smooth, mode)
    arm = brazo.load(tmp_path / "turntable.yaml")
    wanted = float(arm.forward_dynamics([0.0], [qd], [0.4])[0])
    # One step of the engine, in which the speed changes by some 1e-3.
    assert acceleration(world, qd, 0.4) == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize(("torque", "sticks"), [(0.75, True), (-0.45, True), (0.9, False),
                                                (-0.6, False)])  # fmt: skip
def test_joint_at_rest_holds_up_to_its_dry_friction(tmp_path, torque, sticks):
    """Forward it holds 0.8, backward 0.5."""
    world = turntable(tmp_path, "[0.8, 0.5]")
    robot = world.robots["arm"]
    robot.set_torque([torque])
    world.step(1000)
    if sticks:
        assert abs(robot.q[0]) < 1e-6 and abs(robot.qd[0]) < 1e-6
    else:
        assert abs(robot.q[0]) > 0.01

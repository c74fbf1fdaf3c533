"""A light arm behind stiff, dry gears in exact mode, against MuJoCo at a fine implicit step."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import brazo
from brazo.world import Diverged, World
from brazo.world.stiffness import MAX_SUBSTEPS
from tests.world.scenes import cell

# The last link's speed decays in 0.1 ms, a tenth of a step.
ARM = """
<mujoco model="light">
  <option integrator="implicitfast" timestep="2e-5">
    <flag contact="disable" limit="disable"/>
  </option>
  <default>
    <joint damping="{damping}" frictionloss="{dry}" solreffriction="4e-4 1"
           solimpfriction="0.999 0.999 0.001"/>
  </default>
  <worldbody>
    <body name="upper">
      <inertial pos="0.15 0 0" mass="1.2" diaginertia="0.002 0.01 0.01"/>
      <joint name="shoulder" axis="0 1 0"/>
      <body name="fore" pos="0.3 0 0">
        <inertial pos="0.1 0 0.01" mass="0.6" diaginertia="0.0005 0.003 0.003"/>
        <joint name="elbow" axis="0 1 0"/>
        <body name="hand" pos="0.2 0 0">
          <inertial pos="0.02 0 0" mass="0.05" diaginertia="1e-4 1e-4 1e-4"/>
          <joint name="roll" axis="1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def arm_in_cell(tmp_path, damping: float = 1.0, dry: float = 0.5, step: str = "1ms"):
    path = tmp_path / "light.xml"
    path.write_text(ARM.format(damping=damping, dry=dry))
    text = f"floor: none\nstep: {step}\nrobots: [{{name: a, robot: {path}}}]\n"
    return path, World(cell(text), mode="exact")


def test_a_light_arm_with_stiff_dry_joints_falls_as_in_mujoco(tmp_path):
    path, world = arm_in_cell(tmp_path)
    robot = world.robots["a"]
    robot.set_state(np.zeros(3), [0.0, 0.0, 3.0])
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qvel[:] = [0.0, 0.0, 3.0]
    for _ in range(3):
        world.step(100)
        for _ in range(5000):
            mujoco.mj_step(model, data)
        assert np.abs(robot.q - data.qpos).max() < 1e-3
    assert world.time == pytest.approx(0.3)
    assert world.compiled.substeps > 5
    # The roll stops at once and sticks: MuJoCo's soft friction creeps, Coulomb's does not.
    assert abs(robot.qd[2]) < 1e-6
    run = brazo.load(path).simulate(
        q0=np.zeros(3), qd0=[0.0, 0.0, 3.0], t_end=0.3, dt=0.1, method="dopri5", rtol=1e-7
    )
    assert np.abs(robot.q - run.q[-1]).max() < 3e-4


def test_a_joint_without_friction_takes_whole_steps():
    world = World(cell("floor: none\nrobots: [{name: a, robot: srm1}]\n"), mode="exact")
    assert world.compiled.substeps == 1 and world.mj_model.opt.timestep == world.dt


def test_friction_too_stiff_for_any_division_is_named(tmp_path):
    _, world = arm_in_cell(tmp_path, damping=200.0, dry=0.0)
    world.robots["a"].set_state(np.zeros(3), [0.0, 0.0, 1.0])
    with pytest.raises(Diverged, match=r"friction of joint 'a/roll' is too large for steps of"):
        world.step(200)
    assert world.compiled.substeps == MAX_SUBSTEPS


def test_a_run_with_sticking_joints_repeats_bit_for_bit(tmp_path):
    _, world = arm_in_cell(tmp_path)
    robot = world.robots["a"]
    robot.set_state(np.zeros(3), [0.0, 0.0, 3.0])
    world.step(20)
    state = world.save()
    world.step(30)
    q = robot.q.copy()
    world.restore(state)
    for _ in range(30):
        world.stepper.prepare_row()  # reading signals for a recording changes nothing
        world.step()
    assert (robot.q == q).all()

"""The weights bound the displacement of every point of a robot."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from brazo.model.transforms import translate
from brazo.program.collision import Checker, MovingRobot
from brazo.program.displacement import displacement_weights
from brazo.simulation import Simulation
from brazo.world import parse_cell


def arm_in(robot: str, extra: str = "") -> Simulation:
    text = f"name: t\nfloor: none\nrobots: [{{name: arm, robot: {robot}}}]\n{extra}"
    return Simulation(parse_cell(text, Path("t.yaml")), {"arm": None})


@pytest.mark.parametrize("robot", ["scara1", "scara2", "puma560", "panda", "delta"])
def test_displacement_is_bounded(robot):
    sim = arm_in(robot)
    world, arm = sim.world, sim.robots["arm"]
    w = displacement_weights(world, arm.world, arm.arm, {})
    data = mujoco.MjData(world.mj_model)
    geoms = arm.world.geom_ids
    rng = np.random.default_rng(0)
    tightest = 0.0
    for q0 in arm.arm.random_q(60, seed=1):
        q1 = np.clip(q0 + rng.normal(0, 0.05, arm.n), *arm.arm.limits.T)
        found = []
        for q in (q0, q1):
            arm.world.put(data.qpos, q)
            mujoco.mj_kinematics(world.mj_model, data)
            found.append(data.geom_xpos[geoms].copy())
        moved = float(np.linalg.norm(found[1] - found[0], axis=1).max())
        bound = float(w @ np.abs(q1 - q0))
        assert moved <= bound
        tightest = max(tightest, moved / bound)
    assert tightest > 0.2  # the bound is of use


def test_held_body_is_included():
    body = "bodies: [{name: bar, box: [50cm, 3cm, 3cm], mass: 0.4, xyz: [2, 0, 0]}]"
    sim = arm_in("scara2", body)
    arm = sim.robots["arm"]
    empty = Checker(sim.world, MovingRobot(arm.world, arm.arm, {})).weights
    full = Checker(sim.world, MovingRobot(arm.world, arm.arm, {"bar": translate(x=0.1)})).weights
    # The last joint turns the bar's far corner about the tool's axis.
    assert full[4] >= np.linalg.norm([0.35, 0.015, 0.015])
    assert (full >= empty).all() and full[4] > empty[4] and full[3] == empty[3] == 1.0

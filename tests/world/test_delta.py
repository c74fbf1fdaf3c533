"""The Delta inside the world: its loops stay closed and its gravity torques equal the closed
form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import brazo
from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.world import World
from brazo.world.wrenches import loop_map
from tests.world.scenes import cell

DELTA = brazo.load("delta")
LONE = "floor: none\n{extra}\nrobots: [{{name: d, robot: delta, start: home}}]\n"


def lone(extra: str = "") -> World:
    return World(cell(LONE.format(extra=extra)))


def followers(world: World) -> np.ndarray:
    return world.robots["d"]._followers()


@pytest.mark.parametrize("seed", range(4))
def test_mass_matrix_and_weight_through_the_loops_are_the_closed_forms(seed):
    world = lone()
    robot, m, d = world.robots["d"], world.mj_model, world.mj_data
    q = DELTA.random_q(seed=seed)
    robot.set_state(q)
    N = followers(world)
    M = np.zeros((m.nv, m.nv))
    engine().mj_fullM(m, d, M)
    assert np.abs(N.T @ M @ N - DELTA.mass_matrix(q)).max() < 1e-12
    assert np.abs(N.T @ d.qfrc_bias - DELTA.gravity(q)).max() < 1e-11


def test_speeds_follow_the_jacobian():
    world = lone()
    robot = world.robots["d"]
    q, qd = DELTA.random_q(seed=3), np.array([0.4, -0.7, 0.2])
    robot.set_state(q, qd)
    at = int(world.mj_model.joint("d/platform x").dofadr[0])
    wanted = DELTA.jacobian(q)[:3] @ qd
    assert world.mj_data.qvel[at : at + 3] == pytest.approx(wanted, abs=1e-12)
    h = 1e-6
    robot.set_state(q + h * qd)
    ahead = world.mj_data.qpos.copy()
    robot.set_state(q - h * qd)
    rates = (ahead - world.mj_data.qpos) / (2 * h)
    robot.set_state(q, qd)
    assert rates == pytest.approx(world.mj_data.qvel, abs=1e-8)  # the rods', too


@pytest.mark.parametrize(("step", "worst"), [("0.5ms", 6e-6), ("1ms", 20e-6)])
def test_a_fast_circle_keeps_the_loops_closed(step, worst):
    """1 Hz, 0.1 m radius, up and down: the platform is where the arms' closed form puts it."""
    world = lone(f"step: {step}")
    robot, off = world.robots["d"], 0.0
    q, knots = robot.q.copy(), np.linspace(0, 1, 101)
    path = []
    for t in knots:
        a, ramp = 2 * np.pi * t, min(1.0, 4 * t)
        P = [0.1 * ramp * np.cos(a), 0.1 * ramp * np.sin(a), -0.42 + 0.03 * ramp * np.sin(2 * a)]
        q = DELTA.ik(P, q0=q).q
        path.append(q)
    motion = CubicSpline(knots, path, bc_type="clamped")
    robot.set_state(path[0])
    while world.time < 1.0:
        wanted, speed, acc = (motion(world.time, k) for k in range(3))
        acc = acc + 900 * (wanted - robot.q) + 60 * (speed - robot.qd)
        robot.torque[:] = DELTA.inverse_dynamics(robot.q, robot.qd, acc)
        world.step()
        off = max(off, np.abs(robot.tool()[:3, 3] - DELTA.fk(robot.q)[:3, 3]).max())
    assert np.abs(robot.q - path[-1]).max() < 5e-3
    assert off < worst


def test_angles_at_which_the_rods_do_not_meet_are_refused():
    world = World(cell(
        "floor: none\nrobots: [{name: d, robot: delta, parameters: {L2: 0.3}, "
        "start: [50deg, 50deg, 50deg]}]\n"
    ))  # fmt: skip
    with pytest.raises(
        BrazoError, match=r"the rods do not meet at arm angles of 0.0, 0.0, 0.0 degrees"
    ):
        world.robots["d"].set_state([0, 0, 0])


def test_the_map_of_followers_satisfies_the_loops():
    world = lone()
    world.robots["d"].set_state([-0.3, 0.1, -0.5])
    N = followers(world)
    robot = world.robots["d"]
    J = np.array(world.mj_data.efc_J).reshape(-1, world.mj_model.nv)
    assert np.abs(J[:9] @ N).max() < 1e-12
    again = loop_map(
        world.mj_model,
        world.mj_data,
        robot._loops,
        robot._iv.tolist(),
        robot.engine.member_v.tolist(),
    )
    assert np.array_equal(N, again)

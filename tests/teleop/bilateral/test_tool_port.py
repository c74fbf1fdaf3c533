"""A robot of a world as a source of force: floats, obeys Jᵀ F, and reads contacts rightly."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.bilateral import Hand, Pair, TaskMap, ToolPort, WaveVariables, strokes
from brazo.teleop.mapping.base import IncrementMap
from brazo.trajectory import quintic_via_points
from brazo.world import World


@pytest.fixture(scope="module")
def world() -> World:
    return World("teleop-wall")


@pytest.fixture(scope="module")
def scara() -> World:
    return World("teleop-wall-scara")


def test_tool_without_force_stays_in_place(world):
    world.reset()
    ports = [ToolPort(world, name) for name in ("master", "follower")]
    before = [port.state()[0] for port in ports]
    for _ in range(500):
        for port in ports:
            port.push(np.zeros(3))
        world.step()
    for port, x in zip(ports, before, strict=True):
        assert np.abs(port.state()[0] - x).max() < 1e-6


@pytest.mark.parametrize("name", ["delta", "scara"])
def test_state_and_torque_are_those_of_the_robot(name, world, scara):
    """Against the interpreted Robot: tool from fk, speed from J, torque G + Jᵀ F."""
    place = scara if name == "scara" else world
    port = ToolPort(place, "follower")
    robot, arm = place.robots["follower"], port.arm
    random = np.random.default_rng(1)
    for _ in range(20):
        q = robot.start + random.uniform(-0.3, 0.3, arm.n)
        if name == "scara":
            q[3] = random.uniform(0.02, 0.15)
        qd, F = random.normal(size=arm.n), random.normal(size=3) * 5.0
        robot.set_state(q, qd)
        J = arm.jacobian(q)[:3]
        x, v = port.state()
        assert np.allclose(x, arm.fk(q)[:3, 3], atol=1e-12) and np.allclose(v, J @ qd, atol=1e-11)
        port.push(F)
        rest = robot.torque - arm.gravity(q) - J.T @ F
        if name == "delta":
            assert np.abs(rest).max() < 1e-12
            continue
        # What is left turns the tool back about its axis and holds the posture without moving it.
        J = arm.jacobian(q)
        inverse = np.linalg.inv(arm.mass_matrix(q))
        turn = np.linalg.pinv(J @ inverse @ J.T) @ J @ inverse @ rest
        assert np.abs(turn[:3]).max() < 1e-3  # N; the projection is regularised
    place.reset()


def test_contact_force_balances_the_tool(world):
    """Pressed on the wall with 9 N and at rest, the contact force is 9 N."""
    world.reset()
    port = ToolPort(world, "follower")
    for _ in range(1500):
        _, v = port.state()
        port.push(np.array([0.0, 0.0, -9.0]) - 30.0 * v)
        world.step()
    force = port.contact()
    assert force[2] == pytest.approx(9.0, abs=1e-3) and np.abs(force[:2]).max() < 1e-3
    bodies = world.robots["follower"].contact_wrenches()[:, :3].sum(axis=0)
    assert np.allclose(force, bodies, atol=1e-12)
    torque = world.robots["follower"].external_torque()
    J = port.arm.jacobian(world.robots["follower"].q)[:3]
    assert np.allclose(J.T @ force, torque, atol=1e-4)
    assert not ToolPort(world, "master").contact().any()
    world.reset()


def test_hand_applies_an_external_force(world):
    world.reset()
    port = ToolPort(world, "master")
    x0 = port.state()[0]
    for _ in range(100):
        port.push(np.zeros(3))
        port.pull(np.array([0.5, 0.0, 0.0]))
        world.step()
    M = np.linalg.inv(port.arm.jacobian(np.zeros(3))[:3])
    mass = (M.T @ port.arm.mass_matrix(np.zeros(3)) @ M)[0, 0]
    assert port.state()[0][0] - x0[0] == pytest.approx(0.5 * 0.5 / mass * 0.1**2, rel=0.02)
    world.reset()


def test_bad_names_and_trajectories_are_refused(world):
    with pytest.raises(BrazoError, match="no robot named 'slave'; robots: master, follower"):
        ToolPort(world, "slave")
    with pytest.raises(BrazoError, match="specify two different robots"):
        Pair(world, WaveVariables(), robots=("master", "master"))
    with pytest.raises(BrazoError, match="it must have 3"):
        Hand(quintic_via_points([0, 1], [[0, 0], [1, 1]]))
    with pytest.raises(BrazoError, match="rows of t"):
        strokes([(0, 0, 0, 0)])
    with pytest.raises(BrazoError, match="rows of t"):
        strokes("up")
    with pytest.raises(BrazoError, match="force_gain is 0"):
        TaskMap(IncrementMap(), 0.0)
    with pytest.raises(BrazoError, match="finite time"):
        Pair(world, WaveVariables()).run(float("inf"))
    with pytest.raises(BrazoError, match="longer than"):
        Pair(world, WaveVariables()).run(0.01).report()


@pytest.mark.parametrize("k", [0.5, 1.0, 3.0])
def test_mapping_conserves_power(k):
    task_map = TaskMap(IncrementMap(scale=k))
    random = np.random.default_rng(0)
    v, f = random.normal(size=3), random.normal(size=3)
    assert task_map.to_master(v) @ task_map.force_to_master(f) == pytest.approx(v @ f)
    assert np.allclose(task_map.force_to_follower(task_map.force_to_master(f)), f)
    doubled = TaskMap(IncrementMap(scale=k), 2.0 / k)
    assert doubled.to_master(v) @ doubled.force_to_master(f) == pytest.approx(2.0 * v @ f)

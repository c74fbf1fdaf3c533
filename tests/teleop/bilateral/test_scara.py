"""A Delta drives a SCARA through the paper's direction matrix, with scale, into a wall."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.simulation import Simulation
from brazo.teleop.bilateral import Hand, Pair, TaskMap, ToolPort, WaveVariables, strokes
from brazo.teleop.mapping.base import DIRECTIONS, IncrementMap
from brazo.world import World


def scheme() -> WaveVariables:
    return WaveVariables(impedance=50.0)


@pytest.mark.parametrize(("k", "gain"), [(1.0, None), (2.0, 0.2)])
def test_downward_motion_of_the_delta_presses_the_scara_into_the_wall(k, gain):
    world = World("teleop-wall-scara")
    # The wall is 4 cm away at the follower, so k times that at the master.
    hand = Hand(strokes([(0.5, 0, 0, 0), (1.5, 0, 0, -0.04 * k - 0.03)]))
    port = ToolPort(world, "follower")
    start = port.state()[0]
    pair = Pair(
        world, scheme(), hand, TaskMap(IncrementMap(scale=k), gain),
        delay=0.1, jitter=0.05, seed=2,
    )  # fmt: skip
    trace = pair.run(4.5)
    moved = port.state()[0] - start
    # In the base's own axes: outwards, and what the master sees of it.
    assert 0.036 < moved[0] < 0.042 and np.abs(moved[1:]).max() < 5e-3
    assert np.allclose(DIRECTIONS @ trace.follower.x[-1] / k, moved, atol=1e-4)
    contact = port.contact()
    assert contact[0] < -2.0 and abs(contact[2]) < 0.2 * abs(contact[0])
    # The force on the hand is the mapped contact force.
    report = trace.report()
    assert report.force_error < 0.15 and report.moving < 1e-3
    felt = trace.master.force[-500:].mean(axis=0)
    g = 1.0 / k if gain is None else gain
    assert np.allclose(felt, g * DIRECTIONS.T @ contact, atol=0.25)
    assert trace.energy.min() >= 0.0 and (trace.follower.spent <= trace.follower.received).all()


def test_a_pair_is_a_task_of_a_simulation_and_its_recording_has_both_robots():
    sim = Simulation("teleop-wall-scara", {"master": None, "follower": None})
    hand = Hand(strokes([(0.1, 0, 0, 0), (0.5, 0, 0, -0.02)]))
    pair = Pair(sim.world, scheme(), hand, delay=0.01)
    sim.tasks.add(pair)
    recording = sim.run(until=1.0)
    trace = pair.trace()
    z = recording["master.tool.z"]
    assert len(z) == len(trace.t) == 1000
    assert np.allclose(z - z[0], trace.master.x[:, 2], atol=1e-4)
    assert trace.follower.x[-1, 2] == pytest.approx(-0.02, abs=2e-3)


def test_the_orientation_is_held_while_the_tool_is_moved():
    world = World("teleop-wall-scara")
    port = ToolPort(world, "follower")
    robot = world.robots["follower"]
    R, q0, x0 = port.arm.fk(robot.q)[:3, :3].copy(), robot.q.copy(), port.state()[0]
    for _ in range(2000):
        x, v = port.state()
        port.push(600.0 * (x0 + np.array([-0.08, 0.03, 0.04]) - x) - 90.0 * v)
        world.step()
    assert np.allclose(port.state()[0] - x0, [-0.08, 0.03, 0.04], atol=1e-4)
    assert np.allclose(port.arm.fk(robot.q)[:3, :3], R, atol=2e-3)
    assert np.abs(robot.q - q0).max() < 0.6 and np.abs(robot.qd).max() < 1e-2

"""A joint locks, the fault is detected, and the others return the tool to its path."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import PDGravity
from brazo.simulation import FaultTolerance, JointLocked, LockRule, Simulation
from brazo.simulation.recovery import plan_recovery, solve_with
from brazo.trajectory import Timing, circle, follow_path, quintic
from tests.world.scenes import cell


def on_a_circle(sim: Simulation, name: str, duration: float = 3.0):
    """The robot's tool on a closed path; the path in the world as a function of time."""
    robot = sim.robots[name]
    start = robot.arm.fk(robot.reference.q)
    way = circle(start[:3, 3] - [0.08, 0, 0], 0.08, start[:3, :3], Timing("quintic", duration))
    robot.move(follow_path(robot.arm, way, q0=robot.reference.q))
    return lambda t: (robot.base @ way.sample(t).T)[:, :3, 3]


def tool_error(rec, name: str, way) -> np.ndarray:
    tool = rec.matrix([f"{name}.tool.{axis}" for axis in "xyz"])
    return np.linalg.norm(tool - way(rec["t"]), axis=1)


@pytest.mark.parametrize("joint", ["shoulder", "elbow", "forearm"])
@pytest.mark.parametrize("patience", [0.03, 0.25])
def test_tool_returns_to_its_path_for_any_locked_joint(joint, patience):
    sim = Simulation("cooperative")
    way = on_a_circle(sim, "scara2")
    guard = FaultTolerance(sim.robots["scara2"], LockRule(patience=patience))
    sim.tasks.add(guard)
    sim.inject(JointLocked("scara2", joint), at=1.2)
    rec = sim.run(until=3.0)
    kinds = [event.kind for event in sim.events if not event.kind.startswith("contact")]
    assert kinds == ["fault", "fault detected", "recovery"]
    found = next(event for event in sim.events if event.kind == "fault detected")
    assert found.data["joint"] == joint and found.t - 1.2 < patience + 0.2
    locked = np.degrees(rec[f"scara2.q.{joint}"][-1])
    assert found.text == f"scara2: '{joint}' is locked at {locked:.2f}°"
    error = tool_error(rec, "scara2", way)
    if patience > 0.1:
        assert error.max() > 2e-3  # there was an error to correct
    back = rec["t"] > found.t + guard.recoveries[0].bridge + 0.15
    assert back.sum() > 500 and error[back].max() < 2e-4
    # The orientation was kept as well: four joints are enough for it.
    wxyz = rec.matrix([f"scara2.tool.q{axis}" for axis in "wxyz"])
    assert np.abs(np.abs((wxyz * wxyz[0]).sum(axis=1))[back] - 1.0).max() < 1e-6


def test_no_false_detection_without_a_fault():
    """Droop, lag and turning points are no faults."""
    sim = Simulation(
        cell("floor: none\nrobots: [{name: arm, robot: scara2, start: [0, 0.6, 0.4, 0.1, 0]}]"),
        {"arm": PDGravity()},
    )
    robot = sim.robots["arm"]
    guard = FaultTolerance(robot)
    sim.tasks.add(guard)
    rng = np.random.default_rng(0)
    q = robot.reference.q
    for _ in range(12):
        goal = np.array([0, 0.6, 0.4, 0.1, 0]) + rng.uniform(-1, 1, 5) * [0.8, 0.5, 0.5, 0.08, 1]
        robot.move(quintic(robot.reference.q, goal, 0.7))
        sim.step(800)
    assert guard.locked == {} and sim.events == [] and (robot.reference.q != q).any()


def test_nonredundant_robot_reports_its_closest_pose():
    sim = Simulation("cooperative")
    on_a_circle(sim, "scara1")
    sim.step(1000)
    robot = sim.robots["scara1"]
    recovery = plan_recovery(robot, {1: robot.q[1]}, sim.dt)
    assert recovery.position_error > 1e-3
    with pytest.raises(brazo.BrazoError, match="at least one joint that is not locked"):
        plan_recovery(robot, dict.fromkeys(range(5), 0.0), sim.dt)


@pytest.mark.parametrize("locked", [0, 1, 2])
def test_solving_with_a_locked_joint_is_exact_where_the_others_suffice(locked):
    arm = brazo.load("scara2")
    rng = np.random.default_rng(locked)
    free = [i for i in range(5) if i != locked]
    for q in arm.random_q(50, seed=locked):
        q[:3] = np.clip(q[:3], 0.3, 1.2)  # away from the stretched arm
        start = q + np.where(np.arange(5) == locked, 0.0, rng.uniform(-0.1, 0.1, 5))
        found, error = solve_with(arm, arm.fk(q), start, free)
        assert found[locked] == q[locked] and error.max() < 1e-7
        assert arm.fk(found) == pytest.approx(arm.fk(q), abs=1e-7)

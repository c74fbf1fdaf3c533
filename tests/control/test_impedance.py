"""Cartesian impedance: F = K x at rest, only the inside of a redundant arm follows the posture."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import CartesianImpedance, PDGravity, Reference
from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec

K = np.array([800.0, 500.0, 300.0, 8.0, 6.0, 4.0])


def at_rest(q) -> Reference:
    return Reference(np.array(q, dtype=float), np.zeros(len(q)), np.zeros(len(q)))


def displaced(arm, q, dx):
    """Joint values with the tool moved by dx in its own axes."""
    T = arm.fk(q)
    target = T.copy()
    target[:3, 3] += T[:3, :3] @ dx[:3]
    target[:3, :3] = T[:3, :3] @ matrix_from_rotvec(dx[3:])
    found = arm.ik(target, q0=q, method="numeric", tolerance=1e-13)
    assert found.success, found.reason
    return found.q


def base_wrench(arm, q, F):
    """A wrench in the tool's axes, in the base's."""
    R = arm.fk(q)[:3, :3]
    return np.concatenate([R @ F[:3], R @ F[3:]])


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_static_force_is_stiffness_times_displacement(name):
    """Displaced by x and held by the outside wrench −K x, the arm does not accelerate."""
    arm = brazo.load(name)
    q_goal = np.array(arm.poses["nominal" if name == "puma560" else "ready"])
    law = CartesianImpedance(stiffness=K, posture=0.0)
    law.bind(arm, 1e-3)
    for axis in range(6):
        x = np.zeros(6)
        x[axis] = 0.01
        q = displaced(arm, q_goal, -x)
        tau = law.torque(0.0, q, np.zeros(arm.n), at_rest(q_goal))
        # A turn counts as its sine; a shift seen from a tool that has not turned as itself.
        F = K * np.where(np.arange(6) < 3, x, np.sin(x))
        J = arm.jacobian(q, "tool")
        assert np.abs(tau - arm.gravity(q) - J.T @ F).max() < 1e-9
        qdd = arm.forward_dynamics(q, np.zeros(arm.n), tau, wrench=-base_wrench(arm, q, F))
        assert np.abs(arm.jacobian(q) @ qdd).max() < 1e-6


@pytest.mark.parametrize("frame", ["tool", "base"])
def test_pushed_arm_comes_to_rest_at_force_over_stiffness(scara, frame):
    """The whole closed loop, pushed by 3, −2 and 10 N until it rests: x = K⁻¹ F."""
    q = np.array(scara.poses["home"])
    n, goal, h = scara.n, at_rest(q), 1e-3
    law = CartesianImpedance(frame=frame)
    law.bind(scara, h)
    force = np.array([3.0, -2.0, 10.0])
    R0 = scara.fk(q)[:3, :3]
    F = np.concatenate([force if frame == "base" else R0 @ force, np.zeros(3)])
    start, qd = scara.fk(q)[:3, 3], np.zeros(n)

    def rate(q, qd):
        tau = law.torque(0.0, q, qd, goal)
        return scara.forward_dynamics(q, qd, tau, wrench=F)

    for _ in range(6000):  # the midpoint rule is accurate enough to settle
        a = rate(q, qd)
        b = rate(q + 0.5 * h * qd, qd + 0.5 * h * a)
        q, qd = q + h * (qd + 0.5 * h * a), qd + h * b
    assert np.abs(qd).max() < 1e-10
    moved = scara.fk(q)[:3, 3] - start
    R = scara.fk(q)[:3, :3]
    given = moved if frame == "base" else R.T @ moved
    pushed = F[:3] if frame == "base" else R.T @ F[:3]
    assert np.abs(given - pushed / law.gains["stiffness"][:3]).max() < 1e-6


@pytest.mark.parametrize("name", ["scara2", "panda"])
def test_posture_does_not_move_the_tool(name):
    """The torques of the posture accelerate joints but not the tool."""
    arm = brazo.load(name)
    q = np.array(next(iter(arm.poses.values()))) + 0.05
    law = CartesianImpedance(stiffness=0.0, damping=0.0)
    law.bind(arm, 1e-3)
    goal = at_rest(q + np.linspace(-0.2, 0.3, arm.n))
    tau = law.torque(0.0, q, np.zeros(arm.n), goal) - arm.gravity(q)
    qdd = np.linalg.solve(arm.mass_matrix(q), tau)
    assert np.abs(qdd).max() > 1.0
    assert np.abs(arm.jacobian(q) @ qdd).max() < 1e-6 * np.abs(qdd).max()


def test_posture_pulls_a_redundant_arm_home():
    """With the tool held, the elbow moves to the reference joint values."""
    arm = brazo.load("panda")
    home = np.array(arm.poses["ready"])
    J = arm.jacobian(home)
    inside = np.linalg.svd(J)[2][-1]
    q = displaced(arm, home + 0.3 * inside, np.zeros(6))
    q = arm.ik(arm.fk(home), q0=q, method="numeric", tolerance=1e-12).q
    assert np.abs(q - home).max() > 0.05
    law, h, qd = CartesianImpedance(), np.array([1e-3]), np.zeros(7)
    law.bind(arm, 1e-3)
    tool = arm.fk(home)[:3, 3]
    for _ in range(1500):
        q, qd = arm.dynamics.rk4_step(q, qd, law.torque(0.0, q, qd, at_rest(home)), h)
        assert np.abs(arm.fk(q)[:3, 3] - tool).max() < 1e-3
    assert np.abs(q - home).max() < 1e-3


def test_a_singular_pose_passes(puma):
    """A stretched arm cannot move in one direction; the torque stays finite and small."""
    q = np.array(puma.poses["stretch"])
    law = CartesianImpedance()
    law.bind(puma, 1e-3)
    tau = law.torque(0.0, q, np.zeros(6), at_rest(q + 0.01))
    assert np.abs(tau - puma.gravity(q)).max() < 100.0


@pytest.mark.parametrize("kind", [CartesianImpedance, PDGravity])
def test_feedforward_must_be_a_boolean(kind):
    with pytest.raises(BrazoError, match=f"{kind.__name__}: feedforward = 'no'; it must be True"):
        kind(feedforward="no")
    assert kind(feedforward=np.bool_(False)).feedforward is False

"""Joint speeds and accelerations for a motion of the tool: Pinocchio, differences, the rule."""

from importlib import import_module

import numpy as np
import pytest

import brazo
from brazo.trajectory.jacobian_rate import jacobian_rate
from brazo.trajectory.joint_rates import ToolMotion
from tests import oracles

ARMS = ["puma560", "panda", "rv2aj", "pegasus", "scara1", "scara2", "teleop-scara", "srm1", "delta"]
TREES = [name for name in ARMS if name != "delta"]
rng = np.random.default_rng(11)


def states(arm, count=6):
    q = (
        arm.random_q(count, seed=3)
        if arm.model.kind == "tree"
        else rng.uniform(-0.5, 0.5, (count, 3))
    )
    return q, rng.normal(size=q.shape)


@pytest.mark.parametrize("name", TREES)
def test_rate_of_the_jacobian_equals_pinocchios(name):
    arm = brazo.load(name)
    oracle = oracles.pinocchio(arm.model)
    pin = import_module("pinocchio")
    q, qd = states(arm)
    J, Jd = jacobian_rate(arm.model)(q, qd)
    assert np.abs(J - arm.jacobian(q)).max() == 0.0
    for k in range(len(q)):
        joints, speeds = oracle.S @ q[k] + oracle.offsets, oracle.S @ qd[k]
        pin.forwardKinematics(oracle.robot, oracle.data, joints, speeds, np.zeros(len(speeds)))
        # J̇ q̇ is the acceleration of the tool point while the joints' own accelerations are 0.
        tip = oracle.ids[arm.model.tip]
        frame = pin.LOCAL_WORLD_ALIGNED
        v = pin.getVelocity(oracle.robot, oracle.data, tip, frame)
        a = pin.getClassicalAcceleration(oracle.robot, oracle.data, tip, frame)
        arm_vector = oracle.tool(q[k])[:3, 3] - oracle.data.oMi[tip].translation
        w, alpha = v.angular, a.angular
        linear = a.linear + np.cross(alpha, arm_vector) + np.cross(w, np.cross(w, arm_vector))
        assert np.abs(Jd[k] @ qd[k] - np.concatenate([linear, alpha])).max() < 1e-12


@pytest.mark.parametrize("name", ARMS)
def test_rate_of_the_jacobian_is_its_derivative(name):
    arm = brazo.load(name)
    q, qd = states(arm)
    h = 1e-6
    difference = (arm.jacobian(q + h * qd) - arm.jacobian(q - h * qd)) / (2 * h)
    assert np.abs(jacobian_rate(arm.model)(q, qd)[1] - difference).max() < 2e-9


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("turning", [True, False])
def test_acceleration_is_the_derivative_of_the_speed(name, turning):
    arm = brazo.load(name)
    motion = ToolMotion(arm, turning)
    q, _ = states(arm)
    seen = 0
    for one in q:
        v, a = 0.1 * rng.normal(size=(2, 6))
        found = motion.rates(one, v, a)
        if found.margin < 0.05:
            continue
        seen += 1
        h = 1e-5
        ahead = motion.rates(one + h * found.qd, v + h * a, a).qd
        behind = motion.rates(one - h * found.qd, v - h * a, a).qd
        size = 1.0 + np.abs(found.qdd).max()
        assert np.abs((ahead - behind) / (2 * h) - found.qdd).max() < 1e-6 * size
    assert seen


def test_six_joints_solve_the_jacobian():
    arm = brazo.load("puma560")
    q = np.radians([10, 60, -80, 20, 40, -40])
    v, a = rng.normal(size=(2, 6))
    found = ToolMotion(arm).rates(q, v, a)
    J, Jd = jacobian_rate(arm.model)(q, found.qd)
    assert np.abs(found.qd - np.linalg.solve(J, v)).max() < 1e-10 * np.abs(found.qd).max()
    wanted = np.linalg.solve(J, a - Jd @ found.qd)
    assert np.abs(found.qdd - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_seven_joints_move_least():
    arm = brazo.load("panda")
    v, a = rng.normal(size=(2, 6))
    q = arm.poses["ready"]
    found = ToolMotion(arm).rates(q, v, a)
    J, Jd = jacobian_rate(arm.model)(q, found.qd)
    assert np.abs(found.qd - np.linalg.pinv(J) @ v).max() < 1e-12
    # The tool acceleration is the given one for any null-space motion.
    assert np.abs(J @ found.qdd + Jd @ found.qd - a).max() < 1e-11


def test_five_joints_keep_the_point_and_turn_as_near_as_they_can():
    arm = brazo.load("pegasus")
    q = np.array([0.3, 1.2, -1.1, -0.7, 0.4])
    v = rng.normal(size=6)
    found = ToolMotion(arm).rates(q, v, np.zeros(6))
    J = arm.jacobian(q)
    assert np.abs(J[:3] @ found.qd - v[:3]).max() < 1e-12
    left = np.linalg.norm(J[3:] @ found.qd - v[3:])
    assert left > 1e-3
    # No other motion that keeps the point turns nearer.
    null = np.linalg.svd(J[:3])[2][3:].T
    for _ in range(30):
        other = found.qd + null @ rng.normal(size=2) * 1e-2
        assert np.linalg.norm(J[3:] @ other - v[3:]) >= left - 1e-12


def test_the_margin_vanishes_at_singularities():
    arm = brazo.load("puma560")
    motion = ToolMotion(arm)
    v = np.ones(6)
    straight_wrist = np.radians([10, 60, -80, 20, 0, -40])
    assert motion.rates(straight_wrist, v, v).margin < 1e-12
    small = motion.rates(straight_wrist + [0, 0, 0, 0, 1e-3, 0], v, v).margin
    assert 1e-4 < small < 1e-2

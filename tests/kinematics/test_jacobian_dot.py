"""The rate of the Jacobian against differences of the Jacobian and Pinocchio's classic drift."""

import numpy as np
import pytest

import brazo
from brazo.kinematics.tree import TreeKinematics
from tests.dynamics.random_robots import random_robot


def differences(jacobian, q, qd, h=1e-3):
    def slope(step):
        return (jacobian(q + step * qd) - jacobian(q - step * qd)) / (2 * step)

    return (64 * slope(h / 4) - 20 * slope(h / 2) + slope(h)) / 45


@pytest.mark.parametrize("frame", ["base", "tool"])
@pytest.mark.parametrize("name", ["puma560", "scara2", "delta"])
def test_as_differences(name, frame):
    arm = brazo.load(name)
    rng = np.random.default_rng(0)
    q, qd = 0.4 * rng.uniform(-1, 1, (2, arm.n))
    expected = differences(lambda x: arm.jacobian(x, frame), q, qd)
    assert np.abs(arm.jacobian_dot(q, qd, frame) - expected).max() < 1e-11


def test_random_robots_and_links():
    rng = np.random.default_rng(1)
    for seed in (4,):
        kinematics = TreeKinematics(random_robot(seed))
        q, qd = rng.uniform(-1, 1, (2, kinematics.n))
        for link in (None, kinematics.body_names[-2]):
            expected = differences(lambda x, k=kinematics, n=link: k.jacobian(x, link=n), q, qd)
            got = kinematics.jacobian_dot(q, qd, link=link)
            assert np.abs(got - expected).max() < 1e-10


def test_acceleration_of_the_tool():
    """J q̈ + J̇ q̇ is the second derivative of the tool's position along q(t)."""
    arm = brazo.load("puma560")
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 6))

    def position(t):
        return arm.fk(q + t * qd + 0.5 * t * t * qdd)[:3, 3]

    h = 1e-3
    second = (
        -position(2 * h)
        + 16 * position(h)
        - 30 * position(0)
        + 16 * position(-h)
        - position(-2 * h)
    ) / (12 * h * h)
    acceleration = arm.jacobian(q) @ qdd + arm.jacobian_dot(q, qd) @ qd
    assert np.abs(acceleration[:3] - second).max() < 1e-8


def test_batches():
    arm = brazo.load("puma560")
    q, qd = np.random.default_rng(3).uniform(-1, 1, (2, 5, 6))
    batch = arm.jacobian_dot(q, qd)
    assert batch.shape == (5, 6, 6)
    assert np.array_equal(batch[3], arm.jacobian_dot(q[3], qd[3]))

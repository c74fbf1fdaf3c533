"""Joint to joint, incremental and absolute."""

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.mapping.base import MasterPoint
from brazo.teleop.mapping.joint_map import JointMap
from brazo.trajectory import Limits

LIMITS = Limits([2.0, 2.0, 2.0], 8.0, 80.0, [[-1.5, 1.0]] * 3)
DT = 0.01


def at(*q):
    return MasterPoint(np.array(q, float))


def test_increments_are_relative_to_the_start_of_both():
    mapping = JointMap(LIMITS, [1.0, -1.0, 0.5])
    mapping.anchor(at(3.0, -2.0, 0.0), np.array([0.1, 0.2, 0.3]))
    rng = np.random.default_rng(0)
    q_m, first = np.array([3.0, -2.0, 0.0]), np.array([3.0, -2.0, 0.0])
    for _ in range(200):
        q_m = np.clip(q_m + rng.uniform(-0.01, 0.01, 3), first - 0.3, first + 0.3)
        target = mapping.step(MasterPoint(q_m), DT)
        assert target.q == pytest.approx(
            np.array([0.1, 0.2, 0.3]) + [1.0, -1.0, 0.5] * (q_m - first), abs=1e-12
        )
        assert not target.jump


def test_missed_command_loses_no_motion():
    one, two = JointMap(LIMITS), JointMap(LIMITS)
    for mapping in (one, two):
        mapping.anchor(at(0, 0, 0), np.zeros(3))
    for k in range(1, 11):
        whole = one.step(at(0.01 * k, 0, 0), DT)
    half = two.step(at(0.1, 0, 0), 10 * DT)
    assert half.q == pytest.approx(whole.q, abs=1e-15)


def test_fast_motion_is_limited_and_impossible_motion_is_a_jump():
    mapping = JointMap(LIMITS)
    mapping.anchor(at(0, 0, 0), np.zeros(3))
    target = mapping.step(at(0.1, 0, 0), DT)  # 10 rad/s; the follower does 2
    assert target.q[0] == pytest.approx(0.02) and "lags" in target.warnings[0]
    again = mapping.step(at(0.1, 0, 0), DT)  # clipped motion is lost and not made up later
    assert again.q[0] == pytest.approx(0.02) and not again.warnings
    jump = mapping.step(at(0.1, 0.6, 0), DT)
    assert jump.jump == "joint 2 by 0.6 rad or m in 10 ms" and jump.q == pytest.approx([0.02, 0, 0])


def test_a_wall_before_the_limits():
    mapping = JointMap(LIMITS)
    mapping.anchor(at(0, 0, 0), np.zeros(3))
    for k in range(1, 400):
        target = mapping.step(at(0.01 * k, 0, 0), DT)
        assert target.q[0] < 1.0
    assert target.warnings and "joint 1" in target.warnings[0]
    back = mapping.step(at(0.01 * 399 - 0.02, 0, 0), DT)
    assert back.q[0] == pytest.approx(target.q[0] - 0.02)


def test_absolute_mode_requires_equal_configurations():
    mapping = JointMap(LIMITS, absolute=True)
    said = mapping.obstacle(at(0, 0.3, 0), np.zeros(3))
    assert said == "joint 2: master and follower differ by 0.3 rad or m; at most 0.05 is allowed"
    assert not mapping.obstacle(at(0, 0.04, 0), np.zeros(3))
    mapping.anchor(at(0, 0.01, 0), np.zeros(3))
    for k in range(20):
        target = mapping.step(at(0.01 * k, 0.01, 0), DT)
    assert target.q == pytest.approx([0.19, 0.01, 0])


def test_settings():
    mapping = JointMap(LIMITS)
    mapping.set("gain", 0.5)
    assert mapping.gain.tolist() == [0.5] * 3
    for name, value in (
        ("gain", [1, 2]),
        ("gain", float("nan")),
        ("gain", [1, -1e308, 1]),
        ("absolute", 1),
        ("speed", 1),
    ):
        with pytest.raises(BrazoError):
            mapping.set(name, value)
    assert mapping.obstacle(MasterPoint(np.zeros(2)), np.zeros(3)) == (
        "the master sends 2 joint values; the follower needs 3"
    )

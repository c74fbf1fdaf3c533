"""Origin of limits: the file, the caller, or a listed assumption."""

import math

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import Assumed, Limits, limits_of


def test_speed_and_torque_limits_of_the_file():
    limits = limits_of(brazo.load("scara2"))
    assert limits.speed == pytest.approx([math.pi, math.pi, math.pi, 0.5, 1.5 * math.pi])
    assert limits.torque.tolist() == [60, 40, 30, 200, 10]
    assert limits.position == pytest.approx(brazo.load("scara2").limits)


def test_assumed_numbers_are_listed_with_joint_and_unit():
    limits = limits_of(brazo.load("scara2"))
    assert not any("speed" in note for note in limits.assumed)
    assert "joint 4 (quill): acceleration 2 m/s² assumed" in limits.assumed
    assert "joint 4 (quill): jerk 20 m/s³ assumed" in limits.assumed
    assert len(limits.assumed) == 10
    given = limits_of(brazo.load("scara2"), acceleration=3.0, jerk=30.0)
    assert given.assumed == ()


def test_missing_drives_are_listed_for_every_joint():
    arm = brazo.load("teleop-scara")
    limits = limits_of(arm, assume=Assumed(angular_speed=0.5, linear_speed=0.1))
    kinds = np.array(arm.joint_kinds)
    assert (limits.speed[kinds == "revolute"] == 0.5).all()
    assert (limits.speed[kinds == "prismatic"] == 0.1).all()
    assert sum("speed" in note for note in limits.assumed) == arm.n


def test_without_assumptions_a_missing_number_is_an_error():
    with pytest.raises(BrazoError, match=r"no speed limit for joint 1 .* in the robot file: pass"):
        limits_of(brazo.load("teleop-scara"), assume=None)
    with pytest.raises(BrazoError, match=r"no acceleration limit for joint 1"):
        limits_of(brazo.load("scara2"), assume=None)


def test_given_speed_does_not_raise_the_drive_limit():
    limits = limits_of(brazo.load("scara2"), speed=1.0)
    assert limits.speed.tolist() == [1.0, 1.0, 1.0, 0.5, 1.0]


def test_single_number_applies_to_all_joints():
    limits = Limits(1.0, [1.0, 2.0], 3.0)
    assert limits.n == 2
    assert limits.speed.tolist() == [1.0, 1.0] and limits.jerk.tolist() == [3.0, 3.0]
    assert np.isinf(limits.torque).all() and np.isinf(limits.position).all()
    assert Limits(1.0, n=3).speed.tolist() == [1.0] * 3


def test_limits_are_frozen():
    limits = Limits([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        limits.speed[0] = 9.0


def test_scaled_limits_reduce_the_speed():
    limits = Limits([1.0, 2.0], 3.0, 4.0).scaled(0.25)
    assert limits.speed.tolist() == [0.25, 0.5]
    assert limits.acceleration.tolist() == [3.0, 3.0]
    for share in (0.0, 1.5, math.nan):
        with pytest.raises(BrazoError):
            limits.scaled(share)


def test_delta_drive_applies_to_all_arms():
    limits = limits_of(brazo.load("delta"))
    assert limits.speed == pytest.approx([4 * math.pi] * 3)
    assert limits.torque.tolist() == [12.0] * 3

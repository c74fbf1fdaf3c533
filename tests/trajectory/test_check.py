"""Limits of a robot along a motion: each kind of violation, its first time to rounding, its
maximum."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import (
    Limits,
    assert_within,
    check,
    cubic_via_points,
    limits_of,
    quintic,
    trapezoid,
)


@pytest.fixture(scope="module")
def scara():
    return brazo.load("scara2")


def one_joint(arm, q0, q1, i, duration):
    start, end = np.array(arm.poses["home"]), np.array(arm.poses["home"])
    start[i], end[i] = q0, q1
    return quintic(start, end, duration)


def test_slow_motion_has_no_violations(scara):
    motion = one_joint(scara, 0.0, 0.5, 0, 2.0)
    assert check(motion, scara) == []
    assert_within(motion, scara)


def test_speed_violation_has_start_time_and_peak(scara):
    motion = one_joint(scara, 0.0, 1.0, 0, 0.5)
    (found,) = (v for v in check(motion, scara) if v.kind == "speed")

    def over(t):
        return motion.sample(t).qd[0] - math.pi

    assert found.joint == 0 and found.name == "shoulder" and found.unit == "rad/s"
    assert found.t == pytest.approx(brentq(over, 0.0, 0.25, xtol=1e-15), abs=1e-9)
    assert found.t_worst == pytest.approx(0.25, abs=1e-6)
    assert found.value == pytest.approx(15 / 8 / 0.5, abs=1e-12)
    assert found.limit == pytest.approx(math.pi)
    assert found.place == pytest.approx(scara.fk(motion.sample(found.t).q)[:3, 3])


def test_a_negative_speed_is_reported_with_its_sign(scara):
    found = next(v for v in check(one_joint(scara, 1.0, 0.0, 0, 0.5), scara) if v.kind == "speed")
    assert found.value == pytest.approx(-3.75) and found.limit == pytest.approx(-math.pi)


def test_position_below_and_above(scara):
    low, high = scara.limits[3]
    (found,) = check(one_joint(scara, 0.05, high + 0.01, 3, 3.0), scara)
    assert (found.kind, found.joint, found.unit) == ("position", 3, "m")
    assert found.value == pytest.approx(high + 0.01) and found.limit == high
    (found,) = check(one_joint(scara, 0.05, low - 0.01, 3, 3.0), scara)
    assert found.value == pytest.approx(low - 0.01) and found.limit == low


def test_peak_between_grid_points_is_found(scara):
    # The max speed is 1e-6 above the limit, for microseconds around the middle.
    motion = one_joint(scara, 0.0, 1.0, 0, 15 / 8 / (math.pi * (1 + 1e-6)))
    (found,) = (v for v in check(motion, scara, dt=0.0371) if v.kind == "speed")
    assert found.value == pytest.approx(math.pi * (1 + 1e-6), rel=1e-12)


def test_exactly_on_the_limit_is_within(scara):
    limits = limits_of(scara, acceleration=10.0)
    q0, q1 = scara.poses["home"], scara.poses["home"] + [0.5, -0.4, 0.3, 0.05, 1.0]
    assert check(trapezoid(q0, q1, limits.speed, 10.0), scara, Limits(limits.speed, 10.0)) == []
    (found, *_) = check(trapezoid(q0, q1, limits.speed, 10.0), scara, Limits(limits.speed, 9.999))
    assert found.kind == "acceleration" and found.t == 0.0


def test_acceleration_is_checked_on_both_sides_of_a_break(scara):
    # The second piece ends with an acceleration that only exists just before the third begins.
    motion = cubic_via_points(
        [0.0, 1.0, 2.0, 3.0], np.outer([0.0, 0.0, 0.2, 0.2], np.ones(5)), np.zeros((4, 5))
    )
    limits = Limits(math.inf, 1.0, n=5)
    found = check(motion, scara, limits)
    assert {(v.joint, round(v.limit)) for v in found} == {(i, s) for i in range(5) for s in (1, -1)}
    below = [v for v in found if v.limit < 0]
    assert all(v.t_worst == pytest.approx(2.0) and v.value == pytest.approx(-1.2) for v in below)


def test_torque_is_that_of_inverse_dynamics(scara):
    motion = one_joint(scara, 0.0, 1.0, 0, 0.3)
    found = [v for v in check(motion, scara) if v.kind == "torque"]
    assert found and found[0].unit in ("N m", "N")
    for v in found:
        tau = scara.inverse_dynamics(*motion(v.t_worst))
        assert tau[v.joint] == pytest.approx(v.value, rel=1e-9)
    t = np.linspace(0, motion.end, 20_001)
    tau = scara.inverse_dynamics(*motion(t))
    limit = np.array([60, 40, 30, 200, 10])
    for side in (1.0, -1.0):
        past = side * tau > limit
        here = [v for v in found if v.limit * side > 0]
        assert {v.joint for v in here} == set(np.flatnonzero(past.any(axis=0)).tolist())
        for v in here:
            assert abs(v.t - t[np.argmax(past[:, v.joint])]) < 2 * t[1]


def test_a_robot_without_inertia_has_no_torque_to_check():
    arm = brazo.load("rv2aj-maker")
    assert not arm.has_dynamics
    home = arm.poses["home"]
    found = check(quintic(home, home + [1.0, 0, 0, 0, 0], 0.1), arm)
    assert {v.kind for v in found} == {"speed"}


def test_message_names_joint_limit_and_time(scara):
    motion = one_joint(scara, 0.0, 1.0, 0, 0.5)
    with pytest.raises(BrazoError) as error:
        assert_within(motion, scara)
    text = str(error.value)
    assert text.startswith("joint 1 (shoulder) exceeds its")
    assert (
        " limit of " in text
        and " at t = " in text
        and "tool at (" in text
        and "worst value" in text
    )


def test_the_earliest_comes_first(scara):
    found = check(quintic(scara.poses["zero"], np.full(5, 3.0), 0.2), scara)
    assert [v.t for v in found] == sorted(v.t for v in found) and len(found) > 5


def test_other_numbers_of_joints_are_refused(scara):
    with pytest.raises(BrazoError, match="moves 2 joints; 'scara2' has 5"):
        check(quintic([0, 0], [1, 1], 1.0), scara)
    with pytest.raises(BrazoError, match="limits are for 3 joints"):
        check(one_joint(scara, 0, 1, 0, 1.0), scara, Limits(1.0, n=3))

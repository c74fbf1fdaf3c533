"""Rest to rest: limits reached and kept, minimum time, arrival together, straightness."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import Limits, cubic, jerk_limited, jtraj, limits_of, quintic, trapezoid
from brazo.trajectory.jerk_limited import RuckigPlanner

TINY = 1e-11


@st.composite
def moves(draw):
    n = draw(st.integers(1, 5))

    def vector(low, high):
        return np.array(draw(st.lists(st.floats(low, high), min_size=n, max_size=n)))

    return vector(-3, 3), vector(-3, 3), vector(0.1, 5), vector(0.2, 20), vector(2, 200)


def planned(move):
    q0, q1, v, a, j = move
    limits = Limits(v, a, j)
    return {
        "trapezoid": trapezoid(q0, q1, v, a),
        "straight trapezoid": trapezoid(q0, q1, v, a, "line"),
        "S-curve": jerk_limited(q0, q1, limits),
        "straight S-curve": jerk_limited(q0, q1, limits, "line"),
        "quintic": quintic(q0, q1, speed=v, acceleration=a),
        "cubic": cubic(q0, q1, speed=v, acceleration=a),
    }


@settings(max_examples=50)
@given(moves())
def test_every_move_arrives_and_keeps_its_limits(move):
    q0, q1, v, a, j = move
    for name, motion in planned(move).items():
        t = np.unique(np.concatenate([np.linspace(0, motion.end, 400), motion.breaks]))
        s = motion.sample(t)
        assert (np.abs(s.qd) <= v * (1 + TINY) + TINY).all(), name
        assert (np.abs(s.qdd) <= a * (1 + TINY) + TINY).all(), name
        if "S-curve" in name:
            assert (np.abs(motion.jerk(t)) <= j * (1 + TINY)).all()
        first, last = motion.sample(0.0), motion.sample(motion.end)
        assert np.abs(first.q - q0).max() < 1e-12 and np.abs(last.q - q1).max() < 1e-10, name
        assert np.abs(first.qd).max() < 1e-9 and np.abs(last.qd).max() < 1e-7, name


@st.composite
def critical_moves(draw):
    """Limits, and a distance at which one kind of profile turns into another, to rounding."""
    v, a, j = (draw(st.floats(low, high)) for low, high in ((0.1, 30), (0.1, 30), (1, 300)))
    distance = draw(st.sampled_from([2 * a**3 / j**2, v * (a / j + v / a), 2 * v * (v / j) ** 0.5]))
    assume(1e-6 < distance < 10.0)
    ulps = draw(st.integers(-4, 4))
    start = draw(st.floats(-3, 3))
    return start, start + distance * (1 + ulps * 2.0**-52), v, a, j


@settings(max_examples=300)
@given(st.lists(critical_moves(), min_size=1, max_size=4))
@example([(0.0, 2 * 5.0**3 / 70.0**2, 3.0, 5.0, 70.0)])
@example([(0.05, 0.09, 0.5, 2.0, 20.0)])
def test_distances_between_two_kinds_of_profile_are_planned(joints):
    q0, q1, v, a, j = np.array(joints).T
    limits = Limits(v, a, j)
    for synchronise in ("time", "line"):
        motion = jerk_limited(q0, q1, limits, synchronise)
        s = motion.sample(np.linspace(0.0, motion.end, 100))
        assert np.abs(s.q[-1] - q1).max() < 1e-7
        assert (np.abs(s.qd) <= v * (1 + TINY) + TINY).all()
        assert (np.abs(s.qdd) <= a * (1 + TINY) + TINY).all()
        # From rest to rest no joint can be faster than with each limit alone.
        D = np.abs(q1 - q0)
        least = np.maximum(D / v, np.maximum(2 * np.sqrt(D / a), (32 * D / j) ** (1 / 3)))
        assert motion.end >= least.max() * (1 - 1e-9)


@pytest.mark.parametrize("ulps", range(-8, 9))
def test_taught_points_of_a_scara_are_planned(ulps):
    """The quill moves by 40 mm = 2 a³/j² to rounding."""
    arm = brazo.load("scara1")
    home = arm.poses["home"]
    a, j, limits = 2.0, 20.0, limits_of(arm)
    assert (limits.acceleration[2], limits.jerk[2]) == (a, j) and 2 * a**3 / j**2 == 0.04
    second = np.array([np.radians(40), np.radians(-30), *home[2:]])
    third = np.array([np.radians(-20), np.radians(-30), 0.09 + ulps * 2.0**-56, *home[3:]])
    for q0, q1 in itertools.permutations((home, second, third), 2):
        motion = jerk_limited(q0, q1, limits)
        assert motion.sample(motion.end).q == pytest.approx(q1, abs=1e-8)


@settings(max_examples=50)
@given(moves())
def test_pieces_join_without_a_step(move):
    for name, motion in planned(move).items():
        inner = motion.breaks[1:-1]
        before, after = motion.sample(np.nextafter(inner, 0.0)), motion.sample(inner)
        if len(inner):
            assert np.abs(before.q - after.q).max() < 1e-11, name
            assert np.abs(before.qd - after.qd).max() < 1e-9, name


@settings(max_examples=50)
@given(moves())
def test_trapezoid_takes_the_min_time_of_its_slowest_joint(move):
    q0, q1, v, a, _ = move
    D = np.where(np.abs(q1 - q0) < 1e-14, 0.0, np.abs(q1 - q0))
    # Bang-bang with a ceiling on the speed is optimal; its time in closed form.
    least = np.where(v * v / a <= D, D / v + v / a, 2 * np.sqrt(D / a)).max()
    assert trapezoid(q0, q1, v, a).duration == pytest.approx(least, abs=1e-12)
    assert trapezoid(q0, q1, v, a, "line").duration >= least * (1 - 1e-12)


@settings(max_examples=50)
@given(moves())
def test_straight_moves_are_straight(move):
    q0, q1, *_ = move
    for name in ("straight trapezoid", "straight S-curve", "quintic", "cubic"):
        motion = planned(move)[name]
        s = motion.sample(np.linspace(0, motion.end, 60)).q - q0
        d = q1 - q0
        if np.linalg.norm(d) > 1e-6:
            off = s - np.outer(s @ d / (d @ d), d)
            assert np.abs(off).max() < 1e-9, name


def test_known_trapezoid():
    motion = trapezoid(0.0, 1.0, 0.5, 1.0)
    assert motion.breaks.tolist() == [0.0, 0.5, 2.0, 2.5]
    assert motion.sample(1.0).qd[0] == 0.5
    triangle = trapezoid(0.0, -1.0, 5.0, 1.0)
    assert triangle.breaks.tolist() == [0.0, 1.0, 2.0]
    assert triangle.sample(1.0).qd[0] == pytest.approx(-1.0)


def test_separate_trapezoids_are_faster_than_a_shared_one():
    # One joint is bound by its speed, the other by its acceleration.
    q1, v, a = [1.0, 1.0], [0.5, 10.0], [10.0, 1.0]
    assert trapezoid([0, 0], q1, v, a).duration == pytest.approx(2.05)
    assert trapezoid([0, 0], q1, v, a, "line").duration == pytest.approx(2.5)


def test_known_s_curve():
    # Distance 1 with v = 1, a = 2, j = 10: seven phases, T = D/v + v/a + a/j.
    motion = jerk_limited([0.0], [1.0], Limits([1.0], [2.0], [10.0]))
    assert motion.duration == pytest.approx(1.0 / 1.0 + 1.0 / 2.0 + 2.0 / 10.0, abs=1e-12)
    assert motion.sample(motion.end / 2).qd[0] == pytest.approx(1.0, abs=1e-12)


def test_polynomials_reach_the_limit_that_binds():
    T = quintic(0.0, 2.0, speed=1.0).duration
    assert pytest.approx(3.75) == T
    assert quintic(0.0, 2.0, speed=1.0).sample(T / 2).qd[0] == pytest.approx(1.0)
    T = cubic(0.0, 2.0, acceleration=3.0).duration
    assert pytest.approx(2.0) == T
    assert cubic(0.0, 2.0, acceleration=3.0).sample(0.0).qdd[0] == pytest.approx(3.0)
    motion = quintic(0.0, 2.0, acceleration=3.0)
    assert np.abs(motion.sample(np.linspace(0, motion.end, 9001)).qdd).max() == pytest.approx(3.0)


def test_zero_distance_takes_zero_time():
    for motion in planned((np.ones(2), np.ones(2), np.ones(2), np.ones(2), np.ones(2))).values():
        assert motion.duration == 0.0
        assert motion.sample([-1.0, 0.0, 1.0]).q.tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: trapezoid([0], [1], 0.0, 1.0), "speed of joint 1 is 0"),
        (lambda: trapezoid([0, 0], [1, 1], [1, -1], 1.0), "speed of joint 2 is -1"),
        (lambda: trapezoid([0], [1], math.inf, 1.0), "must be finite"),
        (lambda: trapezoid([0], [1], [1, 1], 1.0), "expected one number or (1,)"),
        (lambda: trapezoid([0], [1, 2], 1.0, 1.0), "q1 has shape (2,); expected (1,)"),
        (lambda: trapezoid([np.nan], [1], 1.0, 1.0), "must be finite"),
        (lambda: trapezoid([0], [1], 1.0, 1.0, "phase"), "'phase' is not one of time, line"),
        (lambda: quintic(0, 1), "needs a duration, or limits"),
        (lambda: quintic(0, 1, 0.0), "duration is 0"),
        (lambda: quintic(0, 1, 1.0, speed=1.0), "not both"),
        (lambda: quintic(0, 1, speed=math.inf), "all limits are infinite"),
        (lambda: jerk_limited([0], [1], Limits(1.0, 1.0)), "jerk of joint 1 is inf"),
        (lambda: jerk_limited([0], [1], Limits([1, 1], 1.0, 1.0)), "limits are for 2 joints"),
        (
            lambda: jerk_limited([0, 0], [1, 1e4], Limits([1, 1], 1.0, 1.0)),
            "would take longer than 7600 s",
        ),
        (
            lambda: jerk_limited([0, 0], [1, 1e12], Limits(1.0, 1.0, 1.0, n=2)),
            "joint 2: no jerk-limited motion from position 0, speed 0, acceleration 0 to ",
        ),
        (
            lambda: RuckigPlanner(Limits([1.0, 1.0], 1.0, 1.0), "position", "time").plan(
                [0, 0], [0, 0], [0, 0], [1, 1], acceleration=[0, 5]
            ),
            "acceleration 5 within the limits 1 (speed), 1 (acceleration), 1 (jerk)",
        ),
        (lambda: Limits(0.0), "speed of joint 1 is 0"),
        (lambda: Limits(1.0, position=[[1, 0]]), "limit 1 must not exceed the upper limit 0"),
    ],
)
def test_invalid_input_is_rejected_with_a_message(call, words):
    with pytest.raises(BrazoError) as error:
        call()
    assert words in str(error.value)


def test_jtraj_is_a_quintic_with_rest_at_both_ends():
    q0, q1, t = np.array([0.1, -0.5]), np.array([1.1, 0.5]), np.linspace(2.0, 5.0, 31)
    q, qd, qdd = jtraj(q0, q1, t)
    tau = (t - 2.0)[:, None] / 3.0
    assert q == pytest.approx(q0 + (q1 - q0) * (10 * tau**3 - 15 * tau**4 + 6 * tau**5), abs=1e-14)
    assert qd == pytest.approx((q1 - q0) * 30 * tau**2 * (1 - tau) ** 2 / 3.0, abs=1e-14)
    assert qdd == pytest.approx((q1 - q0) * 60 * tau * (1 - tau) * (1 - 2 * tau) / 9.0, abs=1e-13)
    assert jtraj(q0, q1, 50).q.shape == (50, 2)
    with pytest.raises(BrazoError, match="must increase"):
        jtraj(q0, q1, [0, 2, 1])

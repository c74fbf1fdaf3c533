"""Following a moving target: no limit is ever passed, nothing lags at steady speed, it stops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brazo.teleop.follow.tracking import JointTracker, TargetRates, stopping_speed
from brazo.trajectory import Limits
from brazo.trajectory.jerk_limited import RuckigPlanner, reach

LIMITS = Limits([2.0, 1.0], [8.0, 3.0], [80.0, 40.0], [[-1, 1], [0, 0.4]])
START = np.array([0.0, 0.2])
DT = 0.002


def check(limits, before, after, dt):
    assert (after.q >= limits.position[:, 0]).all() and (after.q <= limits.position[:, 1]).all()
    assert (np.abs(after.qd) <= limits.speed * (1 + 1e-9)).all()
    assert (np.abs(after.qdd) <= limits.acceleration * (1 + 1e-9)).all()
    assert (np.abs(after.qdd - before.qdd) <= limits.jerk * dt * (1 + 1e-6)).all()
    # Positions follow from speeds: the reference never jumps.
    bound = limits.speed * dt + 1e-9
    assert (np.abs(after.q - before.q) <= bound).all()


ANYTHING = st.tuples(
    st.tuples(st.floats(-5, 5), st.floats(-5, 5)),  # target, also far outside
    st.one_of(st.none(), st.tuples(st.floats(-9, 9), st.floats(-9, 9))),
    st.floats(0.3, 1.0),
    st.integers(1, 120),
)


@settings(max_examples=20)
@given(st.lists(ANYTHING, min_size=1, max_size=5), st.booleans())
def test_limits_hold_for_any_input_and_motion_settles(asked, stop):
    tracker = JointTracker(LIMITS, START)
    state = tracker.state
    for q, qd, share, ticks in asked:
        tracker.target(q, qd, share)
        for _ in range(ticks):
            before, state = state, tracker.update(DT)
            check(LIMITS, before, state, DT)
    if stop:
        tracker.stop()
    for _ in range(2500):
        before, state = state, tracker.update(DT)
        check(LIMITS, before, state, DT)
        if np.abs(state.qd).max() < 1e-6 and np.abs(state.qdd).max() < 1e-6:
            break
    else:
        pytest.fail(f"still moving after 5 s: {state}")
    if not stop:
        q, qd, share, _ = asked[-1]
        low, high = LIMITS.position.T
        most = share * LIMITS.speed
        on = 0.0 if qd is None else tracker.ahead * np.clip(qd, -most, most)
        assert state.q == pytest.approx(np.clip(np.clip(q, low, high) + on, low, high), abs=1e-3)


def test_a_stop_is_as_short_as_the_drives_allow():
    tracker = JointTracker(LIMITS, START)
    for _ in range(300):
        tracker.target([0.9, 0.2], [1.5, 0.0])
        state = tracker.update(DT)
    assert state.qd[0] > 1.0
    plan = RuckigPlanner(LIMITS, "velocity", "none").plan(state.q, state.qd, state.qdd, [0.0, 0.0])
    tracker.stop()
    ticks = 0
    while tracker.moving:
        end = tracker.update(DT)
        ticks += 1
    assert ticks * DT <= plan.duration + 2 * DT
    assert end.q[0] == pytest.approx(reach(plan)[0][1], abs=1e-6)


def test_a_steady_motion_is_followed_without_lag():
    tracker, t = JointTracker(LIMITS, [-0.9, 0.2]), 0.0
    worst = 0.0
    for _ in range(900):
        tracker.target([-0.9 + t, 0.2], [1.0, 0.0])
        t += DT
        state = tracker.update(DT)
        if t > 1.2:
            worst = max(worst, abs(state.q[0] - (-0.9 + t)))
    assert worst < 1e-4


def test_tracking_with_late_and_noisy_commands():
    rng = np.random.default_rng(0)
    tracker = JointTracker(LIMITS, [0.0, 0.2])
    t, due, worst = 0.0, 0.0, 0.0
    while t < 6.0:
        if t >= due:
            noise = rng.normal(scale=1e-4)
            tracker.target([0.5 * math.sin(2 * t) + noise, 0.2], [math.cos(2 * t), 0.0])
            due = t + 0.002 + abs(rng.normal(scale=0.005))
        t += 0.001
        state = tracker.update(0.001)
        if t > 1.5:
            worst = max(worst, abs(state.q[0] - 0.5 * math.sin(2 * t)))
    assert worst < 0.01


def test_target_is_extrapolated_briefly_without_commands():
    tracker = JointTracker(LIMITS, [-0.5, 0.2])
    for k in range(500):
        tracker.target([-0.5 + 0.5 * k * DT, 0.2], [0.5, 0.0])
        tracker.update(DT)
    last = -0.5 + 0.5 * 499 * DT
    for _ in range(2000):
        state = tracker.update(DT)
        assert state.q[0] < last + 0.5 * 0.03 + 0.04
    assert state.q[0] == pytest.approx(last + 0.5 * 0.03, abs=1e-3)


@given(st.floats(1e-6, 2.0), st.floats(0.5, 20.0), st.floats(5.0, 500.0))
def test_stopping_speed_is_that_of_the_planner(room, a, j):
    v = stopping_speed(room, a, j)
    stop = RuckigPlanner(Limits([100.0], [a], [j]), "velocity", "none").plan(
        [0.0], [v], [0.0], [0.0]
    )
    assert reach(stop)[0][1] == pytest.approx(room, rel=1e-6)


def test_speed_and_acceleration_are_estimated_without_lag():
    rng = np.random.default_rng(0)
    rates, t = TargetRates([0.3, 0.0]), 0.0
    for _ in range(400):
        dt = rng.uniform(0.001, 0.004)
        t += dt
        rates.take([0.3 + 0.2 * t + 3.0 * t * t, -0.4 * t], dt)
    assert rates.speed == pytest.approx([0.2 + 6.0 * t, -0.4], rel=1e-9)
    assert rates.acceleration == pytest.approx([6.0, 0.0], abs=1e-7)


@pytest.mark.parametrize("every", [1, 5, 20])
def test_tracker_settles_exactly_at_a_constant_target(every):
    tracker, rates = JointTracker(LIMITS, START), TargetRates(START)
    dt = 0.001
    for tick in range(1, 6001):
        if tick % every == 0:
            q = START + min(dt * tick, 1.0) * np.array([0.3, 0.1])
            rates.take(q, every * dt)
            tracker.target(q, rates.speed, 1.0, rates.acceleration)
        tracker.update(dt)
        assert tracker.moving or not 100 < tick < 1000
    assert not tracker.moving
    assert np.abs(tracker.state.q - START - [0.3, 0.1]).max() < 1e-9

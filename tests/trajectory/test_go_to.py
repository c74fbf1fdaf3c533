"""A target that changes at any time: limits kept at every update, arrival, stopping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.trajectory import GoTo, Limits, jerk_limited

LIMITS = Limits(
    [1.0, 2.0, 0.5], [4.0, 5.0, 2.0], [30.0, 40.0, 20.0], [[-1, 1], [-4, -2.5], [0.3, 0.9]]
)
MIDDLE = LIMITS.position.mean(axis=1)


def within(limits, before, after, dt):
    """The state after a step keeps every limit and follows from the one before."""
    assert (after.q >= limits.position[:, 0]).all() and (after.q <= limits.position[:, 1]).all()
    assert (np.abs(after.qd) <= limits.speed * (1 + 1e-9)).all()
    assert (np.abs(after.qdd) <= limits.acceleration * (1 + 1e-9)).all()
    assert (np.abs(after.qdd - before.qdd) <= limits.jerk * dt * (1 + 1e-6) + 1e-9).all()
    # Within one step the acceleration differs by at most jerk·dt from a straight line.
    drift = np.abs(after.q - before.q - 0.5 * dt * (after.qd + before.qd))
    assert (drift <= limits.jerk * dt**3 / 3 + 2e-8).all()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 4e-3, 0.02]))
def test_limits_hold_for_any_target(seed, dt):
    rng = np.random.default_rng(seed)
    low, high = LIMITS.position.T
    go = GoTo(LIMITS, rng.uniform(low, high))
    for _ in range(150):
        event = rng.random()
        if event < 0.06:
            go.target(
                np.clip(rng.uniform(1.2 * low - 0.2 * high, 1.2 * high - 0.2 * low), low, high)
            )
        elif event < 0.08:
            go.stop()
        before = go.state
        within(LIMITS, before, go.update(dt), dt)


def test_it_takes_the_time_of_the_planned_motion_and_arrives():
    goal = MIDDLE + [0.5, -0.4, 0.2]
    go = GoTo(LIMITS, MIDDLE)
    go.target(goal)
    planned = jerk_limited(MIDDLE, goal, LIMITS)
    assert go.remaining == pytest.approx(planned.duration)
    for k in range(1, 40):
        s = go.update(0.02)
        assert np.abs(s.q - planned.sample(0.02 * k).q).max() < 1e-12
    while go.moving:
        s = go.update(0.02)
    assert np.abs(s.q - goal).max() < 1e-12 and not s.qd.any() and not s.qdd.any()
    assert go.remaining == 0.0


def test_stop_takes_the_min_time():
    go = GoTo(LIMITS, MIDDLE)
    go.target(MIDDLE + [0.9, 0.0, 0.0])
    for _ in range(40):
        go.update(0.01)
    v, a, j = go.state.qd[0], LIMITS.acceleration[0], LIMITS.jerk[0]
    assert v == pytest.approx(1.0) and go.state.qdd[0] == pytest.approx(0.0, abs=1e-12)
    go.stop()
    # From a steady speed: ramp the deceleration up, hold it, ramp it down.
    assert go.remaining == pytest.approx(v / a + a / j, rel=1e-9)


def test_updates_are_measured():
    go = GoTo(LIMITS, MIDDLE)
    go.target(MIDDLE + 0.1)
    go.update(0.01)
    assert 0.0 < go.update_seconds < 0.1


def test_a_start_in_motion_comes_to_rest():
    go = GoTo(LIMITS, MIDDLE, [0.5, -0.5, 0.1])
    assert go.moving
    while go.moving:
        go.update(0.01)
    assert not go.state.qd.any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GoTo(LIMITS, [0, 0]), "q0 has shape (2,); expected (3,)"),
        (lambda: GoTo(LIMITS, MIDDLE).target([5, -3, 0.5]), "target of joint 1 is 5; its limits"),
        (lambda: GoTo(LIMITS, MIDDLE).target([0, np.nan, 0.5]), "must be finite"),
        (lambda: GoTo(LIMITS, MIDDLE).update(0.0), "dt is 0"),
        (lambda: GoTo(Limits(1.0, 1.0), [0.0]), "jerk of joint 1 is inf"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(BrazoError) as error:
        call()
    assert words in str(error.value)

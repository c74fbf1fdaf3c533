"""Joints that run at speeds: limits kept, exact stops at the ends, braking."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.trajectory import Jog, Limits

LIMITS = Limits(
    [1.0, 2.0, 0.5], [4.0, 5.0, 2.0], [30.0, 40.0, 20.0], [[-1, 1], [-4, -2.5], [0.3, 0.9]]
)
MIDDLE = LIMITS.position.mean(axis=1)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 8e-3, 0.033]), st.booleans())
@example(seed=1229, dt=0.008, with_rates=True)  # a rate reached only past the speed limit
@example(seed=6804, dt=0.008, with_rates=True)
def test_limits_hold_for_any_commanded_speed(seed, dt, with_rates):
    rng = np.random.default_rng(seed)
    low, high = LIMITS.position.T
    jog = Jog(LIMITS, rng.uniform(low, high))
    for _ in range(150):
        event = rng.random()
        if event < 0.08:
            speeds = rng.uniform(-1, 1, 3) * LIMITS.speed * (rng.random(3) < 0.8)
            rates = rng.uniform(-2, 2, 3) * LIMITS.acceleration * (rng.random(3) < 0.7)
            jog.run(speeds, rates if with_rates else None)
        elif event < 0.1:
            jog.stop()
        before = jog.state
        after = jog.update(dt)
        assert (after.q >= low).all() and (after.q <= high).all()
        assert (np.abs(after.qd) <= LIMITS.speed * (1 + 1e-9)).all()
        assert (np.abs(after.qdd) <= LIMITS.acceleration * (1 + 1e-9)).all()
        assert (np.abs(after.qdd - before.qdd) <= LIMITS.jerk * dt * (1 + 1e-6) + 1e-9).all()
        drift = np.abs(after.q - before.q - 0.5 * dt * (after.qd + before.qd))
        assert (drift <= LIMITS.jerk * dt**3 / 3 + 2e-8).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_joint_that_is_not_stopped_ends_at_rest_on_the_limit(sign):
    jog = Jog(LIMITS, MIDDLE)
    fastest = np.zeros(3)
    for _ in range(800):
        jog.run(sign * LIMITS.speed)
        fastest = np.maximum(fastest, np.abs(jog.update(0.01).qd))
    end = LIMITS.position[:, 1 if sign > 0 else 0]
    short = sign * (end - jog.state.q)
    assert (short >= 0.0).all() and short.max() < 1e-7
    assert not jog.moving
    assert jog.limited == (0, sign > 0)
    assert fastest[0] == pytest.approx(1.0, rel=1e-6)
    # And back again.
    for _ in range(20):
        jog.run(-sign * LIMITS.speed)
        jog.update(0.01)
    assert (sign * (end - jog.state.q) > 0).all()
    assert jog.limited is None


def test_commanded_speed_is_reached_and_kept():
    jog = Jog(Limits(2.0, 4.0, 30.0), [0.0])
    jog.run([0.7])
    for _ in range(100):
        s = jog.update(0.01)
    assert s.qd.tolist() == [0.7] and s.qdd.tolist() == [0.0]
    jog.run([0.2])
    lowest = min(jog.update(0.01).qd[0] for _ in range(100))
    assert lowest == pytest.approx(0.2)


def test_a_speed_that_changes_is_followed_without_lag():
    jog, dt = Jog(LIMITS, MIDDLE), 0.002
    for k in range(1, 800):
        t, w = k * dt, 6.0
        speed, rate = 0.1 * (1 - math.cos(w * t)), 0.1 * w * math.sin(w * t)
        jog.run([speed, 0.0, 0.0], [rate, 0.0, 0.0])
        state = jog.update(dt)
        assert state.qd[0] == pytest.approx(speed, abs=1e-12)


def test_a_stop_brakes_at_once():
    jog = Jog(Limits(2.0, 4.0, 30.0), [0.0])
    jog.run([1.0])
    for _ in range(100):
        jog.update(0.01)
    jog.stop()
    for _ in range(100):
        jog.update(0.01)
        if not jog.moving:
            break
    # Braking distance from v: v²/2a + v a/2j.
    way = 1.0 / 8.0 + 4.0 / 60.0
    ran = jog.state.q[0]
    jog2 = Jog(Limits(2.0, 4.0, 30.0), [0.0])
    jog2.run([1.0])
    for _ in range(100):
        jog2.update(0.01)
    assert ran - jog2.state.q[0] == pytest.approx(way, abs=1e-12)


def test_joint_outside_its_limits_may_only_move_back():
    jog = Jog(Limits(1.0, 4.0, 30.0, [[-1.0, 1.0]]), [1.5])
    jog.run([0.5])
    for _ in range(50):
        assert jog.update(0.01).q[0] <= 1.5
    jog.run([-0.5])
    for _ in range(150):
        s = jog.update(0.01)
    assert s.q[0] < 1.0


def test_updates_are_measured():
    jog = Jog(LIMITS, MIDDLE)
    jog.run([0.1, 0.1, 0.1])
    jog.update(0.01)
    assert 0.0 < jog.update_seconds < 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Jog(LIMITS, MIDDLE).run([2.0, 0, 0]), "speed of joint 1 is 2; at most 1"),
        (lambda: Jog(LIMITS, MIDDLE).run([0, 0]), "speeds has shape (2,)"),
        (lambda: Jog(LIMITS, MIDDLE).run([0, np.nan, 0]), "must be finite"),
        (lambda: Jog(LIMITS, MIDDLE).update(-1), "dt is -1"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(BrazoError) as error:
        call()
    assert words in str(error.value)

"""Motions keep their limits, have the planned duration, and can be stopped on their path."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.program.motions import Slowed, along, braking, motion_limits, resuming, straight, through
from brazo.program.steps import Speed
from brazo.trajectory import Piecewise, Timing, line, path_error

Q0 = np.array([0.0, 0.6, 0.4, 0.05, 0.0])
Q1 = np.array([1.1, -0.5, 0.9, 0.15, -1.0])
WAY = [Q0, np.array([0.5, 0.9, -0.2, 0.02, 0.7]), np.array([1.4, 0.2, 0.3, 0.18, 0.3]), Q1]


@pytest.fixture(scope="module")
def arm():
    return brazo.load("scara2")


@pytest.fixture(scope="module")
def limits(arm):
    return motion_limits(arm)


def worst(motion, limits) -> tuple[float, float]:
    """The greatest shares of the speed and acceleration limits."""
    s = motion.sample(np.linspace(motion.start, motion.end, 20_001))
    return (
        float((np.abs(s.qd) / limits.speed).max()),
        float((np.abs(s.qdd) / limits.acceleration).max()),
    )


def test_half_the_speed_takes_twice_the_time(limits):
    full, half = (straight(Q0, Q1, limits, Speed(fraction=f), 0.3) for f in (1.0, 0.5))
    assert half.duration == pytest.approx(2 * full.duration, rel=1e-12)
    assert straight(Q0, Q1, limits, Speed(), 0.3).duration == pytest.approx(full.duration / 0.3)
    v, a = worst(full, limits)
    assert v <= 1 + 1e-9 and a <= 1 + 1e-9 and max(v, a) > 0.99
    v2, a2 = worst(half, limits)
    assert (v2, a2) == pytest.approx((v / 2, a / 4), rel=1e-6)


def test_a_given_time_is_taken_or_refused(limits):
    assert straight(Q0, Q1, limits, Speed(time=3.0), 0.5).duration == pytest.approx(3.0)
    with pytest.raises(BrazoError, match="too short: the min time within the drives"):
        straight(Q0, Q1, limits, Speed(time=0.1), 0.5)


@pytest.mark.parametrize("overlap", [1.0, 0.5, 0.0])
def test_path_through_poses_keeps_the_limits(limits, overlap):
    motion = through(WAY, limits, Speed(fraction=1.0), 1.0, overlap)
    assert max(worst(motion, limits)) <= 1 + 1e-3
    assert motion.sample(motion.start).q == pytest.approx(Q0)
    assert motion.sample(motion.end).q == pytest.approx(Q1, abs=1e-12)
    t = np.linspace(motion.start, motion.end, 4001)
    q = motion.sample(t)
    rate = np.gradient(q.q, t, axis=0)
    assert np.abs(rate - q.qd)[2:-2].max() < 2e-3
    if overlap == 0.0:
        for pose in WAY:
            assert np.abs(q.q - pose).max(axis=1).min() < 1e-3


def test_overlapping_motions_save_time(limits):
    way = [Q0 + x * (Q1 - Q0) for x in (0.0, 0.2, 0.5, 1.0)]
    times = [through(way, limits, Speed(fraction=1.0), 1.0, x).duration for x in (1.0, 0.5, 0.0)]
    assert times[0] < min(times[1:])


def test_the_tool_keeps_to_its_line(arm, limits):
    T0 = arm.fk(Q0)
    T1 = T0.copy()
    T1[:3, 3] += [0.05, -0.1, 0.02]

    def make(timing: Timing):
        return line(T0, T1, timing)

    motion = along(arm, make, Q0, limits, Speed(fraction=1.0), 0.5, "full")
    assert max(worst(motion, limits)) <= 1 + 1e-3
    points = arm.fk(motion.sample(np.linspace(0, motion.end, 500)).q)[:, :3, 3]
    away = np.cross(points - T0[:3, 3], (T1 - T0)[:3, 3])
    assert np.linalg.norm(away, axis=1).max() / 0.11 < 1e-5
    timed = along(arm, make, Q0, limits, Speed(time=2.0), 0.5, "full")
    assert timed.duration == pytest.approx(2.0)
    assert path_error(arm, timed, make(Timing(duration=2.0))).position < 1e-5
    with pytest.raises(BrazoError, match="too fast: joint"):
        along(arm, make, Q0, limits, Speed(tool_speed=20.0), 0.5, "full")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_pause_stops_on_the_path_and_resumes(limits, share):
    motion = straight(Q0, Q1, limits, Speed(fraction=1.0), 1.0)
    now = share * motion.duration
    slower, rest = braking(motion, now)
    assert slower.sample(slower.start).qd == pytest.approx(motion.sample(now).qd)
    assert slower.sample(slower.end).q == pytest.approx(motion.sample(rest).q)
    assert np.abs(slower.sample(slower.end).qd).max() < 1e-9
    again = resuming(motion, rest)
    assert again.sample(again.start).q == pytest.approx(motion.sample(rest).q)
    assert np.abs(again.sample(again.start).qd).max() < 1e-9
    assert again.sample(again.end).q == pytest.approx(Q1, abs=1e-9)
    for part in (slower, again):
        if part.duration == 0.0:
            continue  # it stopped exactly at its end
        t = np.linspace(part.start, part.end, 4001)
        s = part.sample(t)
        assert np.abs(np.gradient(s.q, t, axis=0) - s.qd)[2:-2].max() < 2e-3
        assert np.abs(np.gradient(s.qd, t, axis=0) - s.qdd)[2:-2].max() < 0.3
        # Never off the straight line in joint space.
        x = (s.q - Q0) @ (Q1 - Q0) / ((Q1 - Q0) @ (Q1 - Q0))
        assert np.abs(s.q - Q0 - x[:, None] * (Q1 - Q0)).max() < 1e-9


def test_derivatives_of_a_time_scaled_motion_are_exact():
    inner = Piecewise([0.0, 2.0], [[[0.0], [1.0], [0.5], [0.25]]])
    clock = Piecewise([0.0, 1.0], [[[0.1], [0.5], [0.3]]])
    slowed = Slowed(inner, clock)
    t, h = 0.4, 1e-5
    q, qd, qdd = (slowed.sample(t).q[0], slowed.sample(t).qd[0], slowed.sample(t).qdd[0])
    before, after = slowed.sample(t - h).q[0], slowed.sample(t + h).q[0]
    assert qd == pytest.approx((after - before) / (2 * h), rel=1e-8)
    assert qdd == pytest.approx((after - 2 * q + before) / h**2, rel=1e-4)

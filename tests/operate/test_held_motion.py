"""Live motions: held, capped in speed, resampled."""

from __future__ import annotations

import time

import numpy as np
import pytest

import brazo
from brazo.operate import HeldMotion, HoldToRun, SpeedCapped
from brazo.operate.resampled import Resampled
from brazo.trajectory import CartesianJog, GoTo, Jog, limits_of

DT = 1e-3


@pytest.fixture(scope="module")
def arm():
    return brazo.load("puma560")


@pytest.fixture
def q(arm):
    return arm.poses["nominal"] + np.array([0.2, 0.1, 0.1, 0.3, -0.2, 0.1])


def run(source, seconds: float) -> list:
    return [source.update(DT) for _ in range(round(seconds / DT))]


def consistent(samples, start) -> None:
    """Position, speed and acceleration are those of one smooth motion."""
    q = np.array([start, *(s.q for s in samples)])
    qd = np.array([s.qd for s in samples])
    qdd = np.array([s.qdd for s in samples])
    assert np.abs(np.diff(q, axis=0)[1:] / DT - 0.5 * (qd[1:] + qd[:-1])).max() < 2e-3
    assert np.abs(np.diff(qd, axis=0) / DT - 0.5 * (qdd[1:] + qdd[:-1])).max() < 0.2


class Pressed:
    """A jog of all joints whose switch has just been pressed, with a separate clock."""

    def __init__(self, arm, q, **given):
        self.now = 100.0
        self.switch = HoldToRun(clock=lambda: self.now)
        jog = Jog(limits_of(arm), q)
        jog.run(0.5 * limits_of(arm).speed)
        self.motion = HeldMotion(jog, self.switch, self.switch.press(), **given)


def test_held_motion_ends_without_renewal(arm, q):
    pressed = Pressed(arm, q)
    held = pressed.motion
    run(held, 0.5)
    pressed.now += 0.2
    pressed.switch.renew()
    pressed.now += 0.2
    run(held, 0.1)
    assert held.held and held.moving
    pressed.now += 0.1  # the last renewal is 0.3 s old
    run(held, 0.8)
    assert not held.held and not held.moving
    assert not held.state.qd.any()


def test_tool_jog_stops_without_renewal():
    arm = brazo.load("scara1")
    now, dt = [0.0], 0.01
    switch = HoldToRun(0.15, lambda: now[0])
    jog = CartesianJog(arm, limits_of(arm), arm.poses["home"])
    jog.run([-0.1, 0, 0, 0, 0, 0])
    held, states = HeldMotion(jog, switch, switch.press()), []
    for _ in range(200):
        now[0] += dt
        states.append(held.update(dt))
    assert states[10].qd.any() and not held.moving


def test_held_motion_ends_at_a_new_contact(arm, q):
    touches = {"table"}
    held = Pressed(arm, q, touched=lambda: set(touches), known={"wall"}).motion
    run(held, 0.1)
    touches.add("wall")
    run(held, 0.1)
    assert held.held and held.ran_into == set()
    touches.add("post")
    held.update(DT)
    assert not held.held and held.ran_into == {"post"}
    touches.clear()
    run(held, 0.8)
    assert held.ran_into == {"post"} and not held.moving


def test_release_during_a_step_is_honoured(arm, q):
    pressed = Pressed(arm, q)
    # As another thread may just then.
    pressed.motion._touched = lambda: {"post"} if pressed.switch.release() else set()
    pressed.motion.update(DT)
    assert not pressed.motion.held and pressed.motion.ran_into == set()


def test_press_released_before_the_jog_exists_causes_no_motion(arm, q):
    now = [0.0]
    switch = HoldToRun(clock=lambda: now[0])
    press = switch.press()
    switch.release()
    jog = Jog(limits_of(arm), q)
    jog.run(0.5 * limits_of(arm).speed)
    held = HeldMotion(jog, switch, press)
    switch.press()  # another one does not count for it
    assert all(np.array_equal(sample.q, q) for sample in run(held, 0.2))
    assert not held.moving


def test_resampled_motion_is_smooth_and_has_the_same_end(arm, q):
    jog = CartesianJog(arm, limits_of(arm), q)
    jog.run([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    resampled = Resampled(jog)
    samples = run(resampled, 0.4)
    jog.stop()
    samples += run(resampled, 1.0)
    assert not resampled.moving
    consistent(samples, q)
    assert samples[-1].q == pytest.approx(jog.state.q, abs=1e-12)
    assert np.abs(samples[-1].qd).max() < 1e-12
    T0, T = arm.fk(q), arm.fk(np.array([s.q for s in samples]))
    assert np.abs(T[:, 1:3, 3] - T0[1:3, 3]).max() < 1e-6  # a straight line along x
    limits = limits_of(arm)
    assert (np.abs([s.qd for s in samples]).max(axis=0) <= limits.speed).all()
    assert (np.abs([s.qdd for s in samples]).max(axis=0) <= 1.02 * limits.acceleration).all()


def test_resampled_motion_is_fast(arm, q):
    jog = CartesianJog(arm, limits_of(arm), q)
    jog.run([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    resampled = Resampled(jog)
    begin = time.process_time()
    run(resampled, 0.4)
    assert time.process_time() - begin < 0.5 * 0.4


def test_speed_limited_motion_keeps_its_path(arm, q):
    goal = q + [1.2, 0.5, -0.4, 0.3, 0.2, -1.0]
    free, slowed = (GoTo(limits_of(arm), q) for _ in range(2))
    for one in (free, slowed):
        one.target(goal)
    capped = SpeedCapped(slowed, arm, 0.25)
    samples = []
    while capped.moving and len(samples) < 20_000:
        samples.append(capped.update(DT))
    xyz = arm.fk(np.array([q, *(s.q for s in samples)]))[:, :3, 3]
    speed = np.linalg.norm(np.diff(xyz, axis=0), axis=1) / DT
    assert speed.max() < 0.25
    assert speed.max() > 0.24
    assert samples[-1].q == pytest.approx(goal, abs=1e-7)
    way = []
    while free.moving and len(way) < 20_000:
        way.append(free.update(DT).q)
    assert len(samples) > 1.3 * len(way)
    # The same path, only slower: each point of the slow motion is on the fast one.
    near = [np.abs(np.array(way) - s.q).max(axis=1).min() for s in samples[::50]]
    assert max(near) < 5e-3

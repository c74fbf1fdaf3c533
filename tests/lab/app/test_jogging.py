"""Motions as they come: held, slowed, asked seldom."""

from __future__ import annotations

import time

import numpy as np
import pytest

import brazo
from brazo.lab.app import jogging
from brazo.lab.app.jogging import FOR_EVER, Coarse, Held, Slowed
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


def test_a_held_jog_ends_when_nothing_renews_it(arm, q, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(jogging.time, "monotonic", lambda: now[0])
    jog = Jog(limits_of(arm), q, FOR_EVER)
    jog.hold(0.5 * limits_of(arm).speed)
    held = Held(jog)
    run(held, 0.5)
    now[0] += 0.2
    held.renew()
    now[0] += 0.2
    run(held, 0.1)
    assert held.held and held.moving
    now[0] += 0.1  # the last renewal is 0.3 s old
    run(held, 0.8)
    assert not held.held and not held.moving
    assert not held.state.qd.any()


def test_a_held_jog_ends_at_a_touch_but_not_for_what_is_known(arm, q, monkeypatch):
    monkeypatch.setattr(jogging.time, "monotonic", lambda: 100.0)
    touches = {"table"}
    jog = Jog(limits_of(arm), q, FOR_EVER)
    jog.hold(0.5 * limits_of(arm).speed)
    held = Held(jog, lambda: set(touches), known={"wall"})
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


def test_a_release_in_the_middle_of_a_step_counts(arm, q):
    jog = Jog(limits_of(arm), q, FOR_EVER)
    jog.hold(0.5 * limits_of(arm).speed)
    held = Held(jog)
    held._touched = lambda: held.release() or set()  # as another thread may just then
    held.update(DT)
    assert not held.held and held.released and held.ran_into == set()


def test_a_coarse_motion_is_smooth_and_goes_where_its_inner_one_goes(arm, q):
    jog = CartesianJog(arm, limits_of(arm), q, hold_time=FOR_EVER)
    jog.hold([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    coarse = Coarse(jog)
    samples = run(coarse, 0.4)
    jog.stop()
    samples += run(coarse, 1.0)
    assert not coarse.moving
    consistent(samples, q)
    assert samples[-1].q == pytest.approx(jog.state.q, abs=1e-12)
    assert np.abs(samples[-1].qd).max() < 1e-12
    T0, T = arm.fk(q), arm.fk(np.array([s.q for s in samples]))
    assert np.abs(T[:, 1:3, 3] - T0[1:3, 3]).max() < 1e-6  # a straight line along x
    limits = limits_of(arm)
    assert (np.abs([s.qd for s in samples]).max(axis=0) <= limits.speed).all()
    assert (np.abs([s.qdd for s in samples]).max(axis=0) <= 1.02 * limits.acceleration).all()


def test_a_coarse_motion_costs_little(arm, q):
    jog = CartesianJog(arm, limits_of(arm), q, hold_time=FOR_EVER)
    jog.hold([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    coarse = Coarse(jog)
    begin = time.process_time()
    run(coarse, 0.4)
    assert time.process_time() - begin < 0.5 * 0.4


def test_a_slowed_motion_keeps_its_tool_below_the_cap_and_its_way(arm, q):
    goal = q + [1.2, 0.5, -0.4, 0.3, 0.2, -1.0]
    free, slowed = (GoTo(limits_of(arm), q) for _ in range(2))
    for one in (free, slowed):
        one.target(goal)
    capped = Slowed(slowed, arm, 0.25)
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
    # The same way in space, only slower: each place of the slow one lies on the fast one's.
    near = [np.abs(np.array(way) - s.q).max(axis=1).min() for s in samples[::50]]
    assert max(near) < 5e-3

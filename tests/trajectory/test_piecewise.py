"""Trajectories: rest outside, scalars and arrays alike, derivatives, tables, joining, speed."""

import time

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import (
    Piecewise,
    Sample,
    Trajectory,
    concatenate,
    cubic_via_points,
    quintic,
    quintic_via_points,
    trapezoid,
)

rng = np.random.default_rng(2)
MOTION = quintic_via_points(np.cumsum(rng.uniform(0.2, 1, 9)), rng.normal(size=(9, 6)))


def test_rests_before_the_start_and_after_the_end():
    motion = cubic_via_points([1.0, 2.0], [[0.0, 1.0], [1.0, 3.0]], [[1.0, 1.0], [2.0, 2.0]])
    s = motion.sample([-np.inf, 0.0, 1.0, 2.0, 2.1, np.inf])
    assert s.q.tolist() == [[0, 1], [0, 1], [0, 1], [1, 3], [1, 3], [1, 3]]
    assert s.qd[:, 0].tolist() == [0, 0, 1, 2, 0, 0]
    assert not s.qdd[[0, 1, 4, 5]].any() and s.qdd[[2, 3]].all()
    assert not motion.sample(5.0).qd.any() and motion.sample(2.0).qd.all()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_shapes_follow_the_times(shape):
    s = MOTION.sample(np.full(shape, 1.0))
    assert s.q.shape == s.qd.shape == s.qdd.shape == (*shape, 6)


def test_single_and_array_times_agree():
    t = np.linspace(MOTION.start - 0.5, MOTION.end + 0.5, 300)
    many = MOTION.sample(t)
    for k, moment in enumerate(t.tolist()):
        one = MOTION.sample(moment)
        assert np.abs(one.q - many.q[k]).max() < 1e-13
        assert np.abs(one.qd - many.qd[k]).max() < 1e-12
        assert np.abs(one.qdd - many.qdd[k]).max() < 1e-10


def test_derivatives_are_derivatives():
    t = np.linspace(MOTION.start, MOTION.end, 801)[1:-1]
    t = t[np.abs(t[:, None] - MOTION.breaks).min(axis=1) > 1e-4]
    h = 1e-5
    before, now, after = (MOTION.sample(t + d) for d in (-h, 0.0, h))
    assert np.abs((after.q - before.q) / (2 * h) - now.qd).max() < 1e-5
    assert np.abs((after.qd - before.qd) / (2 * h) - now.qdd).max() < 1e-4
    jerk = (after.qdd - before.qdd) / (2 * h)
    assert np.abs(jerk - MOTION.jerk(t)).max() < 1e-4 * np.abs(jerk).max()


def test_table_has_units_and_ends_at_the_end():
    arm = brazo.load("scara2")
    motion = quintic(arm.poses["zero"], arm.poses["home"], 1.0)
    table = motion.table(0.3)
    assert table.t.tolist() == [0.0, 0.3, 0.6, pytest.approx(0.9), 1.0]
    columns = table.columns(arm)
    assert columns["t"][1] == "s"
    assert columns["qd.quill"][1] == "m/s" and columns["qdd.elbow"][1] == "rad/s²"
    assert columns["q.quill"][0][-1] == pytest.approx(0.05, abs=1e-15)
    assert len(quintic(0.0, 1.0, 1.0).table(0.1).t) == 11


def test_robot_follow_takes_a_trajectory():
    arm = brazo.load("scara2")
    motion = quintic(arm.poses["zero"], arm.poses["home"], 1.0)
    run = arm.follow(motion, t_end=1.0, dt=0.01)
    assert np.abs(run.q[-1] - arm.poses["home"]).max() < 1e-14


def test_concatenate():
    first, second = trapezoid([0.0, 1.0], [1.0, 0.0], 1.0, 2.0), quintic([1, 0], [2, 2], 1.5)
    both = concatenate(first, second)
    assert both.duration == pytest.approx(first.duration + 1.5)
    t = np.linspace(0, 1.5, 50)
    assert np.abs(both.sample(first.end + t).q - second.sample(t).q).max() < 1e-13
    with pytest.raises(BrazoError, match="does not start at the end of"):
        concatenate(second, first)
    with pytest.raises(BrazoError, match="3 joints, not 2"):
        concatenate(first, quintic([1, 0, 0], [2, 2, 0], 1.5))


class Swing(Trajectory):
    """A trajectory of a user's own: q = sin t for two swings."""

    n = 1  # pyright: ignore
    breaks = np.array([0.0, 4 * np.pi])  # pyright: ignore

    def within(self, t):
        t = t[:, None]
        return Sample(np.sin(t), np.cos(t), -np.sin(t))


def test_custom_trajectory_needs_three_attributes():
    swing = Swing()
    assert swing.sample(np.pi / 2).q == pytest.approx(1.0)
    assert swing.sample([-1.0, 20.0]).qd.tolist() == [[0.0], [0.0]]
    assert len(swing.table(0.1).t) == 127


@pytest.mark.parametrize(
    ("breaks", "coefficients", "words"),
    [
        ([0, 1], [[0.0]], "expected (1, order, joints)"),
        ([0, 1, 1], np.zeros((2, 4, 3)), "breaks must increase"),
        ([0, 1], [[[np.nan]]], "must be finite"),
    ],
)
def test_bad_pieces_are_refused(breaks, coefficients, words):
    with pytest.raises(BrazoError) as error:
        Piecewise(breaks, coefficients)
    assert words in str(error.value)


@pytest.mark.parametrize("t", [np.nan, [0.0, np.nan], "soon"])
def test_bad_times_are_refused(t):
    with pytest.raises(BrazoError):
        MOTION.sample(t)


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, 1e-12])
def test_bad_steps_are_refused(dt):
    with pytest.raises(BrazoError):
        MOTION.table(dt)


def test_a_hundred_thousand_samples_of_six_joints_are_quick():
    motion = cubic_via_points(np.arange(50.0), np.random.default_rng(0).normal(size=(50, 6)))
    t = np.linspace(0.0, 49.0, 100_000)
    # CPU time of the best of several: what else the machine does is not measured.
    spent = []
    for _ in range(7):
        begin = time.process_time()
        motion.sample(t)
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.050

"""Time-optimal motions against closed forms and against the condition of optimality."""

from itertools import pairwise

import numpy as np
import pytest

import brazo
from brazo.trajectory import Limits, fastest_within, quintic, time_optimal, trapezoid


@pytest.fixture(scope="module")
def arm():
    return brazo.load("planar-2r")


def use(motion, limits, arm=None) -> np.ndarray:
    """Share of each limit that is used, (samples, limits)."""
    t = np.linspace(motion.start, motion.end, 4001)
    found = motion.sample(t)
    shares = [np.abs(found.qd) / limits.speed, np.abs(found.qdd) / limits.acceleration]
    if arm is not None:
        shares.append(np.abs(arm.inverse_dynamics(found.q, found.qd, found.qdd)) / limits.torque)
    return np.concatenate(shares, axis=1)


def test_a_straight_path_is_a_trapezoid(arm):
    limits = Limits(np.array([1.0, 2.0]), np.array([3.0, 1.5]))
    q0, q1 = [0.0, 0.5], [2.0, -0.5]
    wanted = trapezoid(q0, q1, limits.speed, limits.acceleration, "line")
    motion = time_optimal([q0, q1], arm, limits)
    assert motion.duration == pytest.approx(wanted.duration, rel=1e-5)
    t = np.linspace(0.0, motion.end, 50)
    assert motion.sample(t).q == pytest.approx(wanted.sample(t).q, abs=2e-4)


def test_on_a_curved_path_a_limit_is_always_active(arm):
    angle = np.linspace(0.0, 2 * np.pi, 40)
    path = np.stack([np.cos(angle), 0.6 * np.sin(2 * angle)], axis=1)
    limits = Limits(np.array([1.0, 1.2]), np.array([3.0, 4.0]))
    motions = [time_optimal(path, arm, limits, points=points) for points in (500, 1000, 2000)]
    shares = [use(motion, limits).max(axis=1) for motion in motions]
    motion = motions[1]
    assert max(share.max() for share in shares[1:]) < 1.002  # between the grid points
    # At every time one limit is active, which is necessary for an optimum.  It is at one end of
    # each interval, and moves on by one step of the path to the other: what is left there is of
    # first order in the step, and nothing remains in the limit.
    left = [1.0 - share.min() for share in shares]
    assert left[1] == pytest.approx(0.5 * left[0], rel=0.15)
    assert left[2] == pytest.approx(0.5 * left[1], rel=0.15)
    assert abs(2.0 * left[2] - left[1]) < 0.01
    # So does the duration converge.
    longer, shorter = (a.duration - b.duration for a, b in pairwise(motions))
    assert shorter == pytest.approx(0.5 * longer, rel=0.1)
    assert shorter < 1e-3 * motion.duration
    found = motion.sample([motion.start, motion.end])
    assert found.q == pytest.approx(path[[0, -1]], abs=1e-12)
    assert np.abs(found.qd).max() < 1e-12


def test_torques_limit_the_motion(arm):
    path = quintic([0.2, 0.4], [1.4, -0.8], duration=1.0)
    torque = np.array([1500.0, 600.0])
    limits = Limits(np.array([30.0, 30.0]), np.array([1e3, 1e3]), torque=torque)
    motion = time_optimal(path, arm, limits)
    shares = use(motion, limits, arm).max(axis=1)
    assert shares.max() < 1.005 and (shares > 0.98).mean() > 0.97
    assert motion.duration < 0.8 * fastest_within(path, arm, limits, at_least=1e-3).duration
    with pytest.raises(brazo.BrazoError, match="too low to hold the robot's weight"):
        time_optimal(path, arm, Limits(np.ones(2), np.ones(2), torque=[10.0, 10.0]))


def test_mistakes_are_named(arm):
    for path, said in (
        ([[0, 0]], "only one distinct point; expected at least two"),
        ([[0, 0, 0], [1, 1, 1]], "path"),
        ([[0, 0], [1, np.nan]], "finite"),
    ):
        with pytest.raises(brazo.BrazoError, match=said):
            time_optimal(path, arm)
    with pytest.raises(brazo.BrazoError, match="points is 3"):
        time_optimal([[0, 0], [1, 1]], arm, points=3)

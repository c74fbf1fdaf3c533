"""Time scaling of a path: derivatives, the min factor, infeasible limits."""

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import (
    Limits,
    Sample,
    Trajectory,
    check,
    cubic_via_points,
    fastest_within,
    limits_of,
    quintic,
    scaled,
)


class Copy(Trajectory):
    """The same motion, in a class that is not made of polynomials."""

    def __init__(self, inner):
        self.inner = inner

    @property
    def n(self):
        return self.inner.n

    @property
    def breaks(self):
        return self.inner.breaks

    def within(self, t):
        s = self.inner.within(t)
        return Sample(s.q, s.qd, s.qdd)


@pytest.fixture(scope="module")
def panda():
    return brazo.load("panda")


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("wrap", [lambda m: m, Copy])
def test_speed_falls_with_the_factor_and_acceleration_with_its_square(factor, wrap):
    motion = cubic_via_points([1.0, 2.0, 4.0], [[0, 1], [2, 3], [1, -1]])
    slow = scaled(wrap(motion), factor)
    assert slow.start == 1.0 and slow.duration == pytest.approx(3 * factor)
    t = np.linspace(0.0, 3.0, 50)
    a, b = motion.sample(1.0 + t), slow.sample(1.0 + factor * t)
    assert np.abs(a.q - b.q).max() < 1e-12
    assert np.abs(a.qd / factor - b.qd).max() < 1e-12
    assert np.abs(a.qdd / factor**2 - b.qdd).max() < 1e-11


def test_speed_limits_give_the_factor_in_closed_form(panda):
    q0 = panda.poses["ready"]
    q1 = q0 + [0.8, 0.1, -0.1, 0.1, 0.1, 0.1, 0.1]
    slow = fastest_within(quintic(q0, q1, 0.1), panda, Limits(2.0, n=7))
    assert slow.duration == pytest.approx(15 / 8 * 0.8 / 2.0, rel=1e-8)


def test_feasible_motion_is_unchanged(panda):
    q0 = panda.poses["ready"]
    motion = quintic(q0, q0 + 0.2, 3.0)
    assert fastest_within(motion, panda).duration == 3.0
    assert fastest_within(motion, panda, at_least=0.01).duration < 1.0


def test_torque_limits_bind_and_hold(panda):
    q0 = panda.poses["ready"]
    motion = quintic(q0, q0 + [0.0, 0.7, 0.0, 0.7, 0.0, 0.3, 0.0], 0.15)
    limits = Limits(np.inf, torque=limits_of(panda).torque)
    slow = fastest_within(motion, panda, limits)
    assert check(slow, panda, limits) == []
    t = np.linspace(0, slow.end, 3001)
    load = np.abs(panda.inverse_dynamics(*slow(t))) / limits.torque
    assert load.max() == pytest.approx(1.0, abs=1e-4)
    # Every slower motion is within as well.
    for factor in (1.1, 1.5, 3.0):
        assert check(scaled(slow, factor), panda, limits) == []


def test_violation_at_any_speed_is_reported(panda):
    q0 = panda.poses["ready"]
    with pytest.raises(
        BrazoError, match=r"no speed satisfies the limits: joint 1 .* position limit"
    ):
        fastest_within(quintic(q0, q0 + [9.0, 0, 0, 0, 0, 0, 0], 1.0), panda)
    holding = np.abs(panda.gravity(q0))
    i = int(np.argmax(holding))
    weak = Limits(np.inf, torque=np.where(np.arange(7) == i, 0.5 * holding[i], 1000.0))
    with pytest.raises(BrazoError, match=rf"no speed satisfies the limits: .* joint {i + 1} "):
        fastest_within(quintic(q0, q0 + 0.1, 1.0), panda, weak)


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf, "x"])
def test_bad_factors_are_refused(factor):
    with pytest.raises(BrazoError):
        scaled(quintic(0.0, 1.0, 1.0), factor)

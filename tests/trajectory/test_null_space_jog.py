"""Self-motion of redundant arms: the tool rests, the joints keep their limits."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import NullSpaceJog, limits_of

DT = 0.004


@pytest.fixture(scope="module")
def iiwa():
    return brazo.load("iiwa14")


BENT = np.radians([10.0, 40.0, -20.0, -80.0, 30.0, 60.0, 5.0])


def played(jog, seconds):
    samples = [jog.state]
    for _ in range(round(seconds / DT)):
        samples.append(jog.update(DT))
    return (np.array([getattr(s, name) for s in samples]) for name in ("q", "qd", "qdd"))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_tool_is_at_rest_while_the_elbow_moves(iiwa, sign):
    jog = NullSpaceJog(iiwa, limits_of(iiwa), BENT)
    jog.run(sign * 0.5)
    q, qd, _ = played(jog, 1.5)
    T = iiwa.fk(q)
    assert np.abs(T - T[0]).max() < 1e-11
    elbow = iiwa.frames(q)[:, 4, :3, 3]  # it moves
    assert np.linalg.norm(elbow[-1] - elbow[0]) > 0.05
    assert sign * qd[-1, 0] > 0.0
    assert np.abs(iiwa.jacobian(q) @ qd[..., None]).max() < 1e-12


def test_speed_acceleration_and_jerk_stay_within_the_limits(iiwa):
    limits = limits_of(iiwa)
    jog = NullSpaceJog(iiwa, limits, BENT)
    for speed in (5.0, -5.0, 0.3, 0.0):
        jog.run(speed)
        q, qd, qdd = played(jog, 0.8)
        assert (np.abs(qd) <= limits.speed).all()
        assert (np.abs(qdd) <= limits.acceleration).all()
        assert (np.abs(np.diff(qdd, axis=0)) / DT <= limits.jerk).all()
        # The velocities are the rates of the positions, and the accelerations theirs, within the
        # error of the trapezoidal rule for a jerk that may change its sign within a step.
        off = np.diff(q, axis=0) / DT - 0.5 * (qd[1:] + qd[:-1])
        assert (np.abs(off) <= DT**2 / 12 * limits.jerk).all()
        off = np.diff(qd, axis=0) / DT - 0.5 * (qdd[1:] + qdd[:-1])
        assert (np.abs(off) <= DT / 4 * limits.jerk).all()
    assert not jog.moving


def test_it_stops_at_a_joint_limit_and_names_it(iiwa):
    limits = limits_of(iiwa)
    jog = NullSpaceJog(iiwa, limits, BENT)
    jog.run(3.0)
    q, _, _ = played(jog, 8.0)
    assert not jog.moving and "limit" in jog.reason, jog.reason
    assert (q >= limits.position[:, 0]).all() and (q <= limits.position[:, 1]).all()
    assert np.min(np.abs(q[-1][:, None] - limits.position)) < 0.05
    at = jog.state.q
    jog.run(3.0)
    played(jog, 0.2)
    assert np.array_equal(jog.state.q, at)  # further in the same direction
    jog.run(-1.0)
    assert jog.reason == ""
    played(jog, 0.5)
    assert np.abs(jog.state.q - at).max() > 0.01


def test_stop_clears_the_reason_and_the_limit_stops_the_next_motion_again(iiwa):
    limits = limits_of(iiwa)
    jog = NullSpaceJog(iiwa, limits, BENT)
    jog.run(3.0)
    played(jog, 8.0)
    reason = jog.reason
    jog.stop()
    assert "limit" in reason and jog.reason == ""
    jog.run(3.0)
    q, _, _ = played(jog, 1.0)
    assert jog.reason == reason and not jog.moving
    assert (q >= limits.position[:, 0]).all() and (q <= limits.position[:, 1]).all()


def test_arm_with_redundant_wrist_orientation_moves():
    """scara2 has five joints for four degrees of freedom."""
    arm = brazo.load("scara2")
    jog = NullSpaceJog(arm, limits_of(arm), arm.poses["home"])
    jog.run(0.4)
    q, _, _ = played(jog, 0.6)
    T = arm.fk(q)
    assert np.abs(T - T[0]).max() < 1e-11 and np.abs(q[-1] - q[0]).max() > 0.05


def test_an_arm_that_is_not_redundant_is_refused():
    arm = brazo.load("puma560")
    with pytest.raises(BrazoError, match="not redundant"):
        NullSpaceJog(arm, limits_of(arm), arm.poses["nominal"])

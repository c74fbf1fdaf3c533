"""Following a stream of tool poses: bounded steps, the same branch, and a status that is true."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brazo
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.trajectory import Tracker, TrackingStatus, limits_of

DT = 0.008
START = np.array([1.2, -0.5, 0.5, 0.8, -1.2, 0.7])  # far from singularities


@pytest.fixture(scope="module")
def puma():
    return brazo.load("puma560")


def shifted(T, x=0.0, y=0.0, z=0.0):
    moved = T.copy()
    moved[:3, 3] += [x, y, z]
    return moved


def run(tracker, poses, dt=DT):
    """All steps, each within the speed limits and the joint limits."""
    steps, before = [], tracker.q
    limits = tracker.limits
    for T in poses:
        step = tracker.step(T, dt)
        assert (np.abs(step.q - before) <= limits.speed * dt * (1 + 1e-9)).all()
        low, high = limits.position.T
        assert (step.q >= low - 1e-9).all() and (step.q <= high + 1e-9).all()
        before = step.q
        steps.append(step)
    return steps


def test_a_slow_target_is_followed_exactly(puma):
    tracker = Tracker(puma, START)
    T = tracker.T
    steps = run(tracker, [shifted(T, 0.1 * math.sin(0.01 * k), 0.05 * k / 300) for k in range(300)])
    assert {step.status for step in steps} == {TrackingStatus.OK}
    assert max(step.position_error for step in steps) < 1e-9
    assert puma.configuration(steps[-1].q) == puma.configuration(START)


def test_a_jump_of_the_target_is_approached_at_full_speed_and_reached(puma):
    tracker = Tracker(puma, START)
    goal = shifted(tracker.T, 0.15, -0.1, 0.1)
    steps = run(tracker, [goal] * 150)
    assert steps[0].status is TrackingStatus.LIMITED
    assert "speed" in steps[0].reason
    errors = [step.position_error for step in steps]
    assert all(b <= a + 1e-12 for a, b in pairwise(errors))
    assert steps[-1].status is TrackingStatus.OK


def test_tracker_holds_the_nearest_pose_and_returns_on_the_same_branch(puma):
    tracker = Tracker(puma, START)
    near = tracker.T
    far = near.copy()
    far[:3, 3] *= 5.0
    steps = run(tracker, [far] * 400)
    assert steps[-1].status is TrackingStatus.HELD
    assert "edge of its reach" in steps[-1].reason
    back = run(tracker, [near] * 400)
    assert back[-1].status is TrackingStatus.OK
    assert puma.configuration(back[-1].q) == puma.configuration(START)


def test_a_joint_at_its_limit_is_named():
    arm = brazo.load("scara1")
    q = np.array([0.3, 0.8, 0.05, 0.2, 0.3])
    tracker = Tracker(arm, q)
    down = shifted(tracker.T, z=0.5)
    step = run(tracker, [down] * 300)[-1]
    assert step.status is TrackingStatus.LIMITED
    assert "quill" in step.reason
    assert run(tracker, [arm.fk(q)] * 300)[-1].status is TrackingStatus.OK


def test_a_path_through_the_wrist_singularity_is_reported_and_left(puma):
    q = START.copy()
    q[4] = 0.25
    tracker = Tracker(puma, q)
    T = tracker.T
    # A rotation about the axis of joint 5, with a slight turn that keeps it off the exact zero.
    axis = puma.jacobian(q)[3:, 4]
    center = puma.frames(q)[4, :3, 3]  # of the wrist
    poses = []
    for k in range(201):
        turn = matrix_from_rotvec(-0.5 * k / 200 * axis + [0.0, 0.0, 0.02 * k / 200])
        pose = T.copy()
        pose[:3, :3] = turn @ T[:3, :3]
        pose[:3, 3] = center + turn @ (T[:3, 3] - center)
        poses.append(pose)
    steps = run(tracker, [*poses, *[poses[-1]] * 400])
    seen = [step.status for step in steps]
    assert TrackingStatus.SINGULAR in seen
    assert "singularity" in steps[seen.index(TrackingStatus.SINGULAR)].reason
    assert seen[-1] is TrackingStatus.OK


def test_a_free_orientation_passes_a_singularity(puma):
    """`singular` is so large that every configuration counts as close to one."""
    arm = puma.with_tool([0.0, 0.0, 0.3])
    q = START.copy()
    q[4] = 0.01
    target = arm.fk(q - [0.0, 0.0, 0.0, 0.0, 0.3, 0.0])
    tracker = Tracker(arm, q, orientation="free", singular=10.0)
    steps = run(tracker, [target] * 20, dt=0.1)
    assert steps[-1].position_error <= 1e-9
    assert arm.configuration(steps[-1].q) != arm.configuration(q)  # NOFLIP, then FLIP


def test_another_branch_is_within_the_limits_of_the_tracker(puma):
    """Past the wrist singularity the old branch has joints 4 and 6 half a turn away."""
    q = START.copy()
    q[3:5] = -0.8, 0.01
    past = puma.fk([*q[:4], -0.01, q[5]])
    limits = limits_of(puma)
    narrow = replace(limits, position=np.stack([q - 1.0, q + 1.0], axis=1))
    for own, turn in ((limits, math.pi), (narrow, 0.0)):
        tracker = Tracker(puma, q, own, singular=10.0)
        step = run(tracker, [puma.fk(q), past], dt=100.0)[-1]
        assert step.position_error <= 1e-9
        assert np.abs(step.q[[3, 5]] - q[[3, 5]] - turn).max() <= 1e-6


def test_a_redundant_arm_follows(puma):
    arm = brazo.load("panda")
    q0 = next(iter(arm.poses.values()))
    tracker = Tracker(arm, q0)
    T = tracker.T
    steps = run(tracker, [shifted(T, 0.05 * math.sin(0.02 * k)) for k in range(100)])
    assert steps[-1].status is TrackingStatus.OK
    assert np.abs(arm.fk(steps[-1].q) - shifted(T, 0.05 * math.sin(1.98))).max() < 1e-8


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.floats(-1.5, 1.5)] * 3, *[st.floats(-3, 3)] * 3, st.integers(1, 12)),
        min_size=1,
        max_size=5,
    )
)
def test_no_joint_jumps_for_any_target(asked):
    arm = brazo.load("puma560")
    tracker = Tracker(arm, START, limits_of(arm, speed=2.0))
    for x, y, z, *turn, count in asked:
        T = np.eye(4)
        T[:3, :3] = matrix_from_rotvec(np.array(turn))
        T[:3, 3] = x, y, z
        for step in run(tracker, [T] * count):
            reached = arm.fk(step.q)
            assert abs(np.linalg.norm(reached[:3, 3] - T[:3, 3]) - step.position_error) < 1e-9
            if step.status is TrackingStatus.OK:
                assert step.position_error < 1e-7
            else:
                assert step.reason


def test_bad_arguments_are_refused(puma):
    tracker = brazo.Tracker(puma, START)
    with pytest.raises(brazo.BrazoError, match="pose"):
        tracker.step(2 * np.eye(4), DT)
    with pytest.raises(brazo.BrazoError, match="dt"):
        tracker.step(tracker.T, -1.0)
    with pytest.raises(brazo.BrazoError, match="q0"):
        Tracker(puma, [0.0])

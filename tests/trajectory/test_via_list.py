"""Lists of points: the motions through them, straight lines, and files that read back the same."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import (
    ViaList,
    ViaPoint,
    circle,
    cubic_via_points,
    follow_path,
    knots,
    parse_via_list,
    parse_via_points,
    via_poses,
)


@pytest.fixture(scope="module")
def arm():
    return brazo.load("puma560")


@pytest.fixture(scope="module")
def poses(arm):
    """The corners of a square."""
    T = arm.fk([0.1, 0.8, -2.5, 0.2, 0.6, 0.1])
    found = []
    for x, y in ((0, 0), (0.08, 0), (0.08, 0.08), (0, 0.08)):
        one = T.copy()
        one[:3, 3] += (x, y, 0.0)
        found.append(one)
    return found


def test_points_of_the_joints_are_cubics(arm):
    q = arm.random_q(3, seed=1)
    some = ViaList(tuple(ViaPoint(float(k), q[k]) for k in range(3)), rule="smooth")
    wanted = cubic_via_points([0, 1, 2], q, rule="smooth")
    assert np.array_equal(some.trajectory(arm).coefficients, wanted.coefficients)


def test_poses_of_the_tool_are_solved_in_one_branch(arm, poses):
    q0 = arm.ik(poses[0]).q
    some = ViaList(tuple(ViaPoint(float(k), T=T) for k, T in enumerate(poses)), "quintic")
    wanted = via_poses(arm, range(4), poses, q0=q0, degree="quintic")
    assert np.abs(some.trajectory(arm, q0).coefficients - wanted.coefficients).max() < 1e-9


def test_straight_lines_rest_at_the_points_and_stay_straight(arm, poses):
    q0 = arm.ik(poses[0]).q
    some = ViaList(tuple(ViaPoint(2.0 + k, T=T) for k, T in enumerate(poses)), "line")
    motion = some.trajectory(arm, q0)
    assert (motion.start, motion.end) == (2.0, 5.0)
    for k, T in enumerate(poses):
        s = motion.sample(2.0 + k)
        assert np.abs(arm.fk(s.q) - T).max() < 1e-9 and np.abs(s.qd).max() < 1e-9
    p = arm.fk(motion.sample(np.linspace(2.0, 3.0, 101)).q)[:, :3, 3] - poses[0][:3, 3]
    assert np.abs(p[:, 1:]).max() < 1e-5 and (np.diff(p[:, 0]) > -1e-9).all()


@pytest.mark.parametrize("curve", ["cubic", "quintic", "line"])
def test_a_written_list_reads_back_as_the_same_motion(arm, poses, curve):
    q0 = arm.ik(poses[0]).q
    speed = None if curve == "line" else np.full(6, 0.05)
    points = [ViaPoint(0.0, q0), ViaPoint(1.0, T=poses[1], qd=speed), ViaPoint(2.5, T=poses[2])]
    some = ViaList(tuple(points), curve)
    back = parse_via_list(some.to_yaml(), arm)
    assert back.to_yaml().splitlines()[0] == f"curve: {curve}"
    one, other = some.trajectory(arm), back.trajectory(arm)
    assert np.array_equal(one.breaks, other.breaks)
    t = np.linspace(0.0, 2.5, 500)
    assert np.abs(one.sample(t).q - other.sample(t).q).max() < 1e-10
    assert np.abs(one.sample(t).qdd - other.sample(t).qdd).max() < 1e-6


def test_the_knots_of_a_followed_curve_are_the_curve(arm, poses):
    T = poses[0]
    path = circle(T[:3, 3] - [0.06, 0, 0], 0.06, T[:3, :3], 3.0)
    motion = follow_path(arm, path, 0.05, arm.ik(T).q, tolerance=1e-4)
    again = parse_via_points(ViaList(knots(motion), "quintic").to_yaml(), arm)
    t = np.linspace(0.0, 3.0, 1000)
    one, other = motion.sample(t), again.sample(t)
    assert np.abs(one.q - other.q).max() < 1e-9 and np.abs(one.qdd - other.qdd).max() < 1e-6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("points: [{t: 0, xyz: [9, 0, 0]}, {t: 1, xyz: [9, 1, 0]}]", "way.yaml:1: .*xyz"),
        (
            "curve: line\npoints:\n - {t: 0, q: [0,0,0,0,0,0], qd: [0,0,0,0,0,0]}",
            "expected at least",
        ),
        (
            "curve: line\npoints:\n - {t: 0, q: [0,0,0,0,0,0]}\n"
            " - {t: 1, q: [0,0,0,0,0,0], qd: [0,0,0,0,0,0]}",
            "way.yaml:4: .*qd",
        ),
        ("orientation: upside\npoints: []", "full or nearest or free"),
        (
            "curve: line\npoints:\n - {t: 0, q: [0,0.7,-2,0,1,0]}\n - {t: 1, q: [0,0.7,-2,0,1,0]}",
            "points 1 and 2 are equal",
        ),
    ],
)
def test_mistakes_in_a_file_are_reported_with_their_place(arm, text, says):
    with pytest.raises(BrazoError, match=says):
        parse_via_points(text, arm, "way.yaml")


def test_one_point_is_no_motion(arm):
    with pytest.raises(BrazoError, match="at least 2"):
        ViaList((ViaPoint(0.0, np.zeros(6)),)).trajectory(arm)

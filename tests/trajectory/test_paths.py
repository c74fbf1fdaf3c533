"""Paths of the tool: derivatives, speeds, shapes from their definitions, corners, bad input."""

import math

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.kinematics.orientation import (
    angle_between,
    matrix_from_rpy,
    rotvec_from_matrix,
)
from brazo.trajectory import (
    DOWN,
    AlongPath,
    Between,
    Radial,
    RecordedPath,
    Timing,
    arc,
    circle,
    circle_through,
    function,
    helix,
    line,
    lissajous,
    polyline,
    sequence,
    spiral,
    square,
)

CENTRE = (0.4, 0.1, 0.2)
R0, R1 = matrix_from_rpy([0.1, 0.2, 0.3]), matrix_from_rpy([-1.0, 0.5, 2.0])
LIMITS = Timing("trapezoid", speed=0.2, acceleration=1.0)


def pose(p, R=R0):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


A, B, C = pose(CENTRE), pose((0.2, 0.5, 0.4), R1), pose((0.1, 0.5, 0.1), DOWN)


def spun(t):
    return pose((t, t**2, math.sin(t)), matrix_from_rpy([t, 0.2 * t, t**2]))


PATHS = {
    "line": lambda: line(A, B, 2.0),
    "pure turn": lambda: line(A, pose(CENTRE, R1), Timing("cubic", angular_speed=1.0)),
    "jerk-limited line": lambda: line(
        A, B, Timing("jerk_limited", speed=0.3, acceleration=1, jerk=9)
    ),
    "stopping polyline": lambda: polyline([A, B, C], 2.0),
    "blended polyline": lambda: polyline([A, B, C], 2.0, "blend", 0.05),
    "circle": lambda: circle(CENTRE, 0.1, AlongPath(), LIMITS, normal=(1, 0.2, 3)),
    "clockwise circle": lambda: circle(CENTRE, 0.1, Between(R0, R1), 2.0, turns=-1.5),
    "arc": lambda: arc((0.3, 0, 0), (0.2, 0.1, 0), (0.1, 0, 0.02), Radial(), LIMITS),
    "square": lambda: square(CENTRE, 0.1, DOWN, 4.0),
    "blended square": lambda: square(CENTRE, 0.1, AlongPath(), 4.0, corners="blend", blend=0.03),
    "spiral": lambda: spiral(CENTRE, (0.0, 0.1), 2.3, AlongPath(), 3.0),
    "helix": lambda: helix(CENTRE, 0.1, 0.05, 2.0, Radial(), 3.0),
    "lissajous": lambda: lissajous(CENTRE, (0.1, 0.08, 0.02), (1, 2, 3), AlongPath(), 5.0),
    "function": lambda: function(lambda t: (0.1 * t, math.cos(t), t * t), 2.0, AlongPath()),
    "pose function": lambda: function(spun, 1.5),
    "sequence": lambda: sequence(line(A, B, 1.0), line(B, C, LIMITS)),
    "recorded": lambda: RecordedPath([3.0, 3.5, 4.2, 5.0], [A, B, C, A]),
}


@pytest.mark.parametrize("name", PATHS)
def test_velocity_and_acceleration_are_derivatives(name):
    path = PATHS[name]()
    h = 2e-5
    t = np.linspace(2 * h, path.duration - 2 * h, 301)
    t = t[np.abs(t[:, None] - path.breaks).min(axis=1) > 2 * h]
    before, now, after = (path.sample(t + d) for d in (-h, 0.0, h))
    shift = (after.T[:, :3, 3] - before.T[:, :3, 3]) / (2 * h)
    R = after.T[:, :3, :3] @ np.swapaxes(before.T[:, :3, :3], 1, 2)
    velocity = np.concatenate([shift, rotvec_from_matrix(R) / (2 * h)], axis=1)
    scale = np.abs(now.velocity).max()
    assert np.abs(velocity - now.velocity).max() < 2e-7 * scale
    change = (after.velocity - before.velocity) / (2 * h)
    assert np.abs(change - now.acceleration).max() < 2e-6 * np.abs(now.acceleration).max()


@pytest.mark.parametrize("name", PATHS)
def test_poses_are_rigid_and_rest_outside(name):
    path = PATHS[name]()
    t = np.linspace(-0.5, path.duration + 0.5, 200)
    s = path.sample(t)
    R = s.T[:, :3, :3]
    assert np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max() < 1e-12
    assert np.abs(np.linalg.det(R) - 1.0).max() < 1e-12
    outside = (t < 0) | (t > path.duration)
    assert not s.velocity[outside].any() and not s.acceleration[outside].any()
    assert np.abs(s.T[0] - path.pose(0.0)).max() == 0.0
    assert path.pose(0.1).shape == (4, 4) and path.velocity([[0.1]]).shape == (1, 1, 6)


@pytest.mark.parametrize("name", [n for n in PATHS if "function" not in n])
def test_paths_begin_and_end_at_rest(name):
    path = PATHS[name]()
    assert np.abs(path.velocity([0.0, path.duration])).max() < 1e-7


def test_a_line_is_straight_and_turns_about_one_axis():
    path = line(A, B, 2.0)
    T = path.pose(np.linspace(0, 2, 101))
    way = (B - A)[:3, 3]
    share = (T[:, :3, 3] - A[:3, 3]) @ way / (way @ way)
    assert np.abs(T[:, :3, 3] - A[:3, 3] - np.outer(share, way)).max() < 1e-15
    angle = angle_between(R0, R1)
    assert angle_between(R0, T[:, :3, :3]) == pytest.approx(share * angle, abs=1e-12)
    assert np.abs(T[-1] - B).max() < 1e-14


def test_a_recorded_path_follows_two_revolutions_between_its_poses():
    def turned(t):
        x = t / 2.0
        return pose(
            CENTRE, R0 @ matrix_from_rpy([4 * math.pi * x**3 * (10 - 15 * x + 6 * x**2), 0, 0])
        )

    t = np.linspace(0.0, 2.0, 41)
    path = RecordedPath(t, [turned(x) for x in t])
    fine = np.linspace(0.0, 2.0, 401)
    wanted = np.array([turned(x)[:3, :3] for x in fine])
    assert angle_between(path.pose(fine)[:, :3, :3], wanted).max() < 1e-5
    assert angle_between(path.pose(t)[:, :3, :3], wanted[::10]).max() < 1e-12


def test_limits_of_the_profile_are_kept_and_reached():
    s = line(A, B, LIMITS).sample(np.linspace(0, 9, 5001))
    assert np.linalg.norm(s.velocity[:, :3], axis=1).max() == pytest.approx(0.2, rel=1e-12)
    assert np.linalg.norm(s.acceleration[:, :3], axis=1).max() == pytest.approx(1.0, rel=1e-9)
    slow = Timing("trapezoid", speed=0.2, acceleration=1, angular_speed=0.3, angular_acceleration=9)
    s = line(A, B, slow).sample(np.linspace(0, 20, 5001))
    assert np.linalg.norm(s.velocity[:, 3:], axis=1).max() == pytest.approx(0.3, rel=1e-12)
    assert np.linalg.norm(s.velocity[:, :3], axis=1).max() < 0.2


@pytest.mark.parametrize("name", ["circle", "spiral", "helix", "lissajous", "blended square"])
def test_progress_is_by_length(name):
    path = PATHS[name]()
    t = np.linspace(0, path.duration, 2001)
    speed = np.linalg.norm(path.velocity(t)[:, :3], axis=1)
    rate = path.progress.sample(t).qd[:, 0]
    assert np.abs(speed - rate * path.length).max() < 1e-10
    # The length itself, from a fine polygon.
    points = path.curve.at(np.linspace(0, 1, 20_001))[0]
    polygon = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    assert path.length == pytest.approx(polygon, rel=1e-6)


def test_circle():
    path = circle(CENTRE, 0.1, DOWN, Timing("constant", 2.0), start=(0, 1, 0))
    p = path.pose(np.linspace(0, 2, 50))[:, :3, 3] - CENTRE
    assert np.linalg.norm(p, axis=1) == pytest.approx(np.full(50, 0.1), abs=1e-15)
    assert p[0] == pytest.approx([0, 0.1, 0]) and np.abs(p[:, 2]).max() == 0.0
    a = path.acceleration(0.7)
    assert np.linalg.norm(a) == pytest.approx(math.pi**2 * 0.1)
    # Anticlockwise about the normal.
    assert path.velocity(0.0)[:3] == pytest.approx([-0.1 * math.pi, 0, 0], abs=1e-15)


def test_circle_and_arc_through_three_points():
    p = np.array([[0.3, 0.0, 0.1], [0.2, 0.25, 0.15], [-0.1, 0.1, 0.3]])
    path = arc(*p, DOWN, Timing("constant", 1.0))
    t = np.linspace(0, 1, 20_001)
    way = path.pose(t)[:, :3, 3]
    assert np.abs(way[[0, -1]] - p[[0, 2]]).max() < 1e-14
    assert np.linalg.norm(way - p[1], axis=1).min() < 1e-4
    whole = circle_through(*p, DOWN, Timing("constant", 1.0)).pose(t)[:, :3, 3]
    assert np.abs(whole[0] - whole[-1]).max() < 1e-14
    for point in p:
        assert np.linalg.norm(whole - point, axis=1).min() < 1e-4
    centre = path.curve.centre
    assert np.ptp(np.linalg.norm(p - centre, axis=1)) < 1e-15


def test_spiral_and_helix_by_their_equations():
    path = spiral((0, 0, 0), (0.02, 0.1), 3.0, DOWN, 4.0)
    p = path.pose(np.linspace(0, 4, 400))[:, :3, 3]
    angle = np.unwrap(np.arctan2(p[:, 1], p[:, 0]))
    assert np.hypot(p[:, 0], p[:, 1]) == pytest.approx(0.02 + 0.08 * angle / (6 * math.pi))
    path = helix((0, 0, 0), 0.1, 0.05, 2.0, DOWN, 4.0)
    p = path.pose(np.linspace(0, 4, 400))[:, :3, 3]
    angle = np.unwrap(np.arctan2(p[:, 1], p[:, 0]))
    assert p[:, 2] == pytest.approx(0.05 * angle / (2 * math.pi), abs=1e-14)
    assert p[-1, 2] == pytest.approx(0.1)


def test_lissajous_two_to_one_is_a_figure_eight():
    path = lissajous(CENTRE, (0.1, 0.05), (1, 2), DOWN, 4.0)
    p = path.pose(np.linspace(0, 4, 300))[:, :3, 3] - CENTRE
    x, y = p[:, 0] / 0.1, p[:, 1] / 0.05
    # x = cos u, y = sin 2u: y² = 4 x² (1 − x²).
    assert y**2 == pytest.approx(4 * x**2 * (1 - x**2), abs=1e-12)


def test_square_stops_at_its_corners():
    path = square(CENTRE, 0.1, DOWN, 4.0)
    corners = path.pose([0, 1, 2, 3, 4])[:, :3, 3] - CENTRE
    assert np.abs(np.abs(corners[:, :2]) - 0.05).max() < 1e-15
    assert corners[0] == pytest.approx(corners[-1])
    assert np.abs(path.velocity([1, 2, 3])).max() < 1e-12
    assert path.velocity(0.5)[:3] == pytest.approx([-0.1 * 15 / 8, 0, 0])


def test_blends_leave_no_jump_of_acceleration():
    path = polyline([A, B, C], 2.0, "blend", 0.05)
    left, right = path.sample(np.nextafter(path.breaks[1:-1], 0)), path.sample(path.breaks[1:-1])
    assert len(path.breaks) == 4
    for part in ("T", "velocity", "acceleration"):
        assert np.abs(getattr(left, part) - getattr(right, part)).max() < 1e-9
    # It passes the corner at 3/16 of the blend times |e₁ − e₀|.
    e0, e1 = (B - A)[:3, 3], (C - B)[:3, 3]
    gap = 3 / 16 * 0.05 * np.linalg.norm(e1 / np.linalg.norm(e1) - e0 / np.linalg.norm(e0))
    way = path.pose(np.linspace(0, 2, 100_001))[:, :3, 3]
    assert np.linalg.norm(way - B[:3, 3], axis=1).min() == pytest.approx(gap, rel=1e-4)


def test_blended_poses_take_the_middle_orientation_at_the_corner():
    path = polyline([A, B, C], 2.0, "blend", 0.05)
    turn = angle_between(path.pose(np.linspace(0, 2, 20_001))[:, :3, :3], R1)
    assert turn.min() < 1e-6
    assert np.abs(path.pose(2.0) - C).max() < 1e-12


def test_tool_is_aligned_with_the_path():
    path = circle(CENTRE, 0.1, AlongPath(), 2.0, normal=(0.3, 0.2, 1))
    s = path.sample(np.linspace(0.1, 1.9, 50))
    ahead = s.velocity[:, :3] / np.linalg.norm(s.velocity[:, :3], axis=1)[:, None]
    assert np.abs(s.T[:, :3, 0] - ahead).max() < 1e-12
    assert (s.T[:, 2, 2] < -0.8).all()


def test_radial_tool_turns_with_the_azimuth():
    T = circle((0.3, 0, 0), 0.2, Radial(), 2.0).pose(np.linspace(0, 2, 60))
    azimuth = np.arctan2(T[:, 1, 3], T[:, 0, 3])
    assert np.arctan2(T[:, 1, 0], T[:, 0, 0]) == pytest.approx(azimuth, abs=1e-14)
    assert T[:, 2, 2] == pytest.approx(np.full(60, -1.0))


def test_function_path_keeps_the_timing_of_the_function():
    path = function(lambda t: (math.cos(3 * t), math.sin(3 * t), 0.1 * t), 2.0, DOWN)
    t = np.linspace(0, 2, 40)
    p, v = path.pose(t)[:, :3, 3], path.velocity(t)
    assert p == pytest.approx(np.stack([np.cos(3 * t), np.sin(3 * t), 0.1 * t], axis=1), abs=1e-13)
    assert v[:, 0] == pytest.approx(-3 * np.sin(3 * t), abs=1e-10)
    assert path.acceleration(t)[:, 1] == pytest.approx(-9 * np.sin(3 * t), abs=1e-8)


BAD = [
    (lambda: line(A[:3], B, 1.0), "T0 has shape (3, 4)"),
    (lambda: line(2 * A, B, 1.0), "T0 is not a rotation"),
    (lambda: line(A, A, 1.0), "zero length and zero rotation"),
    (lambda: line(A, B, 0.0), "duration is 0"),
    (lambda: line(A, B, Timing()), "needs a duration, a speed or an acceleration"),
    (lambda: line(A, B, Timing("trapezoid", speed=1.0)), "a speed and an acceleration"),
    (lambda: line(A, pose(CENTRE, R1), Timing(speed=1.0)), "angular, because the path is a pure"),
    (lambda: Timing(duration=1.0, speed=1.0), "not both (got speed)"),
    (lambda: Timing("linear"), "'linear' is not one of quintic"),
    (lambda: Timing(speed=-1.0), "speed is -1"),
    (lambda: circle(CENTRE, 0.0, DOWN, 1.0), "radius is 0"),
    (lambda: circle(CENTRE, 0.1, DOWN, 1.0, normal=(0, 0, 0)), "normal has length 0"),
    (lambda: circle(CENTRE, 0.1, DOWN, 1.0, start=(0, 0, 2)), "must have a component in the plane"),
    (lambda: circle(CENTRE, 0.1, DOWN, 1.0, turns=0), "turns is 0"),
    (lambda: circle((0, np.nan, 0), 0.1, DOWN, 1.0), "centre[1] is nan"),
    (
        lambda: circle((0.1, 0, 0), 0.1, Radial(), 1.0, start=(-1, 0, 0)),
        "through the vertical axis",
    ),
    (lambda: circle(CENTRE, 0.1, AlongPath((0, 1, 0)), 1.0), "parallel to the approach"),
    (lambda: arc((0, 0, 0), (1, 0, 0), (2, 0, 0), DOWN, 1.0), "are collinear"),
    (lambda: spiral(CENTRE, (0.1, 0.1), 1, DOWN, 1.0), "two different radii"),
    (lambda: lissajous(CENTRE, (0.1, 0.1), (1, 1), DOWN, 1.0, phases=(0, 0)), "reverses at"),
    (lambda: polyline([A, B, A], 1.0, "blend", 0.01), "reverses, which cannot be blended"),
    (lambda: polyline([A, B, C], 1.0, "blend", 0.35), "too long for the side"),
    (lambda: polyline([A, B, C], 1.0, "blend"), "needs 'blend': the distance"),
    (lambda: polyline([A, A, B], 1.0), "points[0] and points[1] of the polyline are equal"),
    (lambda: polyline([A[:3, 3], B[:3, 3]], 1.0), "give orientation"),
    (lambda: square(CENTRE, 0.1, AlongPath(), 4.0), "does not start at the end of path 1"),
    (lambda: sequence(line(A, B, 1.0), line(A, B, 1.0)), "does not start at the end of path 1"),
    (lambda: sequence(), "at least one path"),
    (lambda: function(lambda t: (t, 0, 0), 1.0), "orientation=…"),
    (lambda: function(lambda t: np.eye(4) * (1 + t), 1.0), "is not a rotation"),
    (lambda: function(lambda t: (abs(t - 0.3), 0, 0), 1.0, DOWN), "not smooth enough"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[words[:30] for _, words in BAD])
def test_invalid_input_is_rejected_with_a_message(call, words):
    with pytest.raises(BrazoError) as error:
        call()
    assert words in str(error.value)

"""Paths followed by joints: on the path, exact derivatives, one branch, every kind of arm, and
errors with time and place."""

import re

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between
from brazo.trajectory import (
    Radial,
    Timing,
    circle,
    follow_path,
    function,
    line,
    path_error,
    polyline,
    square,
)

PUMA = np.radians([10, 60, -150, 20, 40, -40])
STARTS = {
    "puma560": PUMA,
    "panda": None,
    "scara1": None,
    "scara2": None,
    "teleop-scara": None,
    "delta": None,
    "srm1": np.array([0.3, -0.6, 0.6, 0.4, 0.7, 0.2]),
}


def start_of(arm, q=None):
    return np.array(next(iter(arm.poses.values()))) if q is None else q


def round_trip(arm, q, radius=0.05, timing=2.0, orientation=None):
    T = arm.fk(q)
    how = T[:3, :3] if orientation is None else orientation
    return circle(T[:3, 3] - [radius, 0, 0], radius, how, timing)


@pytest.mark.parametrize("name", STARTS)
def test_the_tool_is_on_the_path_with_its_velocity_and_acceleration(name):
    arm = brazo.load(name)
    q = start_of(arm, STARTS[name])
    path = round_trip(arm, q)
    motion = follow_path(arm, path, q0=q)
    error = path_error(arm, motion, path)
    assert error.position < 1e-9 and error.orientation < 1e-9
    t = np.linspace(0, path.duration, 500)
    s = motion.sample(t)
    assert np.abs(s.q[0] - q).max() < 1e-7
    wanted = path.sample(t)
    tool = np.einsum("kij,kj->ki", arm.jacobian(s.q), s.qd)
    assert np.abs(tool - wanted.velocity).max() < 1e-7
    # The tool's acceleration, from FK alone, by differences of the velocity above.
    h = 1e-5
    inner = t[5:-5]
    speeds = [
        np.einsum("kij,kj->ki", arm.jacobian(x.q), x.qd)
        for x in (motion.sample(inner - h), motion.sample(inner + h))
    ]
    change = (speeds[1] - speeds[0]) / (2 * h)
    assert np.abs(change - wanted.acceleration[5:-5]).max() < 1e-4


@pytest.mark.parametrize("name", STARTS)
def test_arm_at_the_start_keeps_its_configuration(name, monkeypatch):
    arm = brazo.load(name)
    q = start_of(arm, STARTS[name])
    path = round_trip(arm, q)
    found = arm.ik(path.pose(0.0), q)  # the result of a search
    assert np.abs(found.q - q).max() < 1e-7
    monkeypatch.setattr(type(arm), "ik", None)
    assert np.abs(follow_path(arm, path, q0=q).sample(0.0).q - q).max() < 1e-12


def test_between_the_steps_the_error_falls_with_the_sixth_power():
    arm = brazo.load("puma560")
    path = round_trip(arm, PUMA, radius=0.1)
    errors = [
        path_error(arm, follow_path(arm, path, dt, q0=PUMA), path).position for dt in (0.04, 0.02)
    ]
    assert 40 < errors[0] / errors[1] < 90
    assert errors[1] < 1e-8


def test_derivatives_at_the_steps_solve_the_jacobian_exactly():
    arm = brazo.load("puma560")
    path = round_trip(arm, PUMA)
    motion = follow_path(arm, path, 0.05, q0=PUMA)
    t = motion.breaks[1:-1]
    s = motion.sample(t)
    qd = np.linalg.solve(arm.jacobian(s.q), path.velocity(t)[..., None])[..., 0]
    assert np.abs(s.qd - qd).max() < 1e-11


def test_acceleration_steps_are_those_of_the_timing():
    arm = brazo.load("puma560")
    T = arm.fk(PUMA)
    end = T.copy()
    end[:3, 3] += [-0.2, 0.1, -0.2]
    path = line(T, end, Timing("trapezoid", speed=0.3, acceleration=1.5))
    motion = follow_path(arm, path, 0.02, q0=PUMA)
    assert set(path.breaks.tolist()) <= set(motion.breaks.tolist())
    ramp = path.breaks[1]
    before, after = motion.sample(np.nextafter(ramp, 0)), motion.sample(ramp)
    assert np.abs(before.qd - after.qd).max() < 1e-10
    assert np.abs(before.qdd - after.qdd).max() > 0.1
    assert path_error(arm, motion, path).position < 1e-9


def test_a_square_with_stops_and_a_blended_polyline():
    arm = brazo.load("scara1")
    q = start_of(arm)
    T = arm.fk(q)
    stopping = square(T[:3, 3] - [0.05, 0.05, 0], 0.1, T[:3, :3], 6.0)
    motion = follow_path(arm, stopping, q0=q)
    assert path_error(arm, motion, stopping).position < 1e-9
    points = T[:3, 3] + np.array([[0, 0, 0], [-0.1, 0, 0], [-0.1, -0.1, -0.02]])
    blended = polyline(points, 2.0, "blend", 0.03, T[:3, :3])
    motion = follow_path(arm, blended, 0.005, q0=q)
    assert path_error(arm, motion, blended).position < 1e-7


@pytest.mark.parametrize("words", ["ABOVE", "BELOW"])
def test_requested_branch_is_kept(words):
    arm = brazo.load("puma560")
    T = arm.fk(PUMA)
    end = T.copy()
    end[:3, 3] += [0.0, 0.2, -0.3]
    motion = follow_path(arm, line(T, end, 2.0), 0.05, branch=f"{words} NOFLIP")
    for q in motion.sample(np.linspace(0, 2, 9)).q:
        assert words in arm.configuration(q)


def test_five_joints_follow_a_tool_that_turns_with_the_arm():
    arm = brazo.load("pegasus")
    q = start_of(arm)
    T = arm.fk(q)
    path = round_trip(arm, q, orientation=Radial(T[:3, :3]))
    motion = follow_path(arm, path, q0=q)
    error = path_error(arm, motion, path)
    assert error.position < 1e-10 and error.orientation < 1e-9


def test_five_joints_keep_the_point_where_they_cannot_keep_the_orientation():
    arm = brazo.load("pegasus")
    q = start_of(arm)
    path = round_trip(arm, q)
    with pytest.raises(BrazoError, match=r"t = .* 5 joints cannot reach this orient.*Radial"):
        follow_path(arm, path, q0=q)
    motion = follow_path(arm, path, q0=q, orientation="nearest")
    error = path_error(arm, motion, path)
    assert error.position < 1e-9 and 0.05 < error.orientation < 0.3
    t = np.linspace(0, 2, 300)
    s = motion.sample(t)
    h = 1e-6
    qd = (motion.sample(t[1:-1] + h).q - motion.sample(t[1:-1] - h).q) / (2 * h)
    assert np.abs(qd - s.qd[1:-1]).max() < 1e-7


def test_a_free_orientation_moves_the_joints_least():
    arm = brazo.load("puma560")
    path = round_trip(arm, PUMA)
    free = follow_path(arm, path, q0=PUMA, orientation="free")
    full = follow_path(arm, path, q0=PUMA)
    assert path_error(arm, free, path).position < 1e-10
    t = np.linspace(0, 2, 400)
    assert (free.sample(t).qd ** 2).sum() < 0.9 * (full.sample(t).qd ** 2).sum()


def test_a_redundant_arm_follows_the_pseudoinverse():
    arm = brazo.load("panda")
    q = arm.poses["ready"]
    path = round_trip(arm, q)
    motion = follow_path(arm, path, q0=q)
    t = motion.breaks[5:-5:10]
    s = motion.sample(t)
    wanted = np.einsum("kij,kj->ki", np.linalg.pinv(arm.jacobian(s.q)), path.velocity(t))
    assert np.abs(s.qd - wanted).max() < 1e-10


def test_function_path_is_followed():
    arm = brazo.load("scara2")
    q = start_of(arm)
    T = arm.fk(q)
    x, y, z = T[:3, 3]
    path = function(
        lambda t: (x - 0.05 * np.sin(t) ** 2, y + 0.05 * np.sin(t), z - 0.01 * t), 3.0, T[:3, :3]
    )
    assert path_error(arm, follow_path(arm, path, q0=q), path).position < 1e-9


PLACE = r"^t = [0-9.e-]+ s, tool at \(-?[0-9.]+, -?[0-9.]+, -?[0-9.]+\) m: "


def reported(arm, path, **options):
    with pytest.raises(BrazoError) as error:
        follow_path(arm, path, **options)
    text = str(error.value)
    assert re.match(PLACE, text), text
    return text


def test_out_of_reach_is_reported_with_time_and_place():
    arm = brazo.load("puma560")
    T = arm.fk(PUMA)
    far = T.copy()
    far[:3, 3] += [2.0, 0, 0]
    path = line(T, far, 4.0)
    text = reported(arm, path, q0=PUMA)
    assert "reaches" in text or "singularity" in text
    t = float(re.search(r"t = ([0-9.e-]+) s", text).group(1))
    # The arm reaches the path just before that time, and not soon after it.
    assert arm.ik(path.pose(t - 0.02), PUMA).success
    assert not arm.ik(path.pose(t + 0.1), PUMA).success


def test_a_start_out_of_reach_is_reported():
    arm = brazo.load("puma560")
    T = arm.fk(PUMA)
    far = T.copy()
    far[:3, 3] += [2.0, 0, 0]
    assert "start of the path is not reachable" in reported(arm, line(far, T, 4.0), q0=PUMA)


@pytest.mark.parametrize("dt", [0.01, 0.5, 0.35])
def test_singularity_on_the_path_is_reported(dt):
    arm = brazo.load("puma560")
    before = np.radians([10, 60, -80, 0, 30, 0])
    after = np.radians([10, 60, -80, 0, -30, 0])
    path = line(arm.fk(before), arm.fk(after), 3.0)
    text = reported(arm, path, q0=before, dt=dt)
    assert "singularity" in text or "deviates" in text


def test_joint_limit_on_the_path_is_reported():
    arm = brazo.load("scara2")
    q = start_of(arm)
    T = arm.fk(q)
    low = T.copy()
    low[2, 3] -= 0.5
    text = reported(arm, line(T, low, 2.0), q0=q)
    assert "joint 4 (quill) exceeds its limit" in text and "allowed 0.00 to 200.00 mm" in text


def test_too_large_steps_are_reported():
    arm = brazo.load("puma560")
    text = reported(arm, round_trip(arm, PUMA, radius=0.1), q0=PUMA, dt=1.0)
    assert "smaller dt" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": 0.0}, "dt is 0"),
        ({"orientation": "any"}, "'any' is not one of full, nearest, free"),
        ({"q0": [0, 0]}, "q0 has shape (2,)"),
        ({"branch": "SIDEWAYS"}, "no branch 'SIDEWAYS'"),
        ({"tolerance": -1.0}, "tolerance is -1"),
    ],
)
def test_bad_options_are_refused(options, words):
    arm = brazo.load("puma560")
    with pytest.raises(BrazoError) as error:
        follow_path(arm, round_trip(arm, PUMA), **options)
    assert words in str(error.value)


def test_path_error_measures_position_and_turn():
    arm = brazo.load("puma560")
    path = round_trip(arm, PUMA)
    motion = follow_path(arm, path, q0=PUMA)
    other = round_trip(arm, PUMA, timing=2.0)
    shifted = line(arm.fk(PUMA), arm.fk(PUMA + 0.01), 2.0)
    assert path_error(arm, motion, other).position < 1e-9
    t = np.linspace(0, 2, 10_000)
    gap = np.linalg.norm(shifted.pose(t)[:, :3, 3] - arm.fk(motion.sample(t).q)[:, :3, 3], axis=1)
    found = path_error(arm, motion, shifted)
    assert found.position == pytest.approx(gap.max())
    turn = angle_between(arm.fk(motion.sample(t).q)[:, :3, :3], shifted.pose(t)[:, :3, :3])
    assert found.orientation == pytest.approx(turn.max())

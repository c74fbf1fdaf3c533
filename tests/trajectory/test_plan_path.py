"""Paths of the RV-2AJ from its home pose, feasible branches, and placements of infeasible paths."""

import re

import numpy as np
import pytest

import brazo
from brazo.trajectory import (
    PathInfeasible,
    RecordedPath,
    check,
    circle,
    concatenate,
    fastest_within,
    helix,
    jerk_limited,
    limits_of,
    nearest_placement,
    path_error,
    plan_path,
    quintic,
    recorded_path,
    spiral,
    square,
    text,
    tool_trace,
)

ARM = brazo.load("rv2aj")
HOME = ARM.poses["home"]
T = ARM.fk(HOME)
P, R = T[:3, 3], T[:3, :3]
CURVES = {
    "circle": circle(P, 0.05, R, 4.0),
    "square": square(P, 0.08, R, 4.0),
    "spiral": spiral(P, (0.01, 0.05), 3, R, 4.0),
    "helix": helix(P, 0.04, 0.01, 2, R, 4.0),
    "text": text("2A", 0.03, P, R, 8.0),
}


def drawn(sim: brazo.Simulation, path, motion) -> np.ndarray:
    """Distances (m) of the tool from a path, after an approach from home."""
    approach = jerk_limited(HOME, motion.sample(0.0).q, limits_of(ARM))
    sim.robots["rv2aj"].move(concatenate(approach, motion))
    rec = sim.run(until=approach.duration + motion.duration)
    on = rec.t >= approach.duration
    tool = np.stack([rec[f"rv2aj.tool.{axis}"] for axis in "xyz"], axis=1)
    wanted = path.pose(rec.t[on] - approach.duration)[:, :3, 3]
    return np.linalg.norm(tool[on] - wanted, axis=1)


@pytest.mark.parametrize("kind", CURVES)
def test_an_ideal_arm_draws_the_curves_from_home(kind):
    path = CURVES[kind]
    motion = plan_path(ARM, path, HOME, orientation="nearest")
    assert check(motion, ARM) == []
    assert drawn(brazo.Simulation(ARM, {"rv2aj": "ideal"}), path, motion).max() <= 1e-9


def test_the_corners_of_a_fast_square_obey_the_speed_limits():
    path = square(P, 0.12, R, 0.6)
    motion = plan_path(ARM, path, HOME, orientation="nearest")
    speed = np.array([drive.max_speed for drive in ARM.model.drives])
    assert any(one.kind == "speed" for one in check(motion, ARM))
    slow = fastest_within(motion, ARM)
    t = np.linspace(slow.start, slow.end, 20_001)
    qd = np.abs(slow.sample(t).qd)
    assert (qd <= speed * (1 + 1e-9)).all()
    assert (qd / speed).max() > 0.999  # not slower than necessary
    corners = slow.start + slow.duration * np.array([0.25, 0.5, 0.75])
    assert np.abs(slow.sample(corners).qd).max() < 1e-9  # it stops there
    assert np.abs(path_error(ARM, motion, path).position) <= 1e-9


def servo_error(factor: float) -> float:
    """Max tool error (m) of the circle with the gains of all servos times a factor."""
    assert ARM.model.path is not None
    source = ARM.model.path.read_text()
    source = re.sub(
        r"(servo: \{position: )([0-9.]+)(, speed: )([0-9.]+)(, speed_integral: )([0-9.]+)",
        lambda m: "".join(
            g if k % 2 == 0 else repr(factor * float(g)) for k, g in enumerate(m.groups())
        ),
        source,
    )
    arm = brazo.loads(source).with_drives("real")
    path = CURVES["circle"]
    motion = plan_path(ARM, path, HOME, orientation="nearest")
    return float(drawn(brazo.Simulation(arm), path, motion).max())


def test_the_error_of_real_drives_shrinks_with_their_gains():
    low, nominal, high = (servo_error(factor) for factor in (0.5, 1.0, 2.0))
    assert 1e-5 < high < 0.6 * nominal < 0.6 * 0.6 * low < 5e-3


def test_the_branch_is_one_in_which_the_whole_path_is_feasible():
    # The elbow that is nearest to this pose passes the limit of J4 on the way.
    path = circle(P + [0.0, 0.0, -0.05], 0.05, R, 4.0)
    motion = plan_path(ARM, path, HOME, orientation="nearest")
    other = HOME + [0.0, 0.6, -1.9, 0.9, 0.0]
    again = plan_path(ARM, path, np.clip(other, *ARM.limits.T), orientation="nearest")
    for one in (motion, again):
        assert check(one, ARM) == [] and path_error(ARM, one, path).position < 1e-9


def test_the_first_infeasible_point_is_reported():
    path = circle(P - [0.04, 0.0, 0.0], 0.11, R, 4.0, turns=-1, start=(-1, 0, 0))
    with pytest.raises(PathInfeasible) as found:
        plan_path(ARM, path, HOME, orientation="nearest")
    error = found.value
    assert error.kind in ("reach", "limit")
    np.testing.assert_allclose(error.position, path.pose(error.t)[:3, 3], atol=1e-9)
    # Independent: inverse kinematics one step earlier has a solution, there it has none.
    assert error.t == 0.0 or ARM.ik(path.pose(error.t - 0.04), orientation="nearest").success


def test_the_nearest_placement_is_feasible_and_short():
    path = circle(P + [0.05, 0.0, 0.0], 0.09, R, 4.0)
    with pytest.raises(PathInfeasible):
        plan_path(ARM, path, HOME, orientation="nearest")
    found = nearest_placement(ARM, path, HOME, orientation="nearest", tolerance=1e-6)
    assert check(found.motion, ARM) == []
    length = float(np.linalg.norm(found.shift))
    # No random shift that is much shorter is feasible at 12 points of the circle.
    rng = np.random.default_rng(5)
    v = rng.normal(size=(2000, 3))
    v *= 0.9 * length * rng.uniform(0, 1, (2000, 1)) ** (1 / 3) / np.linalg.norm(v, axis=1)[:, None]
    poses = np.tile(path.pose(np.linspace(0, 4, 12)), (2000, 1, 1, 1))
    poses[..., :3, 3] += v[:, None]
    solved = ARM.ik_batch(poses, orientation="nearest")
    fits = (solved.valid & solved.within_limits).all(axis=1).any(axis=-1)
    assert not fits.any()


def test_a_curve_that_is_too_large_is_scaled():
    path = circle(P + [-0.02, 0.0, 0.0], 0.2, R, 4.0)
    found = nearest_placement(ARM, path, HOME, orientation="nearest", by="scale", tolerance=1e-6)
    assert 0.1 < found.scale < 0.9
    radius = np.ptp(found.path.pose(np.linspace(0, 4, 401))[:, 0, 3]) / 2
    assert radius == pytest.approx(0.2 * found.scale, rel=1e-4)


def test_a_recorded_motion_is_followed_again(tmp_path):
    sim = brazo.Simulation(ARM, {"rv2aj": "ideal"})
    motion = quintic(HOME, HOME + [0.3, -0.2, 0.2, 0.0, 0.4], 1.5)
    sim.robots["rv2aj"].move(motion)
    rec = sim.run(until=2.0)
    path = recorded_path(rec, ARM)
    assert isinstance(path, RecordedPath) and path.duration == pytest.approx(1.5, abs=0.06)
    again = plan_path(ARM, path, HOME)
    t = np.linspace(0.0, 1.5, 31)
    # The spline passes through the recorded poses, 50 ms apart.
    wanted = ARM.fk(motion.sample(t).q)[:, :3, 3]
    found = ARM.fk(np.ascontiguousarray(again.sample(t).q))[:, :3, 3]
    assert np.linalg.norm(found - wanted, axis=1).max() < 1e-6
    with pytest.raises(brazo.BrazoError, match="robots in the recording: rv2aj"):
        recorded_path(rec, ARM, "other")


def test_a_trace_has_the_state_of_the_pen(tmp_path):
    path = CURVES["text"]
    t = np.linspace(0.0, path.duration, 200)
    trace = tool_trace(t, path.pose(t)[:, :3, 3], path.pen_down)
    rows = trace.to_csv(tmp_path / "trace.csv").read_text().splitlines()
    assert rows[0] == "t [s],x [m],y [m],z [m],pen"
    for row, p, down in zip(rows[1:], trace.xyz, trace.down, strict=True):
        cells = row.split(",")
        assert [float(cell) for cell in cells[1:4]] == p.tolist()
        assert cells[4] == ("down" if down else "up")
    np.testing.assert_allclose(trace.xyz[trace.down][:, 2], P[2], atol=1e-12)
    with pytest.raises(brazo.BrazoError, match=r"end in \.csv"):
        trace.to_csv(tmp_path / "trace.txt")

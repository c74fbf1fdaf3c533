"""Five-axis arms: position, pitch and roll kept; of a full pose the nearest orientation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from brazo.errors import BrazoError
from brazo.kinematics.closed_form import recognise
from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, translate
from tests.kinematics.closed_form.arms import (
    Arm,
    H,
    check_round_trip,
    golden_rows,
    pose_errors,
    turn_distance,
)

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
ON_AXIS = translate(z=0.08) @ rot_x(0.7)
BESIDE = translate(0.05, 0.02, 0.1) @ rot_x(0.7)
TABLES = {"pegasus_proposed": "table", "rv2aj_paper": "dh", "rv2aj_maker": "dh"}


def arm_named(golden, name: str, **more) -> Arm:
    return Arm(golden_rows(golden["robots"][name][TABLES[name]]), **more)


def limits_of(golden, name: str) -> np.ndarray:
    limits = golden["robots"][name]["limits_deg"]
    return np.deg2rad(limits["values"] if isinstance(limits, dict) else limits)


def offset_arm(**more) -> Arm:
    """Shoulder ahead of axis 1, arm's plane beside it, forearm joint rotating in the opposite
    direction."""
    rows = [
        DHRow("revolute", d=0.3, a=0.06, alpha=-H, offset=0.4),
        DHRow("revolute", d=0.08, a=0.3, alpha=np.pi, offset=-0.9),
        DHRow("revolute", d=0.03, a=0.25, alpha=0.0, offset=0.3),
        DHRow("revolute", d=0.01, a=0.02, alpha=H, offset=1.0),
        DHRow("revolute", d=0.12, a=0.0, alpha=0.0, offset=0.2),
    ]
    return Arm(rows, **more)


def test_pegasus_reference_solutions(golden) -> None:
    solver = arm_named(golden, "pegasus_proposed").solver
    for case in golden["robots"]["pegasus_proposed"]["ik"]:
        T = solver.target(case["xyz"], case["pitch"], case["roll"])
        found = solver.solve(T)
        slot = found.names.index("FRONT ABOVE")
        # One of the entries is the stretched arm, where rounding of the target is amplified.
        stretched = case["q_elbow_up"][2] == 0.0
        within = 1e-6 if stretched else 1e-12
        assert turn_distance(found.q[slot], case["q_elbow_up"]).max() < within
        assert found.valid[slot] and found.orientation_error[slot] < 1e-12


@pytest.mark.parametrize("name", ["rv2aj_paper", "rv2aj_maker"])
def test_rv2aj_reference_solutions(golden, name: str) -> None:
    solver = arm_named(golden, name).solver
    for case in golden["robots"][name]["ik"]:
        found = solver.solve(solver.target(case["P"], case["beta"], 0.0))
        slot = found.names.index({"up": "FRONT ABOVE", "down": "FRONT BELOW"}[case["elbow"]])
        assert found.valid[slot]
        assert turn_distance(found.q[slot], [*case["joints"][:4], 0.0]).max() < 1e-12


@pytest.mark.parametrize("name", TABLES)
def test_reference_forward_kinematics(golden, name: str) -> None:
    arm = arm_named(golden, name)
    for case in golden["robots"][name]["fk"]:
        q = case["q"] if "q" in case else case["j"]
        np.testing.assert_allclose(arm.chain.fk(q), case["T"], atol=3e-14)


@pytest.mark.parametrize("name", TABLES)
def test_ten_thousand_poses_inside_the_limits(golden, name: str) -> None:
    q = np.random.default_rng(1).uniform(*limits_of(golden, name).T, (10_000, 5))
    check_round_trip(arm_named(golden, name), q)
    check_round_trip(arm_named(golden, name, base=TILTED, tool=ON_AXIS), q)


@pytest.mark.parametrize("tool", [np.eye(4), ON_AXIS], ids=["flange", "tool on the axis"])
def test_arm_with_every_offset(tool) -> None:
    q = np.random.default_rng(2).uniform(-np.pi, np.pi, (10_000, 5))
    check_round_trip(offset_arm(base=TILTED, tool=tool), q, full_pose=False)


def test_tool_beside_the_roll_axis(golden) -> None:
    q = np.random.default_rng(3).uniform(-np.pi, np.pi, (500, 5))
    check_round_trip(arm_named(golden, "rv2aj_paper", base=TILTED, tool=BESIDE), q, full_pose=False)
    check_round_trip(offset_arm(tool=BESIDE), q, full_pose=False)


def random_poses(rng: np.random.Generator, arm: Arm, count: int) -> np.ndarray:
    """Places the tool can be at, with orientations of any kind."""
    T = arm.fk(rng.uniform(-1.5, 1.5, (count, 5)))
    T[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    return T


def test_full_pose_keeps_the_position_and_takes_the_nearest_orientation(golden) -> None:
    rng = np.random.default_rng(4)
    for arm in (arm_named(golden, "rv2aj_paper"), offset_arm(base=TILTED, tool=ON_AXIS)):
        T = random_poses(rng, arm, 300)
        found = arm.solver.solve(T)
        position, gap = pose_errors(arm, found.q, T[:, None])
        assert found.valid.any()
        assert position[found.valid].max() < 1e-13
        np.testing.assert_allclose(found.orientation_error, gap, atol=1e-10)
        # With yaw given by the position, pitch and roll are what is left to choose.
        for i, slot in list(zip(*np.nonzero(found.valid), strict=True))[:30]:
            best = least_angle(arm, found.q[i, slot], T[i], rng)
            assert gap[i, slot] < best + 1e-7


def least_angle(arm: Arm, q: np.ndarray, T: np.ndarray, rng: np.random.Generator) -> float:
    """The min angle to T's orientation over joints 4 and 5, by a plain search."""

    def angle(x: np.ndarray) -> float:
        return float(pose_errors(arm, np.array([*q[:3], *x]), T)[1])

    grid = rng.uniform(-np.pi, np.pi, (200, 2))
    tried = np.concatenate([np.broadcast_to(q[:3], (200, 3)), grid], axis=1)
    start = grid[np.argmin(pose_errors(arm, tried, T)[1])]
    return float(minimize(angle, start, method="Nelder-Mead", options={"xatol": 1e-9}).fun)


@pytest.mark.parametrize("make", [lambda: offset_arm(tool=BESIDE)], ids=["tool beside the axis"])
def test_nearest_orientation_with_an_offset_tool_is_optimal(make) -> None:
    arm = make()
    rng = np.random.default_rng(5)
    T = random_poses(rng, arm, 12)
    found = arm.solver.solve(T)
    position, gap = pose_errors(arm, found.q, T[:, None])
    assert position[found.valid].max() < 1e-13
    for i, slot in zip(*np.nonzero(found.valid), strict=True):
        better = minimize(
            lambda q, i=i: np.cos(pose_errors(arm, q, T[i])[1]) * -1.0,
            found.q[i, slot],
            constraints={"type": "eq", "fun": lambda q, i=i: arm.fk(q)[:3, 3] - T[i, :3, 3]},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert gap[i, slot] < np.arccos(np.clip(-better.fun, -1, 1)) + 1e-5


def test_pitch_and_roll_are_those_of_the_target(golden) -> None:
    rng = np.random.default_rng(6)
    for arm in (arm_named(golden, "pegasus_proposed"), offset_arm(base=TILTED, tool=BESIDE)):
        solver = arm.solver
        xyz = arm.fk(rng.uniform(-1, 1, (50, 5)))[:, :3, 3]
        pitch, roll = rng.uniform(-1.5, 1.5, (2, 50))
        T = solver.target(xyz, pitch, roll)
        np.testing.assert_array_equal(T[:, :3, 3], xyz)
        found = solver.solve(T)
        front = found.valid[:, :2].any(axis=1)
        assert front.sum() > 10
        for i in np.flatnonzero(front):
            slot = int(np.flatnonzero(found.valid[i, :2])[0])
            assert found.orientation_error[i, slot] < 1e-9
            got = solver.pitch_and_roll(found.q[i, slot])
            assert turn_distance(got, [pitch[i], roll[i]]).max() < 1e-8


def test_target_on_the_first_axis_takes_its_yaw_from_the_orientation(golden) -> None:
    arm = arm_named(golden, "rv2aj_paper")
    solver = arm.solver
    T = solver.target([0.0, 0.0, 0.6], -0.4, 0.3, yaw=0.9)
    found = solver.solve(T)
    assert found.valid.all()
    assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-14
    front = found.q[found.names.index("FRONT ABOVE")]
    assert front[0] == pytest.approx(0.9, abs=1e-14)
    assert all(
        found.names[int(solver.branch_of(q))] == name
        for q, name in zip(found.q, found.names, strict=True)
    )


def test_upright_on_the_first_axis_keeps_the_yaw_of_the_reference(golden) -> None:
    arm = arm_named(golden, "rv2aj_paper")
    q = np.array([0.7, 0.4, -0.9, 0.5, 0.2])
    T = arm.fk(np.zeros(5))
    T[2, 3] -= 0.1
    for q0, q1 in ((None, 0.0), (q, 0.7)):
        found = arm.solver.solve(T, q0)
        assert found.valid.all()
        assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-14
        assert found.q[0, 0] == pytest.approx(q1, abs=1e-15)


def test_positions_close_to_the_first_axis_keep_their_orientation(golden) -> None:
    arm = arm_named(golden, "rv2aj_paper")
    solver = arm.solver
    for distance in 10.0 ** np.arange(-16, -2):
        T = solver.target([distance, 0.3 * distance, 0.55], -0.3, 0.4)
        found = solver.solve(T)
        assert found.valid.all()
        position, orientation = pose_errors(arm, found.q, T)
        assert position.max() < 2e-14
        assert orientation.max() < 1e-10


def test_unreachable_target_has_a_reason_in_metres(golden) -> None:
    solver = arm_named(golden, "rv2aj_paper").solver
    far = solver.target([0.7, 0.0, 0.2975], 0.0, 0.0)
    assert not solver.solve(far).valid.any()
    reported = solver.why_unreachable(far)
    assert "0.5554" in reported and "0.09 to 0.41 m" in reported
    assert solver.why_unreachable(solver.target([0.3, 0.1, 0.38], -1.0, 0.2)) is None
    beside = offset_arm().solver
    near = beside.target([0.4, 0.0, 0.3], 0.0, 0.0)
    near[:2, 3] = 0.03, 0.0
    assert not beside.solve(near).valid.any()
    assert "keeps it at least 0.04 m away" in beside.why_unreachable(near)
    with pytest.raises(BrazoError, match=r"at least 0\.04 m from axis 1"):
        beside.target([0.01, 0.0, 0.3], 0.0, 0.0)


def test_other_arms_are_rejected_with_a_reason() -> None:
    rows = list(offset_arm().rows)
    rows[2] = DHRow("revolute", a=0.25, alpha=0.1)
    found = recognise(Arm(rows).chain)
    assert isinstance(found, tuple)
    assert any("axis 4 is not parallel to axis 2" in str(why) for why in found)
    rows = list(offset_arm().rows)
    rows[0] = DHRow("revolute", a=0.25, alpha=1.2)
    found = recognise(Arm(rows).chain)
    assert isinstance(found, tuple)
    assert any("axis 1 is not perpendicular to axis 2" in str(why) for why in found)


def test_batches_of_any_shape(golden) -> None:
    arm = arm_named(golden, "pegasus_proposed")
    T = arm.fk(np.random.default_rng(7).uniform(-2, 2, (3, 4, 5)))
    together = arm.solver.solve(T)
    assert together.q.shape == (3, 4, 4, 5)
    np.testing.assert_allclose(arm.solver.solve(T[2, 1]).q, together.q[2, 1], atol=1e-13)

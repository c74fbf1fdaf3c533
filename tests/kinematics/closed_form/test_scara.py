"""SCARA arms of four and five joints: both elbows, exact positions, nearest orientations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

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
SKEWED_TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7) @ rot_x(0.3)


def scara1(golden, joints: int = 5, **more) -> Arm:
    """The reference arm; its tool frame is a shift by L5 = 0.10 m along the last z."""
    more.setdefault("tool", translate(z=0.10))
    return Arm(golden_rows(golden["robots"]["scara1_proposed"]["table"])[:joints], **more)


def in_order(order: str) -> Arm:
    """Three parallel R and one P in any order; the second link hangs head down."""
    links = iter([(0.2, 0.3, 0.0), (0.05, 0.25, np.pi), (0.1, 0.05, 0.0)])
    rows = []
    for letter in order:
        if letter == "P":
            rows.append(DHRow("prismatic", theta=0.4, offset=0.1))
        else:
            d, a, alpha = next(links)
            rows.append(DHRow("revolute", d=d, a=a, alpha=alpha, offset=0.3))
    return Arm(rows, base=TILTED, tool=SKEWED_TOOL)


def draw(rng: np.random.Generator, arm: Arm, count: int) -> np.ndarray:
    q = rng.uniform(-np.pi, np.pi, (count, len(arm.rows)))
    slides = [i for i, row in enumerate(arm.rows) if row.kind == "prismatic"]
    q[:, slides] = rng.uniform(0.0, 0.2, (count, len(slides)))
    return q


def test_reference_tool_frame_and_solutions(golden) -> None:
    arm = scara1(golden)
    for case in golden["robots"]["scara1_proposed"]["fk_tool"]:
        np.testing.assert_allclose(arm.chain.fk(case["q"]), case["T"], atol=1e-14)
    for case in golden["robots"]["scara1_proposed"]["ik"]:
        found = arm.solver.solve(np.array(case["T"]))
        assert found.valid.all()
        for solution in case["solutions"]:
            away = turn_distance(found.q, solution, arm.chain.revolute).max(axis=-1)
            slot = int(np.argmin(away))
            assert away[slot] < 1e-12
            assert found.names[slot] == ("RIGHTY" if solution[1] > 0 else "LEFTY")


@pytest.mark.parametrize("joints", [4, 5])
def test_ten_thousand_poses(golden, joints: int) -> None:
    rng = np.random.default_rng(1)
    for more in ({}, {"base": TILTED, "tool": SKEWED_TOOL}):
        arm = scara1(golden, joints, **more)
        check_round_trip(arm, draw(rng, arm, 10_000))


@pytest.mark.parametrize("order", sorted({"".join(p) for p in itertools.permutations("RRRP")}))
def test_prismatic_joint_anywhere(order: str) -> None:
    arm = in_order(order)
    check_round_trip(arm, draw(np.random.default_rng(2), arm, 2000))


def test_righty_has_its_elbow_right_of_the_line_to_the_wrist(golden) -> None:
    arm = scara1(golden)
    q = draw(np.random.default_rng(3), arm, 500)
    frames = arm.chain.frames(q)
    elbow, wrist = frames[:, 1, :2, 3], frames[:, 3, :2, 3]
    left = wrist[:, 0] * elbow[:, 1] - wrist[:, 1] * elbow[:, 0] > 0
    np.testing.assert_array_equal(left, arm.solver.branch_of(q) == 0)
    assert arm.solver.branch_names == ("LEFTY", "RIGHTY")


def test_orientation_out_of_range_keeps_the_position_and_takes_the_nearest(golden) -> None:
    rng = np.random.default_rng(4)
    four, five = scara1(golden, 4, tool=SKEWED_TOOL), scara1(golden, 5, base=TILTED)
    for arm, last in ((four, 1), (five, 2)):
        T = arm.fk(draw(rng, arm, 40))
        T[:, :3, :3] = Rotation.random(40, rng=rng).as_matrix()
        found = arm.solver.solve(T)
        position, gap = pose_errors(arm, found.q, T[:, None])
        assert found.valid.any(axis=1).sum() > 10
        assert position[found.valid].max() < 1e-14
        np.testing.assert_allclose(found.orientation_error, gap, atol=1e-10)
        for i, slot in zip(*np.nonzero(found.valid), strict=True):
            best = gap[i, slot]
            # Turn the last joints, in turns, as far as that helps: it must not.
            for joint in range(len(arm.rows) - last, len(arm.rows)):
                q = np.repeat(found.q[i, slot][None], 721, axis=0)
                q[:, joint] += np.linspace(-np.pi, np.pi, 721)
                assert best < pose_errors(arm, q, T[i])[1].min() + 1e-12


def test_nearest_heading_and_pitch_against_a_search(golden) -> None:
    arm = scara1(golden)
    rng = np.random.default_rng(5)
    T = arm.fk(draw(rng, arm, 8))
    T[:, :3, :3] = Rotation.random(8, rng=rng).as_matrix()
    found = arm.solver.solve(T)
    grid = np.zeros((73, 73, 5))
    grid[..., 3], grid[..., 4] = np.meshgrid(*[np.linspace(-np.pi, np.pi, 73)] * 2)
    for i in range(8):

        def gap(x: np.ndarray, i: int = i) -> float:
            return float(pose_errors(arm, np.array([0.0, 0.0, 0.0, *x]), T[i])[1])

        start = grid.reshape(-1, 5)[np.argmin(pose_errors(arm, grid, T[i])[1]), 3:]
        best = minimize(gap, start, method="Nelder-Mead", options={"xatol": 1e-8}).fun
        assert found.orientation_error[i, 0] == pytest.approx(best, abs=1e-7)


def test_reach_is_an_annulus(golden) -> None:
    solver = scara1(golden).solver
    assert solver.reach == pytest.approx((0.05, 0.55), abs=1e-15)
    down = rot_x(np.pi)
    for radius, reachable in (
        (0.55, True),
        (0.55 + 1e-9, False),
        (0.05, True),
        (0.05 - 1e-9, False),
    ):
        T = translate(0.6 * radius, 0.8 * radius, 0.1) @ down
        assert solver.solve(T).valid.all() == reachable
        assert (solver.why_unreachable(T) is None) == reachable
    reported = solver.why_unreachable(translate(0.6, 0.0, 0.1) @ down)
    assert "0.6 m from axis 1" in reported and "0.05 to 0.55 m" in reported


def test_wrist_on_the_first_axis_keeps_the_first_joint_of_the_reference() -> None:
    rows = [
        DHRow("revolute", d=0.3, a=0.25),
        DHRow("revolute", a=0.25),
        DHRow("prismatic"),
        DHRow("revolute"),
    ]
    arm = Arm(rows)
    T = translate(0.0, 0.0, 0.35)
    q0 = np.array([0.6, 0.0, 0.0, 0.0])
    found = arm.solver.solve(T, q0)
    assert found.valid.all()
    assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-15
    np.testing.assert_allclose(found.q[:, 0], 0.6)


def test_other_arms_are_rejected_with_a_reason() -> None:
    rows = [
        DHRow("revolute", a=0.3),
        DHRow("revolute", a=0.25),
        DHRow("prismatic"),
        DHRow("revolute", alpha=H),
    ]
    cases = {
        "axis 2 is tilted by 5.73° to axis 1": [DHRow("revolute", a=0.3, alpha=0.1), *rows[1:]],
        "its first 4 joints must include one prismatic joint, not 2": [
            *rows[:2],
            DHRow("prismatic"),
            DHRow("prismatic"),
        ],
        "two of its parallel revolute axes coincide": [DHRow("revolute"), *rows[1:]],
        "its last joint is not a revolute joint perpendicular": [*rows, DHRow("prismatic")],
    }
    for reason, table in cases.items():
        found = recognise(Arm(table).chain)
        assert isinstance(found, tuple)
        assert any(reason in str(why) for why in found), [str(why) for why in found]

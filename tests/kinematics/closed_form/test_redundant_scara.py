"""The over-actuated SCARA: equal bends in closed form, and the best use of the spare joint."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from tests.kinematics.closed_form.arms import Arm, golden_rows, pose_errors, turn_distance

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
SKEWED_TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7)
LIMITS = np.array([*np.deg2rad([(-150, 150), (-140, 140), (-140, 140)]), (0, 0.2), (-np.pi, np.pi)])


def scara2(golden, **more) -> Arm:
    return Arm(golden_rows(golden["robots"]["scara2_proposed"]["table"]), **more)


def pose_at(xyz, yaw: float) -> np.ndarray:
    """Tool straight down."""
    return translate(*xyz) @ rot_z(yaw) @ rot_x(np.pi)


def draw(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(*LIMITS.T, (count, 5))


def test_reference_solutions_with_equal_bends(golden) -> None:
    arm = scara2(golden)
    for case in golden["robots"]["scara2_proposed"]["ik_theta2_eq_theta3"]:
        found = arm.solver.solve(pose_at(case["xyz"], case["yaw"]))
        assert found.valid.sum() == len(case["solutions"])
        for solution in case["solutions"]:
            away = turn_distance(found.q, solution, arm.chain.revolute).max(axis=-1)
            slot = int(np.argmin(np.where(found.valid, away, np.inf)))
            assert away[slot] < 1e-12
            assert found.names[slot].startswith("RIGHTY" if solution[1] > 0 else "LEFTY")


def test_reference_reach_with_equal_bends(golden) -> None:
    solver = scara2(golden).solver
    wanted = golden["robots"]["scara2_proposed"]["reach_theta2_eq_theta3"]
    assert solver.reach_equal_bends == pytest.approx((wanted["min"], wanted["max"]), abs=1e-14)
    assert solver.bend_at_least_reach == pytest.approx(wanted["theta2_at_min"], abs=1e-13)
    assert solver.reach == pytest.approx((0.0, 0.6), abs=1e-15)
    for radius, reachable in (
        (0.6, True),
        (0.6 + 1e-9, False),
        (wanted["min"], True),
        (0.0856348, False),
    ):
        assert (
            solver.solve(pose_at((0.6 * radius, -0.8 * radius, 0.2), 0.3)).valid.any() == reachable
        )


def test_ten_thousand_poses_with_equal_bends(golden) -> None:
    arm = scara2(golden, base=TILTED, tool=SKEWED_TOOL)
    q = draw(np.random.default_rng(1), 10_000)
    q[:, 2] = q[:, 1]
    T = arm.fk(q)
    solver = arm.solver
    found = solver.solve(T)
    errors = [error[found.valid].max() for error in pose_errors(arm, found.q, T[:, None])]
    assert max(errors) < 1e-10
    np.testing.assert_allclose(*found.q[found.valid].T[1:3], atol=1e-14, rtol=0)
    away = turn_distance(found.q, q[:, None], arm.chain.revolute).max(axis=-1)
    away = np.where(found.valid, away, np.inf)
    assert away.min(axis=1).max() < 1e-7
    slot = solver.branch_of(q)
    # Away from the curl's turning point, where OPEN and CURLED are one, the names agree.
    clear = np.abs(np.cos(q[:, 1]) - solver.vertex) > 1e-6
    assert (np.argmin(away, axis=1) == slot)[clear].all()


@pytest.mark.parametrize(
    "more", [{}, {"base": TILTED, "tool": SKEWED_TOOL}], ids=["bare", "placed"]
)
def test_given_heading_finds_any_configuration(golden, more) -> None:
    arm = scara2(golden, **more)
    q = draw(np.random.default_rng(2), 10_000)
    T = arm.fk(q)
    found = arm.solver.family_of(T, q[:, :3].sum(axis=1))
    assert found.valid.all()
    assert max(error.max() for error in pose_errors(arm, found.q, T[:, None])) < 1e-13
    away = turn_distance(found.q, q[:, None], arm.chain.revolute).max(axis=-1)
    assert away.min(axis=1).max() < 1e-8
    assert found.names == ("LEFTY", "RIGHTY")
    np.testing.assert_array_equal(np.argmin(away, axis=1), q[:, 1] > 0)


def test_given_heading_marks_unreachable_targets(golden) -> None:
    solver = scara2(golden).solver
    T = pose_at((0.55, 0.0, 0.2), 0.0)
    headings = np.linspace(-np.pi, np.pi, 361)
    valid = solver.family_of(T, headings).valid
    # Links 1 and 2 reach 0.45 m, and link 3 ends 0.15 m short of the wrist.
    short = np.abs(0.55 - 0.15 * np.exp(1j * headings)) <= 0.45
    np.testing.assert_array_equal(valid[:, 0], short)
    np.testing.assert_array_equal(valid[:, 1], short)


def test_nearest_returns_the_current_configuration(golden) -> None:
    arm = scara2(golden)
    q = draw(np.random.default_rng(3), 300)
    best, found = arm.solver.nearest(arm.fk(q), q, LIMITS)
    assert found.all()
    assert np.abs(best - q).max() < 1e-7


def test_nearest_is_exact_inside_the_limits_and_cannot_be_improved(golden) -> None:
    arm = scara2(golden)
    rng = np.random.default_rng(4)
    T = arm.fk(draw(rng, 40))
    q0 = draw(rng, 40)
    best, found = arm.solver.nearest(T, q0, LIMITS)
    assert found.all()
    assert max(error.max() for error in pose_errors(arm, best, T)) < 1e-13
    assert (best >= LIMITS[:, 0] - 1e-9).all() and (best <= LIMITS[:, 1] + 1e-9).all()
    turning = [0, 1, 2, 4]
    for i in range(40):
        cost = np.sum((best[i] - q0[i])[turning] ** 2)
        # Brute force over the heading, both elbows, a tenth of a degree apart.
        headings = np.linspace(-np.pi, np.pi, 3600, endpoint=False)
        family = arm.solver.family_of(T[i], headings)
        q = family.q.copy()
        q[..., 4] -= 2 * np.pi * np.round((q[..., 4] - q0[i, 4]) / (2 * np.pi))
        q[..., 4] = np.where(np.abs(q[..., 4]) > np.pi, family.q[..., 4], q[..., 4])
        inside = ((q >= LIMITS[:, 0]) & (q <= LIMITS[:, 1])).all(axis=-1) & family.valid
        tried = np.where(inside, np.sum((q - q0[i])[..., turning] ** 2, axis=-1), np.inf)
        assert cost <= tried.min() + 1e-9
        # And the slope along the family is zero, or a limit is active.
        local = minimize(
            lambda x, i=i: np.sum((x - q0[i])[turning] ** 2),
            best[i],
            constraints={
                "type": "eq",
                "fun": lambda x, i=i: (arm.fk(x) - T[i])[:3].ravel()[[0, 1, 3, 7, 11]],
            },
            bounds=LIMITS,
            method="SLSQP",
        )
        assert cost < local.fun + 1e-5


def test_nearest_follows_a_path_without_jumps(golden) -> None:
    arm = scara2(golden)
    q = np.array([0.3, 0.6, 0.5, 0.1, 0.2])
    start = arm.fk(q)
    for step in range(200):
        T = start.copy()
        angle = 2 * np.pi * step / 200
        T[:2, 3] += 0.05 * np.array([np.cos(angle) - 1, np.sin(angle)])
        new, found = arm.solver.nearest(T, q, LIMITS)
        assert found
        assert np.abs(new - q).max() < 0.02
        q = new


def test_nearest_reaches_more_than_equal_bends_and_marks_unreachable_targets(golden) -> None:
    arm = scara2(golden)
    close = pose_at((0.05, 0.02, 0.2), 0.3)
    assert not arm.solver.solve(close).valid.any()
    assert "with unequal bends 0 to 0.6 m" in arm.solver.why_unreachable(close)
    q, found = arm.solver.nearest(close, np.zeros(5), LIMITS)
    assert found and max(error.max() for error in pose_errors(arm, q, close)) < 1e-14
    assert not arm.solver.nearest(pose_at((0.7, 0.0, 0.2), 0.0), np.zeros(5), LIMITS)[1]
    # Too low for the quill.
    assert not arm.solver.nearest(pose_at((0.4, 0.0, -0.2), 0.0), np.zeros(5), LIMITS)[1]


def test_arm_not_straight_at_zero_bends_equally() -> None:
    rows = [
        DHRow("revolute", d=0.4, a=0.25, offset=0.3),
        DHRow("revolute", a=0.2, alpha=np.pi, offset=-0.4),
        DHRow("revolute", a=0.15, offset=0.7),
        DHRow("prismatic", offset=0.1),
        DHRow("revolute", d=0.1),
    ]
    arm = Arm(rows)
    rng = np.random.default_rng(5)
    q = rng.uniform(-1, 1, (500, 5))
    # Link 2 bends by q2 − 0.4, link 3, head down, by −(q3 + 0.7).
    q[:, 2] = -(q[:, 1] - 0.4) - 0.7
    T = arm.fk(q)
    found = arm.solver.solve(T)
    away = turn_distance(found.q, q[:, None], arm.chain.revolute).max(axis=-1)
    assert np.where(found.valid, away, np.inf).min(axis=1).max() < 1e-8

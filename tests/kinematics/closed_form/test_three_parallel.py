"""Arms with three parallel axes: every branch of the UR5e and of random tables, singular poses."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import Mismatch, three_parallel
from brazo.kinematics.closed_form.three_parallel import ThreeParallel
from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from tests.kinematics.closed_form.arms import Arm, H, check_round_trip, pose_errors, turn_distance

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7) @ rot_z(0.3)


def arm_of(*rows: tuple[float, float, float], **more) -> Arm:
    """From (d, a, alpha)."""
    return Arm([DHRow("revolute", d=d, a=a, alpha=alpha) for d, a, alpha in rows], **more)


def ur5e(**more) -> Arm:
    """Universal Robots' published D-H parameters."""
    return arm_of(
        (0.1625, 0.0, H),
        (0.0, -0.425, 0.0),
        (0.0, -0.3922, 0.0),
        (0.1333, 0.0, H),
        (0.0997, 0.0, -H),
        (0.0996, 0.0, 0.0),
        **more,
    )


@pytest.mark.parametrize("more", [{}, {"base": TILTED, "tool": TOOL}], ids=["bare", "mounted"])
def test_ur5e_ten_thousand_poses(more) -> None:
    arm = ur5e(**more)
    assert isinstance(arm.solver, ThreeParallel)
    check_round_trip(arm, np.random.default_rng(1).uniform(-np.pi, np.pi, (10_000, 6)))


def test_random_tables() -> None:
    rng = np.random.default_rng(2)
    for k in range(12):
        d, a = rng.uniform(-0.5, 0.5, (2, 6))
        alpha = rng.uniform(0.3, 2.8, 6)
        alpha[1], alpha[2] = ((0.0, 0.0), (np.pi, 0.0), (0.0, np.pi), (np.pi, np.pi))[k % 4]
        a[4] = 0.0
        arm = arm_of(*zip(d, a, alpha, strict=True), base=TILTED, tool=TOOL)
        assert isinstance(arm.solver, ThreeParallel)
        check_round_trip(arm, rng.uniform(-np.pi, np.pi, (50, 6)))


def test_names_follow_the_geometry() -> None:
    arm = ur5e(base=TILTED)
    solver = arm.solver
    q = np.random.default_rng(3).uniform(-np.pi, np.pi, (500, 6))
    frames = arm.chain.frames(q)
    a1, a = frames[:, 0, :3, 2], frames[:, 1, :3, 2]
    on_1, shoulder, elbow, wrist = (frames[:, i, :3, 3] for i in range(4))
    meeting = frames[:, 5, :3, 3]  # the UR5e's frame 6 is where axes 5 and 6 meet
    dot = lambda x, y: np.einsum("ni,ni->n", x, y)  # noqa: E731
    s, o = dot(np.cross(a, a1), meeting - on_1), dot(a, meeting - on_1)
    np.testing.assert_allclose(o, o[0], atol=1e-12)
    turn = dot(np.cross(elbow - shoulder, wrist - shoulder), a)
    for i in range(len(q)):
        lefty = "LEFTY" if s[i] * o[0] > 0 else "RIGHTY"
        above = "ABOVE" if s[i] * turn[i] > 0 else "BELOW"
        name = solver.branch_names[int(solver.branch_of(q[i]))]
        assert name.startswith(f"{lefty} {above} ")
    assert len(set(solver.branch_names)) == 8


def test_parallel_wrist_keeps_the_last_joint_of_the_reference() -> None:
    arm = ur5e()
    q = np.array([0.4, -0.9, 1.3, 0.8, 0.0, -0.5])
    T = arm.fk(q)
    for q0, q6 in ((None, 0.0), (q, -0.5)):
        found = arm.solver.solve(T, q0)
        assert found.valid.any()
        assert max(e[found.valid].max() for e in pose_errors(arm, found.q, T)) < 1e-13
        at_zero = np.abs(found.q[:, 4]) < 1e-9
        assert np.abs(found.q[at_zero & found.valid, 5] - q6).min() < 1e-14


def test_parallel_wrist_is_reached_for_any_reference() -> None:
    arm = ur5e()
    q = np.random.default_rng(4).uniform(-np.pi, np.pi, (300, 6))
    q[:, 4] = np.where(np.arange(300) % 2, 0.0, np.pi)
    T = arm.fk(q)
    found = arm.solver.solve(T)
    assert found.valid.any(axis=1).all()
    errors = pose_errors(arm, found.q, T[:, None])
    assert max(error[found.valid].max() for error in errors) < 1e-10
    again = arm.solver.solve(T, q)
    away = np.where(again.valid, turn_distance(again.q, q[:, None]).max(axis=-1), np.inf)
    assert away.min(axis=1).max() < 1e-6


@pytest.mark.parametrize("q5", [1e-13, 1e-10, 1e-8, 1e-6, 1e-4])
def test_nearly_parallel_wrist_is_exact(q5: float) -> None:
    arm = ur5e()
    q = np.random.default_rng(5).uniform(-np.pi, np.pi, (200, 6))
    q[:, 4] = q5
    T = arm.fk(q)
    found = arm.solver.solve(T)
    assert found.valid.any(axis=1).all()
    errors = pose_errors(arm, found.q, T[:, None])
    assert max(error[found.valid].max() for error in errors) < 1e-10


def test_stretched_and_folded_arms_are_found() -> None:
    arm = ur5e()
    q = np.random.default_rng(6).uniform(-np.pi, np.pi, (200, 6))
    q[:, 2] = np.where(np.arange(200) % 2, 0.0, np.pi)
    T = arm.fk(q)
    found = arm.solver.solve(T)
    assert found.valid.any(axis=1).all()
    errors = pose_errors(arm, found.q, T[:, None])
    assert max(error[found.valid].max() for error in errors) < 1e-10


def test_unreachable_target_has_a_reason() -> None:
    arm = ur5e()
    T = arm.fk(np.array([0.4, -0.9, 1.3, 0.8, 0.5, -0.5]))
    far, close = T.copy(), T.copy()
    far[:3, 3] += 2.0
    close[:3, 3] = T[:3, :3] @ (0.0, 0.0, 0.0996)  # the meeting point on axis 1
    assert "m from axis 2; the arm reaches 0.0328 to 0.8172 m" in arm.solver.why_unreachable(far)
    assert "keeps it at least 0.1333 m away" in arm.solver.why_unreachable(close)
    assert arm.solver.why_unreachable(T) is None


def test_mismatch_gives_the_reason() -> None:
    rows = [[0.1, 0.3, H], [0.1, 0.3, 0.0], [0.1, 0.3, 0.0], [0.2, 0.1, H], [0.1, 0.0, H]]
    for row, column, value, reason in (
        (2, 2, 0.4, "axes 3 and 4 are not parallel"),
        (4, 1, 0.05, "axes 5 and 6 do not intersect: their distance is 0.05 m"),
        (1, 1, 0.0, "two of its parallel axes coincide"),
    ):
        table = [list(r) for r in rows] + [[0.1, 0.0, 0.0]]
        table[row][column] = value
        found = three_parallel.recognise(arm_of(*map(tuple, table)).chain)
        assert isinstance(found, Mismatch)
        assert reason in str(found)

"""The SCARA whose first two revolute joints share an axis."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import recognise
from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from tests.kinematics.closed_form.arms import Arm, pose_errors, turn_distance

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
SKEWED_TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7)


def teleop(L4: float = 0.3, L5: float = 0.3, **more) -> Arm:
    """q = (θ1, d, θ2, θ3, θ4), modified D-H."""
    rows = [
        DHRow("revolute"),
        DHRow("prismatic"),
        DHRow("revolute", d=0.05),
        DHRow("revolute", a=L4, d=0.05),
        DHRow("revolute", a=L5, d=0.05),
    ]
    return Arm(rows, "modified", **more)


def with_slide(theta: list[float], d: float) -> np.ndarray:
    return np.array([theta[0], d, *theta[1:]])


def draw(rng: np.random.Generator, count: int) -> np.ndarray:
    q = rng.uniform(-np.pi, np.pi, (count, 5))
    q[:, 1] = rng.uniform(0.0, 0.3, count)
    return q


def test_reference_poses(golden) -> None:
    chain = teleop().chain
    for case in golden["robots"]["teleop_scara"]["fk"]:
        q = with_slide(case["theta"], case["d"])
        np.testing.assert_allclose(chain.fk(q), case["T"], atol=1e-14)


def test_reference_solutions_with_the_split_of_the_paper(golden) -> None:
    solver = teleop().solver
    for case in golden["robots"]["teleop_scara"]["ik"]:
        found = solver.solve(translate(*case["P"]) @ rot_z(case["tool_yaw"]))
        assert found.valid.all()
        for key, name in (("theta_paper_plus", "RIGHTY"), ("theta_second_branch", "LEFTY")):
            wanted = with_slide(case[key], case["d"])
            assert turn_distance(found.q[found.names.index(name)], wanted).max() < 1e-12


@pytest.mark.parametrize("lengths", [(0.3, 0.3), (0.35, 0.2), (0.2, 0.35)])
def test_any_yaw_and_unequal_links(lengths) -> None:
    arm = teleop(*lengths, base=TILTED, tool=SKEWED_TOOL)
    q = draw(np.random.default_rng(1), 10_000)
    T = arm.fk(q)
    solver = arm.solver
    found = solver.solve(T)
    assert found.valid.all()
    assert max(error.max() for error in pose_errors(arm, found.q, T[:, None])) < 1e-13
    for slot in (0, 1):
        assert (solver.branch_of(found.q[:, slot]) == slot).all()
    # All but the split is unique: θ1 + θ2, the slide, θ3 and θ4.
    same = np.take_along_axis(found.q, solver.branch_of(q)[:, None, None], axis=1)[:, 0]
    for x, y in ((same, q), (same[:, [0]] + same[:, [2]], q[:, [0]] + q[:, [2]])):
        columns = slice(3, 5) if x.shape[1] == 5 else slice(0, 1)
        assert turn_distance(x[:, columns], y[:, columns]).max() < 1e-8


def test_with_a_reference_the_split_nearest_to_it_is_taken() -> None:
    arm = teleop()
    rng = np.random.default_rng(2)
    q = draw(rng, 2000)
    T = arm.fk(q)
    solver = arm.solver
    same = np.take_along_axis(solver.solve(T, q).q, solver.branch_of(q)[:, None, None], axis=1)
    assert turn_distance(same[:, 0], q).max() < 1e-8
    # From another start: moving θ1 by x and θ2 back by x changes nothing but the distance.
    q0 = q + rng.normal(0, 0.3, q.shape)
    near = np.take_along_axis(solver.solve(T, q0).q, solver.branch_of(q)[:, None, None], axis=1)[
        :, 0
    ]
    distance = lambda q: np.sum(turn_distance(q[:, [0, 2]], q0[:, [0, 2]]) ** 2, axis=1)  # noqa: E731
    for x in (-0.1, -1e-3, 1e-3, 0.1):
        other = near + x * np.array([1.0, 0.0, -1.0, 0.0, 0.0])
        np.testing.assert_allclose(arm.fk(other), T, atol=1e-12)
        assert (distance(other) >= distance(near) - 1e-12).all()


def test_reach_and_reason() -> None:
    solver = teleop(0.35, 0.2).solver
    assert solver.reach == pytest.approx((0.15, 0.55), abs=1e-15)
    reported = solver.why_unreachable(translate(0.0, 0.1, 0.2))
    assert "0.1 m from axis 1" in reported and "0.15 to 0.55 m" in reported
    assert not solver.solve(translate(0.0, 0.1, 0.2)).valid.any()
    assert solver.why_unreachable(translate(0.0, 0.5, 0.2)) is None


def test_target_on_the_axis_keeps_the_reference() -> None:
    arm = teleop()
    T = translate(0.0, 0.0, 0.2)
    q0 = np.array([0.4, 0.0, 0.5, 0.0, 0.0])
    found = arm.solver.solve(T, q0)
    assert found.valid.all()
    assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-15
    np.testing.assert_allclose(found.q[:, 0] + found.q[:, 2], 0.9, atol=1e-14)


def test_more_coaxial_joints_are_refused() -> None:
    rows = list(teleop().rows)
    rows[3] = DHRow("revolute", d=0.05)
    found = recognise(Arm(rows, "modified").chain)
    assert isinstance(found, tuple)
    assert any("more than two of its revolute axes coincide" in str(why) for why in found)

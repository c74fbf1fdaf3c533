"""Inverse kinematics of many targets, and compiled branches against an exhaustive search."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brazo
from brazo.codegen import threads

TURN = 2 * math.pi
CLOSED = ["puma560", "ur5e", "stanford", "rv2aj", "scara1", "scara2", "teleop-scara", "delta"]


def nearest_turn(q: np.ndarray, other: np.ndarray, revolute: np.ndarray) -> np.ndarray:
    gap = q - other
    return np.abs(np.where(revolute, gap - TURN * np.round(gap / TURN), gap)).max(axis=-1)


@pytest.mark.parametrize("name", CLOSED)
def test_a_batch_has_the_bits_of_single_calls(name: str) -> None:
    arm = brazo.load(name)
    T = arm.fk(arm.random_q(45, seed=3)).reshape(5, 9, 4, 4)
    batch = arm.ik_batch(T)
    n, B = arm.n, len(batch.names)
    assert batch.q.shape == (5, 9, n) and batch.success.shape == (5, 9)
    assert batch.all_q.shape == (5, 9, B, n) and batch.valid.shape == (5, 9, B)
    for index in np.ndindex(5, 9):
        one = arm.ik(T[index], redundancy="rule")
        assert one.success == batch.success[index]
        if one.success:
            assert np.array_equal(one.q, batch.q[index])
            assert one.branch == batch.names[batch.branch[index]]
        else:
            assert np.isnan(batch.q[index]).all() and batch.branch[index] == -1
        slots = [batch.names.index(b.name) for b in one.all]
        for branch, slot in zip(one.all, slots, strict=True):
            assert np.array_equal(branch.q, batch.all_q[index][slot])
            assert branch.within_limits == batch.within_limits[index][slot]
            assert branch.position_error == batch.position_error[index][slot]


@pytest.mark.parametrize("name", CLOSED)
def test_the_compiled_branches_are_those_of_the_same_formula_on_columns(name: str) -> None:
    arm = brazo.load(name)
    T = arm.fk(arm.random_q(300, seed=4))
    form = arm._kinematics.branches.form
    revolute = np.array(arm.joint_kinds) == "revolute"
    plain, compiled = form.solve(T), arm.ik_batch(T)
    assert np.array_equal(plain.valid, compiled.valid)
    gap = nearest_turn(plain.q, compiled.all_q, revolute)[plain.valid]
    assert gap.max() < 1e-7 and np.median(gap) < 1e-15
    inside = (compiled.all_q >= arm.limits[:, 0] - 1e-9) & (
        compiled.all_q <= arm.limits[:, 1] + 1e-9
    )
    assert np.array_equal(compiled.within_limits, compiled.valid & inside.all(axis=-1))
    reached = np.abs(arm.fk(compiled.all_q[compiled.valid])[:, :3, 3] - _wide(T, compiled)).max()
    assert reached <= 1e-10


def _wide(T: np.ndarray, batch: brazo.IKBatch) -> np.ndarray:
    """The position of the target of every valid branch."""
    wide = np.broadcast_to(T[:, None, :3, 3], (*batch.valid.shape, 3))
    return wide[batch.valid]


@pytest.mark.parametrize("name", ["puma560", "ur5e"])
def test_every_branch_is_found_that_a_search_from_many_starts_finds(name: str) -> None:
    """Newton from random starts, without limits, independent of closed forms."""
    arm = brazo.load(name)
    revolute = np.ones(6, dtype=bool)
    rng = np.random.default_rng(5)
    T = arm.fk(arm.random_q(6, seed=5))
    found = arm.ik_batch(T)
    for k, target in enumerate(T):
        q = _newton(arm, target, rng.uniform(-np.pi, np.pi, (400, 6)))
        known = found.all_q[k][found.valid[k]]
        away = nearest_turn(q[:, None], known[None], revolute)
        assert len(q) > 50 and away.min(axis=1).max() < 1e-6
        assert (away.min(axis=0) < 1e-6).all()  # and the search found every branch


def _newton(arm: brazo.Robot, T: np.ndarray, q: np.ndarray) -> np.ndarray:
    for _ in range(60):
        reached, J = arm.fk(q), arm.jacobian(q)
        E = T[:3, :3] @ np.swapaxes(reached[:, :3, :3], 1, 2)
        turn = 0.5 * np.stack(
            [E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1
        )
        error = np.hstack([T[:3, 3] - reached[:, :3, 3], turn])
        damping = 1e-3 * np.linalg.norm(error, axis=1)[:, None, None] * np.eye(6)
        A = np.swapaxes(J, 1, 2) @ J + damping + 1e-12 * np.eye(6)
        b = (np.swapaxes(J, 1, 2) @ error[..., None])[..., 0]
        step = np.linalg.solve(A, b[..., None])[..., 0]
        q = q + np.clip(step, -0.5, 0.5)
    return q[np.abs(arm.fk(q) - T).max(axis=(1, 2)) < 1e-9]


def test_threads_do_not_change_the_result() -> None:
    arm = brazo.load("puma560")
    T = arm.fk(arm.random_q(5000, seed=6))
    with threads(1):
        alone = arm.ik_batch(T)
    with threads(2):
        shared = arm.ik_batch(T)
    assert np.array_equal(alone.all_q, shared.all_q) and np.array_equal(alone.q, shared.q)


def test_start_values_and_branches_of_a_batch() -> None:
    arm = brazo.load("puma560")
    q = arm.random_q(200, seed=7)
    T = arm.fk(q)
    near = arm.ik_batch(T, q0=q)
    assert near.success.all() and np.abs(near.q - q).max() < 1e-7
    some = arm.ik_batch(T, branch="LEFTY ABOVE")
    assert {some.names[i] for i in some.branch[some.success]} <= {
        "LEFTY ABOVE NOFLIP",
        "LEFTY ABOVE FLIP",
    }
    assert "200 of 200 targets (200,) reached, 8 branches" in repr(near)


def test_points_and_arms_without_a_closed_form() -> None:
    arm = brazo.load("panda")
    T = arm.fk(arm.random_q(20, seed=8))
    poses = arm.ik_batch(T)
    assert poses.success.mean() > 0.9 and poses.names == ("",)
    assert np.abs(arm.fk(poses.q[poses.success]) - T[poses.success]).max() < 1e-8
    for name in ("panda", "delta", "puma560"):
        arm = brazo.load(name)
        points = arm.fk(arm.random_q(20, seed=9))[:, :3, 3]
        found = arm.ik_batch(points)
        assert found.success.all() and (found.orientation_error == 0.0).any()
        assert np.abs(arm.fk(found.q)[:, :3, 3] - points).max() < 1e-8


def test_other_objects_with_a_matrix_are_poses() -> None:
    class Pose:
        def __init__(self, A: np.ndarray) -> None:
            self.A = A

    arm = brazo.load("puma560")
    T = arm.fk(arm.random_q(seed=10))
    assert np.array_equal(arm.ik(Pose(T)).q, arm.ik(T).q)


def test_position_is_enough_for_an_arm_with_three_joints(tmp_path) -> None:
    file = tmp_path / "rrr.yaml"
    file.write_text(
        "name: rrr\njoints:\n  - {name: a, type: revolute, d: 0.3, alpha: 90deg}\n"
        "  - {name: b, type: revolute, a: 0.3}\n  - {name: c, type: revolute, a: 0.2}\n"
    )
    arm = brazo.load(file)
    q = np.array([0.3, 0.4, 0.5])
    result = arm.ik(arm.fk(q)[:3, 3], q0=q)
    assert result.success and len(result.all) == 4 and np.abs(result.q - q).max() < 1e-12
    assert result.residual.orientation == 0.0 and result.branch in {b.name for b in result.all}
    assert [b.name for b in arm.ik(arm.fk(q)).all] == [arm.configuration(q)]
    many = arm.ik_batch(arm.fk(arm.random_q(30, seed=1))[:, :3, 3])
    assert many.success.all() and many.valid.all()
    assert many.orientation_error.shape == many.valid.shape and not many.orientation_error.any()


def test_joints_outside_the_chain_keep_their_values(tmp_path) -> None:
    joint = (
        '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
        '<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
    )
    links = "".join(
        f'<link name="{name}"/>' for name in ("base", "finger", "upper", "fore", "hand")
    )
    tree = [("f", "base", "finger"), ("a", "base", "upper"), ("b", "upper", "fore")]
    path = tmp_path / "side.urdf"
    fixed = (
        '<joint name="t" type="fixed"><parent link="fore"/><child link="hand"/>'
        '<origin xyz="0.4 0 0"/></joint>'
    )
    path.write_text(
        f'<robot name="side">{links}{"".join(joint.format(*row) for row in tree)}{fixed}</robot>'
    )
    arm = brazo.load(path)
    assert arm.n == 3
    q0 = np.array([0.2, 0.2, 0.3])
    q0[list(arm.joint_names).index("f")] = 0.7
    point = arm.fk(q0)[:3, 3]
    one, many = arm.ik(point, q0=q0), arm.ik_batch(point[None], q0=q0)
    assert one.success and np.abs(one.q - q0).max() < 1e-12
    assert np.array_equal(many.q[0], one.q) and len(one.all) == 2
    assert (many.all_q[0][:, list(arm.joint_names).index("f")] == 0.7).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda T: T * 2.0, r"target\[0\]: target is not a pose"),
        (lambda T: np.where(np.arange(3)[:, None, None] == 1, np.nan, T), r"target\[1\].*finite"),
        (lambda T: T[0], "use ik for one"),
        (lambda T: T[:, :2, :2], r"shape \(3, 2, 2\)"),
    ],
)
def test_bad_batches_are_named(change, said: str) -> None:
    arm = brazo.load("puma560")
    T = change(arm.fk(arm.random_q(3, seed=11)))
    with pytest.raises(brazo.BrazoError, match=said):
        arm.ik_batch(T)


def test_start_values_that_do_not_fit_are_refused() -> None:
    arm = brazo.load("puma560")
    T = arm.fk(arm.random_q(3, seed=12))
    with pytest.raises(brazo.BrazoError, match="does not fit"):
        arm.ik_batch(T, q0=np.zeros((2, 6)))
    with pytest.raises(brazo.BrazoError, match="one target at a time"):
        arm.ik_batch(T, redundancy="nearest")


def test_rounded_rotations_in_a_batch_are_made_exact() -> None:
    arm = brazo.load("puma560")
    T = arm.fk(arm.random_q(50, seed=13)).round(7)
    found = arm.ik_batch(T)
    assert found.valid.any(axis=1).all()
    assert found.orientation_error[found.valid].max() < 1e-10

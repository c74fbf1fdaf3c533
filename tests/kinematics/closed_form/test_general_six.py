"""All solutions of 6R arms without special geometry, against an exhaustive Newton search."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import general_six
from brazo.kinematics.closed_form.base import Mismatch


def arm_of(a, alpha, d) -> Chain:
    """Standard D-H rows; joint values are the angles."""
    X = np.tile(np.eye(4), (len(a) + 1, 1, 1))
    for i, (length, twist, offset) in enumerate(zip(a, alpha, d, strict=True)):
        c, s = math.cos(twist), math.sin(twist)
        X[i + 1, :3] = [[1, 0, 0, length], [0, c, -s, 0], [0, s, c, offset]]
    return Chain(("revolute",) * len(a), X, tuple(range(len(a))))


def random_arm(seed: int) -> Chain:
    rng = np.random.default_rng(seed)
    return arm_of(rng.uniform(-0.5, 0.5, 6), rng.uniform(-2, 2, 6), rng.uniform(-0.5, 0.5, 6))


@cache
def solver() -> general_six.GeneralSix:
    # Compiling an arm takes seconds, so one serves all tests; tools/ik_census.py has more.
    found = general_six.recognise(random_arm(0))
    assert isinstance(found, general_six.GeneralSix)
    return found


def exhaustive(chain: Chain, T: np.ndarray, starts: int = 500) -> np.ndarray:
    """All configurations that damped Newton reaches from random starts: (M, 6)."""
    q = np.random.default_rng(7).uniform(-math.pi, math.pi, (starts, 6))
    for _ in range(40):
        reached, J = chain.fk(q), chain.jacobian(q)
        R = T[:3, :3] @ np.swapaxes(reached[:, :3, :3], 1, 2)
        turn = 0.5 * np.stack(
            [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1
        )
        e = np.concatenate([T[:3, 3] - reached[:, :3, 3], turn], axis=-1)
        Jt = np.swapaxes(J, 1, 2)
        A = Jt @ J + ((e * e).sum(axis=-1) * 0.1 + 1e-14)[:, None, None] * np.eye(6)
        q = q + np.linalg.solve(A, (Jt @ e[..., None]))[..., 0]
    good = np.abs(chain.fk(q) - T).max(axis=(1, 2)) < 1e-10
    return distinct(q[good])


def distinct(q: np.ndarray, same: float = 1e-5) -> np.ndarray:
    kept: list[np.ndarray] = []
    for one in q:
        if all(apart(one, other) > same for other in kept):
            kept.append(one)
    return np.array(kept).reshape(-1, 6)


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs((a - b + math.pi) % (2 * math.pi) - math.pi).max(axis=-1)


def test_every_solution_of_an_exhaustive_search_is_found():
    chain = solver().chain
    q = np.random.default_rng(3).uniform(-math.pi, math.pi, (5, 6))
    T = chain.fk(q)
    found = solver().solve(T)
    for i in range(len(q)):
        mine = found.q[i][found.valid[i]]
        for other in exhaustive(chain, T[i]):
            assert apart(mine, other).min() < 1e-6
        assert len(distinct(mine)) == len(mine)


def test_the_original_is_among_an_even_number_of_exact_solutions():
    chain = solver().chain
    q = np.random.default_rng(4).uniform(-math.pi, math.pi, (1000, 6))
    T = chain.fk(q)
    found = solver().solve(T)
    gap = np.where(found.valid, apart(found.q, q[:, None]), math.inf)
    assert gap.min(axis=1).max() < 1e-6
    assert (found.valid.sum(axis=1) % 2 == 0).all()
    reached = chain.fk(found.q[found.valid])
    wanted = np.broadcast_to(T[:, None], (*found.valid.shape, 4, 4))[found.valid]
    assert np.abs(reached - wanted).max() < 1e-12 * max(1.0, chain.size)


def test_half_turns_and_singular_poses_have_their_original():
    chain = solver().chain
    rng = np.random.default_rng(5)
    q = rng.uniform(-3, 3, (120, 6))
    q[np.arange(120), np.arange(120) % 6] = np.where(np.arange(120) < 60, math.pi, 0.0)
    found = solver().solve(chain.fk(q))
    gap = np.where(found.valid, apart(found.q, q[:, None]), math.inf)
    assert gap.min(axis=1).max() < 1e-6
    # A double solution: move along the null vector of J to where the smallest singular value is 0.
    one = rng.uniform(-1, 1, 6)
    for _ in range(60):
        h = 1e-6
        smallest = np.linalg.svd(chain.jacobian(one))[1][-1]
        gradient = np.array(
            [np.linalg.svd(chain.jacobian(one + h * e))[1][-1] - smallest for e in np.eye(6)]
        )
        one = one - h * smallest * gradient / (gradient @ gradient)
    assert np.linalg.svd(chain.jacobian(one))[1][-1] < 1e-9
    found = solver().solve(chain.fk(one))
    assert apart(found.q[found.valid], one).min() < 1e-4


def test_one_target_and_a_batch_have_the_same_solutions():
    chain = solver().chain
    T = chain.fk(np.random.default_rng(6).uniform(-3, 3, (4, 6)))
    batch = solver().solve(T.reshape(2, 2, 4, 4))
    assert batch.q.shape == (2, 2, 16, 6)
    for i in range(4):
        single = solver().solve(T[i])
        np.testing.assert_array_equal(batch.valid[i // 2, i % 2], single.valid)
        np.testing.assert_allclose(batch.q[i // 2, i % 2], single.q, atol=1e-9)


def test_configuration_has_its_solution_number():
    form = solver()
    found = form.solve(form.chain.fk(np.array([0.3, -0.8, 1.1, 0.4, 0.9, -2.0])))
    numbers = form.branch_of(found.q[found.valid])
    np.testing.assert_array_equal(numbers, np.flatnonzero(found.valid))


def test_a_pose_out_of_reach_has_a_reason():
    T = np.eye(4)
    T[0, 3] = 100.0
    assert not solver().solve(T).valid.any()
    assert "no real solution" in str(solver().why_unreachable(T))


def test_other_arms_are_refused_with_a_reason():
    five = general_six.recognise(arm_of([0.1] * 5, [1.0] * 5, [0.1] * 5))
    assert isinstance(five, Mismatch)
    assert "six revolute joints" in five.reason
    planar = general_six.recognise(arm_of([0.1] * 6, [0.0] * 6, [0.0] * 6))
    assert isinstance(planar, Mismatch)
    assert "degenerate" in planar.reason

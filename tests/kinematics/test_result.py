"""Results of inverse kinematics: residuals, and joint values wrapped into their limits."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brazo
from brazo.kinematics.result import (
    TURN,
    Branch,
    IKResult,
    Residual,
    into_limits,
    violations,
)

INF = math.inf


@pytest.mark.parametrize(
    ("value", "limits", "q0", "wanted"),
    [
        (3.0, (-INF, INF), None, 3.0),
        (4.0, (-INF, INF), None, 4.0 - TURN),
        (3.0, (-4.7, 4.7), None, 3.0),
        (3.0, (-4.7, 4.7), -2.0, 3.0 - TURN),  # both fit, the nearer to q0 wins
        (3.0, (-4.7, 4.7), 2.0, 3.0),
        (3.0, (-INF, INF), 40.0, 3.0 + 6 * TURN),
        (-3.0, (0.0, 6.0), None, TURN - 3.0),
        (3.0, (4.0, INF), None, 3.0 + TURN),
        (-1.0, (-INF, -5.0), None, -1.0 - TURN),
        (2.0, (-1.0, 1.0), None, 2.0),  # none fits: 1.0 over beats 3.3 under
        (-2.0, (-1.0, 1.0), 5.0, -2.0),
        (1.0 + 1e-12, (-1.0, 1.0), None, 1.0 + 1e-12),  # rounding is no violation
    ],
)
def test_whole_turns_bring_a_revolute_joint_inside(value, limits, q0, wanted) -> None:
    q0 = None if q0 is None else [q0]
    got = into_limits([value], [limits], ("revolute",), q0)
    assert got == pytest.approx([wanted], abs=1e-14)


def test_prismatic_values_are_left_alone() -> None:
    q = np.array([9.0, 9.0])
    limits = [(-1.0, 1.0), (-1.0, 1.0)]
    got = into_limits(q, limits, ("prismatic", "revolute"))
    assert got[0] == 9.0 and got[1] == pytest.approx(9.0 - TURN)


@given(
    st.floats(-50, 50),
    st.floats(-10, 10),
    st.floats(0.01, 15),
    st.one_of(st.none(), st.floats(-10, 10)),
)
def test_nearest_fitting_turn_by_trying_them_all(value, low, width, q0) -> None:
    limits = [(low, low + width)]
    got = float(into_limits([value], limits, ("revolute",), None if q0 is None else [q0])[0])
    turns = (got - value) / TURN
    assert abs(turns - round(turns)) < 1e-9
    tries = value + TURN * np.arange(-30, 31)
    inside = tries[(tries >= low) & (tries <= low + width)]
    wanted = low + width / 2 if q0 is None else q0
    if inside.size:
        assert abs(got - wanted) <= np.abs(inside - wanted).min() + 1e-6
        assert not violations([got], limits).any()
    else:
        over = lambda x: max(low - x, x - low - width)  # noqa: E731
        assert over(got) <= min(over(x) for x in tries) + 1e-6


def test_batches_keep_their_shape() -> None:
    q = np.random.default_rng(1).uniform(-20, 20, (4, 5, 3))
    limits = np.array([(-np.pi, np.pi), (-INF, INF), (0.0, 7.0)])
    got = into_limits(q, limits, ("revolute",) * 3, np.zeros((4, 1, 3)))
    assert got.shape == q.shape
    assert not violations(got, limits).any()
    np.testing.assert_allclose(np.exp(1j * got), np.exp(1j * q), atol=1e-13)


def test_residual_is_the_larger_error_as_a_number() -> None:
    assert float(Residual(position=1e-3, orientation=2e-3)) == 2e-3
    assert float(Residual(position=3e-3, orientation=2e-3)) == 3e-3


def test_results_are_frozen_and_true_on_success() -> None:
    branch = Branch(np.zeros(2), "LEFTY", True, (), 1e-15, 2e-15)
    assert branch.residual == Residual(1e-15, 2e-15)
    result = IKResult(np.zeros(2), True, "", branch.residual, (branch,), "LEFTY", "closed form")
    assert result
    with pytest.raises(AttributeError):
        result.success = False  # type: ignore[misc]


def test_solutions_listed_late_belong_to_the_target_of_the_call():
    arm = brazo.load("iiwa14")
    T = arm.fk([0.3, 0.5, -0.4, 1.1, 0.2, 0.8, -0.5])
    expected = [branch.q for branch in arm.ik(T).all]
    target = T.copy()
    result = arm.ik(target)
    target[:] = arm.fk([-0.3, 0.2, 0.4, 0.9, 0.1, 1.0, 0.5])
    assert len(expected) > 1
    assert np.array_equal([branch.q for branch in result.all], expected)
    # A rotation with rounding errors is replaced by the nearest one.
    rough = T.copy()
    rough[:3, :3] *= 1.0 + 1e-7
    for branch in arm.ik(rough).all:
        assert max(branch.position_error, branch.orientation_error) <= 1e-9
        assert np.abs(arm.fk(branch.q) - T).max() <= 1e-8


@pytest.mark.parametrize("name", ["scara1", "delta", "iiwa14"])
@pytest.mark.parametrize("make", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_of_results(name, make):
    arm = brazo.load(name)
    T = arm.fk(0.3 * arm.random_q(seed=2))
    outside = T.copy()
    outside[:3, 3] += 100.0
    for target in (T, outside):
        result = arm.ik(target)
        twin = make(arm.ik(target))
        assert repr(twin) == repr(result) and bool(twin) == bool(result)
        assert np.array_equal(twin.q, result.q) and twin.residual == result.residual
        for field in ("reason", "branch", "method", "iterations"):
            assert getattr(twin, field) == getattr(result, field)
        assert len(twin.all) == len(result.all)
        for one, other in zip(twin.all, result.all, strict=True):
            assert np.array_equal(one.q, other.q) and one.residual == other.residual
            assert one.name == other.name and one.limit_violations == other.limit_violations

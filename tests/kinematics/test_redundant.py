"""Arms with seven joints: every branch at given values of the redundancy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brazo
from brazo import BrazoError

IIWA = """
name: seven
joints:
  - {name: a1, d: 0.36, alpha: -90deg, limits: [-170deg, 170deg]}
  - {name: a2, alpha: 90deg, limits: [-120deg, 120deg]}
  - {name: a3, d: 0.42, alpha: 90deg, limits: [-170deg, 170deg]}
  - {name: a4, alpha: -90deg, limits: [-120deg, 120deg]}
  - {name: a5, d: 0.4, alpha: -90deg, limits: [-170deg, 170deg]}
  - {name: a6, alpha: 90deg, limits: [-120deg, 120deg]}
  - {name: a7, d: 0.126, limits: [-175deg, 175deg]}
"""


@pytest.fixture(scope="module")
def panda():
    return brazo.load("panda")


@pytest.fixture(scope="module")
def iiwa(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("arm") / "seven.yaml"
    path.write_text(IIWA)
    return brazo.load(path)


def samples(arm, count=200):
    q = arm.random_q(count, seed=1)
    return q, arm.fk(q)


def apart(a, b):
    return np.abs((a - b + math.pi) % (2 * math.pi) - math.pi).max(axis=-1)


def elbow_angle(arm, q):
    """The arm angle by its definition, from the positions of shoulder, elbow and wrist."""
    F = arm.frames(q)
    shoulder, elbow, wrist = F[..., 1, :3, 3], F[..., 3, :3, 3], F[..., 5, :3, 3]
    u = wrist - shoulder
    u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    z = np.array([0.0, 0.0, 1.0])
    reference = np.cross(np.cross(u, z), u)
    off = np.cross(np.cross(u, elbow - shoulder), u)
    sine = (np.cross(reference, off) * u).sum(axis=-1)
    return np.arctan2(sine, (reference * off).sum(axis=-1))


def test_the_original_is_among_the_branches_at_its_own_value_of_the_locked_joint(panda):
    q, T = samples(panda)
    found = panda.ik(T, q, redundancy=q[:, 6])
    assert found.success.all()
    assert np.abs(found.q - q).max() < 1e-7
    assert (found.valid.sum(axis=1) % 2 == 0).all()
    reached = panda.fk(found.all_q[found.valid])
    wanted = np.broadcast_to(T[:, None], (*found.valid.shape, 4, 4))[found.valid]
    assert np.abs(reached - wanted).max() < 1e-10
    assert np.abs(found.all_q[..., 6] - q[:, None, 6])[found.valid].max() < 1e-12


def test_all_branches_of_an_srs_arm_have_the_requested_arm_angle(iiwa):
    q, T = samples(iiwa)
    psi = elbow_angle(iiwa, q)
    found = iiwa.ik(T, q, redundancy=psi)
    assert found.valid.all()
    assert found.all_q.shape == (200, 8, 7)
    assert apart(found.all_q, q[:, None]).min(axis=1).max() < 1e-7
    assert np.abs(iiwa.fk(found.all_q) - T[:, None]).max() < 1e-10
    assert apart(elbow_angle(iiwa, found.all_q)[..., None], psi[:, None, None]).max() < 1e-7
    gaps = apart(found.all_q[:, :, None], found.all_q[:, None]) + 9 * np.eye(8)
    assert gaps.min() > 1e-6  # all different


def test_one_target_with_many_values_is_a_batch(iiwa):
    q, T = samples(iiwa, 1)
    values = np.linspace(-3.0, 3.0, 13)
    found = iiwa.ik(T[0], q[0], redundancy=values)
    assert found.q.shape == (13, 7)
    psi = elbow_angle(iiwa, found.q[found.success])
    assert apart(psi[:, None], values[found.success][:, None]).max() < 1e-7
    single = iiwa.ik(T[0], q[0], redundancy=float(values[4]))
    assert single.success == found.success[4]
    np.testing.assert_allclose(single.q, found.q[4], atol=1e-12)


def test_within_limits_is_true_only_within_limits(iiwa):
    _, T = samples(iiwa)
    found = iiwa.ik(T, redundancy=0.5)
    low, high = iiwa.limits.T
    inside = ((found.all_q >= low - 1e-9) & (found.all_q <= high + 1e-9)).all(axis=-1)
    np.testing.assert_array_equal(found.within_limits, inside & found.valid)
    np.testing.assert_array_equal(found.success, found.within_limits.any(axis=1))


@pytest.mark.parametrize("name", ["panda", "iiwa"])
def test_the_chosen_branch_meets_the_tolerance(name, request):
    arm = request.getfixturevalue(name)
    q, T = samples(arm, 50)
    values = elbow_angle(arm, q) if name == "iiwa" else q[:, 6]
    found = arm.ik(T, redundancy=values, tolerance=1e-16)
    fits = (found.within_limits & (found.orientation_error <= 1e-16)).any(axis=-1)
    assert np.array_equal(found.success, fits) and not fits.all()
    assert arm.ik(T, redundancy=values).success.all()
    k = int(np.argmin(fits))
    single = arm.ik(T[k], redundancy=float(values[k]), tolerance=1e-16)
    assert not single.success and "use a larger tolerance" in single.reason


def test_a_named_branch_is_kept(iiwa):
    q, T = samples(iiwa, 1)
    every = iiwa.ik(T[0], q[0], redundancy=0.3).all
    for one in every:
        if one.within_limits:
            named = iiwa.ik(T[0], q[0], one.name, redundancy=0.3)
            np.testing.assert_allclose(named.q, one.q, atol=1e-12)
    with pytest.raises(BrazoError, match="no branch"):
        iiwa.ik(T[0], q[0], "SIDEWAYS", redundancy=0.3)


@pytest.mark.parametrize("name", ["panda", "iiwa"])
def test_the_default_result_lists_the_other_branches_at_its_redundancy(name, request):
    arm = request.getfixturevalue(name)
    _, T = samples(arm, 1)
    found = arm.ik(T[0])
    assert found.success
    assert len(found.all) >= 2
    np.testing.assert_array_equal(found.all[0].q, found.q)
    for one in found.all:
        assert np.abs(arm.fk(one.q) - T[0]).max() < 1e-9


def test_mistakes_are_explained(panda, iiwa):
    T = panda.fk(panda.random_q(1, seed=0)[0])
    with pytest.raises(BrazoError, match="is out of its limits, -166"):
        panda.ik(T, redundancy=math.pi)
    with pytest.raises(BrazoError, match="finite"):
        panda.ik(T, redundancy=[0.0, math.nan])
    with pytest.raises(BrazoError, match="does not fit"):
        panda.ik(np.tile(T, (3, 1, 1)), redundancy=[0.0, 0.1])
    with pytest.raises(BrazoError, match="seven revolute joints"):
        brazo.load("puma560").ik(T, redundancy=0.0)
    far = T.copy()
    far[0, 3] = 50.0
    found = iiwa.ik(far, redundancy=0.0)
    assert not found.success
    assert "no branch reaches" in found.reason


def test_a_bad_target_of_many_is_named(panda):
    T = panda.fk(panda.random_q(1, seed=0)[0])
    targets = np.tile(T, (2, 3, 1, 1))
    targets[1, 2, 0, 0] += 0.1
    with pytest.raises(BrazoError, match=r"^target\[1, 2\]: .*not a pose"):
        panda.ik(targets, redundancy=0.0)
    with pytest.raises(BrazoError, match=r"^(?!target\[).*not a pose"):
        panda.ik(targets[1, 2], redundancy=[0.0, 0.1])


def test_an_unreachable_target_gives_a_configuration_within_the_limits(iiwa):
    T = np.eye(4)
    T[0, 3] = 50.0
    found = iiwa.ik(T, np.full(7, 10.0), redundancy=0.0)
    assert not found.success
    np.testing.assert_array_equal(found.q, iiwa.limits[:, 1])
    assert found.residual.position == pytest.approx(
        np.linalg.norm(iiwa.fk(found.q)[:3, 3] - T[:3, 3])
    )


def test_plain_calls_and_calls_with_options_give_the_same_solution(panda):
    q, T = samples(panda, 50)
    for i in range(50):
        plain, other = panda.ik(T[i], q[i - 1]), panda.ik(T[i], q[i - 1], seed=0)
        assert plain.success and other.success
        np.testing.assert_array_equal(plain.q, other.q)
        assert plain.residual.position < 1e-9
    skewed = T[0].copy()
    skewed[0, 0] += 0.1
    with pytest.raises(BrazoError, match="not a pose"):
        panda.ik(skewed)


def test_a_delta_has_no_redundancy() -> None:
    arm = brazo.load("delta")
    T = arm.fk(np.zeros(3))
    for given in (0.3, [0.0, 0.1]):
        with pytest.raises(brazo.BrazoError, match="'delta' has no redundancy parameter"):
            arm.ik(T, redundancy=given)
        with pytest.raises(brazo.BrazoError, match="'delta' has no redundancy parameter"):
            arm.ik_batch(T[None], redundancy=given)
    assert arm.ik(T, redundancy="nearest").success

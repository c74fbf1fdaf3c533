"""Joint rates for a velocity of the tool, against solvers of SciPy and invariants."""

import time

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import brazo

TWIST = np.array([0.1, 0.2, -0.1, 0.1, 0.0, 0.3])


@pytest.fixture(scope="module")
def puma():
    return brazo.load("puma560")


def test_regular_poses_get_the_exact_rates(puma):
    q = puma.poses["nominal"]
    expected = np.linalg.solve(puma.jacobian(q), TWIST)
    rates = puma.resolved_rate("nominal", TWIST)
    assert np.abs(rates.qd - expected).max() < 1e-13
    assert rates.scale == 1.0 and not rates.limited.any()
    solved = puma.differential_ik("nominal", TWIST, damping=1e-6)
    assert np.abs(solved.qd - expected).max() < 1e-9
    tool = puma.resolved_rate(q, TWIST, "tool")
    assert np.abs(puma.jacobian(q, "tool") @ tool.qd - TWIST).max() < 1e-13


def test_rates_stay_bounded_through_a_singularity(puma):
    """The wrist is singular at q5 = 0, where the exact rates are infinite."""
    q = np.repeat(puma.poses["nominal"][None], 2001, axis=0)
    q[:, 4] = np.linspace(-0.2, 0.2, 2001)
    twist = np.array([0.0, 0.0, 0.0, 0.3, 0.3, 0.3])
    rates = puma.resolved_rate(q, twist, damping=0.1, threshold=0.05)
    assert np.abs(rates.qd).max() < np.linalg.norm(twist) / 0.05  # 1/threshold
    fine, coarse = (np.abs(np.diff(x, axis=0)).max() for x in (rates.qd, rates.qd[::2]))
    assert fine < 0.55 * coarse  # continuous: half the step, half the change
    far = np.abs(q[:, 4]) > 0.15
    assert np.abs(rates.twist[far] - twist).max() < 1e-12


def test_too_fast_joints_slow_all_of_them_down(puma):
    q = puma.poses["nominal"]
    free = puma.resolved_rate(q, TWIST)
    most = 0.5 * np.abs(free.qd).max()
    rates = puma.resolved_rate(q, TWIST, max_speed=most)
    assert np.abs(rates.qd).max() == pytest.approx(most, rel=1e-15)
    assert np.abs(rates.twist - rates.scale * TWIST).max() < 1e-13  # the same direction
    assert rates.limited.tolist() == (np.abs(free.qd) >= most).tolist()


def test_no_joint_passes_a_limit():
    arm = brazo.load("panda")
    rng = np.random.default_rng(0)
    low, high = arm.limits.T
    q = np.where(rng.random((40, 7)) < 0.4, high - 1e-3, rng.uniform(low, high, (40, 7)))
    twist = rng.uniform(-0.5, 0.5, (40, 6))
    after = q + 0.02 * arm.resolved_rate(q, twist, dt=0.02).qd
    assert (after <= high + 1e-12).all() and (after >= low - 1e-12).all()
    solved = [arm.differential_ik(a, v, dt=0.02).qd for a, v in zip(q, twist, strict=True)]
    after = q + 0.02 * np.array(solved)
    assert (after <= high + 1e-12).all() and (after >= low - 1e-12).all()


def test_the_quadratic_program_as_bounded_least_squares_of_scipy():
    arm = brazo.load("panda")
    rng = np.random.default_rng(1)
    damping, weights = 0.05, np.array([4.0, 4.0, 4.0, 1.0, 1.0, 0.0])
    active = 0
    for _ in range(20):
        q = arm.random_q(seed=int(rng.integers(1000)))
        twist, most = rng.uniform(-1, 1, 6), rng.uniform(0.1, 1.0, 7)
        posture = q + rng.uniform(-0.5, 0.5, 7)
        rates = arm.differential_ik(
            q, twist, max_speed=most, weights=weights, damping=damping, posture=posture
        )
        root = np.sqrt(weights)
        A = np.vstack([root[:, None] * arm.jacobian(q), damping * np.eye(7)])
        b = np.concatenate([root * twist, damping * (posture - q)])
        low = np.maximum(-most, np.minimum((arm.limits[:, 0] - q) / 0.01, 0.0))
        high = np.minimum(most, np.maximum((arm.limits[:, 1] - q) / 0.01, 0.0))
        expected = lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x
        assert np.abs(rates.qd - expected).max() < 1e-7
        active += int(rates.limited.sum())
    assert active > 20


def test_positions_only_and_few_joints():
    arm = brazo.load("scara1")
    q = np.array([0.3, 0.7, 0.05, 0.2, 0.1])
    rates = arm.resolved_rate(q, [0.1, 0.05, 0.02])
    assert np.abs(rates.twist[:3] - [0.1, 0.05, 0.02]).max() < 1e-12


def test_batches_equal_single_calls(puma):
    q = puma.random_q(5, seed=2)
    batch = puma.resolved_rate(q, TWIST, max_speed=0.3)
    one = puma.resolved_rate(q[3], TWIST, max_speed=0.3)
    assert np.allclose(batch.qd[3], one.qd, rtol=0, atol=1e-13)
    assert batch.scale.shape == (5,)


def test_a_call_takes_less_than_100_microseconds(puma):
    q = puma.poses["nominal"]
    best = np.inf
    for _ in range(50):
        start = time.perf_counter()
        puma.differential_ik(q, TWIST)
        best = min(best, time.perf_counter() - start)
    assert best < 100e-6


def test_bad_input_is_named(puma):
    q = puma.poses["nominal"]
    with pytest.raises(brazo.BrazoError, match=r"twist has shape \(5,\)"):
        puma.resolved_rate(q, np.zeros(5))
    with pytest.raises(brazo.BrazoError, match=r"dt = 0.0 s"):
        puma.differential_ik(q, TWIST, dt=0.0)
    with pytest.raises(brazo.BrazoError, match=r"q has shape \(2, 6\)"):
        puma.differential_ik(np.stack([q, q]), TWIST)
    with pytest.raises(brazo.BrazoError, match="twist: every value must be finite"):
        puma.resolved_rate(q, np.full(6, np.nan))
    with pytest.raises(brazo.BrazoError, match="max_speed: every value must be above 0"):
        puma.resolved_rate(q, TWIST, max_speed=-1.0)
    with pytest.raises(brazo.BrazoError, match="weights"):
        puma.differential_ik(q, TWIST, weights=[-1, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_refused(puma, bad):
    q = puma.poses["nominal"]
    twist = np.array([*TWIST[:5], bad])
    for solve in (puma.resolved_rate, puma.differential_ik):
        with pytest.raises(brazo.BrazoError, match=r"^twist: every value must be finite"):
            solve(q, twist)
        for name in ("damping", "dt"):
            with pytest.raises(brazo.BrazoError, match=f"{name}: every value must be finite"):
                solve(q, TWIST, **{name: bad})
    with pytest.raises(brazo.BrazoError, match="threshold: every value must be finite"):
        puma.resolved_rate(q, TWIST, threshold=bad)
    for name, n in (("weights", 6), ("posture", 6)):
        with pytest.raises(brazo.BrazoError, match=f"{name}: every value must be finite"):
            puma.differential_ik(q, TWIST, **{name: [bad] * n})


def test_numbers_of_numpy_are_accepted(puma):
    q = puma.poses["nominal"]
    for solve in (puma.resolved_rate, puma.differential_ik):
        wanted = solve(q, TWIST, dt=0.5, damping=0.25).qd
        given = solve(q, TWIST, dt=np.float32(0.5), damping=np.float32(0.25)).qd
        assert np.array_equal(given, wanted)
        assert np.array_equal(solve(q, TWIST, dt=np.array(0.5), damping=0.25).qd, wanted)
        with pytest.raises(brazo.BrazoError, match=r"^dt: expected a number, got 'soon'"):
            solve(q, TWIST, dt="soon")
    assert np.isfinite(puma.resolved_rate(q, TWIST, max_speed=np.inf).qd).all()

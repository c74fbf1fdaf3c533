"""The regressor against Pinocchio and inverse dynamics; base parameters; identification."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from typer.testing import CliRunner

import brazo
from brazo.cli.main import app
from brazo.dynamics.tree import TreeDynamics
from brazo.model.description import frozen
from brazo.recording import Recording
from tests import oracles
from tests.dynamics.random_robots import random_robot

# Pinocchio's order of the inertia: xx, xy, yy, xz, yz, zz.
FROM_PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def states(n: int, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-1, 1, (count, n)),
        rng.uniform(-2, 2, (count, n)),
        rng.uniform(-5, 5, (count, n)),
    )


def test_columns_as_pinocchio():
    """With bodies whose frame is their joint's, the columns are the same."""
    model = random_robot(3, 5)
    bodies = [
        replace(body, joint=body.joint and replace(body.joint, after=frozen(np.eye(4))))
        for body in model.bodies
    ]
    model = replace(model, bodies=tuple(bodies))
    dynamics, engine = TreeDynamics(model), oracles.Pinocchio(model)
    for q, qd, qdd in zip(*states(5, 3), strict=True):
        theirs = engine.pin.computeJointTorqueRegressor(engine.robot, engine.data, q, qd, qdd)
        theirs = np.array(theirs).reshape(5, 5, 10)
        ours = dynamics.regressor(q, qd, qdd).reshape(5, 5, 10)
        assert np.abs(ours[..., FROM_PINOCCHIO] - theirs).max() < 1e-12 * np.abs(theirs).max()


@pytest.mark.parametrize("name", ["puma560-drives", "scara2", "delta"])
def test_torque_is_linear(name):
    arm = brazo.load(name)
    q, qd, qdd = states(arm.n, 4)
    tau = arm.regressor(0.3 * q, qd, qdd, drives=True) @ arm.dynamic_parameters(True).values
    expected = arm.inverse_dynamics(0.3 * q, qd, qdd)
    assert np.abs(tau - expected).max() < 1e-13 * np.abs(expected).max()


def test_many_joints_are_interpreted():
    dynamics = TreeDynamics(random_robot(14, 14))
    q, qd, qdd = states(14, 2)
    tau = dynamics.regressor(q, qd, qdd, True) @ dynamics.parameters(True).values
    expected = dynamics.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau - expected).max() < 1e-12 * np.abs(expected).max()


def test_base_parameters_of_the_puma():
    """36 are known from the literature (Mayeda, Khalil); they give the torques, and no fewer do."""
    arm = brazo.load("puma560")
    base = arm.base_parameters()
    assert len(base) == 36
    q, qd, qdd = states(6, 100, seed=1)
    Y = arm.regressor(q, qd, qdd)
    expected = arm.inverse_dynamics(q, qd, qdd)
    assert np.abs(Y[..., base.columns] @ base.values - expected).max() < 1e-12 * 100
    assert np.linalg.matrix_rank(Y.reshape(-1, 60)) == 36
    assert "link 6 Ixx − link 6 Iyy" in base.combinations
    assert base.names[base.combinations.index("link 6 Ixx − link 6 Iyy")] == "link 6 Ixx*"


# -- identification -------------------------------------------------------------------------------


def exciting_motion(n: int, t: np.ndarray, seed: int = 0):
    """A Fourier series of five harmonics of 0.1 Hz in each joint."""
    rng = np.random.default_rng(seed)
    k = np.arange(1, 6)
    w = 2 * np.pi * 0.1 * k
    a, b = rng.uniform(-1, 1, (2, n, 5)) / k
    s, c = np.sin(np.outer(w, t)), np.cos(np.outer(w, t))
    q = a @ s + b @ c
    qd = (a * w) @ c - (b * w) @ s
    qdd = -(a * w**2) @ s - (b * w**2) @ c
    return q.T, qd.T, qdd.T


@pytest.fixture(scope="module")
def puma():
    arm = brazo.load("puma560-drives")
    t = np.arange(0.0, 20.0, 0.02)
    q, qd, qdd = exciting_motion(6, t)
    return arm, t, q, qd, qdd, arm.inverse_dynamics(q, qd, qdd)


def test_exact_data_give_the_parameters_of_the_file(puma):
    arm, _, q, qd, qdd, tau = puma
    found = brazo.identify(arm, {"q": q, "qd": qd, "qdd": qdd, "tau": tau})
    assert np.abs(found.values - found.parameters.values).max() < 1e-10
    assert found.condition < 100 and found.residuals.shape == (1000, 6)


def test_estimates_lie_within_the_stated_confidence(puma):
    """Over several recordings with noise, errors have the estimated covariance."""
    arm, _, q, qd, qdd, tau = puma
    rng = np.random.default_rng(1)
    level = 0.02 * np.abs(tau).max(axis=0)
    inside, white, count, correlation = [], [], 4, np.eye(1)
    for _ in range(count):
        noisy = tau + level * rng.standard_normal(tau.shape)
        found = brazo.identify(arm, {"q": q, "qd": qd, "qdd": qdd, "tau": noisy})
        error = found.values - found.parameters.values
        inside.append(np.abs(error) < 2 * found.std)
        white.append(np.linalg.solve(np.linalg.cholesky(found.covariance), error))
        assert np.abs(found.noise / level - 1).max() < 0.09
        correlation = found.covariance / np.outer(found.std, found.std)
    # The share of errors within two standard deviations is p on average.  Two events |x| < 2 of
    # normal variables with correlation ρ have a covariance of at most ρ² p (1 − p): its series in
    # Hermite polynomials has even powers of ρ only.  That bounds the deviation of the share, which
    # is as that of so many independent estimates:
    p = chi2.cdf(4.0, 1)
    independent = count * len(correlation) ** 2 / (correlation**2).sum()
    assert abs(np.mean(inside) - p) < 3 * np.sqrt(p * (1 - p) / independent)
    # Decorrelated, the errors are standard normal and independent.
    z = np.concatenate(white)
    assert abs(np.mean(np.abs(z) < 2) - p) < 3 * np.sqrt(p * (1 - p) / len(z))
    assert chi2.ppf(0.001, len(z)) < z @ z < chi2.ppf(0.999, len(z))


def test_positions_alone_are_differentiated(puma, tmp_path):
    """A recording of encoders and torques, both with noise, read from its file."""
    arm, t, q, _, _, tau = puma
    rng = np.random.default_rng(2)
    q = q + 1e-5 * rng.standard_normal(q.shape)
    tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
    columns = {"t": (t, "s")}
    for label, values, unit in (("q", q, "rad"), ("torque", tau, "N m")):
        for i, joint in enumerate(arm.joint_names):
            columns[f"{arm.name}.{label}.{joint}"] = (values[:, i], unit)
    file = tmp_path / "run.parquet"
    Recording(columns).to(file)
    found = brazo.identify(arm, file, cutoff=5.0)
    error = found.values - found.parameters.values
    # The sign of the friction is uncertain where a joint turns around, which no model of
    # independent noise covers: a few parameters may be farther off.
    assert np.mean(np.abs(error) < 2 * found.std) > 0.85
    words = ["identify", str(file), "--robot", "puma560-drives", "--cutoff", "5", "--json"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0
    assert np.allclose(json.loads(shown.stdout)["values"], found.values, rtol=1e-9, atol=1e-12)


def test_bad_data_are_refused(puma):
    arm, _, q, qd, qdd, tau = puma
    still = np.zeros_like(q)
    with pytest.raises(brazo.BrazoError, match="does not excite"):
        brazo.identify(arm, {"q": q, "qd": still, "qdd": still, "tau": tau})
    with pytest.raises(brazo.BrazoError, match="too few"):
        brazo.identify(arm, {"q": q[:9], "qd": qd[:9], "qdd": qdd[:9], "tau": tau[:9]})
    with pytest.raises(brazo.BrazoError, match=r"tau has shape \(1000, 5\)"):
        brazo.identify(arm, {"q": q, "qd": qd, "qdd": qdd, "tau": tau[:, :5]})
    with pytest.raises(brazo.BrazoError, match="have no times t"):
        brazo.identify(arm, {"q": q, "tau": tau})
    with pytest.raises(brazo.BrazoError, match="positions q and torques tau"):
        brazo.identify(arm, {"q": q})

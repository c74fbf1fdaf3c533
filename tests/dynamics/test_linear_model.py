"""Linear models against differences, and an LQR design of python-control in the simulation."""

import sys

import control
import numpy as np
import pytest
from scipy.linalg import expm

import brazo

STEP = 1e-4


def flow(arm, x, tau):
    q, qd = np.split(x, 2)
    return np.concatenate([qd, arm.forward_dynamics(q, qd, tau)])


def differences(function, x):
    def slope(step):
        return np.array(
            [(function(x + e) - function(x - e)) / (2 * step) for e in step * np.eye(len(x))]
        ).T

    return (4 * slope(STEP / 2) - slope(STEP)) / 3


@pytest.mark.parametrize("name", ["puma560-drives", "delta"])
def test_equal_to_differences(name):
    arm = brazo.load(name)
    rng = np.random.default_rng(0)
    q = next(iter(arm.poses.values())) + 0.1 * rng.uniform(-1, 1, arm.n)
    qd, tau = 0.3 * rng.uniform(0.1, 1, (2, arm.n))
    A, B = model = arm.linearize(q, qd, tau)
    x = np.concatenate([q, qd])
    expected = differences(lambda x: flow(arm, x, tau), x)
    assert np.abs(A - expected).max() < 1e-8 * np.abs(expected).max()
    expected = differences(lambda u: flow(arm, x, u), tau)
    assert np.abs(B - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.allclose(model.qdd, flow(arm, x, tau)[arm.n :], rtol=1e-12, atol=0)


def test_defaults_are_an_equilibrium():
    arm = brazo.load("puma560")
    model = arm.linearize("nominal")
    assert np.array_equal(model.q, arm.poses["nominal"])
    assert np.allclose(model.tau, arm.gravity(model.q), atol=1e-13)
    assert np.abs(model.qdd).max() < 1e-10
    assert not model.qd.any()


def test_batches():
    arm = brazo.load("puma560")
    q = arm.random_q((2, 3), seed=0)
    A, B = arm.linearize(q)
    assert A.shape == (2, 3, 12, 12) and B.shape == (2, 3, 12, 6)
    one = arm.linearize(q[1, 2])
    assert np.array_equal(A[1, 2], one.A) and np.array_equal(B[1, 2], one.B)
    with pytest.raises(brazo.BrazoError, match=r"batch of shape \(2, 3\)"):
        arm.linearize(q).to_control()


def test_an_lqr_of_python_control_stabilises_the_simulation():
    """At the pose 'nominal' the Puma falls; with the gain it returns as the linear model
    predicts."""
    arm = brazo.load("puma560")
    q0 = arm.poses["nominal"]
    model = arm.linearize(q0)
    system = model.to_control()
    assert system.nstates == 12 and system.ninputs == 6
    assert system.input_labels[0] == f"{arm.joint_names[0]} torque"
    assert control.poles(system).real.max() > 1.0  # unstable without control
    # Weights for about 10 rad/s in every joint, from the waist's 4 kg m² to the wrist's 4e-5.
    effort = np.diag(arm.mass_matrix(q0)) * 10.0**2
    K, _, poles = control.lqr(system, np.diag([1.0] * 6 + [0.02] * 6), np.diag(effort**-2))
    assert poles.real.max() < -3.0
    start = q0 + 0.01 * np.array([1, -1, 1, -1, 1, -1])

    def torque(t, q, qd):
        return model.tau - K @ np.concatenate([q - q0, qd])

    run = arm.simulate(torque, start, t_end=2.0, dt=2e-3)
    off = np.abs(run.q - q0).max(axis=1)
    assert off[-1] < 0.01 * off[0]  # five time constants
    # Near the pose the motion is that of the linear model.
    x = expm(0.1 * (model.A - model.B @ K)) @ np.concatenate([start - q0, np.zeros(6)])
    at = int(np.argmin(np.abs(run.t - 0.1)))
    assert np.abs(run.q[at] - q0 - x[:6]).max() < 0.02 * off[0]
    free = arm.simulate(model.tau, start, t_end=2.0, dt=2e-3)
    assert np.abs(free.q[-1] - q0).max() > 10 * off[0]


def test_without_python_control(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    arm = brazo.load("puma560")
    with pytest.raises(brazo.BrazoError, match=r"pip install .brazo\[control\]"):
        arm.linearize(np.zeros(6)).to_control()

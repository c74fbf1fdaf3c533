"""LQR: the linear model is the robot's, the closed loop has the poles of theory."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.codegen import Graph
from brazo.codegen.derivative import derivative
from brazo.codegen.evaluation import evaluate
from brazo.control import LQR, Reference, track
from brazo.control.equations import equations_of


def differences(f, x, h=1e-5):
    """Central differences of a vector function."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]).T


def rate_of(arm, law):
    """ẋ of the robot with the controller holding its pose."""
    n, goal = arm.n, law._about
    reference = Reference(goal, np.zeros(n), np.zeros(n))

    def rate(x):
        tau = law.torque(0.0, x[:n], x[n:], reference)
        return np.concatenate([x[n:], arm.forward_dynamics(x[:n], x[n:], tau)])

    return rate


@pytest.mark.parametrize("pose", ["nominal", "ready"])
def test_linear_model_against_differences_and_exact_derivatives(puma, pose):
    law = LQR(pose)
    law.bind(puma, 1e-3)
    model, n = law.linearisation(), 6
    x = np.concatenate([puma.poses[pose], np.zeros(n)])

    def rate(x):
        return np.concatenate([x[n:], puma.forward_dynamics(x[:n], x[n:], model.tau)])

    assert np.abs(rate(x)).max() < 1e-9
    numeric = differences(rate, x)
    assert np.abs(numeric - model.A).max() < 1e-6 * np.abs(model.A).max()
    g = Graph()
    q = g.inputs("q", n)
    G = equations_of(puma.model).gravity(q)
    columns = [evaluate(derivative(G, q[k]), {"q": x[:n].tolist()}) for k in range(n)]
    exact = -np.linalg.solve(puma.mass_matrix(x[:n]), np.array(columns, dtype=float).T)
    assert np.abs(exact - model.A[n:, :n]).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(model.B[n:] @ puma.mass_matrix(x[:n]) - np.eye(n)).max() < 1e-9


@pytest.mark.parametrize("feedforward", ["none", "gravity", "full"])
def test_closed_loop_has_the_poles_of_linear_theory(puma, feedforward):
    law = LQR("nominal", feedforward=feedforward)
    law.bind(puma, 1e-3)
    model = law.linearisation()
    theory = np.sort_complex(np.linalg.eigvals(model.A - model.B @ law.feedback()))
    assert theory.real.max() < 0.0
    x = np.concatenate([puma.poses["nominal"], np.zeros(6)])
    actual = np.sort_complex(np.linalg.eigvals(differences(rate_of(puma, law), x)))
    assert actual.real.max() < 0.0
    assert np.abs(actual - theory).max() < 1e-4 * np.abs(theory).max()


def test_friction_is_in_the_linear_model(tmp_path):
    import brazo

    path = tmp_path / "damped.yaml"
    path.write_text(
        "name: damped\njoints:\n"
        "  - {name: hub, mass: 2, inertia: [0.1, 0.1, 0.5],\n"
        "     friction: {viscous: 3.0, coulomb: 1.0, smooth: 0.1}}\n",
        encoding="utf-8",
    )
    arm = brazo.load(path)
    law = LQR()
    law.bind(arm, 1e-3)
    assert law.linearisation().A[1, 1] == pytest.approx(-(3.0 + 1.0 / 0.1) / 0.5)


def test_lone_joint_gets_the_gains_of_the_textbook(wheel):
    """m q̈ = u with cost qw q² + vw q̇² + rw u²: kp = √(qw/rw), kd = √(vw/rw + 2 m kp)."""
    law = LQR(q_weight=9.0, qd_weight=2.0, tau_weight=0.25)
    law.bind(wheel, 1e-3)
    kp = np.sqrt(9.0 / 0.25)
    kd = np.sqrt(2.0 / 0.25 + 2.0 * 0.5 * kp)
    assert law.feedback() == pytest.approx(np.array([[kp, kd]]), rel=1e-9)
    law = LQR(wn=10.0, zeta=0.9)
    law.bind(wheel, 1e-3)
    assert law.feedback() == pytest.approx(
        np.array([[0.5 * 100.0, 2 * 0.9 * 0.5 * 10.0]]), rel=1e-9
    )


def test_small_deviations_decay_as_the_linear_system(puma):
    from scipy.linalg import expm

    law, goal = LQR("nominal", wn=10.0, feedforward="none"), np.array(puma.poses["nominal"])
    x0 = 1e-5 * np.array([1, -1, 2, 1, -2, 1.0])
    result = track(puma, law, lambda t: (goal, 0 * goal, 0 * goal), 0.5, 1e-4, q0=goal + x0)
    model = law.linearisation()
    A = model.A - model.B @ law.feedback()
    for k in (500, 2000, 5000):
        x = expm(A * result.run.t[k]) @ np.concatenate([x0, np.zeros(6)])
        assert np.abs(result.run.q[k] - goal - x[:6]).max() < 2e-8


def test_weights_solve_again_and_load_is_known(puma):
    law = LQR("nominal")
    law.bind(puma, 1e-3)
    before = law.feedback()
    law.gains["tau_weight"] = 100.0 * law.gains["tau_weight"]
    assert np.linalg.norm(law.feedback()) < np.linalg.norm(before)
    loaded = LQR("nominal")
    loaded.bind(puma.with_payload(2.0, (0, 0, 0.1)), 1e-3)
    law.payload(2.0, (0, 0, 0.1))
    assert np.allclose(law.linearisation().A, loaded.linearisation().A, atol=1e-9)
    assert np.allclose(
        law.linearisation().tau, puma.with_payload(2.0, (0, 0, 0.1)).gravity(puma.poses["nominal"])
    )

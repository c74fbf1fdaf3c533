"""PID: the linear theory of a lone joint, the filter, the feed-forward, and windup."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.control import PID, Reference, track


def hold(q):
    q = np.atleast_1d(np.array(q, dtype=float))
    return lambda t: (q, 0 * q, 0 * q)


def inertia(wheel) -> float:
    return float(wheel.mass_matrix(np.zeros(1))[0, 0])


def test_step_response_is_that_of_the_sampled_linear_loop(wheel):
    """Against the exact solution of a sampled double integrator, worked out step by step here."""
    m, dt, goal = inertia(wheel), 1e-3, 0.02
    law = PID(kp=40.0, ki=60.0, kd=9.0, tf=4e-3, kt=0.0)
    result = track(wheel, law, hold(goal), 2.0, dt, q0=[0.0])
    assert not result.saturated.any()
    q = v = integral = d = 0.0
    rows = []
    for _ in range(2001):
        e, rate = goal - q, -v
        d += dt / (4e-3 + dt) * (rate - d)
        tau = 40.0 * e + integral + 9.0 * d
        rows.append((q, tau))
        integral += dt * 60.0 * e
        q, v = q + dt * v + 0.5 * dt**2 * tau / m, v + dt * tau / m
    expected = np.array(rows)
    assert np.abs(result.run.q[:, 0] - expected[:, 0]).max() < 1e-13
    assert np.abs(result.run.tau[:, 0] - expected[:, 1]).max() < 1e-11


def test_default_gains_place_the_poles(wheel):
    m, wn, zeta, alpha = inertia(wheel), 12.0, 0.8, 0.25
    law = PID(wn, zeta, alpha)
    law.bind(wheel, 1e-3)
    kp, ki, kd = (law.gains[key, 0] for key in ("kp", "ki", "kd"))
    poles = np.sort_complex(np.roots([m, kd, kp, ki]))
    pair = wn * (-zeta + 1j * np.sqrt(1 - zeta**2))
    expected = np.sort_complex([-alpha * wn, pair, np.conj(pair)])
    assert poles == pytest.approx(expected, rel=1e-9)
    assert law.gains["kt", 0] == pytest.approx(np.sqrt(ki / kd))


def test_integral_removes_gravity(puma):
    result = track(puma, PID(), hold(puma.poses["nominal"]), 3.0)
    assert np.abs(result.error[-1]).max() < 2e-5
    assert np.abs(result.error).max() > 1e-3  # it did sag at first


@pytest.mark.parametrize(("kind", "sag"), [("gravity", 1e-10), ("full", 1e-10)])
def test_feedforward_of_gravity_needs_no_integral(puma, kind, sag):
    result = track(puma, PID(feedforward=kind), hold(puma.poses["nominal"]), 0.5)
    assert np.abs(result.error).max() < sag


@pytest.mark.parametrize("windup", ["back-calculation", "clamping", "none"])
def test_torque_is_exactly_the_limit_while_saturated(wheel, windup):
    result = track(wheel, PID(wn=20.0, windup=windup), hold(2.0), 1.5, q0=[0.0])
    tau, saturated = result.run.tau[:, 0], result.saturated[:, 0]
    assert saturated[:100].all() and result.saturation[0] > 0.1
    assert set(np.abs(tau[saturated])) == {5.0}
    assert (np.abs(tau[~saturated]) <= 5.0).all()
    assert result.torque_use[0] == 1.0


def test_anti_windup_recovers(wheel):
    """A step the drive cannot follow: without anti-windup the integral throws the joint past it."""

    def overshoot(windup: str) -> float:
        result = track(wheel, PID(wn=20.0, windup=windup), hold(2.0), 4.0, q0=[0.0])
        return float(result.run.q.max() - 2.0)

    none, back, clamp = map(overshoot, ("none", "back-calculation", "clamping"))
    assert back < 0.5 * none and clamp < 0.5 * none
    end = track(wheel, PID(wn=20.0), hold(2.0), 4.0, q0=[0.0])
    assert abs(end.error[-1, 0]) < 1e-6
    assert not end.saturated[-500:].any()


def test_integral_stays_bounded_at_the_limit(wheel):
    """A joint pushed against its limit for long: the integral stays bounded."""
    law = PID(wn=20.0)
    law.bind(wheel, 1e-3)
    far = Reference(np.array([10.0]), np.zeros(1), np.zeros(1))
    seen = []
    for _ in range(20_000):
        law.torque(0.0, np.zeros(1), np.zeros(1), far)
        seen.append(law.state["integral"][0])
    bound = law.gains["ki", 0] * 10.0 / law.gains["kt", 0]
    assert abs(seen[-1]) < 1.01 * (bound + law.gains["kp", 0] * 10.0)
    assert abs(seen[-1] - seen[-2]) < 1e-9


def test_changing_ki_does_not_make_the_arm_jump(puma):
    law = PID(kd=0.0, kp=0.0, ki=50.0)
    law.bind(puma, 1e-3)
    goal = Reference(np.full(6, 0.1), np.zeros(6), np.zeros(6))
    before = [law.torque(0.0, np.zeros(6), np.zeros(6), goal) for _ in range(10)][-1]
    law.gains["ki"] = 500.0
    after = law.torque(0.0, np.zeros(6), np.zeros(6), goal)
    assert np.abs(after - before).max() == pytest.approx(1e-3 * 50.0 * 0.1)

"""The adaptive controller: decreasing Lyapunov function, decreasing errors, finite values."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import Adaptive, Reference, track
from brazo.control.benchmark import sines


def run_with_lyapunov(arm, law, path, steps, dt, q, qd):
    """V along a run of the exact robot with the controller, and the power sᵀKs that reduces it."""
    law.bind(arm, dt)
    law.reset(q, qd)
    true, slope = law.regressor.values, law.gains["slope"]
    V, power, h = [], [], np.array([dt])
    for k in range(steps):
        r = Reference(*path(k * dt))
        s = (qd - r.qd) - slope * (r.q - q)
        miss = law.state["estimate"] - true
        gamma = law.adaptation()
        V.append(0.5 * s @ arm.mass_matrix(q) @ s + 0.5 * (miss**2 / gamma).sum())
        power.append((law.gains["kd"] * s**2).sum())
        q, qd = arm.dynamics.rk4_step(q, qd, law.torque(k * dt, q, qd, r), h)
    return np.array(V), np.array(power)


@pytest.mark.parametrize("name", ["puma560", "scara2", "delta"])
def test_lyapunov_function_falls_by_the_damping(name):
    arm = brazo.load(name)
    law, path, dt, steps = Adaptive(wn=8.0, known=0.7, rate=1.0), sines(arm), 1e-4, 4000
    q, qd, _ = path(0.0)
    V, power = run_with_lyapunov(arm, law, path, steps, dt, q, qd)
    fallen = V[0] - V[-1]
    assert fallen > 0.0
    # Holding torque and estimate for dt costs a share of order wn·dt of the fall.
    assert (np.diff(V) < 1e-2 * power[:-1].max() * dt).all()
    assert fallen == pytest.approx((power[:-1] * dt).sum(), rel=0.02)


def test_adaptation_reduces_the_error_of_an_unknown_load(puma):
    heavy, path = puma.with_payload(0.5, (0.0, 0.0, 0.05)), sines(puma)
    learning = track(heavy, Adaptive(), path, 6.0, model=puma)
    fixed = track(heavy, Adaptive(rate=0.0), path, 6.0, model=puma)

    def rms(result, start, stop):
        rows = (result.run.t >= start) & (result.run.t < stop)
        return float(np.sqrt((result.error[rows] ** 2).mean()))

    assert rms(learning, 4.0, 6.0) < 0.2 * rms(learning, 0.0, 2.0)
    assert rms(learning, 4.0, 6.0) < 0.05 * rms(fixed, 4.0, 6.0)
    assert rms(fixed, 4.0, 6.0) == pytest.approx(rms(fixed, 2.0, 4.0), rel=0.2)


def test_zero_initial_estimate_stays_finite(scara):
    law = Adaptive(known=0.0, rate=50.0)
    result = track(scara, law, sines(scara), 10.0, dt=1e-3)
    halves = np.abs(result.error[:2000]).max(), np.abs(result.error[-2000:]).max()
    assert halves[1] < 0.2 * halves[0]
    assert np.isfinite(law.state["estimate"]).all()
    size = law.regressor.size
    assert (np.abs(law.state["estimate"]) < 10.0 * size).all()


def test_projection_keeps_estimates_in_their_box(puma):
    heavy = puma.with_payload(5.0, (0.0, 0.0, 0.2))
    law = Adaptive(bound=0.02, rate=20.0)
    track(heavy, law, sines(puma), 1.0, model=puma)
    away = np.abs(law.state["estimate"] - law.regressor.values) / law.regressor.size
    assert away.max() == pytest.approx(0.02, rel=1e-9)
    free = Adaptive(rate=20.0)
    track(heavy, free, sines(puma), 1.0, model=puma)
    beyond = np.abs(free.state["estimate"] - free.regressor.values) / free.regressor.size
    assert beyond.max() > 0.02


def test_saturated_joint_stops_adaptation(wheel):
    law = Adaptive()
    law.bind(wheel, 1e-3)
    before = law.state["estimate"]
    far = Reference(np.array([100.0]), np.zeros(1), np.zeros(1))
    law.torque(0.0, np.zeros(1), np.zeros(1), far)
    assert law.saturated.all()
    assert np.array_equal(law.state["estimate"], before)


@pytest.mark.parametrize("options", [{"known": -1.0}, {"known": np.nan}, {"bound": 0.0}])
def test_bad_options_are_refused(options):
    with pytest.raises(brazo.BrazoError, match="Adaptive: "):
        Adaptive(**options)

"""Machine code, the same controller on floats, and in a native loop agree."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import Reference, controller_loop, controllers, track
from brazo.control.benchmark import quintic, sines
from tests.control.test_base import NAMES, Spring, fresh

LAWS = {name: controllers()[name] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_compiled_controller_equals_python_evaluation(any_robot, name):
    arm = any_robot
    law = fresh(name, arm)
    law.payload(1.5, (0.01, -0.02, 0.05), (1e-3, 2e-3, 3e-3))
    rng = np.random.default_rng(4)
    for _ in range(5):
        q = arm.random_q(seed=int(rng.integers(1000)))
        qd, rd, rdd = rng.uniform(-1, 1, (3, arm.n))
        goal = Reference(q + rng.uniform(-0.1, 0.1, arm.n), rd, rdd)
        inputs = [v.tolist() for v in (q, qd, *goal, *law._inputs)]
        tau, wanted, state = law.compiled.step(*inputs)
        assert law.command(0.0, q, qd, goal) == wanted
        scale = np.abs(law.gains.vector).max() * 0.1 + np.abs(wanted).max()
        assert np.abs(law.torque(0.0, q, qd, goal) - tau).max() <= 1e-14 * scale
        assert np.abs(law.wanted - wanted).max() <= 1e-14 * scale
        if state:
            now = np.concatenate(list(law.state.values()))
            size = max(np.abs(now).max(), 1.0)
            assert np.abs(now - state).max() <= 1e-13 * size


@pytest.mark.parametrize("name", NAMES)
def test_native_loop_gives_the_bits_of_the_loop_in_python(scara, name):
    one, two = fresh(name, scara), fresh(name, scara)
    a = track(scara, one, sines(scara), 0.3, substeps=2, q0=scara.poses["home"])
    b = track(scara, two, sines(scara), 0.3, substeps=2, q0=scara.poses["home"], native=True)
    assert np.array_equal(a.run.q, b.run.q)
    assert np.array_equal(a.run.qd, b.run.qd)
    assert np.array_equal(a.run.tau, b.run.tau)
    assert np.array_equal(a.saturated, b.saturated)
    assert all(np.array_equal(v, two.state[k]) for k, v in one.state.items())


def test_native_loop_runs_many_gains_at_once(scara):
    law = LAWS["ComputedTorque"]()
    law.bind(scara, 1e-3)
    loop = controller_loop(law.compiled, scara)
    wn = np.array([10.0, 25.0, 60.0])
    ones, start = np.ones((3, 5)), np.array(scara.poses["home"])
    gains = np.concatenate([wn[:, None] ** 2 * ones, 2 * wn[:, None] * ones, 0 * ones], axis=1)
    goal = {
        "reference_q": [start + 0.05],
        "reference_qd": [0 * start],
        "reference_qdd": [0 * start],
    }
    x = np.concatenate([start, np.zeros(10)])
    run = loop(200, x=x, **goal, **{**law.fixed, "gains": gains})
    e = np.abs(start + 0.05 - run.x[:, :5]).max(axis=1)
    assert e[0] > e[1] > e[2]
    t = 0.2
    assert e[:2] == pytest.approx(0.05 * (1 + wn[:2] * t) * np.exp(-wn[:2] * t), rel=0.05)


def test_native_loop_needs_a_compiled_controller(scara):
    with pytest.raises(brazo.BrazoError, match="Spring is a controller in Python"):
        track(scara, Spring(), quintic(scara), 0.01, native=True)


@pytest.mark.parametrize("native", [False, True])
def test_diverging_loop_is_stopped(puma, native):
    law = LAWS["ComputedTorque"](wn=3000.0)
    with pytest.raises(brazo.BrazoError, match=r"joint \d \(.*\) .*(is not finite|is -?(inf|nan))"):
        track(puma, law, sines(puma), 1.0, native=native, q0=puma.poses["ready"])


@pytest.mark.parametrize("name", NAMES)
def test_payload_is_used_by_model_based_controllers(puma, name):
    """A controller with a known load equals one bound to the loaded robot."""
    if name in ("PID", "Adaptive", "LQR"):
        return  # no model, learns it, and linearises with it (its own test)
    load = (2.0, (0.01, 0.02, 0.1), (0.01, 0.02, 0.03))
    reported, made = fresh(name, puma), LAWS[name]()
    reported.payload(*load)
    made.bind(puma.with_payload(*load), 1e-3)
    for gain in reported.gains:
        made.gains[gain] = reported.gains[gain]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, qd, rdd = rng.uniform(-1, 1, (3, 6))
        goal = Reference(q + 0.1, qd + 0.1, rdd)
        assert np.allclose(
            reported.torque(0.0, q, qd, goal), made.torque(0.0, q, qd, goal), rtol=1e-12, atol=1e-12
        )
    reported.payload(0.0)
    light = fresh(name, puma)
    assert np.array_equal(reported.torque(0.0, q, qd, goal), light.torque(0.0, q, qd, goal))


def test_bad_loads_are_refused(puma):
    law = LAWS["ComputedTorque"]()
    law.bind(puma, 1e-3)
    for load in ((-1.0,), (np.nan,), (1.0, (0, 0)), (1.0, (0, 0, 0), (1, 2)), ("heavy",)):
        with pytest.raises(brazo.BrazoError, match="payload:"):
            law.payload(*load)

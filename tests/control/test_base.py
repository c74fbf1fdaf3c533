"""Behaviour common to all controllers: checks, limits, gains, copies."""

from __future__ import annotations

import copy
import pickle
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import brazo
from brazo.control import PID, ComputedTorque, Controller, Gain, Reference, controllers

NAMES = ["Adaptive", "CartesianImpedance", "ComputedTorque", "LQR", "PDGravity", "PID"]
NAMES += ["SlidingMode"]
DT = 1e-3


class Spring(Controller):
    """A controller in plain Python."""

    GAINS = (Gain("k", "spring", ("N m/rad", "N/m")),)

    def __init__(self, k=10.0) -> None:
        super().__init__(k=k)

    def command(self, t, q, qd, reference):
        return self.gains["k"] * (reference.q - q)


def at_rest(q) -> Reference:
    return Reference(np.array(q, dtype=float), np.zeros(len(q)), np.zeros(len(q)))


def bound(law: Controller, robot, dt=DT) -> Any:
    law.bind(robot, dt)
    return law


@lru_cache
def _ready(name: str, robot: brazo.Robot) -> Controller:
    return bound(controllers()[name](), robot)


def fresh(name: str, robot: brazo.Robot) -> Any:
    """An independent controller with its default gains; bound once and copied."""
    return copy.copy(_ready(name, robot))


def test_every_controller_is_listed_and_new_ones_are_registered():
    assert set(NAMES) <= set(controllers())
    assert controllers()["Spring"] is Spring
    assert "CompiledController" not in controllers()


def test_python_controller_is_checked_and_limited(scara):
    law = bound(Spring([1e4, 10, 10, 10, 10]), scara)
    q = scara.poses["home"]
    tau = law.torque(0.0, q, np.zeros(5), at_rest(q + 0.1))
    assert tau[0] == 60.0 and np.allclose(tau[1:], 1.0, rtol=1e-12)
    assert law.saturated.tolist() == [True, False, False, False, False]
    assert law.wanted[0] == pytest.approx(1000.0)


def test_invalid_torques_of_a_python_controller_are_rejected(scara):
    class Wrong(Spring):
        def command(self, t, q, qd, reference):
            return self.answer

    law = bound(Wrong(), scara)
    q = scara.poses["home"]
    for answer, words in (([1.0], "shape"), ([0, 0, np.nan, 0, 0], r"joint 3 \(forearm\) is nan")):
        law.answer = answer
        with pytest.raises(brazo.BrazoError, match=words):
            law.torque(0.0, q, q, at_rest(q))


@pytest.mark.parametrize("name", [*NAMES, "Spring"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nonfinite_values_are_rejected(puma, name, bad):
    law = fresh(name, puma)
    q = np.array(puma.poses["nominal"])
    good = [q, np.zeros(6), *at_rest(q)]
    before = law.state if hasattr(law, "state") else {}
    words = ("q of", "qd of", "reference q of", "reference qd of", "reference qdd of")
    for k, what in enumerate(words):
        signals = [x.copy() for x in good]
        signals[k][2] = bad
        with pytest.raises(
            brazo.BrazoError, match=rf"{name}: {what} joint 3 \(elbow\) is -?(nan|inf)"
        ):
            law.torque(0.0, signals[0], signals[1], Reference(*signals[2:]))
    for key, value in before.items():
        assert (law.state[key] == value).all()
    assert np.isfinite(law.torque(0.0, good[0], good[1], Reference(*good[2:]))).all()


@pytest.mark.parametrize("name", [*NAMES, "Spring"])
def test_shapes_and_types_are_named(puma, name):
    law = fresh(name, puma)
    q = np.array(puma.poses["nominal"])
    with pytest.raises(brazo.BrazoError, match=r"q has shape \(5,\); expected \(6,\)"):
        law.torque(0.0, q[:5], q, at_rest(q))
    with pytest.raises(brazo.BrazoError, match=r"expected brazo\.control\.Reference"):
        law.torque(0.0, q, q, q)
    with pytest.raises(brazo.BrazoError, match="not an array of numbers"):
        law.torque(0.0, ["a"] * 6, q, at_rest(q))
    lists = law.torque(0.0, q.tolist(), [0] * 6, Reference(q.tolist(), [0] * 6, [0] * 6))
    law.reset(q, np.zeros(6))
    assert np.allclose(lists, law.torque(0.0, q, np.zeros(6), at_rest(q)), atol=1e-12)


@pytest.mark.parametrize("name", [*NAMES, "Spring"])
def test_unbound_controller_is_reported(name, puma):
    law, q = controllers()[name](), np.zeros(6)
    for call in (
        lambda: law.torque(0.0, q, q, at_rest(q)),
        lambda: law.gains,
        lambda: law.reset(q, q),
        lambda: law.parameters(),
    ):
        with pytest.raises(brazo.BrazoError, match=rf"{name} is not bound to a robot"):
            call()
    for dt in (0.0, -1e-3, np.nan, "fast"):
        with pytest.raises(brazo.BrazoError, match=f"{name}: dt is "):
            law.bind(puma, dt)


def test_a_robot_without_inertia_is_refused():
    arm = brazo.load("pegasus")
    with pytest.raises(brazo.BrazoError, match="kinematic only"):
        ComputedTorque().bind(arm, DT)


def test_a_torque_that_overflows_is_refused(puma):
    law = bound(PID(kp=1e200, ki=0.0, kd=0.0), puma)
    q = np.zeros(6)
    with pytest.raises(brazo.BrazoError, match=r"the torque of joint 1 \(waist\) is inf"):
        law.torque(0.0, q, q, at_rest(np.full(6, 1e200)))


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_independent(puma, name):
    law = fresh(name, puma)
    q, r = np.array(puma.poses["nominal"]), at_rest(np.array(puma.poses["nominal"]) + 0.02)
    for _ in range(3):
        law.torque(0.0, q, q * 0.01, r)
    twin, other = copy.copy(law), copy.deepcopy(law)
    for gain in law.gains:
        law.gains[gain] = 2.0 * law.gains[gain]
    law.payload(3.0, (0.0, 0.0, 0.1))
    changed = [law.torque(0.0, q, q * 0.01, r) for _ in range(3)]
    first = [twin.torque(0.0, q, q * 0.01, r) for _ in range(3)]
    second = [other.torque(0.0, q, q * 0.01, r) for _ in range(3)]
    assert np.array_equal(first, second)
    assert not np.array_equal(changed, first)
    assert twin.robot is puma and twin.compiled is law.compiled


@pytest.mark.parametrize("name", NAMES)
def test_a_pickled_controller_continues_where_it_was(puma, name):
    assert pickle.loads(pickle.dumps(controllers()[name]())).name == name
    law = fresh(name, puma)
    q, r = np.array(puma.poses["nominal"]), at_rest(np.array(puma.poses["nominal"]) + 0.02)
    law.payload(3.0, (0.0, 0.0, 0.1))
    for _ in range(3):
        law.torque(0.0, q, q * 0.01, r)
    twin = pickle.loads(pickle.dumps(law))
    assert np.array_equal(twin.wanted, law.wanted)
    for gain in law.gains:
        law.gains[gain] = twin.gains[gain] = 2.0 * law.gains[gain]
    for _ in range(3):
        assert np.array_equal(twin.torque(0.0, q, q * 0.01, r), law.torque(0.0, q, q * 0.01, r))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_run_twice_gives_the_same_bits(scara, name):
    law = fresh(name, scara)
    q, r = np.array(scara.poses["home"]), at_rest(np.array(scara.poses["home"]) + 0.01)

    def run():
        law.reset(q, np.zeros(5))
        return np.array([law.torque(0.0, q, q * 0.01, r) for _ in range(5)])

    assert np.array_equal(run(), run())


def test_state_can_be_restored(puma):
    law = bound(PID(), puma)
    q, r = np.zeros(6), at_rest(np.full(6, 0.1))
    law.torque(0.0, q, q, r)
    moment = law.state
    then = [law.torque(0.0, q, q, r) for _ in range(3)]
    law.state = moment
    assert np.array_equal(then, [law.torque(0.0, q, q, r) for _ in range(3)])
    with pytest.raises(brazo.BrazoError, match="keys of the state must be: integral, derivative"):
        law.state = {"integral": np.zeros(6)}
    with pytest.raises(brazo.BrazoError, match="must be finite"):
        law.state = {"integral": np.full(6, np.nan), "derivative": np.zeros(6)}


def test_a_live_gain_acts_at_the_next_call(puma):
    law = bound(PID(kp=10.0, ki=0.0, kd=0.0), puma)
    q, r = np.zeros(6), at_rest(np.ones(6))
    assert law.torque(0.0, q, q, r).tolist() == [10.0] * 6
    law.gains["kp", "elbow"] = 20.0
    assert law.torque(0.0, q, q, r).tolist() == [10.0, 10.0, 20.0, 10.0, 10.0, 10.0]


def test_rebound_controller_uses_the_new_robot(puma, scara):
    for name in NAMES:
        law = fresh(name, puma)
        law.bind(scara, 2e-3)
        q = np.array(scara.poses["home"])
        new = bound(controllers()[name](), scara, 2e-3)
        r = at_rest(q + 0.01)
        assert np.array_equal(law.torque(0.0, q, q, r), new.torque(0.0, q, q, r))

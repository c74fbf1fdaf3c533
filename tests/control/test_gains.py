"""Gains are validated when they are set, with a message."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import LQR, PID, CartesianImpedance, SlidingMode


@pytest.fixture
def pid(puma):
    law = PID(kp=10.0, ki=1.0, kd=2.0)
    law.bind(puma, 1e-3)
    return law


def test_read_and_set(pid):
    pid.gains["kp"] = [1, 2, 3, 4, 5, 6]
    pid.gains["kp", 0] = 7
    assert pid.gains["kp"].tolist() == [7, 2, 3, 4, 5, 6]
    assert pid.gains["kp", "flange"] == 6.0
    assert list(pid.gains) == ["kp", "ki", "kd", "tf", "kt"]
    pid.gains["kp"][:] = -1  # a copy: nothing happens
    assert pid.gains["kp", 0] == 7.0


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("kp", -1.0, r"PID: gain 'kp' for joint 1 \(waist\) is -1; it must be"),
        ("kp", [1, 2, np.nan, 4, 5, 6], r"for joint 3 \(elbow\) is nan"),
        ("ki", np.inf, r"gain 'ki' for joint 1 \(waist\) is inf"),
        (
            "kp",
            [1, 2],
            r"gain 'kp' has shape \(2,\); expected a number or an array of shape \(6,\)",
        ),
        ("kp", "stiff", "gain 'kp': not a number"),
        ("kx", 1.0, "PID has no gain 'kx'; gains: kp, ki, kd, tf, kt"),
        (("kp", "knee"), 1.0, r"no entry 'knee'; entries: waist, .* or 0 to 5"),
        (("kp", 6), 1.0, "no entry 6"),
        (("kp", 0), [1, 2], r"has shape \(2,\); expected a number"),
    ],
)
def test_bad_gains_are_refused_and_change_nothing(pid, key, value, words):
    before = pid.gains.vector.copy()
    with pytest.raises(brazo.BrazoError, match=words):
        pid.gains[key] = value
    assert np.array_equal(pid.gains.vector, before)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (PID(kp=-1.0), r"PID: gain 'kp' for joint 1 \(waist\) is -1"),
        (PID(wn=0.0), "PID: wn = 0.0; it must be finite and greater than 0"),
        (PID(wn=[1, 2]), r"PID: wn has shape \(2,\); expected a number or \(6,\)"),
        (SlidingMode(layer=0.0), "must be greater than 0"),
        (SlidingMode(reach=-1.0), "SlidingMode: reach = -1.0; it must be finite and at least 0"),
        (CartesianImpedance(stiffness=-5), "gain 'stiffness' for axis x is -5"),
        (CartesianImpedance(stiffness=[1] * 3), r"expected a number or an array of shape \(6,\)"),
        (LQR(zeta=0.5), "zeta = 0.5; it must be at least 0.7071"),
        (LQR(pose="sitting"), "pose 'sitting' does not exist; poses: nominal, ready"),
    ],
)
def test_bad_options_are_refused_when_bound(puma, law, words):
    with pytest.raises(brazo.BrazoError, match=words):
        law.bind(puma, 1e-3)


def test_unknown_options_are_rejected():
    for make in (
        lambda: PID(windup="hope"),
        lambda: PID(feedforward="all"),
        lambda: CartesianImpedance(frame="world"),
        lambda: LQR(feedforward="some"),
    ):
        with pytest.raises(brazo.BrazoError, match="is not one of"):
            make()


def test_parameters_for_a_panel(scara):
    law = CartesianImpedance()
    law.bind(scara, 1e-3)
    stiffness, _, posture, _ = law.parameters()
    assert stiffness.labels == ("x", "y", "z", "rx", "ry", "rz")
    assert stiffness.units == ("N/m",) * 3 + ("N m/rad",) * 3
    assert posture.labels == scara.joint_names
    assert posture.units == ("N m/rad",) * 3 + ("N/m", "N m/rad")
    assert (posture.values > 0).all()
    # A SCARA's tool cannot tilt: no stiffness is made up for it.
    assert stiffness.values[3] == stiffness.values[4] == 0.0


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"q_weight": [1, 0, 1, 1, 1]}, "q_weight of elbow is 0; give every joint"),
        ({"q_weight": 1e300}, r"q_weight 1e\+300 to 1e\+300, .* weights of similar size"),
        ({"tau_weight": 1e300}, r"tau_weight 1e\+300 to 1e\+300; use weights of similar"),
    ],
)
def test_lqr_names_the_weights_that_have_no_solution(weights, words):
    with pytest.raises(brazo.BrazoError, match=words) as error:
        LQR(**weights).bind(brazo.load("scara1"), 1e-3)
    assert "Hamiltonian" not in str(error.value) and "Schur" not in str(error.value)


def test_lqr_weights_that_have_no_solution_leave_the_old_ones(wheel):
    law = LQR()
    law.bind(wheel, 1e-3)
    before = law.feedback()
    law.gains["qd_weight"] = 0.0
    with pytest.raises(brazo.BrazoError, match="Riccati"):
        law.gains["q_weight"] = 0.0
    assert law.gains["q_weight"][0] > 0.0
    law.gains["qd_weight"] = 2.0 / 2.5**2
    assert np.allclose(law.feedback(), before)

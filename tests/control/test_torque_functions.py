"""Torques given as expressions: values, errors, free motion, and the file of a project."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import Reference, TorqueFunctions, controllers
from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.program.controller_file import controllers_yaml, read_controllers


@pytest.fixture(scope="module")
def arm():
    return brazo.load("scara1")


def test_expressions_are_functions_of_time_and_state(arm):
    controller = TorqueFunctions("2*sin(3*t) - 0.5*qd1; q2^2/2; -(1 + t)*q3; abs(qd4); sqrt(4)*pi")
    controller.bind(arm, 1e-3)
    rng = np.random.default_rng(1)
    for t in (0.0, 0.7):
        q, qd = rng.normal(size=(2, arm.n))
        wanted = (
            2 * np.sin(3 * t) - 0.5 * qd[0], q[1] ** 2 / 2, -(1 + t) * q[2], abs(qd[3]), 2 * np.pi,
        )  # fmt: skip
        controller.torque(t, q, qd, Reference(q, qd, 0 * q))
        assert np.abs(controller.wanted - wanted).max() < 1e-15
    assert "TorqueFunctions" not in controllers()


def test_without_torques_only_the_quill_of_a_scara_falls(arm):
    sim = brazo.Simulation(arm)
    (robot,) = sim.robots.values()
    robot.controller = TorqueFunctions()
    q0 = robot.q.copy()
    sim.step(100)
    t = sim.time
    fall = 0.5 * 9.81 * t * (t + sim.dt)  # of the semi-implicit Euler method
    assert np.abs(robot.q - q0 - (0.0, 0.0, fall, 0.0, 0.0)).max() < 1e-12


@pytest.mark.parametrize(
    ("torques", "message"),
    [
        ("1; 2", "2 torque functions; expected 5"),
        ("x; 0; 0; 0; 0", "unknown name 'x'; names: t, q1 to q5"),
        ("q6; 0; 0; 0; 0", "unknown name 'q6'"),
        ("__import__(1); 0; 0; 0; 0", "'__import__"),
    ],
)
def test_invalid_expressions_are_rejected(arm, torques, message):
    with pytest.raises(BrazoError, match=message):
        TorqueFunctions(torques).bind(arm, 1e-3)


@pytest.mark.parametrize("torque", ["1/t", "sqrt(-1 - t)", "(-1)^0.5"])
def test_values_that_are_not_finite_are_reported(arm, torque):
    controller = TorqueFunctions(f"{torque}; 0; 0; 0; 0")
    controller.bind(arm, 1e-3)
    zero = np.zeros(arm.n)
    with pytest.raises(BrazoError, match=r"real|finite"):
        controller.torque(0.0, zero, zero, Reference(zero, zero, zero))


def test_a_project_keeps_them(arm):
    for torques in ("", "2*sin(t); 0; 0; 0; -qd5"):
        controller = TorqueFunctions(torques)
        controller.bind(arm, 1e-3)
        text = controllers_yaml({"arm": controller})
        (read,) = read_controllers(parse_document(text)).values()
        assert isinstance(read, TorqueFunctions) and read.torques == torques

"""Steps of a joint: the numbers of a known answer, and a real arm against the linear theory."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.control import PID, ComputedTorque
from brazo.errors import BrazoError
from brazo.lab.panels.control.controller_choice import changed
from brazo.lab.panels.control.step_response import Response, StepTest


def second_order(zeta: float, wn: float, size: float) -> Response:
    t = np.linspace(0.0, 3.0, 30001)
    wd = wn * np.sqrt(1.0 - zeta**2)
    ring = np.cos(wd * t) + zeta / np.sqrt(1.0 - zeta**2) * np.sin(wd * t)
    return Response("arm", 0, "PID", size, t, size * (1.0 - np.exp(-zeta * wn * t) * ring), 0.0 * t)


@pytest.mark.parametrize("size", [0.03, -0.005])
def test_metrics_of_a_second_order_response(size):
    zeta, wn = 0.4, 12.0
    response = second_order(zeta, wn, size)
    assert response.overshoot == pytest.approx(
        np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2)), abs=1e-6
    )
    done = response.q / size
    last = np.flatnonzero(np.abs(done - 1.0) > 0.02)[-1]
    assert response.settling == pytest.approx(response.t[last], abs=2e-4)
    assert response.rise == pytest.approx(
        np.interp(0.9, done[:2000], response.t[:2000])
        - np.interp(0.1, done[:2000], response.t[:2000]),
        abs=2e-4,
    )
    assert abs(response.error) < 1e-6


def test_response_that_does_not_settle_has_no_times():
    t = np.linspace(0.0, 1.0, 101)
    lazy = Response("arm", 0, "PID", 1.0, t, 0.5 * t, 0.0 * t)
    assert np.isnan(lazy.rise) and np.isnan(lazy.settling)
    assert lazy.overshoot == 0.0 and lazy.error == pytest.approx(0.5, abs=0.03)


def run(sim, joint: int, size: float) -> Response | None:
    got = []
    sim.tasks.add(StepTest(sim, sim.robots["scara1"], joint, size, got.append))
    sim.step(1600)
    assert len(got) == 1
    return got[0]


def test_computed_torque_has_the_theoretical_response():
    wn, zeta = 25.0, 0.5
    sim = brazo.Simulation("cooperative", {"scara1": ComputedTorque(wn, zeta)}, mode="exact")
    response = run(sim, 1, np.radians(3.0))
    assert response is not None and response.controller == "ComputedTorque"
    assert response.overshoot == pytest.approx(
        np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2)), abs=5e-3
    )
    theory = second_order(zeta, wn, np.radians(3.0))
    assert response.rise == pytest.approx(theory.rise, abs=2e-3)
    assert abs(response.error) < np.radians(1e-4)


def test_joint_returns_and_is_reserved_during_the_step():
    sim = brazo.Simulation("cooperative")
    robot = sim.robots["scara1"]
    before = robot.reference.q
    got = []
    task = StepTest(sim, robot, 0, 0.03, got.append)
    sim.tasks.add(task)
    sim.step(100)
    assert "scara1" in task.motions and not task.paused
    sim.step(2500)
    assert got[0].size == 0.03 and np.abs(robot.reference.q - before).max() < 1e-7
    assert np.abs(robot.q - before).max() < 1e-3


def test_near_a_limit_the_step_goes_the_other_way():
    sim = brazo.Simulation("cooperative")
    robot = sim.robots["scara1"]
    q = robot.q
    q[2] = robot.arm.limits[2, 1] - 1e-4
    robot.world.set_state(q)
    robot.control.restart()
    response = run(sim, 2, 0.005)
    assert response is not None and response.size == -0.005


def test_stop_cancels_the_step_response():
    sim = brazo.Simulation("cooperative")
    got = []
    task = StepTest(sim, sim.robots["scara1"], 0, 0.03, got.append)
    sim.tasks.add(task)
    sim.step(50)
    task.pause()
    sim.robots["scara1"].stop()
    sim.step(50)
    assert got == [None] and task not in sim.tasks


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda sim: StepTest(sim, sim.robots["scara1"], 0, 0.5, print), "at most 10°"),
        (lambda sim: StepTest(sim, sim.robots["scara1"], 2, 0.2, print), "at most 50 mm"),
        (lambda sim: StepTest(sim, sim.robots["scara1"], 0, 0.0, print), "above 0 and at most"),
        (lambda sim: StepTest(sim, sim.robots["scara2"], 0, 0.01, print), "no feedback controller"),
    ],
)
def test_invalid_step_amplitude_is_rejected(act, says):
    sim = brazo.Simulation("cooperative", {"scara2": "ideal"})
    with pytest.raises(BrazoError, match=says):
        act(sim)


def test_another_option_keeps_the_gains():
    arm = brazo.load("scara1")
    controller = PID(feedforward="none", windup="clamping")
    controller.bind(arm, 1e-3)
    controller.gains["kp", 1] = 123.0
    other = changed(controller, feedforward="gravity")
    other.bind(arm, 1e-3)
    assert isinstance(other, PID) and (other.feedforward, other.windup) == ("gravity", "clamping")
    assert (other.gains["kp"] == controller.gains["kp"]).all() and other.gains["kp", 1] == 123.0

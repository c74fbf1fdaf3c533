"""Attributes that do not exist are refused on brazo's own classes, not on a user's."""

from __future__ import annotations

import copy
import pickle

import pytest

import brazo
from brazo.control import PID, Controller, TorqueFunctions, controllers, track
from brazo.control.benchmark import sines


def test_a_gain_is_not_an_attribute(scara):
    law = PID()
    with pytest.raises(brazo.BrazoError, match=r'gains\["kp"\] = value after bind'):
        law.kp = 3  # pyright: ignore[reportAttributeAccessIssue]
    law.bind(scara, 1e-3)
    for one in (law, copy.copy(law), pickle.loads(pickle.dumps(law))):
        with pytest.raises(brazo.BrazoError, match=r"PID\(kp=value\), or set"):
            one.kp = 3
        with pytest.raises(brazo.BrazoError, match=r"'windupp'; did you mean 'windup'\? Set gains"):
            one.windupp = "none"


def test_every_shipped_controller_refuses_an_unknown_attribute():
    own = [law for law in controllers().values() if law.__module__.startswith("brazo.")]
    assert len(own) >= 7
    for law in own:
        with pytest.raises(brazo.BrazoError, match=f"{law.__name__} has no attribute 'nothing'"):
            law().nothing = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_advice_about_gains_is_only_for_controllers_with_gains():
    with pytest.raises(brazo.BrazoError, match=r"TorqueFunctions has no attribute 'nothing'$"):
        TorqueFunctions("").nothing = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_a_robot_of_a_simulation_refuses_an_unknown_attribute():
    robot = brazo.Simulation("cooperative").robots["scara1"]
    with pytest.raises(brazo.BrazoError, match=r"'contoller'; did you mean 'controller'\?$"):
        robot.contoller = "PID"  # pyright: ignore[reportAttributeAccessIssue]
    robot.controller = "PID"
    assert robot.controller_name == "PID"


def test_user_class_may_set_any_attribute():
    class Mine(PID):
        def __init__(self) -> None:
            super().__init__()
            self.anything = 1

    class Plain(Controller):
        def __init__(self) -> None:
            self.anything = 1
            super().__init__()

        def command(self, t, q, qd, reference):
            return 0.0 * q

    for law in (Mine(), Plain()):
        law.anything = 2
        assert law.anything == 2


def test_track_reports_expected_types(scara):
    with pytest.raises(brazo.BrazoError, match=r"controller is 'PID'; expected .*such as PID\(\)"):
        track(scara, "PID", sines(scara), 0.1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(brazo.BrazoError, match=r"robot is <PID .*; expected a brazo.Robot"):
        track(PID(), scara, sines(scara), 0.1)  # pyright: ignore[reportArgumentType]

"""The gamepad of a master's page: it moves the handle only while its button is held and renewed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brazo.teleop.devices import PageHandle
from brazo.teleop.devices.page_handle import STICK_SPEED, STICK_TURNING

DT = 0.01


class Rig:
    def __init__(self) -> None:
        self.now = 0.0
        self.hand = PageHandle(clock=lambda: self.now)
        self.hand.read(0.0, 0)

    def run(self, seconds: float, deflection=None):
        """Read the device for some seconds, renewed with a deflection if there is one."""
        for _ in range(round(seconds / DT)):
            self.now += DT
            if deflection is not None:
                self.hand.steer(deflection, False)
            state = self.hand.read(self.now, 0)
        return state


def test_deflection_is_velocity_along_and_about_the_axes():
    rig = Rig()
    deflection = [0.5, 0.0, -1.0, 0.3, -0.8, 0.5]
    rig.hand.steer(deflection, True)
    state = rig.run(1.0, deflection)
    assert state.run and state.engage == 1
    assert state.moved == pytest.approx(STICK_SPEED * np.array(deflection[:3]), abs=1e-12)
    assert state.turned == pytest.approx(STICK_TURNING * np.array(deflection[3:]), abs=1e-12)
    rig.run(0.5, [0, 0, 0, 0, 0, 1.0])  # about the axes of the base, after the rotation so far
    first = Rotation.from_rotvec(STICK_TURNING * np.array(deflection[3:]))
    second = Rotation.from_rotvec([0, 0, 0.5 * STICK_TURNING])
    found = Rotation.from_rotvec(rig.hand.read(rig.now, 0).turned)
    assert (found * (second * first).inv()).magnitude() < 1e-9


@pytest.mark.parametrize("end", ["release", "stop", "timeout"])
def test_handle_stops_at_release_until_a_new_press(end):
    rig = Rig()
    rig.hand.steer([1.0] * 6, True)
    rig.run(0.1, [1.0] * 6)
    {"release": rig.hand.release_stick, "stop": rig.hand.stop, "timeout": lambda: None}[end]()
    at = rig.run(0.3).moved
    state = rig.run(0.3, [1.0] * 6)  # renewals of a page that lost the connection
    assert np.array_equal(state.moved, at) and not state.run
    rig.hand.steer([1.0] * 6, True)
    assert rig.run(0.05, [1.0] * 6).run

"""A handle moved by a page: its speed, and the enable switch."""

import numpy as np
import pytest

from brazo.operate.hold_to_run import TIMEOUT
from brazo.teleop import SafetyState
from brazo.teleop.devices import PageHandle
from brazo.teleop.devices.page_handle import KEY_SPEED, SPEED


class Led:
    """A handle with a separate clock."""

    def __init__(self):
        self.now = 0.0
        self.hand = PageHandle(lambda: self.now)
        self.last = self.hand.read(0.0, SafetyState.IDLE)

    def pass_(self, seconds, state=SafetyState.IDLE, renew=None, dt=0.01):
        for _ in range(round(seconds / dt)):
            if renew is not None:
                renew()
            self.now += dt
            self.last = self.hand.read(self.now, state)
        return self.last


def test_handle_moves_to_the_pointer_at_limited_speed():
    led = Led()
    led.hand.read(0.0, 0)
    led.hand.point(np.array([0.3, 0.0, 0.0]))
    before, places = np.zeros(3), []
    for _ in range(150):
        moved = led.pass_(0.01).moved
        places.append(float(np.linalg.norm(moved - before)) / 0.01)
        before = moved
    assert max(places) <= SPEED + 1e-9
    assert before == pytest.approx([0.3, 0, 0], abs=1e-4)


def test_switch_is_held_only_while_it_is_renewed():
    led = Led()
    led.hand.press(True)
    assert led.pass_(1.0, renew=lambda: led.hand.press(False)).run
    assert led.pass_(TIMEOUT - 0.02).run  # a renewal may be late
    assert not led.pass_(0.04).run  # the page disconnected
    assert not led.pass_(0.1, renew=lambda: led.hand.press(False)).run  # back, still pressed
    assert led.hand.read(led.now, 0).engage == 1
    led.hand.press(True)
    assert led.pass_(0.01).engage == 2
    led.hand.release()
    assert not led.pass_(0.01).run


def test_a_drag_holds_the_switch_while_its_page_is_connected():
    led, hand = Led(), None
    led.hand.drag(True)
    assert not led.pass_(0.1).run  # no report that the mouse is down
    hand = led.pass_(1.0, renew=led.hand.renew_grasp)
    assert hand.run and hand.engage == 1
    hand = led.pass_(TIMEOUT + 0.02)
    assert not hand.run
    hand = led.pass_(0.1, renew=led.hand.renew_grasp)
    assert not hand.run and hand.engage == 1  # reported again, but not grasped again
    led.hand.drag(False)
    assert not led.pass_(0.02, renew=led.hand.renew_grasp).run
    led.hand.drag(True)
    hand = led.pass_(0.02, renew=led.hand.renew_grasp)
    assert hand.run and hand.engage == 2


def test_drag_does_not_recover_from_hold_but_the_switch_does():
    led = Led()
    led.hand.drag(True)
    hand = led.pass_(0.5, SafetyState.HOLD, led.hand.renew_grasp)
    assert not hand.run and hand.engage == 0
    led.hand.press(True)
    hand = led.pass_(0.05, SafetyState.HOLD, led.hand.renew_grasp)
    assert hand.run and hand.engage == 1
    led.hand.drag_runs = False
    led.hand.release()
    led.hand.drag(False)
    led.hand.drag(True)
    assert not led.pass_(0.1, SafetyState.IDLE, led.hand.renew_grasp).run


def test_stop_requires_a_new_press_of_every_control():
    led = Led()
    led.hand.press(True)
    led.hand.drag(True)
    led.hand.push(2, 1, fresh=True)
    led.hand.point(np.array([0.1, 0, 0]))

    def renew():
        led.hand.press(False)
        led.hand.renew_grasp()
        led.hand.push(2, 1)

    assert led.pass_(0.05, renew=renew).run
    led.hand.stop()
    before = led.hand.read(led.now, 0).moved
    hand = led.pass_(0.5, renew=renew)
    assert not hand.run and hand.moved == pytest.approx(before)
    led.hand.push(2, 1, fresh=True)
    assert led.pass_(0.1, renew=lambda: led.hand.push(2, 1)).moved[2] > before[2] + 1e-3
    led.hand.drag(False)
    led.hand.drag(True)
    assert led.pass_(0.05, renew=led.hand.renew_grasp).run


def test_keys_move_while_they_are_renewed():
    led = Led()
    led.hand.read(0.0, 0)
    assert not led.pass_(0.5, renew=lambda: led.hand.push(1, -1)).moved.any()  # never pressed
    led.hand.push(1, -1, fresh=True)
    hand = led.pass_(0.5, renew=lambda: led.hand.push(1, -1))
    assert hand.moved == pytest.approx([0, -0.5 * KEY_SPEED, 0])
    led.hand.let_keys_go()
    assert led.pass_(0.5).moved == pytest.approx(hand.moved)


def test_settings_are_requested_once_and_the_handle_pose_can_be_set():
    led = Led()
    led.hand.ask("scale", 2.0)
    assert led.hand.read(0.0, 0).settings == (("scale", 2.0),)
    assert led.hand.read(0.0, 0).settings == ()
    led.hand.stay(np.array([0.0, 0.0, 0.2]), np.zeros(3))
    assert led.hand.read(0.0, 0).moved == pytest.approx([0, 0, 0.2])

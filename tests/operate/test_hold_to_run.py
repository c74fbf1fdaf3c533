"""The enable switch: only a new press starts motion, and every end is final."""

from __future__ import annotations

import pytest

from brazo.operate.hold_to_run import TIMEOUT, HoldToRun, StopLatch


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def switch(clock):
    return HoldToRun(clock=clock)


def test_switch_is_held_while_it_is_renewed(switch, clock):
    assert not switch.held
    press = switch.press()
    for _ in range(20):
        clock.now += 0.9 * TIMEOUT
        assert switch.holds(press)
        assert switch.renew()
    clock.now += 1.01 * TIMEOUT
    assert not switch.held


@pytest.mark.parametrize("end", ["release", "stop", "timeout"])
def test_renewals_do_not_restart_it(switch, clock, end):
    first = switch.press()
    if end == "timeout":
        clock.now += 1.01 * TIMEOUT
    else:
        assert getattr(switch, end)()
    assert not switch.renew() and not switch.held
    clock.now -= 2 * TIMEOUT  # not even a clock that runs backwards
    assert not switch.renew() and not switch.held
    second = switch.press()
    assert second > first and switch.holds(second) and not switch.holds(first)


def test_single_press_can_be_released(switch):
    first = switch.press()
    second = switch.press()
    assert not switch.release(first) and switch.holds(second)
    assert switch.release(second) and not switch.held
    assert not switch.release(second)


def test_the_first_renewal_of_a_repeated_key_may_take_longer(clock):
    key = HoldToRun(0.15, clock, first=0.6)
    key.press()
    clock.now += 0.5
    assert key.renew()
    clock.now += 0.2
    assert not key.held


def test_latch_passes_the_level_until_stop():
    latch = StopLatch()
    assert latch.passes(True, 1) and not latch.passes(False, 1)
    latch.stop()
    assert not latch.passes(True, 2) and latch.stopped
    assert not latch.passes(True, 3)  # still down
    assert not latch.passes(False, 3)
    assert not latch.passes(True, 2)  # released, but not pressed again since the STOP
    assert latch.passes(True, 3) and not latch.stopped

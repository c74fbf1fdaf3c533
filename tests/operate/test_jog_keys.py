"""The jog keys of a pendant: which press begins a jog, which renewals do, what is remembered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from brazo.errors import BrazoError
from brazo.operate import HeldMotion, HoldToRun, JogKeys
from brazo.trajectory import Jog, Limits


class Rig:
    """Keys, a mover that records its calls, and a robot that may be busy."""

    def __init__(self):
        self.now = 0.0
        self.keys = JogKeys(self, HoldToRun(clock=lambda: self.now))
        self.robot = SimpleNamespace(name="arm", motion="rest")
        self.busy = False
        self.error = ""
        self.touches: set[str] = set()
        self.asked: list[tuple] = []

    def jog(self, robot, frame, shares, switch, press, known):
        if self.error:
            raise BrazoError(self.error)
        self.asked.append((frame, tuple(shares(2)), set(known)))
        if self.busy:
            return None
        jog = Jog(Limits(1.0, 4.0, 30.0, n=1), [0.0])
        robot.motion = f"jog {len(self.asked)}"
        return HeldMotion(
            jog,
            switch,
            press,
            lambda: set(self.touches),
            known,
            steer=lambda: jog.run(0.5 * shares(1)),
        )

    def contacts(self):
        return SimpleNamespace(of=lambda name: [], names=[])

    def begin(self, press):
        return self.keys.begin(self.robot, "joint", press)

    def update(self, seconds=0.05):
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            if self.keys.jog is not None:
                self.keys.jog.update(0.01)


@pytest.fixture
def rig():
    return Rig()


def test_press_released_before_the_start_starts_nothing(rig):
    press = rig.keys.press(0, 1)
    rig.keys.release()
    rig.begin(press)
    assert rig.keys.jog is None and not rig.asked


def test_press_on_a_moving_robot_starts_when_it_is_at_rest(rig):
    rig.busy = True
    press = rig.keys.press(0, 1)
    rig.begin(press)
    assert rig.keys.jog is None
    rig.update(0.2)
    assert rig.keys.renew(0, 1) == press
    rig.busy = False
    rig.begin(press)
    assert rig.keys.jog is not None and rig.keys.renew(0, 1) is None  # nothing to begin
    assert rig.keys.renew(0, -1) is None  # another key


@pytest.mark.parametrize("end", ["stop", "release", "timeout"])
def test_renewals_after_release_start_nothing(rig, end):
    press = rig.keys.press(0, 1)
    rig.begin(press)
    if end == "timeout":
        rig.update(0.3)
    else:
        getattr(rig.keys, end)()
    assert rig.keys.renew(0, 1) is None
    rig.keys.settle()
    rig.begin(press)  # one that was sent before
    assert rig.keys.jog is None and len(rig.asked) == 1
    rig.begin(rig.keys.press(0, 1))
    assert rig.keys.jog is not None


def test_another_key_ends_the_jog_of_the_first(rig):
    rig.begin(rig.keys.press(0, 1))
    first = rig.keys.jog
    rig.begin(rig.keys.press(1, -1))
    assert not first.held and rig.keys.jog is not first
    assert [asked[:2] for asked in rig.asked] == [("joint", (1, 0)), ("joint", (0, -1))]


def test_contact_ends_a_jog_and_is_allowed_for_the_next_press_only(rig):
    rig.begin(rig.keys.press(0, 1))
    rig.touches = {"post"}
    rig.update()
    assert "contact with post" in rig.keys.settle()
    assert rig.keys.jog is None and rig.keys.renew(0, 1) is None  # though the key is still down
    rig.begin(rig.keys.press(0, 1))
    assert rig.asked[-1][2] == {"post"}
    rig.update(0.1)
    assert rig.keys.jog.held
    rig.keys.release()
    rig.keys.settle()
    rig.touches = set()
    rig.robot.motion = "moved otherwise"
    rig.begin(rig.keys.press(0, 1))
    assert rig.asked[-1][2] == set()


def test_refused_jog_needs_a_new_press(rig):
    rig.error = "the simulation is paused"
    press = rig.keys.press(0, 1)
    with pytest.raises(BrazoError, match="paused"):
        rig.begin(press)
    rig.error = ""
    assert rig.keys.renew(0, 1) is None and not rig.keys.switch.held


def test_reason_is_shown_until_the_next_motion(rig):
    rig.begin(rig.keys.press(0, 1))
    rig.keys.jog.reason = "joint 1 is at its upper limit"
    assert rig.keys.reason(rig.robot) == "joint 1 is at its upper limit"
    rig.keys.release()
    rig.keys.settle()
    assert rig.keys.reason(rig.robot) == "joint 1 is at its upper limit"
    rig.robot.motion = "moved otherwise"
    assert rig.keys.reason(rig.robot) == ""
    rig.keys.forget()
    assert rig.keys.jog is None

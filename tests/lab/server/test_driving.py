"""Who drives, by a clock of the test's own."""

from __future__ import annotations

import pytest

from brazo.lab.server.driving import ANSWER_TIME, RETURN_TIME, Driving


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def driving(time) -> Driving:
    driving = Driving(time)
    for key in ("a", "b", "c"):
        driving.join(key)
    return driving


def driver(driving: Driving) -> str:
    return "".join(key for key in "abc" if driving.drives(key))


def test_the_first_to_come_drives(driving):
    assert driver(driving) == "a" and driving.driver == 1 and driving.pages == 3
    assert not driving.drives("") and not driving.drives("stranger")


def test_the_client_does_not_answer_loses_control(driving, time):
    driving.ask("b")
    assert driving.wait() == ANSWER_TIME and driving.asking == 2
    time.now = ANSWER_TIME - 0.1
    assert not driving.settle() and driver(driving) == "a"
    time.now = ANSWER_TIME
    assert driving.settle() and driver(driving) == "b"
    assert driving.wait() is None and driving.asking == 0


def test_the_driver_may_keep_or_give(driving):
    driving.ask("b")
    driving.ask("c")  # one at a time
    driving.keep("c")  # not the driver
    assert driving.asking == 2
    driving.keep("a")
    assert driving.asking == 0 and driver(driving) == "a"
    driving.ask("c")
    driving.hand_over("a")
    assert driver(driving) == "c"
    driving.hand_over("c")  # no request: to the oldest page
    assert driver(driving) == "a"


def test_a_driver_that_reloads_keeps_control(driving, time):
    driving.leave("a")
    assert driver(driving) == ""
    time.now = RETURN_TIME - 0.1
    assert not driving.settle()
    driving.join("a")
    assert driver(driving) == "a" and driving.wait() is None


def test_a_driver_that_is_gone_is_followed_by_the_one_longest_there(driving, time):
    driving.leave("a")
    time.now = RETURN_TIME
    assert driving.settle() and driver(driving) == "b"


def test_asking_when_no_one_drives_is_enough(driving):
    driving.leave("a")
    driving.ask("c")
    assert driver(driving) == "c"


def test_alone_one_drives_at_once(driving):
    for key in "abc":
        driving.leave(key)
    assert driving.driver == 0 and driving.wait() is None
    driving.join("b")
    assert driver(driving) == "b"

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


def test_first_page_is_in_control(driving):
    assert driver(driving) == "a" and driving.driver == 1 and driving.pages == 3
    assert not driving.drives("") and not driving.drives("stranger")


def test_page_that_does_not_answer_a_request_loses_control(driving, time):
    driving.ask("b")
    assert driving.wait() == ANSWER_TIME and driving.asking == 2
    time.now = ANSWER_TIME - 0.1
    assert not driving.settle() and driver(driving) == "a"
    time.now = ANSWER_TIME
    assert driving.settle() and driver(driving) == "b"
    assert driving.wait() is None and driving.asking == 0


def test_page_in_control_may_keep_or_hand_over(driving):
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


def test_oldest_page_takes_control_when_the_driver_leaves(driving, time):
    driving.leave("a")
    time.now = RETURN_TIME
    assert driving.settle() and driver(driving) == "b"


def test_request_without_a_driver_gives_control(driving):
    driving.leave("a")
    driving.ask("c")
    assert driver(driving) == "c"


def test_single_page_is_in_control(driving):
    for key in "abc":
        driving.leave(key)
    assert driving.driver == 0 and driving.wait() is None
    driving.join("b")
    assert driver(driving) == "b"

"""A repeated error is one line per second with a count."""

from __future__ import annotations

import logging
import time

import pytest

from brazo.lab.server.repeats import Repeats


@pytest.fixture
def log():
    log, repeats = logging.getLogger("brazo.test-repeats"), Repeats(0.2)
    log.addFilter(repeats)
    yield log
    log.removeFilter(repeats)


def fail(log, text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("failed")


def test_a_repeated_error_is_one_line_with_a_count(log, caplog):
    begin = time.monotonic()
    for k in range(1000):
        fail(log, f"number {k}")
    seconds = time.monotonic() - begin
    deadline = time.monotonic() + 20
    while sum(getattr(r, "repeats", 0) for r in caplog.records) < 999:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(caplog.records) <= 2 + seconds / 0.2
    assert caplog.records[0].getMessage() == "failed" and caplog.records[0].exc_info
    assert "more in the last 0.2 s" in caplog.records[-1].getMessage()
    assert "number 999" in caplog.records[-1].getMessage()


def test_another_error_is_written_at_once(log, caplog):
    fail(log, "one")
    log.error("something else")
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        log.exception("failed")
    assert [r.getMessage() for r in caplog.records] == ["failed", "something else", "failed"]

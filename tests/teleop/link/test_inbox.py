"""What is dropped, what is kept, and that only the newest command counts."""

from collections import Counter

import pytest

from brazo.connections import RateLimit
from brazo.teleop.link.clock import ClockFilter
from brazo.teleop.link.inbox import Inbox
from brazo.teleop.link.wire_format import Command

AHEAD = 5_000_000  # µs: the master's clock


@pytest.fixture
def inbox():
    clock = ClockFilter()
    clock.add(0, AHEAD + 50, AHEAD + 60, 110)
    return Inbox(3, clock, Counter(), joints=2)


def command(seq, sent, valid=100_000, session=3, q=(0.0, 0.0)):
    return Command(session, seq, AHEAD + sent, 0, valid, 1, 1, q)


def offer(inbox, frame, now):
    return inbox.command(frame, now) if inbox.admit(frame) else None


def test_times_are_converted_to_the_local_clock(inbox):
    found = offer(inbox, command(1, 2000), 3000)
    assert found is inbox.latest
    assert found.sent == pytest.approx(0.002, abs=1e-5)
    assert found.received == 0.003
    assert found.expires == pytest.approx(0.102, abs=1e-5)


def test_a_command_is_never_younger_than_its_arrival(inbox):
    # The estimate is off by what the network hides, here 2 ms.
    found = offer(inbox, command(1, 5000), 3000)
    assert found.sent == found.received == 0.003


def test_newest_valid_command_of_a_backlog_is_used(inbox):
    # 300 ms of commands at 500 Hz arrive together.
    now = 400_000
    for k in range(150):
        offer(inbox, command(k + 1, 100_000 + 2000 * k), now)
    assert inbox.counts == {"expired": 100, "accepted": 50}
    assert inbox.latest.command.seq == 150


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (command(1, 0, session=4), "wrong session"),
        (command(5, 0), "replayed"),
        (command(4, 0), "replayed"),
        (command(6, -100_000), "expired"),
        (command(6, 900_000), "from the future"),
        (command(6, 0, q=(0.0,)), "wrong joints"),
    ],
)
def test_invalid_commands_are_dropped_and_counted(inbox, frame, why):
    for seq in range(1, 6):
        offer(inbox, command(seq, 0), 200)
    kept = inbox.latest
    assert offer(inbox, frame, 300) is None
    assert inbox.latest is kept
    assert inbox.counts[why] == 1


def test_a_command_from_the_future_proves_a_jump_of_a_clock(inbox):
    offer(inbox, command(1, 900_000), 300)
    assert inbox.clock.jumps == 1


def test_skipped_numbers_are_counted(inbox):
    offer(inbox, command(1, 0), 100)
    offer(inbox, command(5, 0), 100)
    offer(inbox, command(3, 0), 100)
    assert inbox.missing == 3
    assert inbox.counts == {"accepted": 2, "missing": 3, "replayed": 1}


def test_commands_are_ignored_before_the_clock_offset_is_known():
    inbox = Inbox(3, ClockFilter(), Counter())
    assert offer(inbox, command(1, 0), 10) is None
    assert inbox.counts["before the clock"] == 1


def test_rate_limit():
    limit = RateLimit(100.0, 5.0)
    assert [limit.allows(0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert not limit.allows(9_000)
    assert limit.allows(10_001) and not limit.allows(10_002)
    # A pause fills the bucket, not more; a clock that runs backwards does not fill it.
    assert sum(limit.allows(10**9) for _ in range(50)) == 5
    assert not limit.allows(0)

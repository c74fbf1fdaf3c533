"""Which of the frames that come in are good; the newest counts, others are dropped and counted.

A frame is good when it belongs to this session, is newer than all before it, comes no faster than
the rate allows and, for a command, is still valid when it arrives.  Of good commands only the last
is kept: whoever reads sees the newest, and a backlog that a stalled network delivers in one go is
never worked off.

A command's age is counted from `sent`, brought to the own clock.  The estimate of that clock may be
wrong by half a round trip; a command is never taken for younger than the time since it arrived.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from brazo.teleop.link.clock import ClockFilter
from brazo.teleop.link.frames import CLUTCH, RUN, Answer, Command, Ping, Pong, Setting, Status

FUTURE = 5_000  # µs that a command may seem to be sent after it came, beyond the clock's own error


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """A good command with its times by the own clock, in seconds."""

    command: Command
    received: float
    sent: float  # never later than `received`
    expires: float

    @property
    def run(self) -> bool:
        return bool(self.command.flags & RUN)

    @property
    def clutch(self) -> bool:
        return bool(self.command.flags & CLUTCH)


class Inbox:
    """What one connection has received; `counts` says how many frames were dropped and why."""

    def __init__(
        self, session: int, clock: ClockFilter, counts: Counter[str], joints: int = 0
    ) -> None:
        self.session, self.clock, self.counts, self.joints = session, clock, counts, joints
        self.last = 0  # the highest seq received
        self.missing = 0  # numbers skipped by the sender
        self.latest: Received | None = None

    def admit(self, frame: Command | Status | Ping | Pong | Setting | Answer) -> bool:
        """Whether the head of a frame is good."""
        if frame.session != self.session:
            self.counts["wrong session"] += 1
            return False
        if frame.seq <= self.last:
            self.counts["replayed"] += 1
            return False
        if skipped := frame.seq - self.last - 1:
            self.missing += skipped
            self.counts["missing"] += skipped
        self.last = frame.seq
        return True

    def command(self, frame: Command, now: int) -> Received | None:
        """Keep a command whose head is good, unless it is of no use; `now` in µs."""
        clock = self.clock.estimate
        if clock is None:
            # Nothing can be said of its age before the first ping is answered.
            self.counts["before the clock"] += 1
            return None
        if self.joints and frame.q and len(frame.q) != self.joints:
            self.counts["wrong joints"] += 1
            return None
        sent = clock.to_local(frame.sent)
        if sent > now + clock.error + FUTURE:
            self.counts["from the future"] += 1
            self.clock.jumps += 1
            return None
        sent = min(sent, now)
        if now > sent + frame.valid:
            self.counts["expired"] += 1
            return None
        self.counts["accepted"] += 1
        self.latest = Received(frame, now * 1e-6, sent * 1e-6, (sent + frame.valid) * 1e-6)
        return self.latest

"""Selection of valid received frames; invalid frames are dropped and counted.

A frame is valid if it belongs to this session and its sequence number is higher than those of all
earlier frames.  A command is valid only if, in addition, the clock offset to the sender is known,
the command has the required number of joint values, its sending time is not in the future, and it
has not expired on arrival.  Only the newest valid command is kept, so a backlog of commands that
a stalled network delivers at once is never executed.

The age of a command is measured from its sending time, converted to the local clock.  The clock
estimate can be wrong by half a round trip.  The age is never less than the time since arrival.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from brazo.teleop.link.clock import ClockFilter
from brazo.teleop.link.wire_format import CLUTCH, RUN, Answer, Command, Ping, Pong, Setting, Status

FUTURE = 5_000  # µs, tolerance for `sent` after arrival, beyond the clock error


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """A valid command with its times of sending, arrival and expiry (s) on the local clock."""

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
    """Filter for the received frames of one connection; `latest` is the newest valid command.

    `counts` contains the number of dropped frames by reason, and the numbers of accepted commands
    and missing sequence numbers.  `joints` is the required number of joint values, 0 for any.
    """

    def __init__(
        self, session: int, clock: ClockFilter, counts: Counter[str], joints: int = 0
    ) -> None:
        self.session, self.clock, self.counts, self.joints = session, clock, counts, joints
        self.last = 0  # highest seq received
        self.missing = 0  # skipped sequence numbers
        self.latest: Received | None = None

    def admit(self, frame: Command | Status | Ping | Pong | Setting | Answer) -> bool:
        """Return whether the session and sequence number of a frame are valid."""
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
        """Store a command as `latest` and return it, or return None if it is not valid.

        Its header must have been accepted by `admit`; `now` is its arrival time (µs).
        """
        clock = self.clock.estimate
        if clock is None:
            # Its age is unknown before the first ping is answered.
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

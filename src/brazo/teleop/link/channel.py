"""`LinkChannel`: one open connection after the handshake; master and follower both use it.

A channel numbers the sent frames, checks the received frames, sends and answers pings, and closes
the connection when no valid frame has been received for too long.  Sending never blocks: a frame
that the network does not accept is dropped, because a newer one will follow.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from brazo.connections import RateLimit
from brazo.errors import BrazoError
from brazo.teleop.link import wire_format
from brazo.teleop.link.clock import ClockFilter
from brazo.teleop.link.inbox import Inbox
from brazo.teleop.link.wire_format import (
    Answer,
    Command,
    Frame,
    Hello,
    Malformed,
    Ping,
    Pong,
    Refused,
    Setting,
    Status,
    Welcome,
    now_us,
)

SEND_BUFFER = 1 << 16  # bytes, send buffer of the operating system
_UNSENT = 1 << 13  # bytes that may wait in this process
_FIRST_PINGS, _FIRST_PAUSE = 8, 0.02

# A connection that breaks, or is no websocket, is a normal event and needs no traceback.
QUIET = logging.getLogger("brazo.teleop.websockets")
QUIET.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class LinkRules:
    """Timing and limits of a link; master and follower may use different values."""

    heartbeat: float = 0.1  # s between pings
    silence: float = 0.5  # s without a valid frame until the connection is closed
    rate: float = 2000.0  # frames per second that are processed
    burst: float = 1000.0  # additional frames after a pause
    hello: float = 2.0  # s in which a new connection must send its hello
    watchers: int = 8
    status_rate: float = 100.0  # Hz
    stalled: float = 0.3  # s without a new report until the follower loop counts as stalled

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0 < getattr(self, name) < float("inf"):
                raise BrazoError(
                    f"{name} is {getattr(self, name)}; it must be finite and greater than 0"
                )
        if self.silence < 2 * self.heartbeat:
            raise BrazoError(
                f"silence is {self.silence:g} s; it must be at least two heartbeats, "
                f"{2 * self.heartbeat:g} s"
            )


class LinkChannel:
    """An open connection after a successful handshake; `session` is its session number."""

    def __init__(
        self,
        connection: Connection,
        session: int,
        counts: Counter[str],
        rules: LinkRules,
        joints: int = 0,
    ) -> None:
        self.connection, self.session, self.counts, self.rules = connection, session, counts, rules
        self.clock = ClockFilter()
        self.inbox = Inbox(session, self.clock, counts, joints)
        self.heard = now_us()
        self.seq = 0
        self._limit = RateLimit(rules.rate, rules.burst)
        self._tasks: set[asyncio.Future[None]] = set()
        prepare(connection)

    @property
    def clogged(self) -> bool:
        """Whether too much data waits in the send buffer because the network does not accept it."""
        return self.connection.transport.get_write_buffer_size() > _UNSENT

    @property
    def round_trip(self) -> float | None:
        """Min round-trip time to the peer (s); None before the first measurement."""
        estimate = self.clock.estimate
        return None if estimate is None else 1e-6 * estimate.round_trip

    @property
    def silent_for(self) -> float:
        """Time (s) since the last valid frame was received."""
        return 1e-6 * (now_us() - self.heard)

    async def post(self, kind: Any, *fields: Any, sent: int | None = None) -> None:
        """Send a frame of the class `kind`; `fields` are its fields after the header.

        `sent` is the time stamp (µs), by default the current time.  The sequence number is assigned
        here, so sequence numbers increase on the wire.  If the connection is closed, nothing is
        sent and no error is raised: the task that reads from the connection detects the closing.
        """
        self.seq += 1
        stamp = now_us() if sent is None else sent
        frame = kind(self.session, self.seq, stamp, self.inbox.last, *fields)
        try:
            await self.connection.send(wire_format.encode(frame))
        except ConnectionClosed:
            return
        self.counts["sent"] += 1

    def post_soon(self, kind: Any, *fields: Any) -> None:
        """Schedule the sending of a frame; for callers that are not coroutines."""
        task = asyncio.ensure_future(self.post(kind, *fields))
        # The event loop itself keeps no reference to a task.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def read(
        self, message: bytes | str, decode: Callable[[bytes | str], Frame], now: int
    ) -> Command | Status | Ping | Pong | Setting | Answer | None:
        """Return the frame of a message received at `now` (µs), or None if it must be ignored.

        Messages above the rate limit are dropped before they are decoded.
        """
        self.counts["received"] += 1
        if not self._limit.allows(now):
            self.counts["too fast"] += 1
            return None
        try:
            frame = decode(message)
        except Malformed:
            self.counts["malformed"] += 1
            return None
        if isinstance(frame, Hello | Welcome | Refused):  # only allowed as the first frame
            self.counts["malformed"] += 1
            return None
        if not self.inbox.admit(frame):
            return None
        self.heard = now
        return frame

    async def heartbeat(self, frame: Ping | Pong, now: int) -> None:
        """Answer a ping, or update the clock estimate from a pong, received at `now` (µs)."""
        if isinstance(frame, Pong):
            if self.clock.add(frame.echo, frame.received, frame.sent, now):
                self.counts["clock jumps"] += 1
        elif not self.clogged:
            await self.post(Pong, frame.sent, now)

    async def beat(self) -> None:
        """Send pings at intervals; abort the connection when the peer is silent for too long."""
        for k in range(1 << 62):
            if now_us() - self.heard > 1e6 * self.rules.silence:
                self.counts["gone silent"] += 1
                self.connection.transport.abort()
                return
            if not self.clogged:
                await self.post(Ping)
            await asyncio.sleep(_FIRST_PAUSE if k < _FIRST_PINGS else self.rules.heartbeat)


def prepare(connection: Connection) -> None:
    """Set socket options: no delay of small writes, and a small send buffer.

    With a small buffer a blocked network is detected early.
    """
    plain: Any = connection.transport.get_extra_info("socket")
    if plain is not None:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def count_closing(error: ConnectionClosed, counts: Counter[str]) -> None:
    """If this side closed the connection because of an error of the peer, count that error."""
    code = error.sent.code if error.sent is not None and not error.rcvd_then_sent else None
    why = {1002: "broken websocket", 1007: "broken websocket", 1009: "oversized"}.get(code or 0)
    if why:
        counts[why] += 1

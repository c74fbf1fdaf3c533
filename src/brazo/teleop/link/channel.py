"""`Channel`: one open connection after its opening, the same for both sides.

It numbers what is sent, checks what is received, answers pings and sends its own, and gives up on
a peer from which nothing good has come for too long.  Sending never waits: a frame that the network
does not take is dropped, since a newer one follows.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from brazo.connections import RateLimit
from brazo.errors import BrazoError
from brazo.teleop.link import frames
from brazo.teleop.link.clock import ClockFilter
from brazo.teleop.link.frames import Ping, Pong, now_us
from brazo.teleop.link.inbox import Inbox

SEND_BUFFER = 1 << 16  # bytes the system may keep for a network that does not take them
_UNSENT = 1 << 13  # bytes that may wait in this process
_FIRST_PINGS, _FIRST_PAUSE = 8, 0.02

# A connection that breaks off, or never was a websocket, is everyday life and no traceback.
QUIET = logging.getLogger("brazo.teleop.websockets")
QUIET.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class LinkRules:
    """How a link behaves; both sides may differ."""

    heartbeat: float = 0.1  # s between pings
    silence: float = 0.5  # s without a good frame after which a connection is given up
    rate: float = 2000.0  # frames a second that are looked at
    burst: float = 1000.0  # and so many more after a pause
    hello: float = 2.0  # s in which a connection has to say who it is
    watchers: int = 8
    status_rate: float = 100.0  # Hz
    stalled: float = 0.3  # s without a new report after which a follower's own loop stands still

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0 < getattr(self, name) < float("inf"):
                raise BrazoError(f"{name} is {getattr(self, name)}; it must be greater than 0")
        if self.silence < 2 * self.heartbeat:
            raise BrazoError(
                f"silence of {self.silence:g} s with a heartbeat every {self.heartbeat:g} s; "
                "wanted at least two heartbeats"
            )


class Channel:
    """A connection that has been let in."""

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
        """Whether the network does not take what is sent."""
        return self.connection.transport.get_write_buffer_size() > _UNSENT

    async def post(self, kind: Any, *fields: Any, sent: int | None = None) -> None:
        """Send a frame of a kind with these fields behind its head.

        It gets its number as it leaves, so numbers rise on the wire.  A connection that is over is
        noticed by its reader.
        """
        self.seq += 1
        stamp = now_us() if sent is None else sent
        frame = kind(self.session, self.seq, stamp, self.inbox.last, *fields)
        try:
            await self.connection.send(frames.encode(frame))
        except ConnectionClosed:
            return
        self.counts["sent"] += 1

    def post_soon(self, kind: Any, *fields: Any) -> None:
        """Send a frame from code that cannot wait."""
        task = asyncio.ensure_future(self.post(kind, *fields))
        # The loop itself keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def within_rate(self, now: int) -> bool:
        """Whether another frame may come; asked before it is looked at."""
        self.counts["received"] += 1
        if self._limit.allows(now):
            return True
        self.counts["too fast"] += 1
        return False

    async def heartbeat(self, frame: Ping | Pong, now: int) -> None:
        """Answer a ping, or take the times of an answer."""
        if isinstance(frame, Pong):
            if self.clock.add(frame.echo, frame.received, frame.sent, now):
                self.counts["clock jumps"] += 1
        elif not self.clogged:
            await self.post(Pong, frame.sent, now)

    async def beat(self) -> None:
        """Ping for as long as the peer is heard; then break the connection off."""
        for k in range(1 << 62):
            if now_us() - self.heard > 1e6 * self.rules.silence:
                self.counts["gone silent"] += 1
                self.connection.transport.abort()
                return
            if not self.clogged:
                await self.post(Ping)
            await asyncio.sleep(_FIRST_PAUSE if k < _FIRST_PINGS else self.rules.heartbeat)


def prepare(connection: Connection) -> None:
    """Small writes leave at once, and a network that does not take them is felt soon."""
    plain: Any = connection.transport.get_extra_info("socket")
    if plain is not None:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def count_closing(error: ConnectionClosed, counts: Counter[str]) -> None:
    """Note why a connection was closed from this side, where the peer is to blame."""
    code = error.sent.code if error.sent is not None and not error.rcvd_then_sent else None
    why = {1002: "broken websocket", 1007: "broken websocket", 1009: "oversized"}.get(code or 0)
    if why:
        counts[why] += 1

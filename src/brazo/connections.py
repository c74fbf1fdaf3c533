"""Limits for the connections of a websocket server, so that one client cannot starve the others.

    gate = Gate(ConnectionLimits(frames=500, burst=500), exempt)
    serve(handler, …, create_connection=gate.connection, open_timeout=gate.limits.handshake,
          backlog=ACCEPTS)

- A connection is read in slices of about a millisecond.  One that sends thousands of small frames
  at once gets its next slice after the other connections had theirs.
- Every frame counts, also pings and fragments.  A connection that sends more than its budget is
  closed with a reason, unless `exempt(connection)`.
- An address that opens connections faster than its budget has them dropped as they are accepted,
  before they cost a handshake.
- Connections that have not introduced themselves are limited in number and in time.  One too many
  evicts the oldest of the address that has most of them.

How a connection is read in slices is in `brazo.internals.websockets`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.server import ServerConnection

from brazo.internals import websockets as internals
from brazo.internals.websockets import CountedConnection, LimitedConnection

ACCEPTS = 8  # connections accepted between two looks at those that are open
MAX_ADDRESSES = 1000  # whose budgets are kept
WAITING = 128  # connections that wait to be accepted


def queue_connections(sockets: Iterable[socket.socket]) -> None:
    """Have the system keep connections until they are accepted.

    The `backlog` of asyncio is both this number and that of connections accepted at a time.
    """
    for sock in sockets:
        with socket.fromfd(sock.fileno(), sock.family, sock.type) as same:
            same.listen(WAITING)


class RateLimit:
    """So many frames a second, and a burst after a pause (a token bucket)."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._at = burst, 0

    def allows(self, now: int) -> bool:
        """Whether one more frame may come at `now` (µs)."""
        self._left = min(self.burst, self._left + max(now - self._at, 0) * 1e-6 * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a server allows its clients."""

    frames: float  # per second and connection
    burst: float  # frames beyond that after a pause
    strangers: int = 64  # connections that have not introduced themselves
    handshake: float = 5.0  # s that an opening handshake may take
    opened: float = 100.0  # connections per second and address; a page needs some thirty
    opened_burst: float = 300.0


class Gate:
    """What the connections of one server share; `counts` has how many were turned away and why."""

    def __init__(
        self,
        limits: ConnectionLimits,
        exempt: Callable[[ServerConnection], bool] = lambda connection: False,
        counts: Counter[str] | None = None,
    ) -> None:
        self.limits = limits
        self.exempt = exempt
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._strangers: dict[LimitedConnection, str] = {}  # oldest first, with their addresses
        self._opened: OrderedDict[str, RateLimit] = OrderedDict()  # by address

    def connection(self, *arguments: Any, **options: Any) -> ServerConnection:
        """Make a connection; `create_connection` of `websockets.asyncio.server.serve`."""
        kind = LimitedConnection if internals.unusable() is None else CountedConnection
        return kind(self, *arguments, **options)

    def budget(self) -> RateLimit:
        """Frames that a new connection may send."""
        return RateLimit(self.limits.frames, self.limits.burst)

    def flooding(self, connection: ServerConnection) -> str | None:
        """Reason to close a connection that passed its budget; None if it is exempt."""
        if self.exempt(connection):
            return None
        self.counts["flooding"] += 1
        return f"flooding: more than {self.limits.frames:g} messages a second"

    def admits(self, transport: asyncio.BaseTransport) -> bool:
        """Whether one more connection of its address may open."""
        address = _address(transport)
        budget = self._opened.pop(address, None)
        if budget is None:
            budget = RateLimit(self.limits.opened, self.limits.opened_burst)
        self._opened[address] = budget
        if len(self._opened) > MAX_ADDRESSES:
            self._opened.popitem(last=False)
        if budget.allows(time.monotonic_ns() // 1000):
            return True
        self.counts["too many connections"] += 1
        return False

    def enter(self, connection: LimitedConnection) -> None:
        """A connection was accepted."""
        self._strangers[connection] = _address(connection.transport)
        if len(self._strangers) > self.limits.strangers:
            crowded, _ = Counter(self._strangers.values()).most_common(1)[0]
            oldest = next(one for one, at in self._strangers.items() if at == crowded)
            self.counts["evicted"] += 1
            oldest.turn_away("too many connections that do not introduce themselves")
            oldest.transport.abort()

    def introduced(self, connection: ServerConnection) -> None:
        """A connection has introduced itself, or is gone."""
        if isinstance(connection, LimitedConnection):
            self._strangers.pop(connection, None)

    @property
    def strangers(self) -> int:
        """Connections that have not introduced themselves."""
        return len(self._strangers)


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""

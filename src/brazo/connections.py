"""Limits for the connections of a WebSocket server, so that one client cannot starve the others.

    gate = Gate(ConnectionLimits(frames=500, burst=500), exempt)
    serve(handler, …, create_connection=gate.connection, open_timeout=gate.limits.handshake,
          backlog=ACCEPTS)

- Connections are read round-robin in slices of about a millisecond, so that thousands of small
  frames on one connection do not delay the others.
- Every frame counts, including pings and fragments.  A connection that exceeds its frame rate limit
  is closed with a reason, unless `exempt(connection)` is true.
- If a client address opens connections faster than its rate limit, the server drops them when it
  accepts them, before the handshake.
- A connection is pending until the server has identified the client.  The number of pending
  connections is limited.  If there are too many, the oldest pending connection of the
  address with the most pending connections is closed.  The opening handshake has a time limit.

Reading in slices is implemented in `brazo.internals.websockets`.  If the installed release of
websockets does not support it, only the message rate and the handshake are limited.
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

ACCEPTS = 1  # connections accepted per iteration of the event loop, so that it stays short
MAX_ADDRESSES = 1000  # addresses whose rate limits are kept
WAITING = 128  # connections waiting to be accepted


def queue_connections(sockets: Iterable[socket.socket]) -> None:
    """Set the length of the operating system's accept queue of listening sockets.

    The option `backlog` of asyncio would set both this length and the number of connections that
    are accepted per iteration of the event loop.
    """
    for sock in sockets:
        with socket.fromfd(sock.fileno(), sock.family, sock.type) as same:
            same.listen(WAITING)


class RateLimit:
    """Token bucket: `rate` events per second, with bursts of up to `burst` events.

    An event is a received frame or an opened connection.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._at = burst, 0

    def allows(self, now: int) -> bool:
        """Return whether one more event is allowed at the time `now` (µs), and count it if so."""
        self._left = min(self.burst, self._left + max(now - self._at, 0) * 1e-6 * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on the frames and connections of the clients of a server."""

    frames: float  # per second and connection
    burst: float  # frames, after a pause
    pending: int = 64  # connections that are not yet identified
    handshake: float = 5.0  # s; max duration of the opening handshake
    opened: float = 100.0  # connections per second and address; a page needs about 30
    opened_burst: float = 300.0


class Gate:
    """Limits and counters shared by all connections of a server.

    `counts` maps a reason to the number of connections that were rejected for it.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        exempt: Callable[[ServerConnection], bool] = lambda connection: False,
        counts: Counter[str] | None = None,
    ) -> None:
        self.limits = limits
        self.exempt = exempt
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._pending: dict[LimitedConnection, str] = {}  # to address, oldest first
        self._opened: OrderedDict[str, RateLimit] = OrderedDict()  # by address

    def connection(self, *arguments: Any, **options: Any) -> ServerConnection:
        """Create a connection; pass this method to `serve` of websockets as `create_connection`."""
        kind = LimitedConnection if internals.unusable() is None else CountedConnection
        return kind(self, *arguments, **options)

    def rate_limit(self) -> RateLimit:
        """Return a new frame rate limit for one connection."""
        return RateLimit(self.limits.frames, self.limits.burst)

    def flooding(self, connection: ServerConnection) -> str | None:
        """Return the reason to close a connection that exceeded its frame rate limit.

        Add 1 to the count of this reason.  For a connection that is exempt from the limit, return
        None and count nothing.
        """
        if self.exempt(connection):
            return None
        self.counts["flooding"] += 1
        return f"flooding: more than {self.limits.frames:g} messages per second"

    def admits(self, transport: asyncio.BaseTransport) -> bool:
        """Return whether the client address of a transport may open one more connection now."""
        address = _address(transport)
        limit = self._opened.pop(address, None)
        if limit is None:
            limit = RateLimit(self.limits.opened, self.limits.opened_burst)
        self._opened[address] = limit
        if len(self._opened) > MAX_ADDRESSES:
            self._opened.popitem(last=False)
        if limit.allows(time.monotonic_ns() // 1000):
            return True
        self.counts["too many connections"] += 1
        return False

    def enter(self, connection: LimitedConnection) -> None:
        """Register an accepted connection as pending.

        If too many connections are pending, close the oldest pending connection of the address
        with the most pending connections.
        """
        self._pending[connection] = _address(connection.transport)
        if len(self._pending) > self.limits.pending:
            crowded, _ = Counter(self._pending.values()).most_common(1)[0]
            oldest = next(one for one, at in self._pending.items() if at == crowded)
            self.counts["evicted"] += 1
            oldest.reject("too many pending connections")
            oldest.transport.abort()

    def identified(self, connection: ServerConnection) -> None:
        """Remove a connection, which was identified or closed, from the pending connections."""
        if isinstance(connection, LimitedConnection):
            self._pending.pop(connection, None)

    @property
    def pending(self) -> int:
        """Number of connections that are not yet identified."""
        return len(self._pending)


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""

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

This file uses parts of `websockets` that are not documented: the callbacks of asyncio's protocol in
`ServerConnection`, `process_event`, and `pause` and `resume` of `recv_messages`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode
from websockets.protocol import State

SLICE_BYTES = 512
SLICE_TIME = 0.001  # s
CLOSE_TIME = 1.0  # s that a client closed for flooding has to read the reason
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

    def connection(self, *arguments: Any, **options: Any) -> LimitedConnection:
        """Make a connection; `create_connection` of `websockets.asyncio.server.serve`."""
        return LimitedConnection(self, *arguments, **options)

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


def _nothing() -> None:
    pass


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""


class LimitedConnection(ServerConnection):
    """A connection that is read in slices and closed when it floods."""

    def __init__(self, gate: Gate, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gate = gate
        self._budget = RateLimit(gate.limits.frames, gate.limits.burst)
        self._unread = memoryview(b"")
        self._scheduled = False
        self._full = False  # whether the messages received wait to be taken
        self._closed = False
        self._dropped = False  # before anything else was known of it

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self._gate.admits(transport):
            self._dropped = self._closed = True
            transport.abort()  # pyright: ignore[reportAttributeAccessIssue]
            return
        super().connection_made(transport)
        self.recv_messages.pause = self._pause
        self.recv_messages.resume = self._resume
        self._gate.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        self._unread = memoryview(b"")
        self._gate.introduced(self)
        if not self._dropped:
            super().connection_lost(exc)
            self.recv_messages.pause = self.recv_messages.resume = _nothing
        # Without these references in a circle the connection is freed now, not in a full garbage
        # collection, which stops every thread for tens of milliseconds after a thousand of them.
        self.protocol.parser.close()
        self.protocol.__dict__.pop("select_subprotocol", None)
        if self._dropped:  # nothing else knows it
            vars(self).clear()

    def data_received(self, data: bytes) -> None:
        if self._closed:
            return
        self._unread = memoryview(bytes(self._unread) + data) if self._unread else memoryview(data)
        if not self._scheduled:
            self._read()

    def eof_received(self) -> None:
        if self._dropped:
            return
        while self._unread and not self._closed:  # what came before the end counts
            self._read_slice()
        super().eof_received()

    def process_event(self, event: Any) -> None:
        opened = self.request is not None
        super().process_event(event)
        if opened and not self._closed and not self._budget.allows(time.monotonic_ns() // 1000):
            self._over_budget()

    def send_data(self) -> None:
        # The answers to a slice of pings leave in one piece; none is written to a closed socket,
        # for which asyncio would log a warning each.
        pieces = self.protocol.data_to_send()  # an empty one stands for the end
        if self.transport.is_closing():
            return
        if data := b"".join(pieces):
            self.transport.write(data)
        if b"" in pieces:
            if self.transport.can_write_eof():
                with contextlib.suppress(OSError, RuntimeError):
                    self.transport.write_eof()
            else:
                self.transport.close()

    def _read_slice(self) -> None:
        piece, self._unread = self._unread[:SLICE_BYTES], self._unread[SLICE_BYTES:]
        super().data_received(bytes(piece))

    def _read(self) -> None:
        self._scheduled = False
        end = time.perf_counter() + SLICE_TIME
        while self._unread and not (self._full or self._closed):
            self._read_slice()
            if time.perf_counter() > end:
                break
        if self._closed or self.transport.is_closing():
            self._unread = memoryview(b"")
        elif self._unread or self._full:
            self.transport.pause_reading()
            if not self._full:
                self._schedule()
        else:
            self.transport.resume_reading()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._read)

    def _pause(self) -> None:
        self._full = True
        self.transport.pause_reading()

    def _resume(self) -> None:
        self._full = False
        self._schedule()

    def _over_budget(self) -> None:
        if self._gate.exempt(self):
            return
        self._gate.counts["flooding"] += 1
        self.turn_away(f"flooding: more than {self._gate.limits.frames:g} messages a second")
        self.loop.call_later(CLOSE_TIME, self.transport.abort)

    def turn_away(self, reason: str) -> None:
        """Send the reason and read nothing more."""
        self._closed = True
        self._gate.introduced(self)
        if self.protocol.state is State.OPEN:
            self.protocol.fail(CloseCode.POLICY_VIOLATION, reason)
            self.send_data()

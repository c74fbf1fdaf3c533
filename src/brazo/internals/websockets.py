"""WebSocket connection that is read in slices, so that many frames do not delay other connections.

`LimitedConnection` uses undocumented parts of the package `websockets`: the asyncio protocol
callbacks, `process_event`, `send_data` and `transport` of `ServerConnection`, `pause` and `resume`
of `recv_messages`, and the protocol's `parser`.  If one of them is missing, `CountedConnection` is
used instead.  It uses only documented parts and applies the rate limit to messages instead of
frames.  Pings, fragments and pending connections are then limited only by the timeouts of
`websockets`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from functools import lru_cache
from typing import Any, Protocol

from websockets.asyncio.messages import Assembler
from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode
from websockets.protocol import State
from websockets.server import ServerProtocol

from brazo.internals import Checked

CHECKED = (Checked("websockets", "16.1.1", "16.1.1"),)

SLICE_BYTES = 512
SLICE_TIME = 0.001  # s
CLOSE_TIME = 1.0  # s; time for a client that is closed for flooding to read the reason


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Return the reason why `LimitedConnection` cannot be used; None if it can."""
    methods = ("connection_made", "connection_lost", "data_received", "eof_received")
    wanted = {
        ServerConnection: (*methods, "process_event", "send_data"),
        ServerProtocol: ("data_to_send", "fail", "receive_data", "events_received"),
    }
    for owner, names in wanted.items():
        if missing := [name for name in names if not callable(getattr(owner, name, None))]:
            return f"websockets' {owner.__name__} has no {', '.join(missing)}"
    assembler = inspect.signature(Assembler).parameters
    if missing := [name for name in ("pause", "resume") if name not in assembler]:
        return f"websockets' Assembler takes no {', '.join(missing)}"
    return None if hasattr(ServerProtocol(), "parser") else "websockets' protocol has no parser"


class Limit(Protocol):
    """Interface of a rate limit; `allows(now)` is True if a frame is allowed at `now` (µs)."""

    def allows(self, now: int, /) -> bool: ...


class Gatekeeper(Protocol):
    """Interface of the gate that a connection uses (`brazo.connections.Gate`)."""

    def admits(self, transport: asyncio.BaseTransport, /) -> bool: ...
    def enter(self, connection: Any, /) -> None: ...
    def identified(self, connection: Any, /) -> None: ...
    def rate_limit(self) -> Limit: ...
    def flooding(self, connection: Any, /) -> str | None: ...


class CountedConnection(ServerConnection):
    """Connection that is closed if it exceeds its rate limit, counted in messages.

    It uses only documented parts of `websockets`.
    """

    def __init__(self, gate: Gatekeeper, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gate = gate
        self._rate_limit = gate.rate_limit()

    async def recv(self, decode: bool | None = None) -> Any:
        message = await super().recv(decode)
        if self._rate_limit.allows(time.monotonic_ns() // 1000):
            return message
        if (reason := self._gate.flooding(self)) is None:
            return message
        closing = asyncio.ensure_future(self.close(CloseCode.POLICY_VIOLATION, reason))
        try:
            while True:  # until recv raises at the end of the stream
                await super().recv(decode)
        finally:
            await closing


def _nothing() -> None:
    pass


class LimitedConnection(ServerConnection):
    """Connection that is read in slices of about 1 ms and closed if it exceeds its rate limit."""

    def __init__(self, gate: Gatekeeper, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gate = gate
        self._rate_limit = gate.rate_limit()
        self._unread = memoryview(b"")
        self._scheduled = False
        self._full = False  # whether the queue of received messages is full
        self._closed = False
        self._dropped = False  # dropped when accepted, before the handshake

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
        self._gate.identified(self)
        if not self._dropped:
            super().connection_lost(exc)
            self.recv_messages.pause = self.recv_messages.resume = _nothing
        # Break reference cycles, so that the connection is freed now.  A garbage collection of a
        # thousand connections would stop every thread for tens of milliseconds.
        self.protocol.parser.close()
        self.protocol.__dict__.pop("select_subprotocol", None)
        if self._dropped:  # nothing else refers to it
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
        while self._unread and not self._closed:  # data received before the end is processed
            self._read_slice()
        super().eof_received()

    def process_event(self, event: Any) -> None:
        opened = self.request is not None
        super().process_event(event)
        if opened and not self._closed and not self._rate_limit.allows(time.monotonic_ns() // 1000):
            self._over_limit()

    def send_data(self) -> None:
        # Replies to a slice of pings are sent in one write.  Nothing is written to a closed
        # socket, because asyncio would log a warning for each write.
        pieces = self.protocol.data_to_send()  # an empty piece marks the end of the stream
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

    def _over_limit(self) -> None:
        if (reason := self._gate.flooding(self)) is not None:
            self.reject(reason)
            self.loop.call_later(CLOSE_TIME, self.transport.abort)

    def reject(self, reason: str) -> None:
        """Send a close frame with the reason, if the handshake is complete, and stop reading.

        Data that the client sends afterwards is not read.
        """
        self._closed = True
        self.transport.pause_reading()
        self._gate.identified(self)
        if self.protocol.state is State.OPEN:
            self.protocol.fail(CloseCode.POLICY_VIOLATION, reason)
            self.send_data()

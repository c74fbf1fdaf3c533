"""A websocket connection that is read in slices, so that a flood delays nobody else.

The undocumented parts: the callbacks of asyncio's protocol in `ServerConnection`, its
`process_event`, `send_data` and `transport`, `pause` and `resume` of `recv_messages`, and the
protocol's `parser`.  Where one of them is missing, `CountedConnection` serves: it uses documented
parts only and applies the budget to messages instead of frames.  Pings, fragments and connections
that do not introduce themselves are then limited by the timeouts of websockets alone.
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
CLOSE_TIME = 1.0  # s that a client closed for flooding has to read the reason


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Why connections cannot be read in slices; None where they can."""
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


class Budget(Protocol):
    """Frames that may still come."""

    def allows(self, now: int, /) -> bool: ...


class Gatekeeper(Protocol):
    """What a connection asks the gate of its server (`brazo.connections.Gate`)."""

    def admits(self, transport: asyncio.BaseTransport, /) -> bool: ...
    def enter(self, connection: Any, /) -> None: ...
    def introduced(self, connection: Any, /) -> None: ...
    def budget(self) -> Budget: ...
    def flooding(self, connection: Any, /) -> str | None: ...


class CountedConnection(ServerConnection):
    """A connection that is closed when it sends too many messages; documented parts only."""

    def __init__(self, gate: Gatekeeper, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gate = gate
        self._budget = gate.budget()

    async def recv(self, decode: bool | None = None) -> Any:
        message = await super().recv(decode)
        if self._budget.allows(time.monotonic_ns() // 1000):
            return message
        if (reason := self._gate.flooding(self)) is None:
            return message
        closing = asyncio.ensure_future(self.close(CloseCode.POLICY_VIOLATION, reason))
        try:
            while True:  # until the end is read, for which recv raises
                await super().recv(decode)
        finally:
            await closing


def _nothing() -> None:
    pass


class LimitedConnection(ServerConnection):
    """A connection that is read in slices and closed when it floods."""

    def __init__(self, gate: Gatekeeper, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gate = gate
        self._budget = gate.budget()
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
        if (reason := self._gate.flooding(self)) is not None:
            self.turn_away(reason)
            self.loop.call_later(CLOSE_TIME, self.transport.abort)

    def turn_away(self, reason: str) -> None:
        """Send the reason and read nothing more."""
        self._closed = True
        self._gate.introduced(self)
        if self.protocol.state is State.OPEN:
            self.protocol.fail(CloseCode.POLICY_VIOLATION, reason)
            self.send_data()

"""`FaultProxy`: a proxy between master and follower that applies the faults of a script.

    with FaultProxy("127.0.0.1:9000", load_script("bad.yaml")) as proxy:
        MasterLink(f"127.0.0.1:{proxy.port}")

The proxy splits the stream into websocket frames, so it can duplicate and reorder whole frames.
The bytes of a frame are not changed.  Encrypted connections cannot be split into frames: use the
proxy on an unencrypted section of the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import socket
import struct
import sys
import time
from collections import Counter, deque
from typing import Any

from brazo.errors import BrazoError
from brazo.hosts import address, is_loopback
from brazo.socket_owner import refuses_user
from brazo.teleop.link.background import Background, InBackground
from brazo.teleop.proxy.faults import DIRECTIONS, Direction, Faults, FaultScript
from brazo.teleop.proxy.line import FaultLine, Leaving
from brazo.teleop.proxy.splitter import Splitter

_LINGER = "hh" if sys.platform == "win32" else "ii"
_MOST_HELD = 1 << 18  # bytes; above this the proxy stops reading, so that the sender is blocked


class FaultProxy(InBackground):
    """Proxy that listens on `host`:`port` and forwards to the follower at `to` (host:port).

    It runs from `start` to `close`.  Port 0 selects a free port.
    """

    def __init__(
        self, to: str, script: FaultScript | None = None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        super().__init__("teleop-proxy")
        self.to = address(to)
        self.host, self.port = host, port
        self.script = script or FaultScript()
        self.counts: dict[Direction, Counter[str]] = {
            direction: Counter() for direction in DIRECTIONS
        }
        self.events: deque[tuple[float, str]] = deque(maxlen=10_000)
        self._live: dict[Direction, Faults] = {}
        self._began: float | None = None
        self._pipes: set[_Pipe] = set()
        self._connections = 0

    @property
    def time(self) -> float:
        """Time (s) of the script, which starts at the first connection; 0 before the start."""
        return 0.0 if self._began is None else time.perf_counter() - self._began

    def set(self, direction: Direction | None = None, **faults: Any) -> None:
        """Replace the faults of the script from now on; the script can still cut connections.

        `faults` are fields of `Faults`.  `direction` is `up` or `down`; None sets both directions.
        All waiting frames are sent now.
        """
        for each in DIRECTIONS if direction is None else (direction,):
            self._live[each] = Faults(**faults)
        self._call(self._thaw)

    def cut(self) -> None:
        """Close every connection now with a TCP reset."""
        self._call(self._cut)

    def faults(self, direction: Direction, t: float) -> Faults:
        """Return the faults of a direction at time t (s).

        If `set` was called for this direction, its faults replace those of the script.
        """
        return self._live.get(direction) or self.script.faults(direction, t)

    async def _main(self, background: Background) -> None:
        try:
            server = await asyncio.start_server(self._connect, self.host, self.port)
        except OSError as error:
            raise BrazoError(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            ) from None
        clock = asyncio.create_task(self._follow_script())
        try:
            self.port = server.sockets[0].getsockname()[1]
            background.ready.set_result(None)
            await background.stopped()
        finally:
            clock.cancel()
            server.close()
            self._cut()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._began is None:
            self._began = time.perf_counter()
        if is_loopback(self.host) and refuses_user(writer.transport):
            self._note("connection refused: it belongs to another user")
            _reset(writer)
            return
        if self.script.refuses(self.time):
            self._note("connection refused by the script")
            _reset(writer)
            return
        try:
            onward = await asyncio.open_connection(*self.to)
        except OSError as error:
            self._note(f"{self.to[0]}:{self.to[1]} does not answer: {error.strerror or error}")
            _reset(writer)
            return
        self._connections += 1
        self._note(f"connection {self._connections}")
        pipes = [
            self._pipe("up", reader, onward[1]),
            self._pipe("down", onward[0], writer),
        ]
        self._pipes.update(pipes)
        try:
            # Closing the proxy cancels these tasks, which is not an error.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*(pipe.run() for pipe in pipes))
        finally:
            self._pipes.difference_update(pipes)
            for end in (writer, onward[1]):
                _reset(end)

    def _pipe(
        self, direction: Direction, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> _Pipe:
        def thaw(t: float) -> float:
            return float("inf") if direction in self._live else self.script.thaw(direction, t)

        line = FaultLine(
            f"{self.script.seed} {self._connections} {direction}",
            lambda t: self.faults(direction, t),
            thaw,
            self.counts[direction],
        )
        return _Pipe(source, sink, line, lambda: self.time)

    async def _follow_script(self) -> None:
        """Log each step of the script when it starts; cut all connections if `step.cut` is True."""
        for step in self.script.steps:
            while self._began is None or self.time < step.at:
                await asyncio.sleep(0.005 if self._began is None else step.at - self.time)
            self._note(str(step))
            if step.cut:
                self._cut()

    def _thaw(self) -> None:
        """Send all waiting frames of all connections now."""
        for pipe in self._pipes:
            pipe.thaw()

    def _cut(self) -> None:
        for pipe in self._pipes:
            pipe.abort()

    def _note(self, text: str) -> None:
        self.events.append((self.time, text))


class _Pipe:
    """One direction of one connection: reads data, applies the faults, writes the data."""

    def __init__(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        line: FaultLine,
        clock: Any,
    ) -> None:
        self._source, self._sink, self._line, self._clock = source, sink, line, clock
        self._queue: list[Leaving] = []
        self._held = 0
        self._changed = asyncio.Event()
        self._over = False
        plain = sink.get_extra_info("socket")
        if plain is not None:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self) -> None:
        take = asyncio.create_task(self._take())
        try:
            await self._give()
        except (ConnectionError, OSError, BrazoError):
            self.abort()
        finally:
            take.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, OSError, BrazoError):
                await take

    def thaw(self) -> None:
        """Send all waiting frames now."""
        now = self._clock()
        self._queue = [Leaving(min(item.at, now), item.index, item.data) for item in self._queue]
        heapq.heapify(self._queue)
        self._line.thaw(now)
        self._changed.set()

    def abort(self) -> None:
        """Close the connection with a TCP reset."""
        self._over = True
        self._queue.clear()
        self._changed.set()
        _reset(self._sink)

    async def _take(self) -> None:
        splitter = Splitter()
        try:
            while data := await self._source.read(1 << 16):
                for piece in splitter.feed(data):
                    self._push(piece.data, piece.message)
                while self._held > _MOST_HELD and not self._over:
                    await asyncio.sleep(0.005)
            if rest := splitter.rest():
                self._push(rest, False)
        finally:
            # While all data is dropped, the peer must not notice that the connection was closed
            # either.
            while self._line.half_open(self._clock()) and not self._over:
                await asyncio.sleep(0.01)
            self._over = True
            self._changed.set()

    def _push(self, data: bytes, message: bool) -> None:
        for leaving in self._line.push(data, self._clock(), message):
            heapq.heappush(self._queue, leaving)
            self._held += len(data)
        self._changed.set()

    async def _give(self) -> None:
        while self._queue or not self._over:
            self._changed.clear()
            wait = self._queue[0].at - self._clock() if self._queue else float("inf")
            if wait > 0.0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(
                        self._changed.wait(), None if wait == float("inf") else wait
                    )
                continue
            leaving = heapq.heappop(self._queue)
            self._held -= len(leaving.data)
            self._sink.write(leaving.data)
            await self._sink.drain()
        with contextlib.suppress(OSError, RuntimeError):
            if self._sink.can_write_eof():
                self._sink.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a TCP reset, so that the peer notices it at once."""
    plain = writer.get_extra_info("socket")
    if plain is not None and plain.fileno() >= 0:
        with contextlib.suppress(OSError):
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(_LINGER, 1, 0))
    writer.transport.abort()

"""Connection limits of a WebSocket server, with clients that exceed them."""

import asyncio
import gc
import socket
import weakref
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from brazo.connections import ACCEPTS, ConnectionLimits, Gate, queue_connections

PATIENCE = 20.0  # s
EMPTY = bytes([0x82, 0x80, 0, 0, 0, 0])  # a message without content, masked with zeros
PING = bytes([0x89, 0x80, 0, 0, 0, 0])
FIRST = bytes([0x02, 0x80, 0, 0, 0, 0])  # of a message in fragments
MORE = bytes([0x00, 0x80, 0, 0, 0, 0])


class Server:
    """A server that counts received messages."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.received, self.port = gate, Counter(), 0

    async def handle(self, connection) -> None:
        self.gate.identified(connection)
        path = connection.request.path
        async for _ in connection:
            self.received[path] += 1

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"


@asynccontextmanager
async def running(exempt=lambda connection: False, **limits):
    gate = Gate(ConnectionLimits(**{"frames": 100.0, "burst": 200.0} | limits), exempt)
    server = Server(gate)
    async with serve(
        server.handle,
        "127.0.0.1",
        0,
        create_connection=lambda *arguments, **options: gate.connection(*arguments, **options),
        open_timeout=gate.limits.handshake,
        backlog=ACCEPTS,
    ) as listening:
        queue_connections(listening.sockets)
        server.port = listening.sockets[0].getsockname()[1]
        yield server


async def until(condition) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def closing(client) -> ConnectionClosed:
    with pytest.raises(ConnectionClosed) as closed:
        async with asyncio.timeout(PATIENCE):
            await client.recv()
    return closed.value


@pytest.mark.parametrize(
    "flood", [EMPTY * 5000, PING * 5000, FIRST + MORE * 5000], ids=["messages", "pings", "pieces"]
)
def test_flooding_connection_is_closed_with_a_reason(flood):
    async def main():
        async with running() as server, connect(server.url) as client:
            client.transport.write(flood)
            error = await closing(client)
            assert error.rcvd.code == 1008
            assert error.rcvd.reason == "flooding: more than 100 messages per second"
            assert server.gate.counts["flooding"] == 1
            assert server.received["/"] < 500

    asyncio.run(main())


def test_exempt_connection_stays_open_and_loses_no_message():
    async def main():
        async with running(lambda connection: True) as server, connect(server.url) as client:
            client.transport.write(EMPTY * 20_000)
            await until(lambda: server.received["/"] == 20_000)
            assert not server.gate.counts

    asyncio.run(main())


def test_burst_of_small_frames_is_read_in_slices():
    """One iteration of the event loop reads one slice."""

    async def main():
        async with running(lambda connection: True) as server, connect(server.url) as client:
            parsed = most = 0
            (connection,) = await _connections(server)
            process = connection.process_event

            def counting(event):
                nonlocal parsed
                parsed += 1
                process(event)

            connection.process_event = counting
            client.transport.write(PING * 40_000)
            last = 0
            async with asyncio.timeout(PATIENCE):
                while parsed < 40_000:
                    await asyncio.sleep(0)
                    most, last = max(most, parsed - last), parsed
            assert most < 2000  # of the 40 000 that asyncio reads at once

    asyncio.run(main())


async def _connections(server: Server):
    found = []
    original = server.gate.identified

    def identified(connection):
        found.append(connection)
        original(connection)

    server.gate.identified = identified
    async with connect(server.url + "/second"):
        await until(lambda: found)
        (server_side,) = [c for c in found[0].server.connections if c.request.path == "/"]
    await until(lambda: server_side.server.connections == {server_side})
    return [server_side]


def test_oldest_pending_connection_is_evicted():
    async def main():
        async with running(pending=8, handshake=60.0) as server:
            silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
            await until(lambda: server.gate.counts["evicted"] == 22)
            assert server.gate.pending == 8
            async with connect(server.url) as client:
                await client.send(b"")
                await until(lambda: server.received["/"] == 1)
            for one in silent:
                one.close()

    asyncio.run(main())


def test_opening_handshake_has_a_deadline():
    async def main():
        async with running(handshake=0.2) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\n")
            async with asyncio.timeout(PATIENCE):
                assert await reader.read() == b""
            assert server.gate.pending == 0
            writer.close()

    asyncio.run(main())


def test_connections_of_an_address_above_its_rate_limit_are_dropped():
    async def main():
        limits = {"opened": 0.001, "opened_burst": 5.0}
        async with running(**limits) as server, connect(server.url) as client:
            for _ in range(20):
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.close()
            await until(lambda: server.gate.counts["too many connections"] == 16)
            await client.send(b"")
            await until(lambda: server.received["/"] == 1)

    asyncio.run(main())


def test_address_with_most_pending_connections_loses_one():
    class Pending:
        def __init__(self, address):
            self.transport, self.address, self.aborted = self, address, False

        def get_extra_info(self, name):
            return (self.address, 1)

        def abort(self):
            self.aborted = True

        def reject(self, reason):
            gate._pending.pop(self)

    gate = Gate(ConnectionLimits(100.0, 100.0, pending=4))
    first = Pending("10.0.0.1")
    many = [Pending("10.0.0.2") for _ in range(4)]
    for one in (first, *many):
        gate.enter(one)
    assert [one.aborted for one in (first, *many)] == [False, True, False, False, False]


def test_lost_connection_is_freed_without_garbage_collection():
    async def main():
        alive = weakref.WeakSet()
        async with running(opened=0.001, opened_burst=5.0) as server:
            make = server.gate.connection

            def counted(*arguments, **options):
                alive.add(connection := make(*arguments, **options))
                return connection

            server.gate.connection = counted
            for _ in range(20):
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.close()
            await until(lambda: server.gate.counts["too many connections"] == 15)
            await until(lambda: len(alive) <= 5)  # the error of a failed handshake is logged

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()

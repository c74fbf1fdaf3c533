"""Undocumented parts of viser: there, and no lab without them."""

import asyncio
import socket

import pytest
import viser
import viser._messages
from viser.infra._async_message_buffer import AsyncMessageBuffer

from brazo.errors import BrazoError
from brazo.internals import viser as internals
from brazo.internals import viser_windows


@pytest.fixture(autouse=True)
def checked_again():
    internals.unusable.cache_clear()
    yield
    internals.unusable.cache_clear()


def test_private_parts_exist():
    assert internals.unusable() is None


def test_other_release_is_detected(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "9.0.0")
    assert "9.0.0" in str(internals.unusable())


def test_missing_part_is_detected(monkeypatch):
    monkeypatch.delattr(viser.ViserServer, "_run_garbage_collector")
    assert "_run_garbage_collector" in str(internals.unusable())


def test_without_them_no_server_starts(monkeypatch):
    monkeypatch.setattr(internals, "unusable", lambda: "forced by the test")
    with (
        socket.create_server(("127.0.0.1", 0)) as sock,
        pytest.raises(BrazoError, match=r"forced by the test.*pip install viser=="),
    ):
        internals.start(sock, lambda *_, **__: None)


class Lookups(dict):
    """A dict that counts its lookups."""

    count = 0

    def get(self, key, default=None):
        self.count += 1
        return super().get(key, default)


class Read:
    """The windows that one client receives, read by a task."""

    def __init__(self, generator):
        self.windows = []
        self._generator = generator
        self._task = asyncio.create_task(self._run())

    async def _run(self):
        async for window in self._generator:
            self.windows.append([_name(message) for message in window])

    @property
    def names(self):
        return [name for window in self.windows for name in window]

    async def until(self, count):
        async with asyncio.timeout(30):
            while len(self.names) < count:
                await asyncio.sleep(0.001)

    async def close(self):
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._generator.aclose()


MARKER = viser._messages.ReplayDoneMessage()


def _name(message):
    return "marker" if message is MARKER else (message.name, message.position[0])


def _push(buffer, name, x=0.0):
    buffer.push(viser._messages.SetPositionMessage(name, (float(x), 0.0, 0.0)))


def _buffer(nodes, moves):
    buffer = AsyncMessageBuffer(asyncio.get_running_loop(), persistent_messages=True)
    buffer.message_from_id = Lookups()
    for move in range(moves):
        for node in range(nodes):
            _push(buffer, f"/{node}", move)
    return buffer


def test_a_new_page_receives_what_viser_would_send_it_in_the_same_order():
    async def main():
        buffer = _buffer(nodes=100, moves=3)
        ours = Read(viser_windows.windows(buffer, 1, MARKER))
        theirs = Read(buffer.window_generator(2, MARKER))
        _push(buffer, "/new")
        _push(buffer, "/7", 9)
        for read in (ours, theirs):
            await read.until(102)
            await read.close()
        # One position was replaced before it was sent: it follows the marker, as with viser.
        assert ours.names == theirs.names
        assert ours.names.count("marker") == 1
        assert ours.names[-2:] == [("/new", 0.0), ("/7", 9.0)]
        assert not buffer.generator_cursors

    asyncio.run(main())


def test_cost_of_a_new_page_depends_on_the_scene_only():
    async def main():
        buffer = _buffer(nodes=20, moves=200)
        assert buffer.message_counter == 4_000
        read = Read(viser_windows.windows(buffer, 1, MARKER))
        await read.until(21)
        await read.close()
        assert buffer.message_from_id.count <= 20

    asyncio.run(main())


def test_other_connections_are_served_while_a_page_loads_a_large_scene():
    async def main():
        read = Read(viser_windows.windows(_buffer(nodes=1000, moves=1), 1, MARKER))
        turns = 0
        while not read.names or read.names[-1] != "marker":
            seen = len(read.names)
            await asyncio.sleep(0)
            turns += 1
            assert len(read.names) - seen <= viser_windows.BACKLOG_WINDOW + 1
        await read.close()
        assert turns >= 1000 / viser_windows.BACKLOG_WINDOW

    asyncio.run(main())


def test_an_atomic_block_arrives_in_one_window():
    async def main():
        buffer = _buffer(nodes=10, moves=1)
        read = Read(viser_windows.windows(buffer, 1, MARKER))
        await read.until(11)
        buffer.atomic_start()
        for node in range(100):
            _push(buffer, f"/{node}", 1)
            await asyncio.sleep(0)
        assert len(read.names) == 11
        buffer.atomic_end()
        await read.until(111)
        await read.close()
        assert len(read.windows[-1]) == 100

    asyncio.run(main())


def test_a_message_is_not_sent_to_the_client_it_came_from():
    async def main():
        buffer = _buffer(nodes=1, moves=1)
        message = viser._messages.SetPositionMessage("/own", (1.0, 0.0, 0.0))
        message.excluded_self_client = 1
        buffer.push(message)
        _push(buffer, "/last")
        read = Read(viser_windows.windows(buffer, 1, MARKER))
        await read.until(3)
        await read.close()
        assert read.names == [("/0", 0.0), ("/last", 0.0), "marker"]

    asyncio.run(main())

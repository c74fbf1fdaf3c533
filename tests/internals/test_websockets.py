"""Connections with limits where undocumented parts of websockets are missing."""

import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection

from brazo.internals import websockets as internals
from tests.test_connections import EMPTY, closing, running, until


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(internals, "unusable", lambda: "forced by the test")


def test_private_parts_exist():
    internals.unusable.cache_clear()
    assert internals.unusable() is None


@pytest.mark.parametrize("name", ["process_event", "data_received", "send_data"])
def test_missing_part_is_detected(monkeypatch, name):
    monkeypatch.setattr(ServerConnection, name, None)
    internals.unusable.cache_clear()
    assert name in str(internals.unusable())
    internals.unusable.cache_clear()


def test_without_them_a_flood_of_messages_is_closed_with_the_same_reason(without):
    async def main():
        async with running() as server, connect(server.url) as client:
            client.transport.write(EMPTY * 5000)
            error = await closing(client)
            assert error.rcvd.code == 1008
            assert error.rcvd.reason == "flooding: more than 100 messages per second"
            assert server.gate.counts["flooding"] == 1
            assert server.received["/"] < 500

    asyncio.run(main())


def test_without_them_exempt_connection_loses_no_message(without):
    async def main():
        async with running(lambda connection: True) as server, connect(server.url) as client:
            client.transport.write(EMPTY * 5000)
            await until(lambda: server.received["/"] == 5000)
            assert not server.gate.counts

    asyncio.run(main())

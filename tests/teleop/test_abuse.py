"""Everything a peer should not send: refused or dropped, counted, and nothing moves."""

import contextlib
import gc
import random
import socket
import time
import tracemalloc

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from brazo.teleop.follow.safety import SafetyState
from brazo.teleop.link import wire_format
from brazo.teleop.link.channel import LinkRules
from brazo.teleop.link.wire_format import Command, Hello, Ping, Pong, Setting
from tests.teleop.rig import FollowerRig, MasterRig, until

OPEN = LinkRules(rate=1e6, burst=1e6, silence=60.0)
HELLO = wire_format.encode(Hello(1, "master", "stranger"))


def call(rig):
    """A websocket without our own code behind it."""
    return connect(
        rig.link.url,
        subprotocols=["brazo-teleop.1"],
        compression=None,
        close_timeout=0.2,
        max_queue=None,  # it still answers the websocket's own pings while no messages are read
    )


def visit(rig, hello=HELLO):
    """The same, let in, and how it was greeted."""
    peer = call(rig)
    peer.send(hello)
    return peer, wire_format.read_from_follower(peer.recv(timeout=10))


def pour(peer, messages):
    """Many messages at once, each a masked frame (with a mask of zeros)."""
    out = bytearray()
    for data in messages:
        size = len(data)
        out += bytes([0x82, 0x80 | size]) if size < 126 else b"\x82\xfe" + size.to_bytes(2, "big")
        out += bytes(4) + data
    peer.socket.sendall(out)


def untouched(rig):
    assert rig.state is SafetyState.IDLE and not rig.follower.safety.log
    assert all((step.sample.q == 0.0).all() and not step.seq for step in rig.steps)


def answer_pings(peer, session, seq):
    """Answer received pings; return the next number."""
    while True:
        try:
            frame = wire_format.read_from_follower(peer.recv(timeout=0.0))
        except TimeoutError:
            return seq
        if isinstance(frame, Ping):
            now = wire_format.now_us()
            seq += 1
            peer.send(wire_format.encode(Pong(session, seq, now, 0, frame.sent, now)))


def mutated(rng, session, seq):
    """A frame that was good once, with bytes changed, cut off, added or all of them random."""
    q = tuple(rng.uniform(-3, 3) for _ in range(2))
    good = wire_format.encode(
        rng.choice(
            [
                Command(session, seq, wire_format.now_us(), 0, 100_000, 1, seq, q),
                Ping(session, seq, wire_format.now_us(), 0),
                Setting(session, seq, 0, 0, "gain", 5.0),
                Hello(1, "master", "again"),
            ]
        )
    )
    data = bytearray(good)
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data += rng.randbytes(rng.randint(1, 60))
    elif kind == 3:
        data = bytearray(rng.randbytes(rng.randint(0, 200)))
    else:
        # Valid format, invalid content.
        fields = msgspec.msgpack.decode(good)
        fields[rng.randrange(len(fields))] = rng.choice(
            [None, -1, 2**63, float("nan"), "x" * 300, [], [[[]]], {"a": 1}, b"\x00"]
        )
        data = bytearray(msgspec.msgpack.encode(fields))
    return bytes(data)


def test_fuzzed_frames_cause_no_motion_and_no_memory_growth():
    rng = random.Random(0)
    with FollowerRig(rules=OPEN) as rig:
        peer, welcome = visit(rig)
        counts, sizes = rig.link.counts, []
        tracemalloc.start()
        try:
            with peer:
                for batch in range(1, 11):
                    seqs = range(1000 * batch, 1000 * batch + 1000)
                    pour(peer, [mutated(rng, welcome.session, seq) for seq in seqs])
                    until(lambda n=1000 * batch: counts["received"] == n, "all looked at")
                    rig.steps.clear()
                    gc.collect()
                    sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        untouched(rig)
        assert counts["malformed"] > 5000 and counts["replayed"] > 100
        assert counts["accepted"] == 0
        # The first batches fill caches; after them nothing grows.
        assert sizes[-1] - sizes[2] < 200_000


def test_fuzzed_frames_do_not_affect_a_connected_master():
    rng = random.Random(1)
    with FollowerRig(rules=OPEN) as rig, MasterRig(rig.address) as master:
        peer, welcome = visit(rig, wire_format.encode(Hello(1, "watch", "stranger")))
        with peer:
            master.set_moving(rig)
            before = rig.link.counts["received"]
            pour(peer, [mutated(rng, welcome.session, seq) for seq in range(1, 1001)])
            until(lambda: rig.link.counts["received"] > before + 1000, "all looked at")
            master.set_moving(rig)
        session = master.link.session
        assert all(received.command.session == session for _, received in rig.taken)
    rig.check()


def test_replayed_frames_are_dropped():
    """Recorded frames of a session are rejected in it and in the next."""
    with FollowerRig(rules=OPEN) as rig:
        recorded = []
        for _ in range(2):
            peer, welcome = visit(rig)
            with peer:
                seq = 0
                pour(peer, recorded)
                begin = time.perf_counter()
                while time.perf_counter() - begin < 0.3:
                    seq = answer_pings(peer, welcome.session, seq)
                    seq += 1
                    command = Command(
                        welcome.session, seq, wire_format.now_us(), 0, 100_000, 0, 0, (0.0, 0.0)
                    )
                    message = wire_format.encode(command)
                    peer.send(message)
                    recorded.append(message)
                    time.sleep(0.005)
                until(lambda s=seq: _latest(rig) == s, "commands taken")
                pour(peer, recorded)
                peer.send(
                    wire_format.encode(Ping(welcome.session, seq + 1, wire_format.now_us(), 0))
                )
                until(lambda s=seq: rig.link._master.inbox.last == s + 1, "to the end")
                assert _latest(rig) == seq
            until(lambda: rig.link.view().session == 0, "out of the seat")
            assert rig.link.counts["replayed"] >= len(recorded) // 2
        assert rig.link.counts["wrong session"] > 0
        untouched(rig)


def _latest(rig):
    latest = rig.link.view().latest
    return 0 if latest is None else latest.command.seq


def test_an_oversized_message_ends_the_connection():
    with FollowerRig() as rig:
        peer, _ = visit(rig)
        with peer:
            peer.send(b"\x00" * 3000)
            with pytest.raises(ConnectionClosed):
                while True:
                    peer.recv(timeout=10)
        assert peer.close_code == 1009
        until(lambda: rig.link.counts["oversized"] == 1, "counted")
        untouched(rig)


def test_a_flood_is_dropped_unread():
    with FollowerRig() as rig:
        peer, welcome = visit(rig)
        with peer:
            ping = wire_format.encode(Ping(welcome.session, 1, 0, 0))
            pour(peer, [ping] * 5000)
            until(lambda: rig.link.counts["received"] >= 5000, "all counted")
            assert rig.link.counts["too fast"] > 1000
        untouched(rig)


@pytest.mark.parametrize(
    "first",
    [
        wire_format.encode(Ping(5, 1, 0, 0)),
        wire_format.encode(Hello(1, "owner", "x")),
        wire_format.encode(Hello(99, "master", "x")),
        b"\xc1",
        b"",
        "text",
    ],
)
def test_invalid_opening_handshake_is_rejected(first):
    with FollowerRig() as rig:
        peer = call(rig)
        with peer:
            peer.send(first)
            with pytest.raises(ConnectionClosed):
                frame = wire_format.read_from_follower(peer.recv(timeout=10))
                assert isinstance(frame, wire_format.Refused)
                peer.recv(timeout=10)
        assert rig.link.view().session == 0
        untouched(rig)


@pytest.mark.parametrize(
    "noise",
    [
        b"\x00" * 100,
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /teleop HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS
        b"A" * 100_000,
    ],
)
def test_non_websocket_data_does_not_affect_the_follower(noise):
    with FollowerRig() as rig:
        for _ in range(20):
            with (
                socket.create_connection(("127.0.0.1", rig.link.port), timeout=10) as plain,
                _ignored(),
            ):
                plain.sendall(noise)
                plain.shutdown(socket.SHUT_WR)
                plain.recv(1000)
        with MasterRig(rig.address) as master:
            master.set_moving(rig)


def test_silent_connections_do_not_block_others():
    rules = LinkRules(hello=60.0)  # none of them is closed because it waited too long
    with FollowerRig(rules=rules) as rig:
        silent = [call(rig) for _ in range(48)]
        try:
            begin = time.monotonic()
            with MasterRig(rig.address) as master:
                assert master.link.connected
                assert time.monotonic() - begin < 5.0
                assert master.link.counts["attempts"] == 0  # the first one succeeded
            assert rig.link.counts["evicted"] == 17  # 32 may be silent, and the master was one
            with pytest.raises(ConnectionClosed):
                silent[0].recv(timeout=10)
            assert "pending" in silent[0].close_reason
            assert silent[-1].close_code is None
        finally:
            for peer in silent:
                peer.close()


def test_connections_without_a_request_do_not_block_others():
    """Plain sockets, of which the websocket's handshake never begins."""
    rules = LinkRules(hello=60.0)
    with FollowerRig(rules=rules) as rig:
        mute = [
            socket.create_connection(("127.0.0.1", rig.link.port), timeout=10) for _ in range(200)
        ]
        try:
            with MasterRig(rig.address) as master:
                assert master.link.connected
            until(lambda: rig.link.counts["evicted"] >= 160, "the oldest closed")
        finally:
            for one in mute:
                one.close()


def test_a_watcher_that_floods_is_closed_with_a_reason_and_the_master_stays():
    rules = LinkRules(silence=60.0, rate=700.0, burst=300.0)
    with FollowerRig(rules=rules) as rig, MasterRig(rig.address) as master:
        master.set_moving(rig)
        for flood in (bytes([0x89, 0x80, 0, 0, 0, 0]), bytes([0x82, 0x80, 0, 0, 0, 0])):
            peer, _ = visit(rig, wire_format.encode(Hello(1, "watch", "stranger")))
            with peer:
                with _ignored():
                    peer.socket.sendall(flood * 30_000)
                with pytest.raises(ConnectionClosed):
                    while True:
                        peer.recv(timeout=10)
            assert peer.close_code == 1008 and "flooding" in peer.close_reason
        assert rig.link.counts["flooding"] == 2
        master.set_moving(rig)


def _ignored():
    return contextlib.suppress(OSError)

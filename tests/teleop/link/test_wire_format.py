"""The wire format: bytes known beforehand, everything else refused."""

import math
import random

import msgspec
import pytest

from brazo.teleop.link import wire_format
from brazo.teleop.link.wire_format import Command, Hello, Malformed, Setting, Status

COMMAND = Command(7, 1, 1_000_000, 0, 100_000, 1, 2, (0.5, -1.0), None, 0.25)


def test_command_has_the_documented_bytes():
    # Written by hand from the MessagePack specification.
    assert wire_format.encode(COMMAND) == bytes.fromhex(
        "9c"  # array of 12
        "04 07 01"  # kind, session, seq
        "ce000f4240 00"  # sent, ack
        "ce000186a0 01 02"  # valid, flags, engagement
        "92 cb3fe0000000000000 cbbff0000000000000"  # q
        "c0 cb3fd0000000000000 90"  # no pose, grip, nothing extra
    )


def test_frames_round_trip():
    pose = (0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0)
    hello = Hello(1, "master", "desk", "secret", 5)
    command = Command(9, 3, -5, 2, 50_000, 3, 1, (1.0,) * 32, pose, None)
    setting = Setting(9, 4, 0, 0, "directions", (0.0, 1.0))
    for frame in (hello, command, setting):
        assert wire_format.read_from_master(wire_format.encode(frame)) == frame
    status = Status(9, 1, 0, 3, 3, "stale", 0.0, 4, 99, (1.0,), pose, (0.0,) * 6, ("near",))
    assert wire_format.read_from_follower(wire_format.encode(status)) == status


def test_additional_fields_at_the_end_are_ignored():
    longer = [*msgspec.msgpack.decode(wire_format.encode(COMMAND)), "new", [1, 2]]
    assert wire_format.read_from_master(msgspec.msgpack.encode(longer)) == COMMAND


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 99),  # kind
        (0, 5),  # a follower's frame
        (1, 0),  # session
        (1, 2**53),
        (2, -1),  # seq
        (3, 1.5),  # sent
        (5, 10**9),  # valid
        (6, 256),  # flags
        (8, [math.nan]),
        (8, [math.inf]),
        (8, [0.0] * 33),
        (8, ["1"]),
        (8, {"a": 1}),
        (9, [0.0] * 6),  # pose
        (9, [0.0] * 7),  # a quaternion of length 0
        (9, [math.nan, 0, 0, 1, 0, 0, 0]),
        (8, [1e6 + 1.0]),
        (9, [0.0, -1e308, 0.0, 1.0, 0.0, 0.0, 0.0]),
        (10, 1.5),  # grip
        (10, math.nan),
    ],
)
def test_a_field_out_of_range_is_refused(place, value):
    fields = msgspec.msgpack.decode(wire_format.encode(COMMAND))
    fields[place] = value
    with pytest.raises(Malformed):
        wire_format.read_from_master(msgspec.msgpack.encode(fields))


def test_text_short_and_oversized_messages_are_refused():
    data = wire_format.encode(COMMAND)
    for message in (
        "text",
        b"",
        data[:-1],
        data + b"\x00",
        b"\x90",
        b"\x91" * 2000,
        b"\x00" * 4096,
    ):
        with pytest.raises(Malformed):
            wire_format.read_from_master(message)


def test_random_bytes_are_rejected_or_valid():
    rng = random.Random(0)
    data = wire_format.encode(COMMAND)
    read = 0
    for _ in range(20_000):
        noise = bytearray(data if rng.random() < 0.7 else rng.randbytes(rng.randint(0, 80)))
        for _ in range(rng.randint(0, 4)):
            if noise:
                noise[rng.randrange(len(noise))] = rng.randrange(256)
        try:
            frame = wire_format.read_from_master(bytes(noise))
        except Malformed:
            continue
        read += 1
        if isinstance(frame, Command):
            assert all(map(math.isfinite, frame.q)) and 1 <= frame.session < 2**53
    assert read > 1000

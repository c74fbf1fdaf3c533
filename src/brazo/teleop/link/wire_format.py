"""Wire format, version 1: every websocket message is one MessagePack array.

Such an array is called a frame.  Its first element is the kind of frame; the other elements have a
fixed order.  After the handshake (`Hello`, `Welcome`, `Refused`) every frame starts with the same
header:

    kind, session, seq, sent, ack, …

`session` is the number that the follower assigned to the connection, `seq` is the sequence number,
`sent` is the time of the sender's monotonic clock in µs (with an arbitrary zero), and `ack` is the
highest `seq` received from the peer.  Readers ignore additional elements at the end, so frames can
be extended without a new version.  docs/teleop-protocol.md lists all fields and shows an example
exchange in bytes.
"""

from __future__ import annotations

import math
import time
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from brazo.text import one_line

VERSION = 1
SUBPROTOCOL = f"brazo-teleop.{VERSION}"
MAX_BYTES = 2048
MAX_JOINTS = 32
LARGEST = 1e6  # bound of measured values: joints, positions (rad, m), forces (N, N m)
STATES = ("IDLE", "ENGAGED", "DEGRADED", "HOLD")

# Flags of a command.
RUN = 1  # the operator holds the enable switch
CLUTCH = 2  # the master moves freely, the follower does not move

Session = Annotated[int, Meta(ge=1, le=2**53 - 1)]  # integers that JavaScript represents exactly
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Time = Annotated[int, Meta(ge=-(2**53), le=2**53)]  # µs
Name = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=200)]
Joints = Annotated[tuple[float, ...], Meta(max_length=MAX_JOINTS)]
# x, y, z in m, then the quaternion w, x, y, z.
Pose: TypeAlias = tuple[float, float, float, float, float, float, float]
Wrench: TypeAlias = tuple[float, float, float, float, float, float]
# Numbers for bilateral schemes, which the link transmits without interpretation.
Extra = Annotated[tuple[float, ...], Meta(max_length=32)]
Value: TypeAlias = bool | float | Name | Annotated[tuple[float, ...], Meta(max_length=16)]


class Hello(Struct, array_like=True, tag=1, frozen=True, gc=False):
    """First frame of a connection: role, name and token of the client."""

    version: int
    role: Name  # "master" or "watch"
    name: Name
    token: Annotated[str, Meta(max_length=256)] = ""
    resume: Count = 0  # session of this master before its connection broke, 0 for none


class Welcome(Struct, array_like=True, tag=2, frozen=True, gc=False):
    """Answer to an accepted `Hello`."""

    version: int
    session: Session
    name: Name  # of the follower
    joints: Annotated[int, Meta(ge=0, le=MAX_JOINTS)]  # required length of a command's q, 0 for any


class Refused(Struct, array_like=True, tag=3, frozen=True, gc=False):
    """Answer to a refused `Hello`; then the follower closes the connection."""

    code: Name  # "version", "token", "busy", "role", "full"
    text: Text


class Command(Struct, array_like=True, tag=4, frozen=True, gc=False):
    """Command of the master: its absolute position and the state of its buttons.

    The position is absolute, so a lost frame loses no motion.
    """

    session: Session
    seq: Count
    sent: Time
    ack: Count
    valid: Annotated[int, Meta(ge=0, le=10_000_000)]  # µs after `sent` until it expires
    flags: Annotated[int, Meta(ge=0, le=255)]
    engagement: Count  # increased by one to request engagement
    q: Joints = ()
    pose: Pose | None = None
    grip: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None  # 0 open, 1 closed
    extra: Extra = ()


class Status(Struct, array_like=True, tag=5, frozen=True, gc=False):
    """State of the follower, sent to the master and to watching clients."""

    session: Session
    seq: Count
    sent: Time
    ack: Count
    state: Annotated[int, Meta(ge=0, le=len(STATES) - 1)]
    cause: Text  # of the last state change
    share: float  # fraction of full speed, 0 to 1
    engagement: Count  # last number used
    age: Count  # µs, age of the newest command at `sent`
    q: Joints = ()
    pose: Pose | None = None
    wrench: Wrench | None = None  # on the tool, N and N m
    warnings: Annotated[tuple[Text, ...], Meta(max_length=4)] = ()
    extra: Extra = ()


class Ping(Struct, array_like=True, tag=6, frozen=True, gc=False):
    """Heartbeat; the receiver answers at once with a `Pong`."""

    session: Session
    seq: Count
    sent: Time
    ack: Count


class Pong(Struct, array_like=True, tag=7, frozen=True, gc=False):
    """Answer to a `Ping`, with times for estimating the clock offset and the round trip."""

    session: Session
    seq: Count
    sent: Time
    ack: Count
    echo: Time  # `sent` of the ping
    received: Time  # receive time, by the clock of the answering peer


class Setting(Struct, array_like=True, tag=8, frozen=True, gc=False):
    """Request to change a setting of the follower, such as the scale of the mapping."""

    session: Session
    seq: Count
    sent: Time
    ack: Count
    name: Name
    value: Value


class Answer(Struct, array_like=True, tag=9, frozen=True, gc=False):
    """Answer to a `Setting`: whether it was applied, and a message."""

    session: Session
    seq: Count
    sent: Time
    ack: Count
    setting: Count  # `seq` of the setting
    done: bool
    text: Text


FromMaster: TypeAlias = Hello | Command | Ping | Pong | Setting
FromFollower: TypeAlias = Welcome | Refused | Status | Ping | Pong | Answer
Frame: TypeAlias = Hello | Welcome | Refused | Command | Status | Ping | Pong | Setting | Answer


class Malformed(Exception):
    """Raised for a message that is not a valid frame of this version."""


# Texts of a peer that are shown or logged here, and their maximum lengths.
_TEXTS: dict[type, tuple[tuple[str, int], ...]] = {
    Hello: (("name", 64),),
    Welcome: (("name", 64),),
    Refused: (("code", 64), ("text", 200)),
    Status: (("cause", 200), ("warnings", 200)),
    Setting: (("name", 64), ("value", 64)),
    Answer: (("text", 200),),
}
_encoder = msgspec.msgpack.Encoder()
_from_master: msgspec.msgpack.Decoder[FromMaster] = msgspec.msgpack.Decoder(FromMaster)
_from_follower: msgspec.msgpack.Decoder[FromFollower] = msgspec.msgpack.Decoder(FromFollower)


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    return _encoder.encode(frame)


def read_from_master(message: bytes | str) -> FromMaster:
    """Decode and check a frame sent by a client; raise `Malformed` if it is invalid."""
    frame = _printable(_read(_from_master, message))
    if isinstance(frame, Command):
        _sound(frame.q)
        _finite(frame.extra)
        if frame.pose is not None:
            _sound(frame.pose)
            if not 0.99 < math.hypot(*frame.pose[3:]) < 1.01:
                raise Malformed("the quaternion of a pose does not have length 1")
        if frame.grip is not None:
            _finite((frame.grip,))
    elif isinstance(frame, Setting):
        value = frame.value
        _finite(value if isinstance(value, tuple) else (value,) if type(value) is float else ())
    return frame


def read_from_follower(message: bytes | str) -> FromFollower:
    """Decode and check a frame sent by a follower; raise `Malformed` if it is invalid."""
    frame = _printable(_read(_from_follower, message))
    if isinstance(frame, Status):
        _finite(frame.extra)
        _sound((frame.share, *frame.q, *(frame.pose or ()), *(frame.wrench or ())))
    return frame


def now_us() -> int:
    """Return the current time (µs) of the monotonic clock used in frames."""
    return time.perf_counter_ns() // 1000


def _read(decoder: msgspec.msgpack.Decoder, message: bytes | str):
    if isinstance(message, str):
        raise Malformed("received a text message; frames are binary messages")
    if len(message) > MAX_BYTES:
        raise Malformed(f"a frame has {len(message)} bytes; at most {MAX_BYTES} are allowed")
    try:
        return decoder.decode(message)
    # Invalid UTF-8 and deep nesting raise exceptions of other types.
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Malformed(str(error)) from None


def _printable(frame: Any) -> Any:
    """Return the frame with each text on one printable line, cut to its max length."""
    found = {}
    for field, most in _TEXTS.get(type(frame), ()):
        value = getattr(frame, field)
        if field == "warnings":
            clean: Any = tuple(one_line(text)[:most] for text in value)
        elif isinstance(value, str):
            clean = one_line(value)[:most]
        else:  # value of a setting that is no text
            continue
        if clean != value:
            found[field] = clean
    return msgspec.structs.replace(frame, **found) if found else frame


def _sound(values: tuple) -> None:
    _finite(values)
    if any(abs(value) > LARGEST for value in values):
        raise Malformed(f"a frame contains a number outside ±{LARGEST:g}")


def _finite(values: tuple) -> None:
    if not all(map(math.isfinite, values)):
        raise Malformed("a frame contains a number that is not finite")

"""The protocol page is enough: its bytes are right, and a client written from it drives a robot."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec

from brazo.teleop.bilateral.packet import Packet
from brazo.teleop.follow.safety import SafetyState
from brazo.teleop.link import wire_format
from tests.teleop.rig import FollowerRig

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "examples" / "teleop_client" / "client.py"
PAGE = ROOT / "docs" / "teleop-protocol.md"


def run(*arguments, token=""):
    return subprocess.run(
        [sys.executable, "-S", str(CLIENT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "BRAZO_TOKEN": token},
    )


def test_a_client_without_any_package_drives_the_follower():
    with FollowerRig() as follower:
        done = run(follower.address, "--seconds", 2)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "connected to 'follower'" in done.stdout
        states = [transition.after for transition in follower.follower.safety.log]
        assert SafetyState.ENGAGED in states
        for wrong in ("malformed", "replayed", "missing", "wrong session", "oversized"):
            assert follower.link.counts[wrong] == 0
    follower.check()


def test_client_without_packages_is_rejected_like_others():
    with FollowerRig(token="correct horse battery staple") as follower:
        done = run(follower.address, token="wrong token of many characters")
        assert done.returncode != 0 and "wrong token" in done.stderr
        assert run(follower.address, token=follower.link.token).returncode == 0


def test_documented_bytes_are_frames():
    """Every line `kind: hex bytes` of the documented exchange is a frame of that kind."""
    found = re.findall(r"^(\w+) +(→|←)((?: [0-9a-f]{2})+)$", PAGE.read_text("utf-8"), re.M)
    assert [kind for kind, _, _ in found] == [
        "Hello",
        "Welcome",
        "Ping",
        "Pong",
        "Command",
        "Status",
    ]
    for kind, arrow, text in found:
        data = bytes.fromhex(text)
        read = wire_format.read_from_master if arrow == "→" else wire_format.read_from_follower
        frame = read(data)
        assert type(frame).__name__ == kind
        assert wire_format.encode(frame) == data


def test_documented_packet_bytes_are_a_packet():
    page = PAGE.read_text("utf-8").split("The extra of a first packet")[1].split("```")[1]
    lines = re.findall(r"^((?:[0-9a-f]{2} )+)", page, re.M)
    data = bytes.fromhex("".join(lines)) + 13 * bytes.fromhex("cb 00 00 00 00 00 00 00 00")
    extra = msgspec.msgpack.decode(data, type=wire_format.Extra)
    packet = Packet.read(extra[1:])
    assert (packet.seq, packet.sent, packet.id, packet.peer) == (1, 0.25, 7, 0)
    assert msgspec.msgpack.encode((0.0, *packet.numbers())) == data


def test_documentation_lists_every_field_of_every_frame():
    page = PAGE.read_text("utf-8")
    kinds = [
        wire_format.Hello,
        wire_format.Welcome,
        wire_format.Refused,
        wire_format.Command,
        wire_format.Status,
    ]
    kinds += [wire_format.Ping, wire_format.Pong, wire_format.Setting, wire_format.Answer]
    for kind in kinds:
        section = page.split(f"### {kind.__name__}")[1].split("###")[0].split("\n## ")[0]
        for name in kind.__struct_fields__:
            assert f"`{name}`" in section or name in ("session", "seq", "sent", "ack"), (kind, name)
        assert f"kind {kind.__struct_config__.tag}" in section


def test_documented_constants_match_the_code():
    from brazo.teleop.follow.safety import Rules
    from brazo.teleop.link.channel import LinkRules

    page = PAGE.read_text("utf-8")
    rules, link = Rules(), LinkRules()
    for text in (
        f"{wire_format.MAX_BYTES} bytes",
        f"{wire_format.MAX_JOINTS} joint values",
        f"`{wire_format.SUBPROTOCOL}`",
        f"{1e3 * rules.degrade:.0f} ms",
        f"{1e3 * rules.stale:.0f} ms",
        f"{1e3 * link.silence:.0f} ms",
        f"{1e3 * link.heartbeat:.0f} ms",
        f"{link.rate:.0f} frames a second",
        f"{rules.gap} numbers",
    ):
        assert text in page, text

"""The link on real sockets: commands there, statuses back, who may connect, coming back."""

import asyncio
import socket
import threading
import time
from unittest.mock import Mock

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.follow.safety import Cause, SafetyState
from brazo.teleop.link.access import client_tls, server_tls
from brazo.teleop.link.channel import LinkRules
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.link.master_link import MasterLink
from brazo.teleop.link.views import LinkReport
from brazo.teleop.link.wire_format import Refused, encode
from tests.conftest import DATA
from tests.teleop.rig import PATIENCE, FollowerRig, MasterRig, until

TOKEN = "correct horse battery staple"


def test_five_hundred_commands_a_second_none_lost_none_out_of_order():
    with FollowerRig() as follower, MasterRig(follower.address) as master:
        master.valid = 10.0  # s; a pause of a busy machine lets no command expire
        master.set_moving(follower)
        begin, before = time.perf_counter(), dict(follower.link.counts)
        time.sleep(2.0)
        end = time.perf_counter()
        counts = follower.link.counts
        assert counts["accepted"] - before["accepted"] > 200
        for wrong in ("missing", "replayed", "malformed", "wrong session"):
            assert counts[wrong] == 0, wrong
        good = [r for s, r in follower.taken if begin < s.t < end]
        trip = follower.link.round_trip
    follower.check()
    # One clock in truth, so what the estimate makes of it can be seen.
    one_way = [r.received - 1e-6 * r.command.sent for r in good]
    error = [r.sent - 1e-6 * r.command.sent for r in good]
    assert min(one_way) >= 0.0
    assert trip is not None and np.abs(error).max() < max(5e-3, trip)  # half the trip in theory


def test_status_and_settings_are_returned():
    with FollowerRig() as follower, MasterRig(follower.address) as master:
        master.set_moving(follower)
        reported = until(lambda: (t := master.link.status()) and t.status.state and t, "a status")
        assert reported.status.state in list(SafetyState) and reported.status.cause
        assert len(reported.status.q) == 2 and reported.sent <= reported.received
        master.link.set("gain", 0.5)
        answer = until(master.link.answers, "an answer")[0]
        assert answer.done and answer.text == "gain is 0.5"
        assert follower.follower.mapping.gain.tolist() == [0.5, 0.5]
        master.link.set("colour", "red")
        answer = until(master.link.answers, "an answer")[0]
        assert not answer.done and "settings: gain, absolute" in answer.text
        assert master.link.follower == "follower" and master.link.joints == 2
        assert 0.0 < master.link.round_trip < 1.0
        assert abs(master.link.offset) < 0.5


def test_a_setting_without_a_link_is_refused_and_never_sent_later():
    with FollowerLink() as follower, MasterLink(follower.url) as master:
        master.wait()
        follower.close()
        until(lambda: not master.connected, "the link is lost")
        with pytest.raises(BrazoError, match=r"'scale' was not sent .* no link"):
            master.set("scale", 0.1)
        master._asked.append(("scale", 0.2))  # at the time of the link loss
        follower.start()
        until(lambda: master.connected, "the link is back")
        (answer,) = until(master.answers, "said")
        assert not answer.done and "'scale' was not sent to the follower" in answer.text
        master.set("scale", 2.0)
        asked = until(follower.settings, "a setting")
        assert [(one.name, one.value) for one in asked] == [("scale", 2.0)]


@pytest.mark.parametrize("host", ["a..b", "x" * 64, ".a", "ä" * 60])
def test_invalid_host_name_is_rejected(host):
    with pytest.raises(BrazoError, match="invalid host name"):
        MasterLink(f"{host}:9000")
    with pytest.raises(BrazoError, match="invalid host name"):
        FollowerLink(host, token=TOKEN).start()


def test_an_unexpected_error_is_reported_and_ends_the_attempts(monkeypatch):
    def odd(*_, **__):
        raise RuntimeError("something odd")

    monkeypatch.setattr("brazo.teleop.link.master_link.connect", odd)
    with MasterLink("127.0.0.1:9") as link:
        with pytest.raises(BrazoError, match="something odd"):
            link.wait(PATIENCE)
        assert link.trouble == "127.0.0.1:9 is not a follower: something odd; not retrying"


def test_link_ended_while_closing_leaves_no_open_connection(monkeypatch):
    closing = threading.Event()

    class Slow:  # to be refused, and then to close
        transport = Mock()

        def __init__(self, *_: object, **__: object) -> None: ...

        async def __aenter__(self) -> "Slow":
            return self

        async def __aexit__(self, *_: object) -> None:
            closing.set()
            await asyncio.sleep(60.0)

        async def send(self, _: bytes) -> None: ...

        async def recv(self) -> bytes:
            return encode(Refused("busy", "'first' controls this follower"))

    monkeypatch.setattr("brazo.teleop.link.master_link.connect", Slow)
    with MasterLink("127.0.0.1:9"):
        assert closing.wait(10.0)
    Slow.transport.abort.assert_called_once_with()


def test_small_frames_leave_at_once():
    with FollowerLink() as follower, MasterLink(follower.url) as master:
        master.wait()
        for channel in (follower._master, master._channel):
            plain = channel.connection.transport.get_extra_info("socket")
            assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_send_publish_and_read_do_not_block():
    with FollowerLink() as follower, MasterLink(follower.url) as master:
        master.wait()
        report = LinkReport(0, "", q=(0.0,) * 6)
        for call in (
            lambda: master.send((0.0,) * 6),
            lambda: follower.publish(report),
            lambda: (follower.view(), master.status()),
        ):
            cost = []
            for _ in range(300):
                begin = time.perf_counter()
                call()
                cost.append(time.perf_counter() - begin)
            assert np.median(cost) < 2e-4


def test_a_second_master_is_refused_and_others_may_watch():
    with (
        FollowerRig() as follower,
        MasterRig(follower.address) as master,
        MasterLink(follower.address, name="second") as second,
        MasterLink(follower.address, watch=True) as watcher,
    ):
        watcher.wait()
        until(lambda: second.refusal, "a refusal")
        assert second.refusal == "'master' controls this follower"
        assert not second.connected
        master.set_moving(follower)
        reported = until(lambda: (t := watcher.status()) and t.status.state and t, "a status")
        assert reported.status.q
        # Commands of an observer are ignored.
        watcher.engage()
        for _ in range(20):
            watcher.send((9.0, 9.0), run=True)
            time.sleep(0.002)
        until(lambda: follower.link.counts["not the master"] > 0, "counted")
        # Another master may connect after the first has left.
        master.quiet = True
        master.link.close()
        until(lambda: second.connected, "the second master in the seat", 60)
    follower.check()


@pytest.mark.parametrize("token", [None, "", "wrong horse battery staple", TOKEN + "x", TOKEN[:-1]])
def test_wrong_token_is_rejected_permanently(token):
    with FollowerLink(token=TOKEN) as follower, MasterLink(follower.url, token=token) as master:
        with pytest.raises(BrazoError, match="wrong token"):
            until(lambda: master.refusal, "a refusal")
            master.wait(0.1)
        assert follower.counts["refused: token"] == 1
        assert follower.view().session == 0


def test_correct_token_is_accepted():
    with FollowerLink(token=TOKEN) as follower, MasterLink(follower.url, token=TOKEN) as master:
        master.wait()
        assert until(lambda: follower.view().session, "a session") == master.session


def test_other_interfaces_always_require_a_token():
    assert FollowerLink().token is None
    made = FollowerLink("0.0.0.0").token
    assert made is not None and len(made) >= 32
    assert FollowerLink("0.0.0.0").token != made
    with pytest.raises(BrazoError, match="the token has 5 characters"):
        FollowerLink("0.0.0.0", token="short")


def handshake(port, *lines):
    """Response of the follower to a handshake with these headers."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        head = [
            "GET /teleop HTTP/1.1",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Protocol: brazo-teleop.1",
            *lines,
        ]
        plain.sendall("\r\n".join([*head, "", ""]).encode())
        return plain.recv(4096).split(b"\r\n")[0]


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["Host: 127.0.0.1"], 101),
        (["Host: localhost:1234"], 101),
        (["Host: [::1]:80"], 101),
        (["Host: evil.example"], 403),
        (["Host: 127.0.0.1.evil.example"], 403),
        (["Host: 192.168.1.5"], 403),
        ([], 403),
        (["Host: 127.0.0.1", "Origin: https://evil.example"], 403),
        (["Host: 127.0.0.1", "Origin: null"], 403),
        (["Host: 127.0.0.1", "Origin: http://127.0.0.1:8080"], 101),
    ],
)
def test_host_and_origin(lines, answer):
    with FollowerLink(origins=["http://127.0.0.1:8080"]) as follower:
        assert str(answer).encode() in handshake(follower.port, *lines)


def test_a_client_of_another_version_is_refused():
    with FollowerLink() as follower, MasterLink(follower.url) as master:
        master.wait()
        with socket.create_connection(("127.0.0.1", follower.port), timeout=10) as plain:
            plain.sendall(
                b"GET /teleop HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                b"Sec-WebSocket-Protocol: brazo-teleop.99\r\n\r\n"
            )
            assert b"400" in plain.recv(4096).split(b"\r\n")[0]


def test_tls():
    tls = DATA / "tls"
    server = server_tls(tls / "certificate.pem", tls / "key.pem")
    trusted = client_tls(tls / "certificate.pem")
    with FollowerLink(tls=server, token=TOKEN) as follower:
        assert follower.url.startswith("wss://")
        with MasterLink(f"localhost:{follower.port}", tls=trusted, token=TOKEN) as master:
            master.wait()
            until(lambda: master.round_trip, "a ping")
        with MasterLink(f"localhost:{follower.port}", tls=client_tls(), token=TOKEN) as stranger:
            until(lambda: stranger.refusal, "a refusal")
            assert "certificate" in stranger.refusal
    with pytest.raises(BrazoError, match="no usable certificate"):
        server_tls(tls / "key.pem", tls / "certificate.pem")


def test_an_address_is_checked():
    for address in ("nowhere", "http://a:1", "127.0.0.1:99999", "wss://a:1", "ws://:80"):
        with pytest.raises(BrazoError, match="address"):
            MasterLink(address)
    with MasterLink("127.0.0.1:9") as master, pytest.raises(BrazoError, match="not connected"):
        master.wait(0.3)


def test_port_in_use_is_reported():
    with (
        FollowerLink() as first,
        pytest.raises(BrazoError, match=f"cannot listen on 127.0.0.1:{first.port}"),
    ):
        FollowerLink(port=first.port).start()


def test_restarted_follower_is_reconnected_and_waits_for_engagement():
    with FollowerRig() as follower, MasterRig(follower.address) as master:
        master.set_moving(follower)
        port, session = follower.link.port, master.link.session
        follower.link.close()
        until(lambda: follower.state is SafetyState.HOLD, "HOLD")
        assert follower.follower.safety.cause in (Cause.LINK, Cause.STALE, Cause.LATE)
        until(lambda: not master.link.connected, "noticed by the master")
        follower.link = FollowerLink(port=port, joints=2).start()
        until(lambda: master.link.connected and master.link.session != session, "connected", 60)
        time.sleep(0.2)  # the hand still holds the switch
        assert follower.state is SafetyState.HOLD
        master.set_moving(follower)
    follower.check()


def test_reconnecting_master_replaces_its_old_connection():
    """A dead connection that only the master has detected does not block it."""
    with FollowerLink() as follower, MasterLink(follower.url) as dead:
        dead.wait()
        first = until(lambda: follower.view().session, "a session")
        same = MasterLink(follower.url, name="the same")
        same._session = dead.session  # what it remembers of its last connection
        with same:
            same.wait()
            assert follower.master == "the same"
            assert follower.view().session == same.session != first
            assert follower.counts["resumed"] == 1
            # A master without that session is refused.
            until(lambda: dead.refusal, "refused")
            assert "controls this follower" in dead.refusal


def test_silent_master_loses_its_connection():
    rules = LinkRules(silence=0.3)
    with (
        FollowerLink(rules=rules) as follower,
        socket.create_connection(("127.0.0.1", follower.port), timeout=10) as plain,
    ):
        plain.sendall(
            b"GET /teleop HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            b"Sec-WebSocket-Protocol: brazo-teleop.1\r\n\r\n"
        )
        # Hello: [1, 1, "master", "x"], masked with zeros.
        plain.sendall(bytes([0x82, 0x80 | 12, 0, 0, 0, 0]) + b"\x94\x01\x01\xa6master\xa1x")
        until(lambda: follower.counts["gone silent"], "noticed")
        until(lambda: follower.master == "", "out of the seat")
        assert follower.counts["gone silent"] == 1


def test_connection_without_hello_is_closed():
    with (
        FollowerLink(rules=LinkRules(hello=0.2)) as follower,
        socket.create_connection(("127.0.0.1", follower.port), timeout=10) as plain,
    ):
        plain.sendall(
            b"GET /teleop HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            b"Sec-WebSocket-Protocol: brazo-teleop.1\r\n\r\n"
        )
        until(lambda: follower.counts["no hello"] == 1, "noticed")


@pytest.mark.parametrize("options", [{"heartbeat": 0.0}, {"silence": 0.1}, {"rate": -1}])
def test_invalid_rules_are_rejected(options):
    with pytest.raises(BrazoError):
        LinkRules(**options)


def test_stalled_follower_loop_is_not_reported_as_healthy():
    rules = LinkRules(stalled=0.05)
    with FollowerLink(rules=rules) as follower, MasterLink(follower.url) as master:
        master.wait(PATIENCE)
        follower.publish(LinkReport(SafetyState.ENGAGED, "engaged", share=1.0, age=0.01))
        reported = until(
            lambda: (
                (now := master.status()) and now.status.state == SafetyState.HOLD and now.status
            ),
            "HOLD, although ENGAGED was reported last",
        )
        assert "has not run for" in reported.cause and reported.share == 0.0
        assert reported.age > 50_000  # µs: it grows on
        assert follower.heard is not None and master.heard is not None
        assert 0.0 <= master.heard < PATIENCE

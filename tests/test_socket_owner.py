"""Owner of a connection, tested with real connections of another user."""

import os
import socket
import subprocess
import sys
import time
from http import HTTPStatus

import pytest

from brazo import socket_owner
from brazo.lab.server.access import LabAccess
from brazo.lab.server.lab_server import LabServer
from brazo.lab.server.requests import Requests
from brazo.socket_owner import UNKNOWN, owner_of, same_token
from brazo.teleop import FollowerLink
from brazo.teleop.proxy import FaultProxy

NO_OWNER = 65534
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists owners of sockets")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user"
)
# All modules are imported before the user changes, because the new user may not read them.
CLIENT = """
import encodings.idna, os, socket, sys
uid, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
request = bytes.fromhex(sys.argv[4])
if uid != os.geteuid():
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
with socket.create_connection((host, port), timeout=20) as line:
    line.sendall(request)
    try:
        sys.stdout.write(line.recv(4096).decode("latin-1"))
        sys.stdout.flush()
    except ConnectionError:
        pass
    sys.stdin.read()
"""


@pytest.fixture(params=["netlink", "tables"])
def route(request, monkeypatch):
    """Both ways to find the owner; each must answer without the other."""

    def unavailable(*_):
        raise OSError("not available")

    if request.param == "netlink":
        monkeypatch.setattr(socket_owner, "_owner_from_tables", unavailable)
    else:
        monkeypatch.setattr(socket_owner, "_owner_from_netlink", unavailable)


def client(uid, host, port, request=b""):
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(uid), host, str(port), request.hex()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(uid, host, port, request):
    """Return the first bytes of a server's reply to a request of a user."""
    out, _ = client(uid, host, port, request).communicate(timeout=60)
    return out


def http(path, port, **headers):
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def upgrade(path, port, **headers):
    return http(
        path,
        port,
        Upgrade="websocket",
        Connection="Upgrade",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        Sec_WebSocket_Version=13,
        **headers,
    )


@linux
@as_root
@pytest.mark.parametrize(
    ("listen", "connect"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("127.0.0.1", "::ffff:127.0.0.1")],
)
@pytest.mark.parametrize("uid", [0, NO_OWNER])
def test_owner_of_a_connection(listen, connect, uid, route):
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with socket.socket(family) as server:
        try:
            server.bind((listen, 0))
        except OSError:
            pytest.skip("no IPv6 here")
        server.listen()
        server.settimeout(20)
        other = client(uid, connect, server.getsockname()[1])
        connection, peer = server.accept()
        with connection:
            assert owner_of(peer[:2], connection.getsockname()[:2]) == uid
            connection.close()
        other.communicate(timeout=20)


@linux
def test_closed_connection_has_no_owner(route):
    """Linux lists a closed socket with owner root, which must not count as root."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        other = socket.create_connection(server.getsockname())
        connection, peer = server.accept()
        with connection:
            own = connection.getsockname()
            assert owner_of(peer, own) == os.geteuid()
            other.sendall(b"drive")
            other.close()
            end = time.monotonic() + 5
            while owner_of(peer, own) == os.geteuid() and time.monotonic() < end:
                time.sleep(0.01)
            assert owner_of(peer, own) == UNKNOWN


@linux
@as_root
def test_lab_serves_only_its_own_user():
    server = LabServer("127.0.0.1", 0, Requests())
    try:
        port = server.port
        own = http("/", port)
        assert " 200 " in answer(0, "127.0.0.1", port, own).splitlines()[0]
        assert " 403 " in answer(NO_OWNER, "127.0.0.1", port, own).splitlines()[0]
        channel = upgrade("/channel?page=x", port, Origin=f"http://127.0.0.1:{port}")
        assert " 101 " in answer(0, "127.0.0.1", port, channel).splitlines()[0]
        assert " 403 " in answer(NO_OWNER, "127.0.0.1", port, channel).splitlines()[0]
    finally:
        server.stop()


@linux
@as_root
def test_token_replaces_the_check_of_the_user():
    server = LabServer("127.0.0.1", 0, Requests(), token=True)
    try:
        port, token = server.port, server.access.token
        assert server.url.endswith(f"/?token={token}")
        for uid in (0, NO_OWNER):
            refused = answer(uid, "127.0.0.1", port, http("/", port)).splitlines()[0]
            assert " 401 " in refused
            welcome = answer(uid, "127.0.0.1", port, http(f"/?token={token}", port))
            assert " 303 " in welcome.splitlines()[0]
        # Another user, who can read the browser's code in the process list, cannot use it.
        url = server.browser_url()
        assert str(token) not in url
        code = url.partition(str(port))[2]
        for uid, status in ((NO_OWNER, " 401 "), (0, " 303 "), (0, " 401 ")):
            assert status in answer(uid, "127.0.0.1", port, http(code, port)).splitlines()[0]
    finally:
        server.stop()


def test_code_is_valid_once_and_for_one_minute(monkeypatch):
    from websockets.datastructures import Headers

    access = LabAccess.on("127.0.0.1", 8080, token=True)

    def status(code):
        refusal = access.check(Headers(Host="127.0.0.1:8080"), f"/?code={code}", False)
        return None if refusal is None else refusal.status

    code = access.code()
    assert status(code) == HTTPStatus.SEE_OTHER
    assert status(code) == status("") == status("x") == HTTPStatus.UNAUTHORIZED
    late = access.code()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61.0)
    assert status(late) == HTTPStatus.UNAUTHORIZED


@linux
@as_root
def test_follower_serves_only_its_own_user():
    with FollowerLink(joints=2) as link:
        request = upgrade("/teleop", link.port, Sec_WebSocket_Protocol="brazo-teleop.1")
        assert " 101 " in answer(0, "127.0.0.1", link.port, request).splitlines()[0]
        assert " 403 " in answer(NO_OWNER, "127.0.0.1", link.port, request).splitlines()[0]
        assert link.counts["refused: user"] == 1
        with FaultProxy(f"127.0.0.1:{link.port}") as proxy:
            assert " 101 " in answer(0, "127.0.0.1", proxy.port, request).splitlines()[0]
            assert answer(NO_OWNER, "127.0.0.1", proxy.port, request) == ""
    with FollowerLink(joints=2, token=True) as link:
        assert link.token is not None and len(link.token) >= 32
        request = upgrade("/teleop", link.port, Sec_WebSocket_Protocol="brazo-teleop.1")
        assert " 101 " in answer(NO_OWNER, "127.0.0.1", link.port, request).splitlines()[0]


def test_any_text_can_be_compared_with_a_token():
    assert same_token("a token", "a token")
    assert not any(same_token(text, "a token") for text in ("", "é", "\udce9", "a token "))

"""Who may talk to the lab."""

from __future__ import annotations

import socket

import pytest
from websockets.datastructures import Headers

from brazo.lab.server.access import LabAccess, is_loopback

LOCAL = LabAccess("127.0.0.1")
OPEN = LabAccess("0.0.0.0", "brazo-8080", "s3cret")


def status(access: LabAccess, target: str = "/", websocket: bool = False, **headers: str) -> int:
    refusal = access.check(Headers(headers), target, websocket)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080"])
def test_loopback_names_are_accepted_on_any_port(host):
    assert status(LOCAL, Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:8080",
        "192.168.1.7:8080",
        "",
        "[",
        "a b",
        "localhost:1; x",
    ],
)
def test_other_host_names_are_rejected_on_loopback(host):
    assert status(LOCAL, Host=host) == 421


def test_request_needs_exactly_one_host_header():
    assert LOCAL.check(Headers(), "/", False).status == 421
    twice = Headers([("Host", "localhost"), ("Host", "evil.example")])
    assert LOCAL.check(twice, "/", False).status == 421


def test_open_lab_accepts_addresses_and_its_own_name_only():
    cookie = "brazo-8080=s3cret"
    for host in ("192.168.1.7:8080", "[fe80::1]:8080", f"{socket.gethostname()}:8080"):
        assert status(OPEN, Host=host, Cookie=cookie) == 200
    assert status(OPEN, Host="evil.example", Cookie=cookie) == 421


@pytest.mark.parametrize("websocket", [False, True])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://localhost:8080", "http://localhost:9", "null"]
)
def test_a_foreign_origin_is_refused(origin, websocket):
    assert status(LOCAL, websocket=websocket, Host="localhost:8080", Origin=origin) == 403


def test_websocket_needs_an_origin_and_a_page_does_not():
    assert status(LOCAL, websocket=True, Host="localhost:8080") == 403
    assert status(LOCAL, websocket=False, Host="localhost:8080") == 200
    own = {"Host": "localhost:8080", "Origin": "http://localhost:8080"}
    assert status(LOCAL, websocket=True, **own) == 200


def test_token_is_read_from_the_link_once_then_from_the_cookie():
    host = {"Host": "10.0.0.2:8080"}
    assert status(OPEN, **host) == 401
    assert status(OPEN, "/?token=wrong", **host) == 401
    welcome = OPEN.check(Headers(host), "/?token=s3cret", False)
    assert welcome.status == 303
    assert welcome.headers["Location"] == "/"
    cookie = welcome.headers["Set-Cookie"]
    assert cookie.startswith("brazo-8080=s3cret;")
    assert "HttpOnly" in cookie and "SameSite" in cookie
    assert status(OPEN, Cookie="a=b; brazo-8080=s3cret", **host) == 200
    assert status(OPEN, Cookie="brazo-8080=S3cret", **host) == 401
    assert status(OPEN, Cookie="brazo-9090=s3cret", **host) == 401


def test_websocket_token_is_accepted_by_cookie_only():
    own = {"Host": "10.0.0.2:8080", "Origin": "http://10.0.0.2:8080"}
    assert status(OPEN, "/?token=s3cret", websocket=True, **own) == 401
    assert status(OPEN, websocket=True, Cookie="brazo-8080=s3cret", **own) == 200


def test_only_loopback_needs_no_token():
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        assert is_loopback(host) and LabAccess.on(host, 8080).token is None
    for host in ("0.0.0.0", "::", "", "192.168.1.7", "example.org"):
        token = LabAccess.on(host, 8080).token
        assert not is_loopback(host) and token is not None and len(token) >= 32
    assert LabAccess.on("0.0.0.0", 1).token != LabAccess.on("0.0.0.0", 1).token


@pytest.mark.parametrize("token", ["é", "\udce9", "s3cret\udce9", "%C3%A9", "%ff", ""])
def test_non_ascii_token_is_rejected_without_an_error(token):
    assert status(OPEN, f"/?token={token}", Host="127.0.0.1:8080") == 401
    if "\udce9" not in token:  # websockets refuses such a header itself
        assert status(OPEN, Host="127.0.0.1:8080", Cookie=f"brazo-8080={token}") == 401


def test_invalid_url_is_rejected_without_an_error():
    assert status(OPEN, "//[/?token=x", Host="127.0.0.1:8080") == 401

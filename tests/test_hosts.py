"""Addresses and host names."""

import socket

import pytest

from brazo.errors import BrazoError
from brazo.hosts import address, is_loopback, names_this_machine


def test_an_address_is_a_host_and_a_port():
    assert address("robot.local:9000") == ("robot.local", 9000)
    assert address("ws://127.0.0.1:1/teleop") == ("127.0.0.1", 1)
    assert address("[::1]:0") == ("::1", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("robot", "expected host:port"),
        (":9000", "expected host:port"),
        ("http://robot:1", "expected host:port"),
        ("robot:99999", "must be from 0 to 65535; expected host:port, such as 127.0.0.1:9000"),
        ("127.0.0.1:abc", "must be from 0 to 65535; expected host:port, such as 127.0.0.1:9000"),
        ("[::1:9000", "expected host:port"),
        ("a..b:1", "invalid host name"),
        ("x" * 64 + ":1", "invalid host name"),
    ],
)
def test_invalid_address_is_rejected(text, message):
    with pytest.raises(BrazoError, match=message):
        address(text)


def test_loopback():
    for host in ("localhost", "LOCALHOST", "127.0.0.1", "127.9.8.7", "::1"):
        assert is_loopback(host), host
    for host in ("0.0.0.0", "192.168.1.5", "::", "localhost.evil.com", ""):
        assert not is_loopback(host), host


@pytest.mark.parametrize(
    ("host", "header", "ours"),
    [
        ("127.0.0.1", "localhost:8080", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "[::1]:9", True),
        ("127.0.0.1", "192.168.1.5", False),
        ("127.0.0.1", "evil.example", False),
        ("0.0.0.0", "192.168.1.5:8080", True),
        ("0.0.0.0", socket.gethostname(), True),
        ("0.0.0.0", "evil.example", False),
        ("robot.lan", "ROBOT.lan:1", True),
        ("0.0.0.0", "a b", False),
        ("0.0.0.0", "", False),
        ("", "192.168.1.5:8080", True),
        ("", "evil.example", False),
        ("", "evil.example/", False),
        ("", "", False),
    ],
)
def test_host_header_must_name_this_machine(host, header, ours):
    assert names_this_machine(header, host) == ours

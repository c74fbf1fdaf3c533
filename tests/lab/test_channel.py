"""The lab's own line to its pages, spoken to directly."""

from __future__ import annotations

import json
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from brazo.lab.channel import MAX_EVENT_BYTES


@pytest.fixture
def line(lab):
    origin = f"http://127.0.0.1:{lab._server.port}"
    with connect(lab.url.replace("http", "ws") + "/channel", origin=origin) as ws:
        yield ws


def until(line, name, value):
    """Read on until the page would show that value; returns all values it was told."""
    told = {}
    while told.get(name) != value:
        told |= json.loads(line.recv(timeout=10))
    return told


def test_a_new_page_is_told_everything(lab, line):
    told = json.loads(line.recv(timeout=10))
    assert told["robot"] == "scara1"
    assert "panda" in told["robots"]
    assert {f"joint/{i}" for i in range(lab.robot.n)} <= told.keys()


def test_only_what_changed_is_told_again(lab, line):
    line.recv(timeout=10)
    lab.channel.put({"robot": "scara1", "probe": 1})
    assert json.loads(line.recv(timeout=10)) == {"probe": 1}


def test_a_page_that_does_not_listen_skips_and_holds_nobody_up(lab, line):
    line.recv(timeout=10)
    for i in range(20_000):
        lab.channel.put({"probe": i})
    assert until(line, "probe", 19_999)["probe"] == 19_999


def test_an_event_reaches_its_handler_with_the_types_it_declared(lab, line):
    calls = []
    lab.channel.on("probe", lambda *args: calls.append(args), int, float, str, bool)
    lab.channel.on("end", lambda: lab.channel.put({"end": len(calls)}))
    wrong = [
        ["probe"],
        ["probe", 1, 2.0, "x"],
        ["probe", 1, 2.0, "x", True, None],
        ["probe", 1.5, 2.0, "x", True],
        ["probe", True, 2.0, "x", True],
        ["probe", 1, "2", "x", True],
        ["probe", 1, True, "x", True],
        ["probe", 1, 2.0, ["x"], True],
        ["probe", 1, 2.0, "x", 1],
        ["no such event", 1],
        [["probe"], 1, 2.0, "x", True],
        [],
        {"probe": 1},
        "probe",
        None,
    ]
    for event in wrong:
        line.send(json.dumps(event))
    line.send('["probe", 1, 1e999, "x", true]')
    line.send(f'["probe", 1, {"9" * 400}, "x", true]')
    line.send("not json")
    line.send(b"\xff\xfe")
    line.send('["probe", 1, 2, "x", true]')
    line.send('["end"]')
    until(line, "end", 1)
    assert calls == [(1, 2.0, "x", True)]
    assert isinstance(calls[0][1], float)


def test_an_event_that_is_too_long_ends_the_connection(line):
    line.recv(timeout=10)
    line.send(json.dumps(["pose", "x" * MAX_EVENT_BYTES]))
    with pytest.raises(ConnectionClosed) as closed:
        line.recv(timeout=10)
    assert closed.value.rcvd.code == 1009


def test_a_handler_that_fails_is_logged_and_the_lab_goes_on(lab, line, caplog):
    lab.channel.on("broken", lambda: 1 / 0)
    lab.channel.on("after", lambda: lab.channel.put({"after": time.monotonic_ns()}))
    line.recv(timeout=10)
    line.send('["broken"]')
    line.send('["after"]')
    assert "after" in json.loads(line.recv(timeout=10))
    assert "ZeroDivisionError" in caplog.text

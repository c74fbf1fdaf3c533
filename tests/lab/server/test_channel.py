"""The lab's own line to its pages, spoken to directly."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed

from brazo.errors import BrazoError
from brazo.lab.server.channel import MAX_EVENT_BYTES, MAX_PAGES, SAME_PAGE_TWICE, Typed


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        yield page


@pytest.fixture
def ws(page):
    return page.ws


def until(ws, name, value):
    """Read on until the page would show that value."""
    while json.loads(ws.recv(timeout=10)).get(name) != value:
        pass


def test_a_new_page_is_reported_everything(lab, page):
    assert page.reported["cell"] == "scara1"
    assert "panda" in page.reported["choices"]["robots"]
    assert page.reported["me/number"] > 0
    assert {panel["id"] for panel in page.reported["panels"]} == {
        panel.id for panel in lab.display.shown_panels
    }
    assert {f"panel/{panel.id}" for panel in lab.display.shown_panels} <= page.reported.keys()


def test_only_what_changed_is_reported_again(running, line):
    with running() as lab:
        lab.sim.player.pause()
        with line(lab) as page:
            page.send()  # whatever the start had to say is said
            lab.channel.put({"cell": "scara1", "probe": 1})
            assert page.read() == {"probe": 1}


def test_a_page_that_does_not_listen_skips_and_holds_no_one_up(lab, ws):
    for i in range(20_000):
        lab.channel.put({"probe": i})
    until(ws, "probe", 19_999)


def test_an_event_reaches_its_handler_with_the_types_it_declared(lab, ws):
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
        ws.send(json.dumps(event))
    ws.send('["probe", 1, 1e999, "x", true]')
    ws.send(f'["probe", 1, {"9" * 400}, "x", true]')
    ws.send("not json")
    ws.send(b"\xff\xfe")
    ws.send('["probe", 1, 2, "x", true]')
    ws.send('["end"]')
    until(ws, "end", 1)
    assert calls == [(1, 2.0, "x", True)]
    assert isinstance(calls[0][1], float)


def test_what_was_typed_is_a_number_or_a_short_text(lab, page):
    calls = []
    lab.channel.on("probe", calls.append, Typed)
    page.send(["probe", 5], ["probe", "5cm"], ["probe", True], ["probe", "x" * 300], ["probe", []])
    assert calls == [5, "5cm"]


def test_an_event_that_is_too_long_ends_the_connection(ws):
    ws.send(json.dumps(["pose", "x" * MAX_EVENT_BYTES]))
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            ws.recv(timeout=10)
    assert closed.value.rcvd.code == 1009


def test_a_handler_that_fails_is_logged_and_the_lab_goes_on(lab, page, caplog):
    lab.channel.on("broken", lambda: 1 / 0)
    lab.channel.on("after", lambda: lab.channel.put({"after": time.monotonic_ns()}))
    page.send(["broken"], ["after"])
    assert "after" in page.reported
    assert "ZeroDivisionError" in caplog.text
    assert "division" in page.reported["notice"]["text"]


def test_what_failed_in_a_panel_is_over_when_the_panel_next_does_as_asked(lab, page):
    def fail() -> None:
        raise BrazoError("out of reach")

    lab.channel.on("probe/go", fail)
    for event in ("probe/other", "elsewhere/other", "other"):
        lab.channel.on(event, lambda: None)
    page.send(["probe/go"], ["probe/go"])
    wrong = page.reported["notice"]
    assert wrong["text"] == "out of reach" and wrong["topic"] == "probe"
    lab.channel.on("probe/passive", lambda: None, passive=True)  # a plot that asks for its data
    page.send(["elsewhere/other"], ["other"], ["probe/passive"])
    assert "notice-over" not in page.reported
    page.send(["probe/other"])
    assert page.reported.pop("notice-over") == wrong["number"]
    page.send(["probe/other"])
    assert "notice-over" not in page.reported


# ---- who may act ---------------------------------------------------------------------------------


def test_every_sentence_arrives_though_several_are_said_at_once(lab, page):
    lab.do(lambda: [lab.say(f"sentence {i}") for i in range(5)])
    heard = []
    while len(heard) < 5:
        heard += [page.reported.pop("notice")["text"]] if "notice" in page.read() else []
    assert heard == [f"sentence {i}" for i in range(5)]


def test_a_watcher_changes_nothing_and_is_reported_so(lab, page, line):
    calls = []
    lab.channel.on("probe", calls.append, int)
    lab.channel.on("anyone", calls.append, int, free=True)
    with line(lab) as watcher:
        watcher.send(["probe", 1], ["anyone", 2])
        assert calls == [2]
        watcher.until("me/refused", 1)
        page.send(["probe", 3])
        assert calls == [2, 3]


def test_control_is_asked_for_and_handed_over(lab, page, line):
    calls = []
    lab.channel.on("probe", calls.append, str)
    with line(lab) as other:
        mine, theirs = page.reported["me/number"], other.reported["me/number"]
        page.until("control/driver", mine)
        other.send(["control/ask"])
        page.until("control/asking", theirs)
        page.send(["control/keep"])
        other.until("control/asking", 0)
        assert lab.channel.get("control/driver") == mine
        other.send(["control/hand-over"])  # not theirs to give
        assert lab.channel.get("control/driver") == mine
        other.send(["control/ask"])
        page.send(["control/hand-over"])
        other.until("control/driver", theirs)
        page.send(["probe", "old"])
        other.send(["probe", "new"])
        assert calls == ["new"]


def test_the_last_page_left_drives(lab, line):
    with line(lab) as first, line(lab) as second:
        lab.channel.driving._clock = lambda: time.monotonic() + 1000  # longer than any time limit
        try:
            first.ws.close()
            second.until("control/driver", second.reported["me/number"])
        finally:
            lab.channel.driving._clock = time.monotonic


def test_a_copied_tab_is_reported_to_be_another_page(lab, page, line):
    copy = line(lab, page.key)
    with pytest.raises(ConnectionClosed) as closed:
        copy.ws.recv(timeout=10)
    assert closed.value.rcvd.code == SAME_PAGE_TWICE


# ---- floods --------------------------------------------------------------------------------------


def frames(*events: list) -> bytes:
    """Events as masked frames (with a mask of zeros), to be sent in one go."""
    out = bytearray()
    for event in events:
        data = json.dumps(event).encode()
        out += bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data
    return bytes(out)


def test_a_watcher_that_floods_is_closed_with_a_reason(lab, page, line):
    calls = []
    lab.channel.on("flood", calls.append, int, free=True)
    with line(lab) as watcher:
        with contextlib.suppress(OSError):
            watcher.ws.socket.sendall(frames(*(["flood", k] for k in range(9000))))
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                watcher.ws.recv(timeout=10)
        assert closed.value.rcvd.code == 1008
        assert "flooding: more than 300 messages per second" in closed.value.rcvd.reason
    page.send()
    assert len(calls) < 100


def test_the_newest_of_repeated_requests_counts_and_the_driver_comes_first(lab, page, line):
    done, busy, begun = [], threading.Event(), threading.Event()
    lab.channel.on("history", lambda n: done.append(("history", n)), int, free=True)
    lab.channel.on("act", lambda: done.append("act"))
    received = threading.Event()
    lab.channel.on("received", received.set, free=True, now=True)
    with line(lab) as watcher:
        lab.post(lambda: (begun.set(), busy.wait(20)))
        assert begun.wait(10)
        events = [["history", k] for k in range(150)]
        watcher.ws.socket.sendall(frames(*events, ["received"]))
        assert received.wait(10)
        received.clear()
        page.ws.socket.sendall(frames(["act"], ["received"]))
        assert received.wait(10)
        busy.set()
        watcher.send()
    assert done == ["act", ("history", 149)]


def test_none_of_the_drivers_events_is_dropped_and_it_is_not_closed(lab, page):
    calls = []
    lab.channel.on("count", calls.append, int)
    page.ws.socket.sendall(frames(*(["count", k] for k in range(12_000))))
    page.send()
    assert calls == list(range(12_000))


def test_there_is_a_maximum_of_pages_and_the_one_in_control_may_come_back(lab, page, line):
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_PAGES - 1):
            stack.enter_context(line(lab))
        refused = line(lab)
        with pytest.raises(ConnectionClosed) as closed:
            refused.ws.recv(timeout=10)
        assert closed.value.rcvd.code == 1013 and "maximum is 16" in closed.value.rcvd.reason
        page.close()
        stack.enter_context(line(lab))  # another page takes the place
        with line(lab, page.key) as again:
            again.send()
            assert lab.channel.driving.drives(again.key)


def test_a_long_message_is_refused_before_all_of_it_has_come(lab, line):
    with line(lab) as page:
        size = MAX_EVENT_BYTES + 1
        page.ws.socket.sendall(bytes([0x81, 0xFF]) + size.to_bytes(8, "big") + bytes(4))
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                page.ws.recv(timeout=10)
        assert closed.value.rcvd.code == 1009


def test_pages_that_come_and_go_leave_one_call_for_the_lab(lab, page, line):
    busy, begun = threading.Event(), threading.Event()
    lab.post(lambda: (begun.set(), busy.wait(20)))
    assert begun.wait(10)
    try:
        for _ in range(20):
            line(lab).close()
        assert len(lab._requests) <= 2
    finally:
        busy.set()

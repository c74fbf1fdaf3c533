"""The queue of the lab's thread: priorities, merging, and no lost requests."""

from __future__ import annotations

import threading
import time

from brazo.lab.server.requests import BURST, MAX_CALLS, RATE, Requests


def taken(requests: Requests, timeout: float = 0.0) -> list:
    """What all calls that may be made now give."""
    found = []
    while (call := requests.take(timeout)) is not None:
        found.append(call())
    return found


def test_calls_are_made_in_order_and_none_is_dropped():
    requests = Requests()
    for k in range(20_000):
        requests.put(lambda k=k: k)
    assert taken(requests) == list(range(20_000))


def test_newest_request_of_a_kind_replaces_earlier_ones():
    requests = Requests()
    requests.put(lambda: "old", "kind")
    requests.put(lambda: "other")
    requests.put(lambda: "new", "kind")
    assert taken(requests) == ["new", "other"]
    requests.put(lambda: "again", "kind")
    assert taken(requests) == ["again"]


def test_requests_of_other_pages_come_last_merged_and_in_turn():
    requests = Requests()
    for k in range(9000):
        requests.put_other("flooder", f"kind {k % 3}", lambda k=k: k)
    requests.put_other("watcher", "kind", lambda: "watcher")
    requests.put(lambda: "driver")
    assert taken(requests) == ["driver", 8997, "watcher", 8998, 8999]


def test_share_of_other_pages_is_bounded():
    requests = Requests()
    begin, made = time.monotonic(), 0
    while time.monotonic() < begin + 0.5:
        for kind in range(10):
            requests.put_other("flooder", kind, lambda: None)
        made += len(taken(requests))
    assert made <= BURST + RATE * (time.monotonic() - begin) + 1
    requests.put(lambda: "driver")
    assert taken(requests)[0] == "driver"


def test_postponed_requests_are_made_later():
    requests = Requests()
    for kind in range(int(BURST) + 3):
        requests.put_other("page", kind, lambda kind=kind: kind)
    assert taken(requests, 0.5) == list(range(int(BURST) + 3))


def test_requests_of_closed_pages_are_dropped():
    requests = Requests()
    requests.put_other("gone", "kind", lambda: "gone")
    requests.put_other("there", "kind", lambda: "there")
    requests.forget("gone")
    requests.forget("never there")
    assert taken(requests) == ["there"] and len(requests) == 0


def test_a_call_wakes_the_thread_that_waits():
    requests = Requests()
    threading.Timer(0.05, requests.put, [lambda: "call"]).start()
    begin = time.monotonic()
    call = requests.take(20.0)
    assert call is not None and call() == "call" and time.monotonic() < begin + 10


def test_a_queue_of_very_many_calls_is_crowded():
    requests = Requests()
    for _ in range(MAX_CALLS - 1):
        requests.put(lambda: None)
    assert not requests.crowded
    requests.put(lambda: None)
    assert requests.crowded and requests.take(0.0) and not requests.crowded

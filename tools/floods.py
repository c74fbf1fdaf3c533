"""Measure actions of the page in control, STOP and memory of the lab while clients flood it.

    python tools/floods.py             every kind; or names of some: history pings churn …
    python tools/floods.py --markdown  the same as a table for a document

The lab, the flood and the page in control (the driver) are three processes on loopback; every flood
is limited in count and time.  The driver sends 20 actions and 10 STOPs per second:

- *action*: from sending an event to its handler on the lab's thread
- *STOP*: from sending to the end of the braking command, after which the robots slow down
- *memory*: growth of the lab's process from before the flood to three seconds after it

The load of the machine is printed, because it affects all times; `quiet` is the result without a
flood.  Linux only.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import select
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from lab_process import LabProcess
from websockets.sync.client import connect

from brazo.connections import ConnectionLimits

CELL = "cooperative"
HISTORY = 40.0  # s of signals that a plot can ask for
SECONDS = 4.0  # that a flood lasts
AFTER = 3.0  # s that the driver is measured longer
REQUESTS = 9_000
CONNECTIONS = 1_000
CONNECTING = 64  # threads that open them; a connection that is not accepted occupies one for 1 s
PENDING = ConnectionLimits(1.0, 1.0).pending  # half-open connections that a lab keeps
ACCEPTING = (
    3.0  # s for the lab to accept what waits in the system's queue; below its handshake limit
)
TEXT, BINARY, PING = 1, 2, 9

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """Measurements of the driver during one flood."""

    kind: str
    actions: list[float]  # s; infinite where the action was never done
    stops: list[float]  # s
    grown: float  # MB
    sent: int  # what the flood sent: messages, or connections
    closed: int  # connections the lab closed or refused

    def row(self) -> list[str]:
        """The figures as text."""
        return [
            self.kind,
            f"{1e3 * statistics.median(self.actions):.0f}",
            f"{1e3 * max(self.actions):.0f}",
            f"{1e3 * statistics.median(self.stops):.1f}",
            f"{1e3 * max(self.stops):.1f}",
            f"{self.grown:+.1f}",
            str(self.sent),
            str(self.closed),
        ]


HEADS = (
    "flood", "action ms", "worst", "STOP ms", "worst", "memory MB", "sent", "closed",
)  # fmt: skip


class Driver:
    """The page in control, without a browser."""

    def __init__(self, url: str) -> None:
        origin, key = url.rstrip("/"), secrets.token_urlsafe(18)
        address = origin.replace("http", "ws")
        self._ws = connect(
            f"{address}/channel?page={key}",
            origin=origin,  # pyright: ignore[reportArgumentType]
            max_size=None,
            max_queue=None,
            compression=None,
        )
        self.acts: dict[int, float] = {}
        self.stops: list[float] = []
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        with contextlib.suppress(Exception):
            for _ in self._ws:
                pass

    def send(self, *event: object) -> None:
        """One event."""
        self._ws.send(json.dumps(event))

    def probe(self, seconds: float) -> None:
        """Actions and STOPs for so long."""
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number = len(self.acts) + 1
            self.acts[number] = time.monotonic()
            self.send("measure/act", number)
            if count % 2:
                self.stops.append(time.monotonic())
                self.send("stop")
            count += 1
            time.sleep(0.05)

    def recover(self, lab: LabProcess, patience: float = 120.0) -> None:
        """Wait until the lab does what is asked at once, everything before being done."""
        self.acts, self.stops = {}, []
        end = time.monotonic() + patience
        for number in range(-10, 0):
            self.send("stop")
            while number not in dict(lab.ask("probes")["acts"]):
                if time.monotonic() > end:
                    raise SystemExit(f"the lab does nothing for {patience:g} s")
                self.send("measure/act", number)  # again: control may pass to this page only now
                time.sleep(0.05)

    def close(self) -> None:
        """Leave."""
        self._ws.close()


def warm(lab: LabProcess, driver: Driver) -> None:
    """Run the simulation, so that there is a history to request."""
    driver.send("speed", 4.0)
    while lab.sample().time < HISTORY:
        time.sleep(0.2)
    driver.send("speed", 1.0)


def measure(
    lab: LabProcess,
    driver: Driver,
    kind: str,
    seconds: float = SECONDS,
    after: float = AFTER,
    url: str = "",
) -> Outcome:
    """Flood the lab, or the one at `url`, and measure the driver of the lab at the same time."""
    driver.recover(lab)
    before = lab.sample()
    lab.ask("forget")
    with flooding(kind, url or lab.url, seconds) as reported:
        driver.probe(seconds + after)
        time.sleep(0.5)  # for the last of them
    grown, found = lab.sample().rss - before.rss, lab.ask("probes")
    done = dict(found["acts"])
    return Outcome(
        kind,
        [done.get(number, float("inf")) - sent for number, sent in driver.acts.items()],
        [
            min((t for t in found["stops"] if t >= sent), default=float("inf")) - sent
            for sent in driver.stops
        ],
        grown,
        *reported(),
    )


@contextlib.contextmanager
def flooding(kind: str, url: str, seconds: float) -> Iterator[Callable[[], tuple[int, int]]]:
    """A flood in a process of its own; gives what tells how much it sent, and was closed."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--flood", kind, url, str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    )
    numbers: list[int] = []

    def reported() -> tuple[int, int]:
        return numbers[0], numbers[1]

    try:
        yield reported
        out, _ = process.communicate(timeout=60)
        numbers += json.loads(out)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    numbers += [0, 0]


# ---- the floods, in a process of their own ---------------------------------------------------


class Peer:
    """A raw websocket: frames that no library would send, and no wait for an answer."""

    def __init__(self, url: str, path: str = "/channel", protocol: str = "") -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=5)
        key = secrets.token_urlsafe(18)
        lines = [
            f"GET {path}?page={key} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(secrets.token_bytes(16)).decode()}",
            f"Origin: http://{parts.netloc}",
            *([f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []),
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        if b" 101 " not in self.socket.recv(4096):
            self.socket.close()
            raise ConnectionError("refused")

    def pour(self, frames: Iterable[bytes], end: float) -> int:
        """Send until all is sent, the time is over or the lab closes; how many were sent."""
        sent = 0
        threading.Thread(target=self._drain, daemon=True).start()
        with contextlib.suppress(OSError):
            for frame in frames:
                if time.monotonic() > end:
                    break
                self.socket.sendall(frame)
                sent += 1
        return sent

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self.socket.recv(1 << 16):
                pass
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.socket.close()


def frame(code: int, data: bytes, last: bool = True) -> bytes:
    """A masked frame (with a mask of zeros)."""
    size = len(data)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = b"\xfe" + size.to_bytes(2, "big")
    else:
        length = b"\xff" + size.to_bytes(8, "big")
    return bytes([(0x80 if last else 0) | code]) + length + bytes(4) + data


def event(*what: object) -> bytes:
    """An event of the lab's channel as a frame."""
    return frame(TEXT, json.dumps(what).encode())


def _pour(
    url: str, frames: Callable[[], Iterable[bytes]], seconds: float, **where: str
) -> tuple[int, int]:
    """Send a flood and reconnect when closed."""
    sent, closed, end = 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            peer = Peer(url, **where)
        except OSError:
            closed += 1
            time.sleep(0.01)
            continue
        sent += peer.pour(frames(), end)
        if time.monotonic() < end:
            # Everything is sent, or the lab has closed.
            time.sleep(0.02)
            with contextlib.suppress(OSError):
                peer.socket.sendall(event("measure/none"))
                while time.monotonic() < end:
                    peer.socket.sendall(event("measure/none"))
                    time.sleep(0.2)
            closed += time.monotonic() < end
        peer.close()
    return sent, closed


def history(url: str, seconds: float) -> tuple[int, int]:
    """Requests for all rows of a plot."""
    one = event("data/plot/1/history")
    return _pour(url, lambda: [one] * REQUESTS, seconds)


def events(url: str, seconds: float) -> tuple[int, int]:
    """Events only the driver may send, and others that any page may."""
    some = b"".join([event("play"), event("panels-shown", ["data", "program"]), event("nothing")])
    return _pour(url, lambda: [some * 10] * 2_000, seconds)


def stops(url: str, seconds: float) -> tuple[int, int]:
    """STOP itself, which any page may press."""
    return _pour(url, lambda: [event("stop") * 10] * 2_000, seconds)


def pings(url: str, seconds: float) -> tuple[int, int]:
    """Pings of the websocket protocol."""
    return _pour(url, lambda: [frame(PING, b"") * 1_000] * 200, seconds)


def fragments(url: str, seconds: float) -> tuple[int, int]:
    """One message of pieces without content that never ends."""
    first, more = frame(TEXT, b"", last=False), frame(0, b"", last=False) * 1_000
    return _pour(url, lambda: [first, *[more] * 200], seconds)


def malformed(url: str, seconds: float) -> tuple[int, int]:
    """Text that is no event."""
    some = frame(TEXT, b"[[[[") + frame(TEXT, b'{"a": 1}') + frame(BINARY, b"\xff\xfe")
    return _pour(url, lambda: [some * 100] * 500, seconds)


def oversized(url: str, seconds: float) -> tuple[int, int]:
    """Messages longer than any page sends."""
    return _pour(url, lambda: [frame(TEXT, b" " * (4 << 20))] * 20, seconds)


def camera(url: str, seconds: float) -> tuple[int, int]:
    """Camera poses on the connection of the 3D view."""
    from brazo.lab.server import hooks

    pose = {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (1.0, 0.0, 0.0),
        "fov": 1.0,
        "near": 0.1,
        "far": 100.0,
        "image_height": 600,
        "image_width": 800,
        "look_at": (0.0, 0.0, 0.0),
        "up_direction": (0.0, 0.0, 1.0),
    }
    one = frame(BINARY, msgspec.msgpack.encode(pose))
    return _pour(url, lambda: [one] * 20_000, seconds, path="/", protocol=hooks.SUBPROTOCOL)


def churn(url: str, seconds: float) -> tuple[int, int]:
    """Open pages and keep all of them open as long as the lab allows."""
    return _come(url, seconds)


def views(url: str, seconds: float) -> tuple[int, int]:
    """The same with the connection of the 3D view, which is sent the whole scene."""
    from brazo.lab.server import hooks

    return _come(url, seconds, path="/", protocol=hooks.SUBPROTOCOL)


def _come(url: str, seconds: float, **where: str) -> tuple[int, int]:
    peers, opened, refused = _open_all(lambda: Peer(url, **where), seconds)
    for peer in peers:
        peer.close()
    return opened, refused


def _open_all(connect_one: Callable[[], T], seconds: float) -> tuple[list[T], int, int]:
    """Open `CONNECTIONS` connections from several threads and keep them for the given time.

    Returns the open ones, how many were tried and how many were refused.
    """
    end = time.monotonic() + seconds

    def attempt(_: int) -> T | bool:
        if time.monotonic() > end:
            return False
        try:
            return connect_one()
        except OSError:
            return True

    with ThreadPoolExecutor(CONNECTING) as pool:
        found = list(pool.map(attempt, range(CONNECTIONS)))
    time.sleep(max(end - time.monotonic(), 0.0))
    refused = sum(one is True for one in found)
    peers = [one for one in found if not isinstance(one, bool)]
    return peers, len(peers) + refused, refused


def half_open(url: str, seconds: float) -> tuple[int, int]:
    """Open connections that never complete their request."""
    parts = urlsplit(url)
    assert parts.hostname and parts.port
    address = parts.hostname, parts.port

    def connect_one() -> socket.socket:
        one = socket.create_connection(address, timeout=1)
        one.sendall(b"GET /channel HTTP/1.1\r\nHost: ")
        return one

    sockets, opened, _ = _open_all(connect_one, seconds)
    open_ones = {one.fileno(): one for one in sockets}
    poll = select.poll()  # select() is limited to descriptors below 1024
    for number in open_ones:
        poll.register(number, select.POLLIN)
    end = time.monotonic() + ACCEPTING
    while len(open_ones) > PENDING and time.monotonic() < end:
        for number, _ in poll.poll(100):  # the lab sends nothing, so it has closed them
            poll.unregister(number)
            open_ones.pop(number).close()
    kept = len(open_ones)
    for one in open_ones.values():
        one.close()
    return opened, opened - kept


def quiet(url: str, seconds: float) -> tuple[int, int]:
    """Nothing."""
    time.sleep(seconds)
    return 0, 0


FLOODS: dict[str, Callable[[str, float], tuple[int, int]]] = {
    one.__name__: one
    for one in (
        quiet, history, events, stops, pings, fragments, malformed, oversized, camera, churn, views,
        half_open,
    )
}  # fmt: skip


def main(*names: str) -> None:
    markdown = "--markdown" in names
    kinds = [name for name in names if name in FLOODS] or list(FLOODS)
    lead = "| " if markdown else ""
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    widths = (10, 10, 8, 8, 8, 10, 8, 8)
    join = " | " if markdown else " "
    print(lead + join.join(h.rjust(w) for h, w in zip(HEADS, widths, strict=True)))
    if markdown:
        print("|" + "---|" * len(HEADS))
    with LabProcess(CELL) as lab:
        driver = Driver(lab.url)
        warm(lab, driver)
        for kind in kinds:
            outcome = measure(lab, driver, kind)
            load = f"load {os.getloadavg()[0]:.1f}"
            cells = [c.rjust(w) for c, w in zip(outcome.row(), widths, strict=True)]
            print(lead + join.join([*cells, *([] if markdown else [load])]), flush=True)
        driver.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        print(json.dumps(FLOODS[sys.argv[2]](sys.argv[3], float(sys.argv[4]))))
    else:
        main(*sys.argv[1:])

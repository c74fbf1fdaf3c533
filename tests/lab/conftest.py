"""A running lab, a Chromium, and raw connections to a lab without a browser."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from browsing import ARGUMENTS, NOT_FOUND, SOON, chromium_path
from playwright.sync_api import Browser, Playwright, expect, sync_playwright
from websockets.sync.client import connect

from brazo.lab.app.lab import Lab
from brazo.lab.serving import serve
from brazo.operate.hold_to_run import HoldToRun
from tests.lab.rendering import render_rarely, update_rarely

expect.set_options(timeout=SOON)


@contextmanager
def _running(source="robot:scara1", **options) -> Iterator[Lab]:
    lab = serve(source, **{"port": 0, "open_browser": False, "block": False} | options)
    try:
        yield lab
    finally:
        lab.stop()


@pytest.fixture(scope="session")
def running():
    """`with running("panda", port=…) as lab:` a separate lab."""
    return _running


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab the tests of one file share."""
    with _running() as lab:
        yield lab


class Line:
    """The channel as a page has it, without a browser."""

    numbers = itertools.count(1)

    def __init__(self, lab: Lab, key: str | None = None) -> None:
        self.lab = lab
        self.key = secrets.token_urlsafe(18) if key is None else key
        self.reported: dict = {}
        url = lab.url.replace("http", "ws") + f"/channel?page={self.key}"
        origin = f"http://127.0.0.1:{lab._server.port}"
        self.ws = connect(url, origin=origin, max_queue=None)  # what is not read stops nothing

    def __enter__(self) -> Line:
        self.read()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Leave; returns once the lab has seen it, so that the next page drives."""
        self.ws.close()
        deadline = time.monotonic() + 30
        while self.key in {page.key for page in self.lab.channel.pages}:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def read(self) -> dict:
        """The next news."""
        news = json.loads(self.ws.recv(timeout=10))
        self.reported |= news
        return news

    def until(self, name: str, value) -> None:
        """Read on until the page would show that value."""
        deadline = time.monotonic() + 30
        while self.reported.get(name) != value:
            assert time.monotonic() < deadline, (name, self.reported.get(name), value)
            self.read()

    def until_said(self, text: str) -> None:
        """Read until a notice contains the text."""
        deadline = time.monotonic() + 30
        while text not in self.reported.get("notice", {}).get("text", ""):
            assert time.monotonic() < deadline, (text, self.reported.get("notice"))
            self.read()

    def send(self, *events: list) -> None:
        """Send events and return when the lab has done them all."""
        number = next(self.numbers)
        self.lab.channel.on("end", lambda n: self.lab.channel.put({"end": n}), int, free=True)
        for event in (*events, ["end", number]):
            self.ws.send(json.dumps(event))
        self.until("end", number)


@pytest.fixture(scope="session")
def line():
    """`with line(lab) as page:` a page without a browser."""
    return Line


@pytest.fixture(scope="session")
def fetch():
    """`fetch(lab, path, host=…, Origin=…)`: a GET with exactly these headers."""
    return _fetch


@pytest.fixture(scope="session")
def upgrade():
    """`upgrade(lab, path, Origin=…)`: the status a websocket handshake is answered with."""
    return _upgrade


class Chromium:
    """A Chromium that is started on first use, and again if it has crashed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def used(self) -> Iterator[Browser]:
        """The browser.  Playwright's event loop is the thread's only inside this block: other
        tests run loops of their own."""
        asyncio._set_running_loop(self._loop)
        try:
            if self._browser is None or not self._browser.is_connected():
                self._start()
            assert self._browser is not None
            yield self._browser
            for context in self._browser.contexts:
                context.close()
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End it, if it was started."""
        if self._playwright is not None:
            asyncio._set_running_loop(self._loop)
            if self._browser is not None:
                self._browser.close()
            self._playwright.stop()

    def _start(self) -> None:
        if self._playwright is None:
            self._playwright = sync_playwright().start()
            self._loop = asyncio.get_running_loop()
        self._browser = self._playwright.chromium.launch(
            executable_path=self._path, headless=True, args=list(ARGUMENTS)
        )


@dataclass
class Reply:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def _fetch(lab: Lab, path: str = "/", host: str | None = None, **headers: str) -> Reply:
    address = "127.0.0.1", lab._server.port
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", host if host is not None else f"127.0.0.1:{address[1]}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    reply = Reply(response.status, dict(response.getheaders()), response.read())
    connection.close()
    return reply


def _upgrade(lab: Lab, path: str = "/", host: str | None = None, **headers: str) -> int:
    port = lab._server.port
    host = f"127.0.0.1:{port}" if host is None else host
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(sock.makefile("rb").readline().split()[1])


@pytest.fixture(scope="session")
def chromium(chromium_path) -> Iterator[Chromium]:
    """The Chromium of all files that a worker tests."""
    chromium = Chromium(chromium_path)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def chromium_with_devices() -> Iterator[Chromium]:
    """A Chromium with cameras and sensors, for the files that need them."""
    chromium = Chromium(chromium_path(devices=True) or pytest.fail(NOT_FOUND))
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def browser(chromium) -> Iterator[Browser]:
    """That Chromium for one file; its contexts are closed at the end of the file."""
    with chromium.used() as browser:
        yield browser


@pytest.fixture(scope="module", autouse=True)
def few_updates(request) -> Iterator[None]:
    """Let the labs of browser tests update their scenes rarely."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("browser"):
            update_rarely(patch.setattr)
        yield


@pytest.fixture(scope="module", autouse=True)
def few_frames(request, tmp_path_factory) -> Iterator[None]:
    """Let the pages of browser tests render few frames."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("browser"):
            render_rarely(tmp_path_factory.mktemp("page"), patch.setitem)
        yield


@pytest.fixture
def late_renewals(monkeypatch):
    """Let renewals be late: a loaded machine may not send one every 0.25 s."""
    monkeypatch.setattr(HoldToRun, "timeout", 60.0)

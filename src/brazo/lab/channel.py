"""The lab's own line to its pages, beside viser's: named values down, named events up.

Values (`"tool/x" -> "412.3"`) are shown by whatever element of the page asks for that name, and
change without the element being rebuilt, so a scroll position, a selection or a half-typed number
survives.  Every page is sent what changed since it last listened: a slow page skips, it never
queues.  Events are JSON lists `["joint", 3, 12.5]`; one arrives at its handler only with the
number and the types of arguments the handler declared, and on the thread of the lab.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

Handler = Callable[..., None]
MAX_EVENT_BYTES = 16_384
MAX_NUMBER = 1e300


class Channel:
    """Values for all pages and events from any of them."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        self._post = post  # runs a call on the lab's thread
        self._values: dict[str, Any] = {}
        self._handlers: dict[str, tuple[Handler, tuple[type, ...]]] = {}
        self._pages: set[_Page] = set()
        self._lock = threading.Lock()

    def on(self, event: str, handler: Handler, *kinds: type) -> None:
        """Call `handler(*arguments)` for every event of that name with arguments of those types."""
        self._handlers[event] = handler, kinds

    def put(self, values: Mapping[str, Any]) -> None:
        """Show values (of JSON types); those that did not change cost nothing."""
        with self._lock:
            changed = {k: v for k, v in values.items() if self._values.get(k, self) != v}
            self._values |= changed
            pages = tuple(self._pages) if changed else ()
        for page in pages:
            page.send_soon(changed)

    def get(self, name: str) -> Any:
        """What the pages show under that name; None when nothing yet."""
        return self._values.get(name)

    async def serve(self, connection: ServerConnection) -> None:
        """Talk to one page until it leaves."""
        with self._lock:
            page = _Page(connection, dict(self._values))
            self._pages.add(page)
        sender = asyncio.create_task(page.send())
        try:
            async for text in connection:
                if len(text) > MAX_EVENT_BYTES:
                    await connection.close(1009, "event too long")
                    break
                self._receive(text)
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self._pages.discard(page)
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    def _receive(self, text: str | bytes) -> None:
        try:
            name, *given = msgspec.json.decode(text, type=list)
        except (msgspec.DecodeError, ValueError):
            return
        handler, kinds = self._handlers.get(name if isinstance(name, str) else "", (None, ()))
        if handler is None or len(given) != len(kinds):
            return
        if all(_is_a(value, kind) for value, kind in zip(given, kinds, strict=True)):
            arguments = [kind(value) for value, kind in zip(given, kinds, strict=True)]
            self._post(lambda: handler(*arguments))


class _Page:
    """One open page: what it has not been sent yet, and the task that sends it."""

    def __init__(self, connection: ServerConnection, first: dict[str, Any]) -> None:
        self._connection = connection
        self._pending = first
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._news.set()

    def send_soon(self, values: dict[str, Any]) -> None:
        with self._lock:
            self._pending.update(values)
        with contextlib.suppress(RuntimeError):  # the loop closed with the server: nobody is left
            self._loop.call_soon_threadsafe(self._news.set)

    async def send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            with self._lock:
                values, self._pending = self._pending, {}
            await self._connection.send(msgspec.json.encode(values).decode())


def _is_a(value: object, kind: type) -> bool:
    if kind is float:
        # Compared, not tested for finiteness: an int may be too long for a float.
        return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER  # pyright: ignore[reportOperatorIssue]
    return type(value) is kind

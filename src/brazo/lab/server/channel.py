"""`PageChannel`: the websocket between the lab and its browser pages.

The lab sends named values (`"tool/x" -> "412.3"`).  The elements of a page that are bound to a name
show its value.  Elements are updated in place, so that scroll position, selection and partly
entered text are kept.  A page receives the newest values that changed since the last transmission;
a slow page skips values in between.  Notices and downloads are queued instead, and sent before the
values.

Pages send named events, which are JSON lists such as `["pendant/step", 3, 12.5]`.  An event is
handled only if the number and types of its arguments match those that its handler declared, and if
it was sent by the page in control.  Handlers run on the lab's thread.  There are two exceptions:
`free` events are accepted from every page; handlers of `now` events (STOP, the renewal of a
hold-to-run button) run on the network thread, so that they do not wait, and must return quickly.

STOP (`halt`) cancels the events that are still queued.  If an event is being handled at that time,
the robots are stopped again after it.  `still` events and `free` events cause no motion and are not
cancelled.

If a page sends a `free` event again before the earlier one is handled, only the newest is kept.
Events of the page in control take precedence over those of other pages and are never dropped: while
the queue is full, no further events are read from the page in control.  At most `MAX_PAGES` pages
can be open; the page in control is always admitted.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from brazo.lab.server.driving import Driving
from brazo.lab.server.requests import Requests

Handler = Callable[..., Any]
MAX_EVENT_BYTES = 65_536
MAX_NUMBER = 1e300
MAX_PAGES = 16
MAX_NOTICES = 32  # max queued notices and downloads per page; the oldest are dropped
SAME_PAGE_TWICE = 4001  # close code; a duplicated tab has the same key and must choose another
_KEY = re.compile(r"[\w-]{16,64}", re.ASCII)


class Typed(str):
    """Type of an event argument that is a number or text, as entered in an input field."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    handler: Handler
    kinds: tuple[type, ...]
    free: bool
    now: bool
    still: bool
    passive: bool


class PageChannel:
    """Sends values to all pages and receives events from the page in control."""

    def __init__(self, requests: Requests, driving: Driving | None = None) -> None:
        self._requests = requests  # calls for the lab's thread
        self.driving = Driving() if driving is None else driving
        self.page: Page | None = None  # page whose event is being handled; on the lab's thread
        self.event = ""  # name of that event
        self.allows: Callable[[str], bool] = lambda event: True  # event filter
        self.stops = 0  # number of STOPs
        self.overtaken = False  # whether STOP cancelled a request; reset by the reader
        self.stop_again: Callable[[], object] = lambda: None  # called if STOP came during a request
        self._values: dict[str, Any] = {}
        self._wanted: dict[str, _Wanted] = {}
        self._pages: dict[str, Page] = {}
        self._watchers: list[Callable[[], None]] = []
        self._undoers: list[Callable[[], None]] = []
        self._halts: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def on(
        self,
        event: str,
        handler: Handler,
        *kinds: type,
        free: bool = False,
        now: bool = False,
        still: bool = False,
        passive: bool = False,
    ) -> None:
        """Call `handler(*arguments)` for events of this name with arguments of the types `kinds`.

        `float` accepts any finite number, `Typed` a number or text.  The contents of `list` and
        `dict` are not checked.

        - `free`: accept the event from every page, not only from the page in control.
        - `now`: call the handler immediately, on the network thread.
        - `still`: the event causes no motion, so STOP does not cancel it.
        - `passive`: the user did not cause the event (for example, a plot loads its data), so
          the event does not clear the error message of the panel.
        """
        self._wanted[event] = _Wanted(handler, kinds, free, now, still or free, passive)

    def halt(self) -> None:
        """Cancel the queued requests because STOP was pressed; thread-safe."""
        with self._lock:
            self.stops += 1
        for callback in self._halts:
            callback()

    def on_halt(self, callback: Callable[[], object]) -> None:
        """Register `callback`, which is called at every STOP on the thread that called `halt`."""
        self._halts.append(callback)

    def unless_stopped(self, call: Callable[[], None]) -> Callable[[], None]:
        """Wrap a request so that it is skipped if STOP is pressed before it runs.

        If STOP is pressed while the request runs, `stop_again` is called after the request.
        """
        stops = self.stops

        def run() -> None:
            if self.stops != stops:
                self.overtaken = True
                return
            try:
                call()
            finally:
                if self.stops != stops:
                    self.stop_again()

        return run

    def on_pages(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the lab's thread when a page connects or disconnects."""
        self._watchers.append(callback)

    def on_refused(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the lab's thread when a scene action of a view-only page was refused.

        The page has already moved the object that its user dragged, so the callback must send the
        actual pose again.
        """
        self._undoers.append(callback)

    def refuse(self, key: str) -> None:
        """Notify the page `key` that its action was refused (view only); thread-safe."""
        page = self._pages.get(key)
        if page is not None:
            page.refuse()
        for callback in self._undoers:
            self._requests.put(callback, callback)

    def put(self, values: Mapping[str, Any]) -> None:
        """Send values of JSON types to all pages: name -> value.  Unchanged values are not sent."""
        with self._lock:
            changed = {k: v for k, v in values.items() if self._values.get(k, self) != v}
            self._values |= changed
            pages = tuple(self._pages.values()) if changed else ()
        for page in pages:
            page.send_soon(changed)

    def drop(self, name: str) -> None:
        """Remove the values and handlers of `name` and of all names that start with `name/`."""

        def other(one: str) -> bool:
            return one != name and not one.startswith(f"{name}/")

        with self._lock:
            self._values = {k: v for k, v in self._values.items() if other(k)}
            self._wanted = {k: v for k, v in self._wanted.items() if other(k)}

    def get(self, name: str) -> Any:
        """Current value of a name; None if the name has no value."""
        return self._values.get(name)

    @property
    def pages(self) -> tuple[Page, ...]:
        """The open pages, in the order of connection."""
        with self._lock:
            return tuple(self._pages.values())

    async def serve(self, connection: ServerConnection) -> None:
        """Handle the websocket connection of one page until it closes."""
        key = key_of(connection)
        if len(self._pages) >= MAX_PAGES and not self.driving.holds(key):
            await connection.close(CloseCode.TRY_AGAIN_LATER, full("pages"))
            return
        connection.protocol.max_message_size = MAX_EVENT_BYTES
        page = self._enter(key or secrets.token_urlsafe(18), connection)
        if page is None:
            await connection.close(SAME_PAGE_TWICE, "a page with this key is open already")
            return
        sender = asyncio.create_task(page.send())
        self._changed()
        try:
            async for text in connection:
                if len(text) > MAX_EVENT_BYTES:
                    await connection.close(1009, "event too long")
                    break
                self._receive(page, text)
                while self._requests.crowded and self.driving.drives(page.key):
                    await asyncio.sleep(0.005)
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self._pages.pop(page.key, None)
                self.driving.leave(page.key)
            self._requests.forget(page.key)
            self._changed()
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    def _enter(self, key: str, connection: ServerConnection) -> Page | None:
        with self._lock:
            if key in self._pages:
                return None
            page = Page(key, self.driving.join(key), connection, dict(self._values))
            self._pages[key] = page
            return page

    def _changed(self) -> None:
        self._requests.put(self._call_watchers, "pages")  # one call for all, if many come and go

    def _call_watchers(self) -> None:
        for callback in self._watchers:
            callback()

    def _receive(self, page: Page, text: str | bytes) -> None:
        try:
            name, *given = msgspec.json.decode(text, type=list)
        except (msgspec.DecodeError, ValueError):
            return
        wanted = self._wanted.get(name if isinstance(name, str) else "")
        if wanted is None or len(given) != len(wanted.kinds):
            return
        if not all(_is_a(value, kind) for value, kind in zip(given, wanted.kinds, strict=True)):
            return
        if not (wanted.free or self.driving.drives(page.key)):
            page.refuse()
            return
        arguments = [
            value if kind is Typed else kind(value)
            for value, kind in zip(given, wanted.kinds, strict=True)
        ]
        if wanted.now:
            if self.allows(name):
                wanted.handler(*arguments)
        else:

            def call() -> None:
                self._handle(page, name, wanted, arguments)

            drives = self.driving.drives(page.key)
            if wanted.free and not drives:
                self._requests.put_other(page.key, name, call)
            else:
                kind = (page.key, name) if wanted.free else None
                self._requests.put(call if wanted.still else self.unless_stopped(call), kind)

    def _handle(self, page: Page, name: str, wanted: _Wanted, arguments: list[Any]) -> None:
        # The lab resets `page` after the call, and after it has shown an error on that page.
        self.page, self.event = page, name
        if self.allows(name):
            wrong = None if wanted.passive else page.wrong.pop(topic_of(name), None)
            wanted.handler(*arguments)
            if wrong is not None:
                page.tell("notice-over", wrong)


class Page:
    """One open browser page, with its queue of unsent values and the task that sends them."""

    def __init__(
        self, key: str, number: int, connection: ServerConnection, first: dict[str, Any]
    ) -> None:
        self.key = key
        self.number = number
        self.shown: frozenset[str] = frozenset()  # ids of its visible panels
        self.software = False  # whether it renders the scene without a graphics card
        self.wrong: dict[str, int] = {}  # panel -> number of its current error notice
        self._refused = 0
        self._connection = connection
        self._pending = first | {"me/number": number}  # last of the initial values
        self._once: deque[dict[str, Any]] = deque(maxlen=MAX_NOTICES)
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._news.set()

    def send_soon(self, values: Mapping[str, Any]) -> None:
        """Queue values for this page only; they replace unsent values of the same names."""
        with self._lock:
            self._pending.update(values)
        self._wake()

    def tell(self, name: str, what: Any) -> None:
        """Queue a message for this page only; later messages do not replace it."""
        with self._lock:
            self._once.append({name: what})
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed with the server
            self._loop.call_soon_threadsafe(self._news.set)

    def refuse(self) -> None:
        """Notify the page that its action was refused (view only)."""
        self._refused += 1
        self.send_soon({"me/refused": self._refused})

    async def send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            with self._lock:
                news = [*self._once, self._pending]
                self._once.clear()
                self._pending = {}
            for values in filter(None, news):
                await self._connection.send(msgspec.json.encode(values).decode())


def full(what: str) -> str:
    """Message for a connection that is rejected because too many pages or 3D views are open.

    `what` is "pages" or "3D views".
    """
    return f"too many open {what}: the maximum is {MAX_PAGES}; close one, then reload"


def topic_of(event: str) -> str:
    """Id of the panel to which an event belongs; empty for events of the lab itself."""
    panel, slash, _ = event.partition("/")
    return panel if slash else ""


def key_of(connection: ServerConnection) -> str:
    """Page key in the URL of a connection; empty if the key is missing or malformed."""
    request = connection.request
    query = urlsplit(request.path).query if request is not None else ""
    key = parse_qs(query).get("page", [""])[-1]
    return key if _KEY.fullmatch(key) else ""


def _is_a(value: object, kind: type) -> bool:
    if kind is Typed:
        return _is_a(value, float) or (isinstance(value, str) and len(value) <= 200)
    if kind is float:
        # A comparison instead of isfinite, because an int may be too large for a float.
        return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER  # pyright: ignore[reportOperatorIssue]
    return type(value) is kind

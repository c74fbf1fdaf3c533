"""The lab's own line to its pages, beside viser's: named values down, named events up.

Values (`"tool/x" -> "412.3"`) are shown by whatever element of the page asks for that name, and
change without the element being rebuilt, so a scroll position, a selection or a half-typed number
survives.  Every page is sent what changed since it last listened: a slow page skips, it never
queues.  Only what a page is told once, a sentence or a file, comes in full, and before the values.

Events are JSON lists `["pendant/step", 3, 12.5]`; one arrives at its handler only with the number
and the types of arguments the handler declared, from the page that drives, and on the thread of
the lab.  The two exceptions are declared: `free` events any page may send, and `now` ones that
must not wait behind whatever the lab is doing (STOP, the renewal of a held button); their handlers
run on the network's thread and only set something.

STOP (`halt`) also overtakes: an event that came before it and still waits is not acted on any more,
and what one under way set in motion meanwhile is stopped again.  Those declared `still`, and free
ones, move nothing and are done all the same.

Of a free event that a page repeats before it was handled only the newest counts.  Requests of the
page in control come before those of other pages and are never dropped: while very many wait, the
page is not read.  At most `MAX_PAGES` pages are open at a time, the one in control always among
them.
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
MAX_TOLD = 32  # sentences and files a page that does not listen is owed
SAME_PAGE_TWICE = 4001  # a copied tab has the key of the first: it makes itself another
_KEY = re.compile(r"[\w-]{16,64}", re.ASCII)


class Typed(str):
    """A kind of argument: what was typed into a field, a number or text."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    handler: Handler
    kinds: tuple[type, ...]
    free: bool
    now: bool
    still: bool


class Channel:
    """Values for all pages and events from the one that drives."""

    def __init__(self, requests: Requests, driving: Driving | None = None) -> None:
        self._requests = requests  # calls for the lab's thread
        self.driving = Driving() if driving is None else driving
        self.page: Page | None = None  # whose event is being handled, on the lab's thread
        self.event = ""  # its name
        self.allows: Callable[[str], bool] = lambda event: True  # asked before one is acted on
        self.stops = 0  # how often STOP was pressed
        self.overtaken = False  # whether STOP came before a wish, since somebody last looked
        self.stop_again: Callable[[], object] = lambda: None  # after a wish that STOP came during
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
    ) -> None:
        """Call `handler(*arguments)` for every event of that name with arguments of those types.

        `float` takes any finite number, `Typed` a number or a text; `list` and `dict` come as they
        are and are the handler's to check.
        """
        self._wanted[event] = _Wanted(handler, kinds, free, now, still or free)

    def halt(self) -> None:
        """STOP was pressed: what is waiting is not wanted any more; from any thread."""
        with self._lock:
            self.stops += 1
        for callback in self._halts:
            callback()

    def on_halt(self, callback: Callable[[], object]) -> None:
        """Call back at every STOP, at once and on the thread of whoever pressed it."""
        self._halts.append(callback)

    def unless_stopped(self, wish: Callable[[], None]) -> Callable[[], None]:
        """The wish, to be carried out on the lab's thread only if no STOP comes before it."""
        stops = self.stops

        def run() -> None:
            if self.stops != stops:
                self.overtaken = True
                return
            try:
                wish()
            finally:
                if self.stops != stops:
                    self.stop_again()

        return run

    def on_pages(self, callback: Callable[[], None]) -> None:
        """Call back, on the lab's thread, when a page comes, goes or asks for control."""
        self._watchers.append(callback)

    def on_refused(self, callback: Callable[[], None]) -> None:
        """Call back, on the lab's thread, when a watcher wanted to act in the scene.

        Its own page has moved what it pulled at: it wants to be told where that is.
        """
        self._undoers.append(callback)

    def refuse(self, key: str) -> None:
        """Tell a page that it may not; from any thread."""
        page = self._pages.get(key)
        if page is not None:
            page.refuse()
        for callback in self._undoers:
            self._requests.put(callback, callback)

    def put(self, values: Mapping[str, Any]) -> None:
        """Show values (of JSON types); those that did not change cost nothing."""
        with self._lock:
            changed = {k: v for k, v in values.items() if self._values.get(k, self) != v}
            self._values |= changed
            pages = tuple(self._pages.values()) if changed else ()
        for page in pages:
            page.send_soon(changed)

    def drop(self, name: str) -> None:
        """Forget the values and handlers of a name and of those below it (`name/…`)."""

        def other(one: str) -> bool:
            return one != name and not one.startswith(f"{name}/")

        with self._lock:
            self._values = {k: v for k, v in self._values.items() if other(k)}
            self._wanted = {k: v for k, v in self._wanted.items() if other(k)}

    def get(self, name: str) -> Any:
        """What the pages show under that name; None when nothing yet."""
        return self._values.get(name)

    @property
    def pages(self) -> tuple[Page, ...]:
        """The open pages, in the order they came."""
        with self._lock:
            return tuple(self._pages.values())

    async def serve(self, connection: ServerConnection) -> None:
        """Talk to one page until it leaves."""
        key = key_of(connection)
        if len(self._pages) >= MAX_PAGES and not self.driving.holds(key):
            await connection.close(CloseCode.TRY_AGAIN_LATER, full("pages"))
            return
        connection.protocol.max_message_size = MAX_EVENT_BYTES
        page = self._enter(key or secrets.token_urlsafe(18), connection)
        if page is None:
            await connection.close(SAME_PAGE_TWICE, "this page is open already")
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
        for callback in self._watchers:
            self._requests.put(callback, callback)

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

            def wish() -> None:
                self._handle(page, name, wanted.handler, arguments)

            drives = self.driving.drives(page.key)
            if wanted.free and not drives:
                self._requests.put_other(page.key, name, wish)
            else:
                kind = (page.key, name) if wanted.free else None
                self._requests.put(wish if wanted.still else self.unless_stopped(wish), kind)

    def _handle(self, page: Page, name: str, handler: Handler, arguments: list[Any]) -> None:
        # The lab forgets the page when it is done, and has said what went wrong.
        self.page, self.event = page, name
        if self.allows(name):
            wrong = page.wrong.pop(topic_of(name), None)
            handler(*arguments)
            if wrong is not None:
                page.tell("notice-over", wrong)


class Page:
    """One open page: what it has not been sent yet, and the task that sends it."""

    def __init__(
        self, key: str, number: int, connection: ServerConnection, first: dict[str, Any]
    ) -> None:
        self.key = key
        self.number = number
        self.shown: frozenset[str] = frozenset()  # the panels it has in view
        self.wrong: dict[str, int] = {}  # panel -> number of the notice that something failed there
        self._refused = 0
        self._connection = connection
        self._pending = first | {"me/number": number}  # the last of what it is told first
        self._once: deque[dict[str, Any]] = deque(maxlen=MAX_TOLD)
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._news.set()

    def send_soon(self, values: Mapping[str, Any]) -> None:
        """Show this page alone; a newer value of a name takes the place of one not sent yet."""
        with self._lock:
            self._pending.update(values)
        self._wake()

    def tell(self, name: str, what: Any) -> None:
        """Tell this page alone, whatever else it is told."""
        with self._lock:
            self._once.append({name: what})
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop closed with the server: nobody is left
            self._loop.call_soon_threadsafe(self._news.set)

    def refuse(self) -> None:
        """Tell it that it may not."""
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
    """Why one more page or connection is refused."""
    return f"too many {what}: the maximum is {MAX_PAGES}; close one, then reload"


def topic_of(event: str) -> str:
    """The panel an event belongs to; empty when it is the lab's own."""
    panel, slash, _ = event.partition("/")
    return panel if slash else ""


def key_of(connection: ServerConnection) -> str:
    """The key a page connects with; empty when it gives none that could be one."""
    request = connection.request
    query = urlsplit(request.path).query if request is not None else ""
    key = parse_qs(query).get("page", [""])[-1]
    return key if _KEY.fullmatch(key) else ""


def _is_a(value: object, kind: type) -> bool:
    if kind is Typed:
        return _is_a(value, float) or (isinstance(value, str) and len(value) <= 200)
    if kind is float:
        # Compared, not tested for finiteness: an int may be too long for a float.
        return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER  # pyright: ignore[reportOperatorIssue]
    return type(value) is kind

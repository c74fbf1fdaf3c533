"""File transfer between the lab and a browser page.

Download: `Downloads.offer` keeps a file under a random address until it is fetched or expires, and
the lab sends that address to the page.  Upload: `Uploads.serve` handles a separate websocket.  The
page sends event, file name and size (`["robots/upload", "arm.yaml", 812]`), then the content in
pieces.

An upload is rejected with a message before its content is received if the file is too large, if the
panel does not accept its suffix, or if the page is not in control.  After the transfer, the lab
checks again that the page is in control and that the panel is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from brazo.errors import BrazoError
from brazo.lab.server.channel import key_of
from brazo.lab.server.driving import Driving

MAX_UPLOAD_BYTES = 64 << 20
KEPT_FOR = 300.0  # s, until a download expires
MAX_OFFERS = 32
MAX_UPLOADS = 4  # simultaneous
PIECE_TIME = 20.0  # s, timeout for the next piece
_ODD = re.compile(r"[^\w .()+-]")


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: its content, and its name without folders and special characters."""

    name: str
    content: bytes

    @property
    def suffix(self) -> str:
        """Suffix of the file name in lower case, such as `.yaml`."""
        return Path(self.name).suffix.lower()

    def text(self) -> str:
        """Content decoded as UTF-8; raises `BrazoError` if it is not text."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BrazoError(
                f"{self.name}: not a text file (byte {error.start + 1} is not UTF-8)"
            ) from None


@dataclass(frozen=True, slots=True)
class Offer:
    """A file offered for download; `until` is its expiry time (s, on the clock of `Downloads`)."""

    name: str
    content: bytes
    until: float


class Downloads:
    """Files offered for download, each under its own address; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._offers: dict[str, Offer] = {}
        self._lock = threading.Lock()

    def offer(self, name: str, content: bytes | str | Path) -> dict[str, str]:
        """Offer a file (bytes, text or path) for download; return its `address` and `name`."""
        if isinstance(content, Path):
            content = content.read_bytes()
        data = content.encode() if isinstance(content, str) else content
        name = safe_name(name)
        address = f"/file/{secrets.token_urlsafe(18)}"
        with self._lock:
            now = self._clock()
            fresh = [(a, o) for a, o in self._offers.items() if o.until > now]
            self._offers = dict(fresh[-(MAX_OFFERS - 1) :])
            self._offers[address] = Offer(name, data, now + KEPT_FOR)
        return {"address": address, "name": name}

    def fetch(self, address: str) -> Offer | None:
        """Remove and return the file at an address; None if there is no file or it has expired."""
        with self._lock:
            found = self._offers.pop(address, None)
            return found if found is not None and found.until > self._clock() else None


@dataclass(frozen=True, slots=True)
class _Accepted:
    handler: Callable[[Upload], Any]
    suffixes: tuple[str, ...]
    most: int


class Uploads:
    """Receives uploaded files from the page in control."""

    def __init__(
        self,
        post: Callable[[Callable[[], None]], None],
        driving: Driving,
        allows: Callable[[str], bool] = lambda event: True,
    ) -> None:
        self._post = post
        self._driving = driving
        self._allows = allows  # whether an event may be handled now
        self._accepted: dict[str, _Accepted] = {}
        self._under_way = 0

    def on(
        self,
        event: str,
        handler: Callable[[Upload], Any],
        suffixes: tuple[str, ...],
        most: int = MAX_UPLOAD_BYTES,
    ) -> None:
        """Call `handler(upload)` on the lab's thread when a page uploads a file for this event.

        The file must have one of the `suffixes` and at most `most` bytes.
        """
        self._accepted[event] = _Accepted(handler, suffixes, min(most, MAX_UPLOAD_BYTES))

    async def serve(self, connection: ServerConnection) -> None:
        """Receive one file on a websocket connection."""
        if self._under_way >= MAX_UPLOADS and not self._driving.holds(key_of(connection)):
            await connection.close(
                CloseCode.TRY_AGAIN_LATER,
                f"too many uploads at once, at most {MAX_UPLOADS}: try again later",
            )
            return
        self._under_way += 1
        try:
            await self._serve(connection)
        finally:
            self._under_way -= 1

    async def _serve(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            try:
                event, upload = await self._take(connection)
            except BrazoError as error:
                await connection.send(msgspec.json.encode({"error": str(error)}).decode())
            else:
                key = key_of(connection)
                self._post(lambda: self._accepted_by(key, event).handler(upload))
                await connection.send('{"done":true}')
            await connection.close()

    def _accepted_by(self, key: str, event: str) -> _Accepted:
        """Return the handler and limits of uploads for `event`.

        Raise if no open panel accepts them, or if the page `key` is not in control.
        """
        accepted = self._accepted.get(event)
        if accepted is None or not self._allows(event):
            raise BrazoError("no open panel accepts this file")
        if not self._driving.drives(key):
            raise BrazoError("view only: request control to import files")
        return accepted

    async def _take(self, connection: ServerConnection) -> tuple[str, Upload]:
        try:
            event, name, size = msgspec.json.decode(
                await _next(connection), type=tuple[str, str, int]
            )
        except msgspec.DecodeError:
            raise BrazoError(
                "invalid upload: its file name or size is missing; reload the page"
            ) from None
        accepted = self._accepted_by(key_of(connection), event)
        name = safe_name(name)
        if Path(name).suffix.lower() not in accepted.suffixes:
            raise BrazoError(f"{name}: expected a file ending in {', '.join(accepted.suffixes)}")
        if not 0 <= size <= accepted.most:
            raise BrazoError(
                f"{name}: {size / 1e6:.1f} MB; at most {accepted.most / 1e6:.0f} MB are allowed"
            )
        pieces, total = [], 0
        while total < size:
            piece = await _next(connection)
            total += len(piece)
            if isinstance(piece, str) or total > size:
                raise BrazoError(
                    f"{name}: the received size differs from the announced size: upload it again"
                )
            pieces.append(piece)
        self._accepted_by(key_of(connection), event)
        return event, Upload(name, b"".join(pieces))


async def _next(connection: ServerConnection) -> str | bytes:
    try:
        async with asyncio.timeout(PIECE_TIME):
            return await connection.recv()
    except TimeoutError:
        raise BrazoError(
            f"upload cancelled: no data for {PIECE_TIME:g} s; upload the file again"
        ) from None


def safe_name(name: str) -> str:
    """Remove folders from a file name and replace special characters by `_`.

    At most the last 120 characters are kept.  An empty result is replaced by `file`.
    """
    last = re.split(r"[/\\]", name)[-1]
    clean = _ODD.sub("_", last).strip(" .")[-120:]
    return clean or "file"


def disposition(name: str) -> str:
    """Value of the Content-Disposition header that makes a browser save a file as `name`."""
    return f"attachment; filename*=UTF-8''{quote(name)}"

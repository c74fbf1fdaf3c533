"""Files between the lab and a page.

Down: `Downloads.offer` keeps a file under an address nobody can guess until it is fetched or too
old; the page is told to fetch it.  Up: `Uploads.serve` talks at a path of its own.  The page says
what it brings (`["robots/upload", "arm.yaml", 812]`), then sends it in pieces; a file that is too
long, of another kind than the panel wants, oddly named, or sent by a page that does not drive, is
refused before it takes up room, and the page is told why.  Whether the page drives, and the panel
has a use, is asked again when the file is there: either may have changed meanwhile.
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
KEPT_FOR = 300.0  # s
MAX_OFFERS = 32
MAX_UPLOADS = 4  # at a time
PIECE_TIME = 20.0  # s that a page may take for the next piece
_ODD = re.compile(r"[^\w .()+-]")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file a page brought: its name (no folders, no odd characters) and what is in it."""

    name: str
    content: bytes

    @property
    def suffix(self) -> str:
        """`.yaml` and the like, lower case."""
        return Path(self.name).suffix.lower()

    def text(self) -> str:
        """The content as text."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BrazoError(
                f"{self.name}: not a text file (byte {error.start + 1} is not UTF-8)"
            ) from None


@dataclass(frozen=True, slots=True)
class Offer:
    """A file that waits to be fetched."""

    name: str
    content: bytes
    until: float


class Downloads:
    """Files that wait to be fetched, by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._offers: dict[str, Offer] = {}
        self._lock = threading.Lock()

    def offer(self, name: str, content: bytes | str | Path) -> dict[str, str]:
        """Keep a file; what a page is told to fetch it by."""
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
        """The file at an address, once."""
        with self._lock:
            found = self._offers.pop(address, None)
            return found if found is not None and found.until > self._clock() else None


@dataclass(frozen=True, slots=True)
class _Wish:
    handler: Callable[[Upload], Any]
    suffixes: tuple[str, ...]
    most: int


class Uploads:
    """Takes files from the page that drives."""

    def __init__(
        self,
        post: Callable[[Callable[[], None]], None],
        driving: Driving,
        allows: Callable[[str], bool] = lambda event: True,
    ) -> None:
        self._post = post
        self._driving = driving
        self._allows = allows  # whether an event may be acted on now
        self._wishes: dict[str, _Wish] = {}
        self._under_way = 0

    def on(
        self,
        event: str,
        handler: Callable[[Upload], Any],
        suffixes: tuple[str, ...],
        most: int = MAX_UPLOAD_BYTES,
    ) -> None:
        """Call `handler(upload)` on the lab's thread for files with one of the endings."""
        self._wishes[event] = _Wish(handler, suffixes, min(most, MAX_UPLOAD_BYTES))

    async def serve(self, connection: ServerConnection) -> None:
        """Take one file."""
        if self._under_way >= MAX_UPLOADS and not self._driving.holds(key_of(connection)):
            await connection.close(
                CloseCode.TRY_AGAIN_LATER, f"too many uploads: the maximum is {MAX_UPLOADS}"
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
                self._post(lambda: self._wish(key, event).handler(upload))
                await connection.send('{"done":true}')
            await connection.close()

    def _wish(self, key: str, event: str) -> _Wish:
        """What is done with a file this page brings now; raises with what is against it."""
        wish = self._wishes.get(event)
        if wish is None or not self._allows(event):
            raise BrazoError("no panel accepts files")
        if not self._driving.drives(key):
            raise BrazoError("view only: request control to import files")
        return wish

    async def _take(self, connection: ServerConnection) -> tuple[str, Upload]:
        try:
            event, name, size = msgspec.json.decode(
                await _next(connection), type=tuple[str, str, int]
            )
        except msgspec.DecodeError:
            raise BrazoError("the upload has no name or size") from None
        wish = self._wish(key_of(connection), event)
        name = safe_name(name)
        if Path(name).suffix.lower() not in wish.suffixes:
            raise BrazoError(f"{name}: expected a file ending in {', '.join(wish.suffixes)}")
        if not 0 <= size <= wish.most:
            raise BrazoError(f"{name}: {size / 1e6:.1f} MB; at most {wish.most / 1e6:.0f} MB")
        pieces, total = [], 0
        while total < size:
            piece = await _next(connection)
            total += len(piece)
            if isinstance(piece, str) or total > size:
                raise BrazoError(f"{name}: the size differs from the announced one")
            pieces.append(piece)
        self._wish(key_of(connection), event)
        return event, Upload(name, b"".join(pieces))


async def _next(connection: ServerConnection) -> str | bytes:
    try:
        async with asyncio.timeout(PIECE_TIME):
            return await connection.recv()
    except TimeoutError:
        raise BrazoError(f"no data of the upload for {PIECE_TIME:g} s") from None


def safe_name(name: str) -> str:
    """A file's name without folders and without characters that mean something anywhere."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _ODD.sub("_", last).strip(" .")[-120:]
    return clean or "file"


def disposition(name: str) -> str:
    """The header that makes a browser save a file under its name."""
    return f"attachment; filename*=UTF-8''{quote(name)}"

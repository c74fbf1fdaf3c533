"""Format of a recording in progress: frames with checksums, locked by the writer.

`NAME.parquet.part` is a sequence of frames.  A frame is a header of 20 bytes and a payload:

    magic   4 bytes  `BRZ1`
    kind    1 byte   H head, R rows, E event; followed by 3 zero bytes
    length  uint32   of the payload, in bytes
    crc     uint32   CRC-32 of the payload
    check   uint32   CRC-32 of the 16 bytes before

The head is a JSON object with the columns (name to unit), the description of the run and the id of
the writing process.  It is stored twice, in case one copy is damaged.  Rows are little-endian
float64, row by row.  An event is a JSON object.  All integers are little-endian.

A frame is written by one call.  If the process is killed, all complete frames can be read; an
incomplete last frame is ignored.  A frame whose checksum does not match is reported as damaged,
with its position; the frames after it can still be read.

The writer holds an exclusive lock on the file until the file is finished or the process ends.  The
file is created only if no file of its name exists, so two processes cannot write to the same path.
Except on Windows, the file appears under its name only when it has its head and its lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from brazo.errors import BrazoError
from brazo.files import lock, lock_is_held, rename_exclusive, require_file, temporary_name
from brazo.recording.names import check_names

PART = ".part"
MAGIC = b"BRZ1"
HEAD, ROWS, EVENT = b"H", b"R", b"E"
MAX_BLOCK = 256 << 10  # bytes of rows in a frame; larger blocks are split
MAX_PAYLOAD = 64 << 20  # bytes
_HEADER = struct.Struct("<4sc3xII")
_CHECK = struct.Struct("<I")
_SIZE = _HEADER.size + _CHECK.size
_SEARCH = 1 << 20  # bytes read at a time while looking for the next frame


@dataclass(frozen=True)
class Damage:
    """Damaged bytes of a part file, from `start` to `stop`."""

    start: int
    stop: int
    what: str

    def __str__(self) -> str:
        return f"{self.what} (bytes {self.start} to {self.stop})"


@dataclass
class Scan:
    """Frames of a part file, and its damage."""

    head: Mapping[str, Any]
    frames: list[tuple[bytes, int, int]] = field(default_factory=list)  # kind, offset, length
    damage: list[Damage] = field(default_factory=list)

    @property
    def columns(self) -> dict[str, str]:
        """Names and units of the columns; the time is first."""
        return dict(self.head["columns"])

    @property
    def rows(self) -> int:
        """Number of intact rows."""
        width = 8 * len(self.head["columns"])
        return sum(length // width for kind, _, length in self.frames if kind == ROWS)


def part_of(path: Path) -> Path:
    """Return the path of the part file of a recording."""
    return path.with_name(path.name + PART)


def frame(kind: bytes, payload: bytes | memoryview) -> list[bytes | memoryview]:
    """Return a frame as bytes: header and payload."""
    header = _HEADER.pack(MAGIC, kind, len(payload), zlib.crc32(payload))
    return [header + _CHECK.pack(zlib.crc32(header)), payload]


def create(path: Path, columns: Mapping[str, str], about: Mapping[str, str]) -> BinaryIO:
    """Create a part file with its head and lock it; raise if the file exists."""
    head = {"columns": dict(columns), "about": dict(about), "writer": os.getpid()}
    payload = json.dumps(head, ensure_ascii=False).encode()
    if len(payload) > MAX_PAYLOAD:
        raise BrazoError(f"{path}: the description has {len(payload) >> 20} MB; max 64 MB")
    content = b"".join(2 * frame(HEAD, payload))
    try:
        return _created(path, content)
    except FileExistsError:
        raise BrazoError(refusal(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BrazoError(f"{path}: cannot be written: {reason}") from error


def _created(path: Path, content: bytes) -> BinaryIO:
    if os.name == "nt":  # open files cannot be linked or renamed on Windows
        file = path.open("x+b", buffering=0)
        lock(file)
        store(file, [content])
        return file
    temporary = temporary_name(path)
    file = temporary.open("x+b", buffering=0)
    try:
        lock(file)
        store(file, [content])
        rename_exclusive(temporary, path)
        return file
    except BaseException:
        file.close()
        raise
    finally:
        temporary.unlink(missing_ok=True)


def store(file: BinaryIO, pieces: list[bytes | memoryview]) -> None:
    """Append data with one write call if possible; on failure the file is left unchanged."""
    start = file.seek(0, os.SEEK_END)
    try:
        view = memoryview(b"".join(pieces))
        while len(view):
            view = view[file.write(view) :]
    except OSError:
        with contextlib.suppress(OSError):
            file.truncate(start)
        raise


def writer_of(path: Path) -> int | None:
    """Return the id of the process that writes a part file.

    Returns 0 if the id is unknown, None if no process writes the file.
    """
    if not lock_is_held(path):
        return None
    try:
        return int(scan(path, head_only=True).head.get("writer", 0))
    except (BrazoError, TypeError, ValueError):
        return 0


def refusal(path: Path) -> str:
    """Return the error message for a new recording whose part file already exists."""
    target = path.with_name(path.name.removesuffix(PART))
    writer = writer_of(path)
    if writer is not None:
        return f"{path}: {being_written(writer)}; choose another name"
    return (
        f"{path}: contains the rows of an interrupted run; convert it with "
        f"`{finish_command(target)}`, or delete the file"
    )


def finish_command(path: Path) -> str:
    """Return the shell command that converts the part file of `path` to `path`."""
    force = " --force" if path.is_file() else ""
    return f"brazo convert {shlex.quote(str(part_of(path)))} {shlex.quote(str(path))}{force}"


def being_written(writer: int) -> str:
    """Return the message for a file that the process `writer` is writing (0: unknown process)."""
    return f"is being written by process {writer}" if writer else "is being written"


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold the lock of a part file (context manager); raise if a process is writing the file."""
    require_file(path)
    try:
        file = path.open("r+b")
    except OSError as error:
        raise BrazoError(f"{path}: cannot be opened: {error.strerror}") from error
    with file:
        if not lock(file):
            raise BrazoError(
                f"{path}: {being_written(writer_of(path) or 0)}; wait until that run has ended"
            )
        # Another process may have finished and removed the file before it was locked.
        if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise BrazoError(f"{path}: another process has just converted it")
        yield


def scan(path: Path, head_only: bool = False, *, check: bool = True) -> Scan:
    """Return all intact frames of a part file, or only its head.

    With `check=False` the payloads of rows and events are not read.  This is fast, but damage in
    them is not detected.
    """
    require_file(path)
    try:
        with path.open("rb") as file:
            return _scan(path, file, head_only, check)
    except OSError as error:
        raise BrazoError(f"{path}: cannot be read: {error.strerror}") from None


def rows_of(path: Path, found: Scan, rows: int | None = None) -> Iterator[np.ndarray]:
    """Yield the first `rows` rows (default: all) in blocks (k, columns); `found` is the scan."""
    width = len(found.head["columns"])
    left = found.rows if rows is None else rows
    with path.open("rb") as file:
        for kind, offset, length in found.frames:
            if kind != ROWS or left <= 0:
                continue
            file.seek(offset)
            block = np.frombuffer(file.read(length), "<f8").reshape(-1, width)[:left]
            left -= len(block)
            yield block


def events_of(path: Path, found: Scan) -> list[dict[str, Any]]:
    """Return the events in the order in which they were recorded."""
    events = []
    with path.open("rb") as file:
        for kind, offset, length in found.frames:
            if kind == EVENT:
                file.seek(offset)
                if event := _object(file.read(length)):
                    events.append(event)
    return events


def _scan(path: Path, file: BinaryIO, head_only: bool, check: bool) -> Scan:
    size = os.fstat(file.fileno()).st_size
    head: Mapping[str, Any] | None = None
    found = Scan({})
    at = 0
    while at < size and not (head_only and head):
        file.seek(at)
        header = file.read(_SIZE)
        parsed = _parsed(header)
        if parsed is None:
            if len(header) < _SIZE and (MAGIC.startswith(header[:4]) or header.startswith(MAGIC)):
                break  # the process was killed while writing this header
            after = _next_frame(file, at + 1, size)
            found.damage.append(Damage(at, after, "unreadable frame"))
            at = after
            continue
        kind, length, crc = parsed
        offset = at + _SIZE
        if offset + length > size:
            break  # the process was killed while writing this payload
        at = offset + length
        payload = file.read(length) if check or kind == HEAD else None
        if payload is not None and zlib.crc32(payload) != crc:
            found.damage.append(Damage(offset, at, _NAMES.get(kind, "unknown frame")))
        elif kind == HEAD:
            head = head or _head(path, payload or b"")
        else:
            found.frames.append((kind, offset, length))
    if head is None:
        if not found.frames and not any(d.what != "unreadable frame" for d in found.damage):
            raise BrazoError(f"{path}: not a partial recording of brazo")
        raise BrazoError(f"{path}: both copies of its header (column names) are damaged")
    found.head = head
    width = 8 * len(head["columns"])
    if any(kind == ROWS and length % width for kind, _, length in found.frames):
        raise BrazoError(f"{path}: not a partial recording of brazo: wrong row length")
    return found


_NAMES = {HEAD: "one copy of the header", ROWS: "rows", EVENT: "an event"}


def _parsed(header: bytes) -> tuple[bytes, int, int] | None:
    if len(header) < _SIZE:
        return None
    magic, kind, length, crc = _HEADER.unpack_from(header)
    (check,) = _CHECK.unpack_from(header, _HEADER.size)
    if magic != MAGIC or zlib.crc32(header[: _HEADER.size]) != check or length > MAX_PAYLOAD:
        return None
    return kind, length, crc


def _next_frame(file: BinaryIO, start: int, size: int) -> int:
    """Return the offset of the next intact header, or the end of the file."""
    at = start
    while at < size:
        file.seek(at)
        chunk = file.read(_SEARCH + _SIZE)
        k = chunk.find(MAGIC)
        while k >= 0:
            if _parsed(chunk[k : k + _SIZE]) is not None:
                return at + k
            k = chunk.find(MAGIC, k + 1)
        at += _SEARCH
    return size


def _head(path: Path, payload: bytes) -> Mapping[str, Any]:
    head = _object(payload)
    columns, about = head.get("columns"), head.get("about", {})
    if not isinstance(columns, dict) or not columns or not isinstance(about, dict):
        raise BrazoError(f"{path}: not a partial recording of brazo: no columns in its header")
    check_names(columns, f"{path}: ")
    return {
        "columns": {name: str(unit) for name, unit in columns.items()},
        "about": {name: str(value) for name, value in about.items()},
        "writer": head.get("writer", 0),
    }


def _object(payload: bytes) -> dict[str, Any]:
    """Parse a JSON object; return an empty object if it is not valid."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

"""Crash-safe recorder: rows are written to disk in frames during the run.

The file being written is `NAME.parquet.part` (`brazo.recording.part_file`).  If the process is
killed, all rows except those of the last `FLUSH_EVERY` seconds can be read.  `close` converts the
part file to Parquet atomically and removes it.

Rows are passed to a writer thread, which holds the interpreter lock for only some microseconds per
frame.  Rows not yet written are kept in memory, up to `BACKLOG` bytes (15 minutes of 40 signals at
1 kHz).  When the backlog is full, a simulation waits; a control loop (`wait=False`) does not wait,
and the recording stops instead.

A full, slow or disconnected disk never raises an exception in the recording loop.  The failure is
reported once (`on_failure`, `failure`), later rows are counted and dropped, and the file stays
valid up to its last complete frame.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError, RunFailed
from brazo.recording import part_file
from brazo.recording.names import safe_columns
from brazo.recording.origin import with_digest
from brazo.recording.part_file import part_of
from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.recording.recording import Recording
    from brazo.recording.source import Progress

CHUNK_ROWS = 1000
BACKLOG = 256 << 20  # bytes
FLUSH_EVERY = 0.1  # s; max loss when the process is killed, plus the time of one write
SYNC_EVERY = 2.0  # s; max loss at a power failure


class Recorder:
    """Recorder of events and of rows of float64 values.

    `columns` maps the column names to units, in the order of the values in a row; the first column
    is the time.  `about` is the description of the run.  Rows of `append` are passed to the writer
    thread in blocks of `chunk_rows`.  When the backlog is full, the caller waits; with
    `wait=False`, the recording stops instead.  `on_failure(message)` is called in another thread if
    the recording stops.  As a context manager, `with Recorder(...) as recorder:`, the recorder is
    closed at the end of the block.

    Raises BrazoError if the recording exists and `replace` is not set, if a part file of the
    recording exists, or if another process writes to the path.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Mapping[str, str],
        about: Mapping[str, Any] | None = None,
        chunk_rows: int = CHUNK_ROWS,
        *,
        replace: bool = False,
        wait: bool = True,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() != ".parquet":
            raise BrazoError(f"{path}: runs are recorded as .parquet; convert the file afterwards")
        if not columns:
            raise BrazoError("a recording needs at least one column, the time")
        if not replace and self.path.exists():
            raise BrazoError(f"{path}: already exists; choose another name, or set replace=True")
        columns = safe_columns(columns)
        self.names = tuple(columns)
        self.part = part_of(self.path)
        self.on_failure = on_failure
        self.dropped = 0  # rows received after a failure
        self._replace, self._wait = replace, wait
        self._rows = np.empty((max(1, chunk_rows), len(columns)))
        self._filled = self._taken = 0  # rows in the buffer, and rows passed to the writer
        self._handing_over = threading.Lock()
        self._queue: queue.SimpleQueue[np.ndarray | str | None] = queue.SimpleQueue()
        self._room = threading.Condition()
        self._waiting = 0  # bytes passed to the writer and not yet on disk
        self._written = 0
        self._failure = self._reason = ""
        self._closed = False
        description = {key: _text(value) for key, value in with_digest(about or {}).items()}
        self._file = part_file.create(self.part, columns, description)
        self._thread = threading.Thread(target=self._write, name="brazo recorder", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """Number of rows passed to the operating system; these survive if the process is killed."""
        return self._written

    @property
    def failure(self) -> str:
        """Reason why the recording stopped, with advice; empty if there was no failure."""
        return self._failure

    @property
    def reason(self) -> str:
        """Reason why the recording stopped, without advice; empty if there was no failure."""
        return self._reason

    def append(self, row: np.ndarray | Sequence[float]) -> None:
        """Add one row of values."""
        self._check_open()
        if len(row) != len(self.names):
            raise BrazoError(f"{self.path}: row of {len(row)} values; expected {len(self.names)}")
        self._rows[self._filled] = row
        self._filled += 1
        if self._filled == len(self._rows):
            self._hand_over()

    def append_block(self, rows: np.ndarray, *, own: bool = False) -> None:
        """Add several rows `(k, columns)`; they are copied, so the array may be reused.

        With `own`, the recorder takes ownership of the array and does not copy it.  A block should
        have at least a few hundred rows, because each block is written as a separate frame.  A
        large block is written as several frames.
        """
        self._check_open()
        block = checked_block(rows, len(self.names), str(self.path), own)
        if self._filled:
            self._hand_over()
        if len(block):
            self._send(block)

    def event(self, t: float, kind: str, text: str, **data: Any) -> None:
        """Add an event: time (s), kind, text, and any data that JSON can represent."""
        self._check_open()
        if not self._failure:
            self._queue.put(json.dumps(event_entry(t, kind, text, data), ensure_ascii=False))

    def close(self, about: Mapping[str, Any] | None = None) -> Path:
        """Convert the recording to Parquet and remove the part file.

        `about` is added to the description, for data known only at the end of the run.  If writing
        failed, the rows on disk are converted, then `RunFailed` is raised.  If the conversion
        fails, the part file is kept and `RunFailed` is raised.
        """
        if self._closed and not self.part.exists():
            return self.path
        self._stop()
        try:
            _finish(self.part, self.path, about, exclusive=not self._replace)
        except BrazoError as error:
            raise RunFailed(self._failure or f"{error}; {self._kept()}") from error
        finally:
            self._file.close()
        self.part.unlink(missing_ok=True)  # Windows cannot remove it while it is open
        if self._failure:
            raise RunFailed(f"{self.path}: the recording is not complete: {self._reason}")
        return self.path

    def recording(self, about: Mapping[str, Any] | None = None) -> Recording:
        """Close the recorder and return the recording of its file; `about` as in `close`."""
        from brazo.recording.recording import Recording

        return Recording.open(self.close(about))

    def abandon(self) -> None:
        """Stop writing and keep the part file, which can still be read."""
        self._stop()
        self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._hand_over()
        self._queue.put(None)
        self._thread.join()

    def _kept(self) -> str:
        command = part_file.finish_command(self.path)
        return f"the recorded rows are in {self.part}; convert them with `{command}`"

    def _check_open(self) -> None:
        if self._closed:
            raise BrazoError(f"{self.path}: the recording is closed")

    def _hand_over(self) -> None:
        """Queue the rows of the buffer for the writer thread and start a new buffer."""
        with self._handing_over:
            rows = self._rows[self._taken : self._filled]
            self._rows = np.empty_like(self._rows)
            self._filled = self._taken = 0
        if len(rows):
            self._send(rows)

    def _flush(self) -> None:
        """Queue the new rows of the buffer and keep the buffer; called by the writer thread."""
        with self._handing_over:
            # Rows below `_filled` are complete and do not change until the buffer is replaced.
            filled = self._filled
            rows, self._taken = self._rows[self._taken : filled], filled
            if len(rows):
                with self._room:
                    self._waiting += rows.nbytes
                self._queue.put(rows)  # under the lock, so that later rows are queued after these

    def _send(self, block: np.ndarray) -> None:
        with self._room:
            while self._waiting > BACKLOG and self._wait and not self._failure:
                self._room.wait()
            late = self._waiting > BACKLOG
            if not self._failure and not late:
                self._waiting += block.nbytes
        if late:
            self._fail(f"the disk is too slow: {BACKLOG >> 20} MB are waiting to be written")
        if self._failure:
            self.dropped += len(block)
        else:
            self._queue.put(block)

    def _write(self) -> None:
        synced = flushed = time.monotonic()
        try:
            while True:
                if time.monotonic() - flushed > FLUSH_EVERY:
                    self._flush()
                    flushed = time.monotonic()
                try:
                    item = self._queue.get(timeout=FLUSH_EVERY)
                except queue.Empty:
                    continue
                if item is None:
                    break
                if isinstance(item, str):
                    self._store(part_file.EVENT, item.encode())
                    continue
                self._store_rows(item)
                self._written += len(item)
                with self._room:
                    self._waiting -= item.nbytes
                    self._room.notify_all()
                if time.monotonic() - synced > SYNC_EVERY:
                    os.fsync(self._file.fileno())
                    synced = time.monotonic()
            os.fsync(self._file.fileno())
        except Exception as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._fail(f"{self.part}: cannot be written: {reason}")
            self._drain()

    def _store_rows(self, rows: np.ndarray) -> None:
        most = max(1, part_file.MAX_BLOCK // (8 * rows.shape[1]))
        for at in range(0, len(rows), most):
            block = np.ascontiguousarray(rows[at : at + most], "<f8")
            self._store(part_file.ROWS, block.data.cast("B"))

    def _store(self, kind: bytes, payload: bytes | memoryview) -> None:
        part_file.store(self._file, part_file.frame(kind, payload))

    def _fail(self, reason: str) -> None:
        with self._room:
            first = not self._failure
            if first:
                self._reason = reason
                self._failure = f"recording stopped: {reason}; {self._kept()}"
            self._room.notify_all()
        if first and self.on_failure is not None:
            # In a separate thread: the callback may need a lock that the caller of `close` holds.
            threading.Thread(target=self.on_failure, args=(self._failure,), daemon=True).start()

    def _drain(self) -> None:
        """Count rows as dropped, without writing them, until the recorder is closed."""
        while (item := self._queue.get()) is not None:
            if not isinstance(item, str):
                self.dropped += len(item)


class MemoryRecorder:
    """Recorder that keeps the rows in memory.

    It has the methods `append`, `append_block`, `event` and `recording` of `Recorder`.
    """

    def __init__(self, columns: Mapping[str, str], about: Mapping[str, Any] | None = None) -> None:
        self._units = safe_columns(columns)
        self.names = tuple(self._units)
        self._about = {key: _text(value) for key, value in with_digest(about or {}).items()}
        self._blocks: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._events: list[dict[str, Any]] = []

    def append(self, row: np.ndarray | Sequence[float]) -> None:
        """Add one row of values."""
        if len(row) != len(self.names):
            raise BrazoError(f"row of {len(row)} values; expected {len(self.names)}")
        self._rows.append(np.array(row, dtype=float))
        if len(self._rows) == CHUNK_ROWS:
            self._collect()

    def append_block(self, rows: np.ndarray, *, own: bool = False) -> None:
        """Add several rows `(k, columns)`; they are copied unless `own` is set."""
        block = checked_block(rows, len(self.names), "recording", own)
        self._collect()
        self._blocks.append(block)

    def event(self, t: float, kind: str, text: str, **data: Any) -> None:
        """Add an event: time (s), kind, text, and any data that JSON can represent."""
        self._events.append(event_entry(t, kind, text, data))

    def recording(self, about: Mapping[str, Any] | None = None) -> Recording:
        """Return the recording so far; `about` is added to the description."""
        from brazo.recording.recording import Recording

        self._collect()
        table = np.empty((len(self.names), sum(map(len, self._blocks))))
        at = 0
        for block in self._blocks:  # transposed one by one, so that a block stays in the cache
            table[:, at : at + len(block)] = block.T
            at += len(block)
        columns = {name: (table[i], unit) for i, (name, unit) in enumerate(self._units.items())}
        more = {key: _text(value) for key, value in (about or {}).items()}
        return Recording(columns, list(self._events), self._about | more)

    def _collect(self) -> None:
        if self._rows:
            self._blocks.append(np.array(self._rows))
            self._rows = []


def finish_part(
    part: Path,
    path: Path,
    about: Mapping[str, Any] | None = None,
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> None:
    """Convert the part file of an interrupted run to Parquet and remove the part file.

    `about` is added to the description.  Raises BrazoError if a process is writing the part file,
    if the part file is damaged, or if `path` exists and `replace` is not set.  If
    `progress(fraction)` raises, the conversion ends and the part file is kept.
    """
    with part_file.claimed(part):
        _finish(part, path, about, not replace, progress)
    part.unlink(missing_ok=True)


def _finish(
    part: Path,
    path: Path,
    about: Mapping[str, Any] | None,
    exclusive: bool,
    progress: Progress | None = None,
) -> None:
    from brazo.recording.parquet import write_parquet
    from brazo.recording.source import part_source

    source = part_source(part)
    more = {key: _text(value) for key, value in (about or {}).items()}
    complete = dataclasses.replace(source, about={**source.about, **more})
    write_parquet(path, complete, progress, exclusive=exclusive)
    with contextlib.suppress(PermissionError):  # Windows cannot remove an open file
        part.unlink(missing_ok=True)


def checked_block(rows: np.ndarray, width: int, where: str, own: bool = False) -> np.ndarray:
    """Return a copy of a block of rows (k, width) as float64.

    With `own`, the block itself is returned if it needs no conversion.  Raises
    BrazoError if the number of columns is wrong.
    """
    block = np.array(rows, dtype=float, order="C", copy=None if own else True)
    if block.ndim != 2 or block.shape[1] != width:
        raise BrazoError(f"{where}: block of shape {block.shape}; expected (rows, {width})")
    return block


def event_entry(t: float, kind: str, text: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as a JSON object."""
    return {"t": float(t), "kind": one_line(kind), "text": one_line(text), **_plain(dict(data))}


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)
    # File names may contain bytes that are not valid text.
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    """Return JSON-compatible data; non-finite numbers become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)

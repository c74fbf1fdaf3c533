"""A recording that survives a crash: rows go to disk in chunks while the run goes on.

The file being written is an Arrow stream (`NAME.parquet.part`): a schema, then record batches, each
complete in itself and written by one call.  Whatever moment a process is killed, all batches
written before can be read; a torn last one is left out.  `close` turns the stream into Parquet,
atomically, and removes it.

Rows are handed over to a writer thread, which works outside the interpreter's lock for all but some
microseconds a chunk.  The loop that records never waits for the disk: what the disk has not taken
yet stays in memory.  Only when that has grown to `BACKLOG` bytes (a quarter of an hour of 40
signals at 1 kHz) does the loop wait, rather than fill the machine.
"""

from __future__ import annotations

import json
import math
import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.origin import with_digest

if TYPE_CHECKING:
    from brazo.recording.recording import Recording

PART = ".part"
CHUNK_ROWS = 1000
BACKLOG = 256 << 20  # bytes
SYNC_EVERY = 2.0  # s; what a power cut may cost


class Recorder:
    """Writes columns of float64, by rows or blocks of rows, and events beside them.

    `columns` maps names to units, in the order rows are given; the first is the time.  Used as
    `with Recorder(...) as recorder:`, it is closed however the block is left.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Mapping[str, str],
        about: Mapping[str, Any] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() != ".parquet":
            raise BrazoError(f"{path}: a recording is a .parquet file; convert it afterwards")
        self.names = tuple(columns)
        self.part = self.path.with_name(self.path.name + PART)
        self.part_events = events_beside(self.part)
        if self.part.exists():
            raise BrazoError(
                f"{self.part}: the rest of a run that was killed; finish it with "
                f"`brazo convert {self.part.name} {self.path.name}` or remove it"
            )
        self._schema = schema_of(columns, with_digest(about or {}))
        self._rows = np.empty((max(1, chunk_rows), len(columns)))
        self._filled = 0
        self._queue: queue.SimpleQueue[np.ndarray | str | None] = queue.SimpleQueue()
        self._room = threading.Condition()
        self._waiting = 0  # bytes handed over and not yet on disk
        self._written = 0
        self._failure: BaseException | None = None
        self._closed = False
        # The head arrives whole: from here on the file can be opened, whatever happens.
        with replacing(self.part) as temporary:
            temporary.write_bytes(self._schema.serialize().to_pybytes())
        try:
            self._file = self.part.open("ab", buffering=0)
            self._event_file = self.part_events.open("wb", buffering=0)
        except OSError as error:
            self.part.unlink(missing_ok=True)
            raise BrazoError(f"{self.path}: cannot be written: {error.strerror}") from error
        serialized(
            self._rows[:0], self._schema
        )  # the first time takes milliseconds: now, not later
        self._thread = threading.Thread(target=self._write, name="brazo recorder", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """How many rows have left this process: a kill can no longer take them."""
        return self._written

    def append(self, row: np.ndarray | Sequence[float]) -> None:
        """Add one row of values."""
        self._check_open()
        if len(row) != len(self.names):
            raise BrazoError(f"{self.path}: a row of {len(row)} values for {len(self.names)}")
        self._rows[self._filled] = row
        self._filled += 1
        if self._filled == len(self._rows):
            self._hand_over()

    def append_block(self, rows: np.ndarray, *, own: bool = False) -> None:
        """Add many rows at once, `(k, columns)`; they are copied, so the array may be used again.

        With `own` the array is given away and need not be copied.  A block is a chunk of its own: a
        few hundred rows or more make a good one.
        """
        self._check_open()
        block = checked_block(rows, len(self.names), str(self.path), own)
        if self._filled:
            self._hand_over()
        if len(block):
            self._send(block)

    def event(self, t: float, kind: str, text: str, **data: Any) -> None:
        """Add an event: a moment, a kind, a sentence, and anything JSON can say."""
        self._check_open()
        self._queue.put(json.dumps(event_entry(t, kind, text, data), ensure_ascii=False) + "\n")

    def close(self, about: Mapping[str, Any] | None = None) -> Path:
        """Finish: everything to Parquet, the partial files gone.

        `about` is what only now is known of the run.
        """
        self.abandon()
        if self.part.exists():  # else closed before
            finish_part(self.part, self.path, about)
        return self.path

    def recording(self, about: Mapping[str, Any] | None = None) -> Recording:
        """Finish, and open what was recorded."""
        from brazo.recording.recording import Recording

        return Recording.open(self.close(about))

    def abandon(self) -> None:
        """Stop writing and leave the partial files as they are (still readable)."""
        if self._closed:
            return
        if self._filled:
            self._hand_over()
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._check_failure()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise BrazoError(f"{self.path}: the recording is closed")

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise BrazoError(f"{self.part}: writing failed: {self._failure}") from self._failure

    def _hand_over(self) -> None:
        rows, self._rows = self._rows[: self._filled], np.empty_like(self._rows)
        self._filled = 0
        self._send(rows)

    def _send(self, block: np.ndarray) -> None:
        self._check_failure()
        with self._room:
            while self._waiting > BACKLOG and self._failure is None:
                self._room.wait()
            self._waiting += block.nbytes
        self._queue.put(block)

    def _write(self) -> None:
        synced = time.monotonic()
        try:
            with self._file, self._event_file:
                while (item := self._queue.get()) is not None:
                    if isinstance(item, str):
                        self._store(self._event_file, item.encode())
                        continue
                    self._store(self._file, serialized(item, self._schema))
                    self._written += len(item)
                    with self._room:
                        self._waiting -= item.nbytes
                        self._room.notify_all()
                    if time.monotonic() - synced > SYNC_EVERY:
                        os.fsync(self._file.fileno())
                        synced = time.monotonic()
                os.fsync(self._file.fileno())
                os.fsync(self._event_file.fileno())
        except BaseException as error:
            with self._room:
                self._failure = error
                self._room.notify_all()

    def _store(self, file: Any, data: Any) -> None:
        view = memoryview(data)
        while len(view):
            view = view[file.write(view) :]


class MemoryRecorder:
    """The face of a `Recorder` for a run that leaves no file; `recording` gives what it holds."""

    def __init__(self, columns: Mapping[str, str], about: Mapping[str, Any] | None = None) -> None:
        self.names = tuple(columns)
        self._units = dict(columns)
        told = with_digest(about or {})
        self._about = {key: _text(value) for key, value in told.items()}
        self._blocks: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._events: list[dict[str, Any]] = []

    def append(self, row: np.ndarray | Sequence[float]) -> None:
        """Add one row of values."""
        if len(row) != len(self.names):
            raise BrazoError(f"a row of {len(row)} values for {len(self.names)}")
        self._rows.append(np.array(row, dtype=float))
        if len(self._rows) == CHUNK_ROWS:
            self._collect()

    def append_block(self, rows: np.ndarray, *, own: bool = False) -> None:
        """Add many rows at once, `(k, columns)`; they are copied unless given away (`own`)."""
        block = checked_block(rows, len(self.names), "recording", own)
        self._collect()
        self._blocks.append(block)

    def event(self, t: float, kind: str, text: str, **data: Any) -> None:
        """Add an event: a moment, a kind, a sentence, and anything JSON can say."""
        self._events.append(event_entry(t, kind, text, data))

    def recording(self, about: Mapping[str, Any] | None = None) -> Recording:
        """All that was recorded so far; `about` is what only now is known of the run."""
        from brazo.recording.recording import Recording

        self._collect()
        table = np.empty((len(self.names), sum(map(len, self._blocks))))
        at = 0
        for block in self._blocks:  # one by one: a block turned on its side stays in the cache
            table[:, at : at + len(block)] = block.T
            at += len(block)
        columns = {name: (table[i], unit) for i, (name, unit) in enumerate(self._units.items())}
        more = {key: _text(value) for key, value in (about or {}).items()}
        return Recording(columns, list(self._events), self._about | more)

    def _collect(self) -> None:
        if self._rows:
            self._blocks.append(np.array(self._rows))
            self._rows = []


def events_beside(part: Path) -> Path:
    """The file with the events of a partial recording."""
    return part.with_name(part.name.removesuffix(PART) + ".events" + PART)


def finish_part(part: Path, path: Path, about: Mapping[str, Any] | None = None) -> None:
    """Turn what a run left behind into Parquet and remove it."""
    from brazo.recording.parquet import write_parquet
    from brazo.recording.source import part_source

    source = part_source(part)
    more = {key: _text(value) for key, value in (about or {}).items()}
    write_parquet(path, replace(source, about={**source.about, **more}))
    part.unlink(missing_ok=True)
    events_beside(part).unlink(missing_ok=True)


def schema_of(columns: Mapping[str, str], about: Mapping[str, Any]) -> Any:
    """The Arrow schema of float64 columns with units and a description."""
    import pyarrow as pa

    if not columns:
        raise BrazoError("a recording needs at least one column, the time")
    return pa.schema(
        [pa.field(name, pa.float64(), metadata={"unit": unit}) for name, unit in columns.items()],
        metadata={f"brazo.{key}": _text(value) for key, value in about.items()},
    )


def serialized(block: np.ndarray, schema: Any) -> Any:
    """Rows as one message of an Arrow stream."""
    import pyarrow as pa

    # One transposition, then columns that share its memory.
    arrays = [pa.array(column) for column in np.ascontiguousarray(block.T)]
    return pa.record_batch(arrays, schema=schema).serialize()


def checked_block(rows: np.ndarray, width: int, where: str, own: bool = False) -> np.ndarray:
    """A copy of a block of rows, or the block itself where it is given away."""
    block = np.array(rows, dtype=float, order="C", copy=None if own else True)
    if block.ndim != 2 or block.shape[1] != width:
        raise BrazoError(f"{where}: a block of shape {block.shape} for {width} columns")
    return block


def event_entry(t: float, kind: str, text: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """An event as it is kept: only what JSON can say."""
    return {"t": float(t), "kind": str(kind), "text": str(text), **_plain(dict(data))}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and maps; what is not finite is null, as JSON has no word for it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)

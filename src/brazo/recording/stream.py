"""A recording that survives a crash: rows go to disk in chunks while the run goes on.

The file being written is an Arrow stream (`NAME.parquet.part`): a schema, then record batches, each
complete in itself.  Whatever moment a process is killed, all batches written before can be read;
a torn last one is left out.  `close` turns the stream into Parquet, atomically, and removes it.

Rows are collected in memory and handed over chunk by chunk to a writer thread, so the loop that
records never waits for the disk unless the disk is slower than the run for many chunks on end.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing

PART = ".part"
CHUNK_ROWS = 1000
_WAITING_CHUNKS = 64  # then the loop waits: memory stays bounded


class Recorder:
    """Writes columns of float64 row by row; events with a time and a sentence beside them."""

    def __init__(
        self,
        path: Path,
        columns: Mapping[str, str],
        about: Mapping[str, str] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        """`columns` maps names to units, in the order rows are given."""
        import pyarrow as pa

        self.path = Path(path)
        if self.path.suffix.lower() != ".parquet":
            raise BrazoError(f"{path}: a recording is a .parquet file; convert it afterwards")
        self.names = tuple(columns)
        self._schema = pa.schema(
            [pa.field(name, pa.float64(), metadata={"unit": u}) for name, u in columns.items()],
            metadata={f"brazo.{key}": value for key, value in (about or {}).items()},
        )
        self._rows = np.empty((chunk_rows, len(columns)))
        self._filled = 0
        self._queue: queue.Queue[np.ndarray | str | None] = queue.Queue(_WAITING_CHUNKS)
        self._failure: BaseException | None = None
        self._closed = False
        self.part = self.path.with_name(self.path.name + PART)
        if self.part.exists():
            raise BrazoError(
                f"{self.part}: the rest of a run that was killed; convert or remove it first"
            )
        self.part_events = self.path.with_name(self.path.name + ".events" + PART)
        try:
            self._file = self.part.open("wb")
            self._event_file = self.part_events.open("w", encoding="utf-8")
        except OSError as error:
            raise BrazoError(f"{self.path}: cannot be written: {error.strerror}") from error
        # The head goes to disk at once: from here on the file can be opened, whatever happens.
        self._stream = pa.ipc.new_stream(self._file, self._schema)
        nothing = [pa.array([], pa.float64()) for _ in columns]
        self._stream.write_batch(pa.record_batch(nothing, schema=self._schema))
        self._file.flush()
        self._thread = threading.Thread(target=self._write, name="brazo recorder", daemon=True)
        self._thread.start()

    def append(self, row: np.ndarray | Sequence[float]) -> None:
        """Add one row of values."""
        if self._closed:
            raise BrazoError(f"{self.path}: the recording is closed")
        if len(row) != len(self.names):
            raise BrazoError(f"{self.path}: a row of {len(row)} values for {len(self.names)}")
        self._rows[self._filled] = row
        self._filled += 1
        if self._filled == len(self._rows):
            self._hand_over()

    def append_block(self, rows: np.ndarray) -> None:
        """Add many rows at once, `(k, columns)`; they are copied, so the array may be used again.

        A block is a chunk of its own: a few hundred rows or more make a good one.
        """
        if self._closed:
            raise BrazoError(f"{self.path}: the recording is closed")
        block = np.array(rows, dtype=float, order="C")
        if block.ndim != 2 or block.shape[1] != len(self.names):
            raise BrazoError(
                f"{self.path}: a block of shape {block.shape} for {len(self.names)} columns"
            )
        if self._filled:
            self._hand_over()
        if len(block):
            self._send(block)

    def event(self, t: float, kind: str, text: str, **data: Any) -> None:
        """Add an event; it is on disk as soon as the writer thread comes to it."""
        if self._closed:
            raise BrazoError(f"{self.path}: the recording is closed")
        entry = {"t": t, "kind": kind, "text": text, **data}
        line = json.dumps(entry, ensure_ascii=False, default=_plain)
        self._queue.put(line + "\n")

    def close(self) -> Path:
        """Finish: everything to Parquet, the partial files gone."""
        self.abandon()
        columns, about, events = read_part(self.part)
        write_parquet(self.path, columns, about, events)
        self.part.unlink(missing_ok=True)
        self.part_events.unlink(missing_ok=True)
        return self.path

    def abandon(self) -> None:
        """Stop writing and leave the partial files as they are (still readable)."""
        if self._closed:
            return
        self._closed = True
        if self._filled:
            self._hand_over()
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise BrazoError(f"{self.part}: writing failed: {self._failure}") from self._failure

    def _hand_over(self) -> None:
        rows, self._rows = self._rows[: self._filled], np.empty_like(self._rows)
        self._filled = 0
        self._send(rows)

    def _send(self, block: np.ndarray) -> None:
        if self._failure is not None:
            raise BrazoError(f"{self.part}: writing failed: {self._failure}") from self._failure
        self._queue.put(block)

    def _write(self) -> None:
        import pyarrow as pa

        try:
            with self._file, self._event_file, self._stream as out:
                while (item := self._queue.get()) is not None:
                    if isinstance(item, str):
                        self._event_file.write(item)
                        self._event_file.flush()
                        continue
                    arrays = [pa.array(np.ascontiguousarray(column)) for column in item.T]
                    out.write_batch(pa.record_batch(arrays, schema=self._schema))
                    self._file.flush()
                self._file.flush()
                os.fsync(self._file.fileno())
        except BaseException as error:
            self._failure = error
            while self._queue.get() is not None:  # never leave the loop waiting
                pass


Columns = dict[str, tuple[np.ndarray, str]]


def read_part(path: Path) -> tuple[Columns, dict[str, str], list[dict[str, Any]]]:
    """All complete batches of a stream, its description, and the complete events."""
    import pyarrow as pa

    batches = []
    try:
        with path.open("rb") as file:
            reader = pa.ipc.open_stream(file)
            schema = reader.schema
            while True:
                try:
                    batches.append(reader.read_next_batch())
                except StopIteration:
                    break
                except (pa.ArrowInvalid, OSError):
                    break  # a torn last batch
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise BrazoError(f"{path}: no recording: nothing complete was written ({error})") from None
    table = pa.Table.from_batches(batches, schema)
    columns = {
        field.name: (
            table.column(field.name).to_numpy(),
            (field.metadata or {}).get(b"unit", b"").decode(),
        )
        for field in schema
    }
    about = {
        key.decode().removeprefix("brazo."): value.decode()
        for key, value in (schema.metadata or {}).items()
    }
    return columns, about, _read_events(path)


def write_parquet(
    path: Path,
    columns: Mapping[str, tuple[np.ndarray, str]],
    about: Mapping[str, str],
    events: Sequence[Mapping[str, Any]],
) -> None:
    """Columns with units, a description and events as one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    fields = [
        pa.field(name, pa.float64(), metadata={"unit": unit}) for name, (_, unit) in columns.items()
    ]
    metadata = {f"brazo.{key}": value for key, value in about.items()}
    metadata["brazo.events"] = json.dumps(list(events), ensure_ascii=False)
    arrays = [pa.array(np.ascontiguousarray(values)) for values, _ in columns.values()]
    table = pa.table(arrays, schema=pa.schema(fields, metadata=metadata))
    with replacing(Path(path)) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def read_parquet(path: Path) -> tuple[Columns, dict[str, str], list[dict[str, Any]]]:
    """What `write_parquet` wrote."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise BrazoError(f"{path}: not a Parquet file: {error}") from None
    columns: Columns = {}
    for field in table.schema:
        if not pa.types.is_floating(field.type) and not pa.types.is_integer(field.type):
            raise BrazoError(f"{path}: column '{field.name}' is not of numbers: not a recording")
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        columns[field.name] = (table.column(field.name).to_numpy().astype(float), unit)
    about = {
        key.decode().removeprefix("brazo."): value.decode()
        for key, value in (table.schema.metadata or {}).items()
        if key.startswith(b"brazo.")
    }
    events = json.loads(about.pop("events", "[]"))
    return columns, about, events


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON knows them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _read_events(path: Path) -> list[dict[str, Any]]:
    beside = path.with_name(path.name.removesuffix(PART) + ".events" + PART)
    if not beside.is_file():
        return []
    events = []
    for line in beside.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            break  # the line being written when the process ended
    return events

"""Where rows come from: a finished file, what a killed run left, a table, or a recording in memory.

A `Source` knows names, units, events and how many rows there are; its rows come block by block, so
that what is made of them needs no more memory for an hour than for a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.names import choose
from brazo.recording.stream import PART, events_beside

BLOCK_ROWS = 4096
ROUNDING = 1e-7  # s; of moments, far below any step
READABLE = (".parquet", ".parquet.part", ".csv")

Columns = dict[str, tuple[np.ndarray, str]]
Event = dict[str, Any]
Progress = Callable[[float], object]
Read = Callable[[Sequence[str]], Iterator[list[np.ndarray]]]


@dataclass(frozen=True)
class Source:
    """Columns on one time axis, the first of them; `read(names)` gives these columns in blocks."""

    units: Mapping[str, str]
    about: Mapping[str, str]
    events: Sequence[Event]
    rows: int
    read: Read

    @property
    def time(self) -> str:
        """The name of the time axis."""
        return next(iter(self.units))

    def select(self, patterns: Sequence[str]) -> Source:
        """Only the time and the signals that match."""
        names = [self.time, *choose(list(self.units)[1:], patterns)]
        return replace(self, units={name: self.units[name] for name in names})

    def between(self, start: float | None = None, stop: float | None = None) -> Source:
        """Only the rows and events from one moment to another, both included."""
        low = -np.inf if start is None else start
        high = np.inf if stop is None else stop
        if not low <= high:
            raise BrazoError(f"from {start} s to {stop} s is no span of time")
        # A clock that adds up steps shows 1.4999999999999 for 1.5.
        low, high = low - ROUNDING, high + ROUNDING
        inside = [(t >= low) & (t <= high) for (t,) in self.read([self.time])]
        keep = np.concatenate(inside) if inside else np.empty(0, bool)

        def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
            at = 0
            for block in self.read(names):
                mask = keep[at : at + len(block[0])]
                at += len(mask)
                if mask.all():
                    yield block
                elif mask.any():
                    yield [column[mask] for column in block]

        events = [e for e in self.events if low <= event_time(e) <= high]
        return replace(self, events=events, rows=int(keep.sum()), read=read)

    def columns(self) -> Columns:
        """All of it in memory."""
        names = list(self.units)
        blocks = list(self.read(names))
        return {
            name: (
                np.concatenate([block[i] for block in blocks]) if blocks else np.empty(0),
                self.units[name],
            )
            for i, name in enumerate(names)
        }


def event_time(event: Mapping[str, Any]) -> float:
    """The moment of an event, in seconds."""
    t = event.get("t", 0.0)
    return float(t) if isinstance(t, (int, float)) else 0.0


def open_source(path: str | Path) -> Source:
    """Open a .parquet or .csv recording, or the .part a killed run left behind."""
    path = Path(path)
    name = path.name.lower()
    if name.endswith(".parquet" + PART):
        return part_source(path)
    if name.endswith(".csv"):
        from brazo.recording.tables import read_csv

        return memory_source(read_csv(path))
    if name.endswith(".parquet"):
        beside = path.with_name(path.name + PART)
        if beside.is_file():
            # A newer run was killed before it could take the file's place.
            return part_source(beside)
        from brazo.recording.parquet import parquet_source

        return parquet_source(path)
    raise BrazoError(f"{path}: recordings are read from {', '.join(READABLE)}")


def memory_source(
    columns: Mapping[str, tuple[np.ndarray, str]],
    events: Sequence[Event] = (),
    about: Mapping[str, str] | None = None,
) -> Source:
    """Columns that are in memory already."""
    units = {name: unit for name, (_, unit) in columns.items()}
    rows = len(next(iter(columns.values()))[0]) if columns else 0

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        for at in range(0, rows, BLOCK_ROWS):
            yield [columns[name][0][at : at + BLOCK_ROWS] for name in names]

    return Source(units, about or {}, list(events), rows, read)


def part_source(path: Path) -> Source:
    """All complete batches of a stream, its description, and the complete events."""
    with _opened(path) as reader:
        schema = reader.schema
        rows = sum(batch.num_rows for batch in _batches(reader))

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        with _opened(path) as reader:
            left = rows  # a run that still goes on may have added some since
            for batch in _batches(reader):
                if left <= 0:
                    return
                left -= batch.num_rows
                if batch.num_rows:
                    yield [batch.column(name).to_numpy(zero_copy_only=False) for name in names]

    return Source(units_of(schema), about_of(schema), _read_events(path), rows, read)


def units_of(schema: Any) -> dict[str, str]:
    """Names and units of an Arrow schema's columns."""
    return {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in schema}


def about_of(schema: Any) -> dict[str, str]:
    """The description in an Arrow schema."""
    return {
        key.decode().removeprefix("brazo."): value.decode(errors="replace")
        for key, value in (schema.metadata or {}).items()
        if key.startswith(b"brazo.")
    }


class _opened:
    """`with _opened(path) as reader:` an Arrow stream, or a complaint that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Any:
        import pyarrow as pa

        try:
            self._file = pa.OSFile(str(self._path), "rb")
            return pa.ipc.open_stream(self._file)
        except FileNotFoundError:
            raise BrazoError(f"{self._path}: no such file") from None
        except (pa.ArrowInvalid, OSError) as error:
            raise BrazoError(f"{self._path}: not the rest of a recording ({error})") from None

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _batches(reader: Any) -> Iterator[Any]:
    import pyarrow as pa

    while True:
        try:
            yield reader.read_next_batch()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return  # the end, or a torn last batch


def _read_events(path: Path) -> list[Event]:
    beside = events_beside(path)
    if not beside.is_file():
        return []
    events = []
    for line in beside.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError):
            break  # the line being written when the process ended
        if isinstance(event, dict):
            events.append(event)
    return events

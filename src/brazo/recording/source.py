"""Where rows come from: a finished file, what a killed run left, a table, or a recording in memory.

A `Source` knows names, units, events and how many rows there are; its rows come block by block, so
that what is made of them needs no more memory for an hour than for a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.names import choose
from brazo.recording.part_file import (
    PART,
    being_written,
    events_of,
    part_of,
    rows_of,
    scan,
    writer_of,
)

BLOCK_ROWS = 4096
ROUNDING = 1e-7  # s; of moments, far below any step
LONGEST_EVENT = 1e9  # s; the time of an event beyond is no time
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
    damage: tuple[str, ...] = ()  # what was left out of a damaged file
    note: str = ""  # which of two files was read, and why

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the file itself, for the person who reads it."""
        left_out = f"left out, damaged: {'; '.join(self.damage)}" if self.damage else ""
        return tuple(filter(None, (self.note, left_out)))

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
        events = [e for e in self.events if low <= event_time(e) <= high]
        return replace(self._only(keep), events=events)

    def at_rate(self, rate: float) -> Source:
        """Only the first row of every 1/rate seconds; all events."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise BrazoError(f"a rate of {rate:g} Hz; it must be greater than 0")
        blocks = [t for (t,) in self.read([self.time])]
        t = np.concatenate(blocks) if blocks else np.empty(0)
        slots = np.floor((t - t[:1]) * rate + 1e-6)  # past rounding
        return self._only(np.diff(slots, prepend=-1.0) != 0.0)

    def _only(self, keep: np.ndarray) -> Source:
        """The rows of a mask (rows,)."""

        def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
            at = 0
            for block in self.read(names):
                mask = keep[at : at + len(block[0])]
                at += len(mask)
                if mask.all():
                    yield block
                elif mask.any():
                    yield [column[mask] for column in block]

        return replace(self, rows=int(keep.sum()), read=read)

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
    """The moment of an event, in seconds; 0 where it has none."""
    t = event.get("t", 0.0)
    # Compared, not tested for finiteness: an int may be too long for a float.
    return float(t) if isinstance(t, (int, float)) and abs(t) <= LONGEST_EVENT else 0.0


def open_source(path: str | Path, salvage: bool = False) -> Source:
    """Open a .parquet or .csv recording, or the .part an interrupted run left.

    A damaged file is refused, naming the damage; with `salvage` its intact rows are read.
    """
    path = Path(path)
    name = path.name.lower()
    if name.endswith(".parquet" + PART):
        return part_source(path, salvage)
    if name.endswith(".csv"):
        from brazo.recording.tables import read_csv

        return memory_source(read_csv(path))
    if name.endswith(".parquet"):
        from brazo.recording.parquet import parquet_source

        part = part_of(path)
        if not part.is_file():
            return parquet_source(path, salvage)
        if not path.is_file():
            return replace(part_source(part, salvage), note=f"{path} is not finished: read {part}")
        writer = writer_of(part)
        other = "was interrupted" if writer is None else being_written(writer)
        return replace(
            parquet_source(path, salvage),
            note=f"read {path}, a finished run; {part} belongs to another run, which {other}",
        )
    inside = sorted(path.glob("*.parquet")) if path.is_dir() else []
    hint = f"; the folder holds {', '.join(map(str, inside[:3]))}" if inside else ""
    raise BrazoError(f"{path}: recordings are read from {', '.join(READABLE)}{hint}")


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


def part_source(path: Path, salvage: bool = False) -> Source:
    """All complete rows of a partial file, its description and its events."""
    found = scan(path)
    if found.damage and not salvage:
        raise BrazoError(
            f"{path}: damaged: {'; '.join(map(str, found.damage))}; save the rest with "
            f"`brazo convert {path} REST.parquet --salvage`"
        )
    names_of = list(found.columns)
    rows = found.rows

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        chosen = [names_of.index(name) for name in names]
        for block in rows_of(path, found):
            if len(block):
                yield [block[:, k] for k in chosen]

    return Source(
        found.columns,
        found.head["about"],
        events_of(path, found),
        rows,
        read,
        damage=tuple(map(str, found.damage)),
    )


def units_of(schema: Any) -> dict[str, str]:
    """Names and units of an Arrow schema's columns."""
    return {f.name: _decoded((f.metadata or {}).get(b"unit", b"")) for f in schema}


def about_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """The description of a run in a file's metadata."""
    return {
        _decoded(key).removeprefix("brazo."): _decoded(value)
        for key, value in (metadata or {}).items()
        if key.startswith(b"brazo.")
    }


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")

"""Sources of rows: a Parquet file, a part file, a CSV table, or a recording in memory.

A `ColumnSource` has names, units, events and the number of rows.  Its rows are read block by block,
so that conversions need constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import positive
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
ROUNDING = 1e-7  # s; tolerance of times, far below any step
LONGEST_EVENT = 1e9  # s; later event times are invalid
READABLE = (".parquet", ".parquet.part", ".csv")

Columns = dict[str, tuple[np.ndarray, str]]
Event = dict[str, Any]
Progress = Callable[[float], object]
Read = Callable[[Sequence[str]], Iterator[list[np.ndarray]]]


@dataclass(frozen=True)
class ColumnSource:
    """Columns with a common time axis, which is the first column.

    `read(names)` yields blocks of rows; a block is a list with one array (k,) per name.
    """

    units: Mapping[str, str]
    about: Mapping[str, str]
    events: Sequence[Event]
    rows: int
    read: Read
    damage: tuple[str, ...] = ()  # parts of a damaged file that were skipped
    note: str = ""  # which of two files was read, and why

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about the file to show to the user."""
        skipped = f"skipped, damaged: {'; '.join(self.damage)}" if self.damage else ""
        return tuple(filter(None, (self.note, skipped)))

    @property
    def time(self) -> str:
        """Name of the time axis."""
        return next(iter(self.units))

    def select(self, patterns: Sequence[str]) -> ColumnSource:
        """Return a source with the time axis and the matching signals."""
        names = [self.time, *choose(list(self.units)[1:], patterns)]
        return replace(self, units={name: self.units[name] for name in names})

    def between(self, start: float | None = None, stop: float | None = None) -> ColumnSource:
        """Return a source with the rows and events from `start` to `stop` (s), inclusive."""
        low = -np.inf if start is None else start
        high = np.inf if stop is None else stop
        if not low <= high:
            raise BrazoError(
                f"invalid time range: {start} s to {stop} s; the start must not be after the end"
            )
        # Accumulated steps give 1.4999999999999 for 1.5.
        low, high = low - ROUNDING, high + ROUNDING
        inside = [(t >= low) & (t <= high) for (t,) in self.read([self.time])]
        keep = np.concatenate(inside) if inside else np.empty(0, bool)
        events = [e for e in self.events if low <= event_time(e) <= high]
        return replace(self._only(keep), events=events)

    def at_rate(self, rate: float) -> ColumnSource:
        """Return a source with the first row of every 1/rate seconds, and all events."""
        positive(rate, "rate (Hz)")
        blocks = [t for (t,) in self.read([self.time])]
        t = np.concatenate(blocks) if blocks else np.empty(0)
        slots = np.floor((t - t[:1]) * rate + 1e-6)  # tolerates rounding
        return self._only(np.diff(slots, prepend=-1.0) != 0.0)

    def _only(self, keep: np.ndarray) -> ColumnSource:
        """Return a source with the rows selected by a mask (rows,)."""

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
        """Read all columns into memory."""
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
    """Return the time of an event (s); 0 if it has no valid time."""
    t = event.get("t", 0.0)
    # Compared instead of tested for finiteness, because an int may be too large for a float.
    return float(t) if isinstance(t, (int, float)) and abs(t) <= LONGEST_EVENT else 0.0


def open_source(path: str | Path, salvage: bool = False) -> ColumnSource:
    """Open a .parquet or .csv recording, or the .part file of an interrupted run.

    If only `run.parquet.part` exists, it is read instead of `run.parquet`.  A damaged file raises
    an error with a description of the damage; with `salvage` its intact rows are read.
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
            return replace(
                part_source(part, salvage), note=f"{path} does not exist yet: read {part}"
            )
        writer = writer_of(part)
        other = "was interrupted" if writer is None else being_written(writer)
        return replace(
            parquet_source(path, salvage),
            note=f"read the finished run {path}; {part} is another run, which {other}",
        )
    inside = sorted(path.glob("*.parquet")) if path.is_dir() else []
    hint = f"; the folder contains {', '.join(map(str, inside[:3]))}" if inside else ""
    raise BrazoError(f"{path}: unknown format; supported: {', '.join(READABLE)}{hint}")


def memory_source(
    columns: Mapping[str, tuple[np.ndarray, str]],
    events: Sequence[Event] = (),
    about: Mapping[str, str] | None = None,
) -> ColumnSource:
    """Return a source of columns in memory."""
    units = {name: unit for name, (_, unit) in columns.items()}
    rows = len(next(iter(columns.values()))[0]) if columns else 0

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        for at in range(0, rows, BLOCK_ROWS):
            yield [columns[name][0][at : at + BLOCK_ROWS] for name in names]

    return ColumnSource(units, about or {}, list(events), rows, read)


def part_source(path: Path, salvage: bool = False) -> ColumnSource:
    """Return a source of the complete rows, the description and the events of a part file.

    A damaged file raises BrazoError, unless `salvage` is set.
    """
    found = scan(path)
    if found.damage and not salvage:
        raise BrazoError(
            f"{path}: damaged: {'; '.join(map(str, found.damage))}; save the intact rows with "
            f"`brazo convert {path} REST.parquet --salvage`"
        )
    names_of = list(found.columns)
    rows = found.rows

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        chosen = [names_of.index(name) for name in names]
        for block in rows_of(path, found):
            if len(block):
                yield [block[:, k] for k in chosen]

    return ColumnSource(
        found.columns,
        found.head["about"],
        events_of(path, found),
        rows,
        read,
        damage=tuple(map(str, found.damage)),
    )


def units_of(schema: Any) -> dict[str, str]:
    """Return the units of the columns of an Arrow schema, by name."""
    return {f.name: _decoded((f.metadata or {}).get(b"unit", b"")) for f in schema}


def about_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return the description of a run from the metadata of a file."""
    return {
        _decoded(key).removeprefix("brazo."): _decoded(value)
        for key, value in (metadata or {}).items()
        if key.startswith(b"brazo.")
    }


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")

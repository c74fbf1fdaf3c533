"""Summary of a recording: description, number of rows, first and last time."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from brazo.recording.part_file import PART, ROWS, scan


@dataclass(frozen=True)
class RecordingSummary:
    """Description of a run, number of rows, start and end time (s)."""

    about: Mapping[str, str]
    rows: int
    start: float = 0.0
    stop: float = 0.0

    @property
    def seconds(self) -> float:
        """Time from the first row to the last (s)."""
        return max(self.stop - self.start, 0.0)


def summary_of(path: Path) -> RecordingSummary:
    """Return the summary of a .parquet recording or of the .part file of an interrupted run.

    Rows are not read, so this is fast, but damaged rows are not detected.
    """
    if path.name.lower().endswith(PART):
        return _of_part(path)
    from brazo.recording.parquet import parquet_span

    return RecordingSummary(*parquet_span(path))


def _of_part(path: Path) -> RecordingSummary:
    found = scan(path, check=False)
    width = 8 * len(found.head["columns"])
    rows = [(offset, length) for kind, offset, length in found.frames if kind == ROWS and length]
    if not rows:
        return RecordingSummary(found.head["about"], 0)
    last, length = rows[-1]
    with path.open("rb") as file:
        start, stop = (_time(file, at) for at in (rows[0][0], last + length - width))
    return RecordingSummary(found.head["about"], found.rows, start, stop)


def _time(file: BinaryIO, offset: int) -> float:
    file.seek(offset)
    return struct.unpack("<d", file.read(8))[0]

"""Conversion of recordings between file formats, block by block.

The suffix of a file determines its format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.recording.part_file import PART, being_written, part_of
from brazo.recording.part_file import writer_of as recorder_of
from brazo.recording.source import ColumnSource, Progress, open_source
from brazo.recording.stream import finish_part

# The .html replay and videos need higher layers, so these are imported by name on demand.
_WRITERS = {
    ".parquet": ("brazo.recording.parquet", "write_parquet"),
    ".csv": ("brazo.recording.tables", "write_csv"),
    ".xlsx": ("brazo.recording.xlsx", "write_xlsx"),
    ".mcap": ("brazo.recording.mcap", "write_mcap"),
    ".html": ("brazo.lab.app.replay_file", "write_replay"),
    ".mp4": ("brazo.video.rendering", "write_video"),
    ".webm": ("brazo.video.rendering", "write_video"),
    ".gif": ("brazo.video.rendering", "write_video"),
}
FORMATS = tuple(_WRITERS)
DRAWN = (".html", ".mp4", ".webm", ".gif")  # formats that show the cell


def writer_of(path: str | Path) -> Callable[..., None]:
    """Return the function `write(path, source, progress)` for the suffix of a path."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise BrazoError(f"{path}: unknown format; supported: {', '.join(FORMATS)}")
    module, name = _WRITERS[suffix]
    return getattr(import_module(module), name)


def convert(
    source: str | Path,
    target: str | Path,
    *,
    signals: str | Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
    rate: float | None = None,
    cell: Any = None,
    salvage: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Convert a recording to another format, optionally only some signals or a time range.

    `source` may be the .part file of an interrupted run.  If all of `NAME.parquet.part` is
    converted to `NAME.parquet`, the .part file is removed, as at the end of a run.  A file that is
    still being written is rejected.  A damaged file is rejected unless `salvage` is set; then its
    intact rows are read.  `start` and `stop` are in s.  With `rate` (Hz), the first row of every
    1/rate seconds is written.  `cell` replaces the recorded cell in an .html replay or a video.
    Returns the path `target`.
    """
    source, target = Path(source), Path(target)
    write = writer_of(target)
    if cell is not None:
        if target.suffix.lower() not in DRAWN:
            raise BrazoError(
                f"{target}: the option 'cell' is for {', '.join(DRAWN)} only; omit it for this file"
            )
        write = partial(write, cell=cell)
    _refuse_live(source)
    opened = chosen_rows(source, signals, start, stop, rate, salvage)
    chosen = any(part is not None for part in (signals, start, stop, rate))
    whole = not (chosen or opened.damage)
    if whole and source.name == target.name + PART and _same(source.parent, target.parent):
        finish_part(source, target, replace=True)
        return target
    if _same(source, target):
        raise BrazoError(f"{target}: source and target are the same file; choose another name")
    write(target, opened, progress)
    return target


def chosen_rows(
    path: Path,
    signals: str | Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
    rate: float | None = None,
    salvage: bool = False,
) -> ColumnSource:
    """Open a recording, optionally limited to signals, a time range (s) or a rate (Hz).

    Raises BrazoError if there are no rows in the time range.
    """
    opened = open_source(path, salvage)
    if signals is not None:
        opened = opened.select(signals)
    if start is not None or stop is not None:
        opened = opened.between(start, stop)
        if not opened.rows:
            asked = [f"from {start:g} s"] if start is not None else []
            asked += [f"to {stop:g} s"] if stop is not None else []
            raise BrazoError(f"{path}: the recording has no rows {' '.join(asked)}")
    return opened if rate is None else opened.at_rate(rate)


def _refuse_live(source: Path) -> None:
    part = source if source.name.endswith(PART) else part_of(source)
    if part != source and source.exists():
        return  # a finished run
    recorder = recorder_of(part)
    if recorder is not None:
        raise BrazoError(f"{part}: {being_written(recorder)}; convert it after the run has ended")


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve()

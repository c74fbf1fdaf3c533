"""A recording from one form into another, block by block, by the ending of the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.recording.part_file import PART, being_written, part_of
from brazo.recording.part_file import writer_of as recorder_of
from brazo.recording.source import Progress, Source, open_source
from brazo.recording.stream import finish_part

# The replay needs the lab's scene, which stands far above this folder: it is found by name, and
# only when one is asked for.
_WRITERS = {
    ".parquet": ("brazo.recording.parquet", "write_parquet"),
    ".csv": ("brazo.recording.tables", "write_csv"),
    ".xlsx": ("brazo.recording.xlsx", "write_xlsx"),
    ".mcap": ("brazo.recording.mcap", "write_mcap"),
    ".html": ("brazo.lab.app.replay_file", "write_replay"),
}
FORMATS = tuple(_WRITERS)


def writer_of(path: str | Path) -> Callable[..., None]:
    """The function `write(path, source, progress)` for the format of the path's ending."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise BrazoError(f"{path}: unknown format; recordings leave as {', '.join(FORMATS)}")
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
    """Write a recording in another format, all of it or some signals and some time.

    `source` may be the .part an interrupted run left; converted whole to the Parquet file it was to
    become, it is finished as if the run had ended, and the partial file is removed.  A file that is
    still being written is refused.  A damaged one is refused, too, unless `salvage` asks for what
    is intact.  With a `rate` (Hz) the first row of every 1/rate seconds is written.  `cell` is the
    cell of an .html replay, where it is not the one that the recording names.
    """
    source, target = Path(source), Path(target)
    write = writer_of(target)
    if cell is not None:
        if target.suffix.lower() != ".html":
            raise BrazoError(f"{target}: a cell is drawn in a replay alone, which ends in .html")
        write = partial(write, cell=cell)
    _refuse_live(source)
    opened = chosen_rows(source, signals, start, stop, rate, salvage)
    chosen = any(part is not None for part in (signals, start, stop, rate))
    whole = not (chosen or opened.damage)
    if whole and source.name == target.name + PART and _same(source.parent, target.parent):
        finish_part(source, target, replace=True)
        return target
    if _same(source, target):
        raise BrazoError(f"{target}: is the recording itself; give the result another name")
    write(target, opened, progress)
    return target


def chosen_rows(
    path: Path,
    signals: str | Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
    rate: float | None = None,
    salvage: bool = False,
) -> Source:
    """Open a recording; of it some signals, some time (s), or the rows of a rate (Hz)."""
    opened = open_source(path, salvage)
    if signals is not None:
        opened = opened.select(signals)
    if start is not None or stop is not None:
        opened = opened.between(start, stop)
        if not opened.rows:
            asked = [f"from {start:g} s"] if start is not None else []
            asked += [f"to {stop:g} s"] if stop is not None else []
            raise BrazoError(f"{path}: nothing was recorded {' '.join(asked)}")
    return opened if rate is None else opened.at_rate(rate)


def _refuse_live(source: Path) -> None:
    part = source if source.name.endswith(PART) else part_of(source)
    if part != source and source.exists():
        return  # a finished run
    recorder = recorder_of(part)
    if recorder is not None:
        raise BrazoError(f"{part}: {being_written(recorder)}; convert it when that run has ended")


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve()

"""A recording from one form into another, block by block, by the ending of the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from brazo.errors import BrazoError
from brazo.recording.source import Progress, Source, open_source
from brazo.recording.stream import PART, finish_part

# The replay needs the lab's scene, which stands far above this folder: it is found by name, and
# only when one is asked for.
_WRITERS = {
    ".parquet": ("brazo.recording.parquet", "write_parquet"),
    ".csv": ("brazo.recording.tables", "write_csv"),
    ".xlsx": ("brazo.recording.xlsx", "write_xlsx"),
    ".mcap": ("brazo.recording.mcap", "write_mcap"),
    ".html": ("brazo.lab.replay_file", "write_replay"),
}
FORMATS = tuple(_WRITERS)


def writer_of(path: str | Path) -> Callable[[Path, Source, Progress | None], None]:
    """What writes a recording in the format of the path's ending."""
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
    progress: Progress | None = None,
) -> Path:
    """Write a recording in another format, all of it or some signals and some time.

    `source` may be the .part a killed run left; converted whole to the Parquet file it was to
    become, it is finished as if the run had ended, and the partial files go.
    """
    source, target = Path(source), Path(target)
    write = writer_of(target)
    opened = open_source(source)
    whole = signals is None and start is None and stop is None
    if whole and source.name == target.name + PART and _same(source.parent, target.parent):
        finish_part(source, target)
        return target
    if _same(source, target):
        raise BrazoError(f"{target}: is the recording itself; give the result another name")
    if signals is not None:
        opened = opened.select(signals)
    if start is not None or stop is not None:
        opened = opened.between(start, stop)
        if not opened.rows:
            asked = [f"from {start:g} s"] if start is not None else []
            asked += [f"to {stop:g} s"] if stop is not None else []
            raise BrazoError(f"{source}: nothing was recorded {' '.join(asked)}")
    write(target, opened, progress)
    return target


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve()

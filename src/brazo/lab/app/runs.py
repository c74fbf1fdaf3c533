"""The recordings of the lab: kept in one folder of the user, named by cell and time.

A recording is written to `CELL-DATE-TIME.parquet.part` and finished to `.parquet` when the lab
ends; the `.part` of a killed lab can be read as well.  Nothing is deleted unless the user asks for
it.  When the recordings take more than `LIMIT`, the lab says so.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.files import lock_is_held
from brazo.folders import RUNS, runs_folder
from brazo.private import check_private, make_private
from brazo.recording.part_file import PART, claimed, part_of
from brazo.recording.stream import finish_part
from brazo.recording.summary import summary_of
from brazo.world.cell_writer import file_name

LIMIT = 10 * 10**9  # bytes
LONGEST = 60  # characters of a cell's name in a file name
_TIME = "%Y-%m-%d-%H%M%S"
_NAMED = re.compile(r"-(\d{4}-\d\d-\d\d-\d{6})(?:-(\d+))?$")
_ENDINGS = (".parquet", ".parquet" + PART)


@dataclass(frozen=True, slots=True)
class Run:
    """A kept recording."""

    name: str  # of the file
    path: Path  # .parquet, or .parquet.part where it is not finished
    cell: str
    started: float  # s since 1970
    seconds: float
    rows: int
    size: int  # bytes
    written: bool = False  # a process is writing it
    problem: str = ""  # why it cannot be read

    @property
    def title(self) -> str:
        """How a sentence calls it."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"{self.cell}, {when}, {self.seconds:.2f} s"


class Interrupted(Exception):
    """The user does not want to wait until a recording is finished."""


class Runs:
    """The folder of recordings; `folder` is the user's own unless another is given."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._given = None if folder is None else Path(folder).expanduser()
        self._known: dict[tuple[str, int, int], Run] = {}  # by name, time of change and size
        self._looking = threading.Lock()
        self.made: list[Path] = []  # recordings of this lab, as finished files
        self.problems: list[str] = []  # why some of them are not complete or not finished
        self.interrupted: Callable[[], bool] = lambda: False

    @property
    def folder(self) -> Path:
        """Where recordings are kept; it may not exist yet."""
        try:
            return self._given or runs_folder()
        except RuntimeError:  # no home folder
            raise BrazoError(
                f"no home folder for recordings: set {RUNS} to a folder, or "
                "start the lab with --runs DIR"
            ) from None

    def new(self, cell: str) -> Path:
        """The path of a recording that starts now."""
        folder = self.folder
        try:
            make_private(folder)
        except BrazoError as error:
            raise BrazoError(f"cannot save recordings: {error} (--runs DIR or {RUNS})") from None
        stem = f"{file_name(cell)[:LONGEST]}-{time.strftime(_TIME)}"
        path, k = folder / f"{stem}.parquet", 2
        while path.exists() or part_of(path).exists():
            path, k = folder / f"{stem}-{k}.parquet", k + 1
        return path

    def add(self, path: Path) -> None:
        """Take note of a recording of this lab."""
        self.made.append(path)

    def drop_empty(self, path: Path) -> bool:
        """Remove a recording of this lab that has no rows; whether it was removed."""
        part = part_of(path)
        if not part.exists() or summary_of(part).rows:
            return False
        part.unlink()
        self.made.remove(path)
        return True

    def list(self) -> list[Run]:
        """All recordings in the folder, newest first."""
        with self._looking:
            found = {}
            for entry in self._entries():
                status = entry.stat()
                key = (entry.name, status.st_mtime_ns, status.st_size)
                written = entry.name.endswith(PART) and lock_is_held(Path(entry.path))
                known = None if written else self._known.get(key)
                found[key] = known or _read(Path(entry.path), status, written)
            self._known = found
        return sorted(found.values(), key=lambda run: (run.started, run.name), reverse=True)

    def size(self) -> int:
        """Bytes all recordings take."""
        return sum(entry.stat().st_size for entry in self._entries())

    def over_limit(self) -> str:
        """A sentence when the recordings take more than `LIMIT`; empty otherwise."""
        size = self.size()
        if size <= LIMIT:
            return ""
        return (
            f"recordings take {in_bytes(size)}, more than {in_bytes(LIMIT)}: delete some "
            f"({self.folder})"
        )

    def delete(self, run: Run) -> None:
        """Remove a recording from the disk; refuse one that is being written."""
        try:
            if run.path.name.endswith(PART):
                with claimed(run.path):
                    pass  # an open file cannot be removed on Windows
            run.path.unlink(missing_ok=True)
        except OSError as error:
            raise BrazoError(f"{run.path}: cannot be deleted: {error.strerror}") from None

    def finish(self) -> None:
        """Turn the recordings of this lab into .parquet files.

        Once `interrupted()` is true the rest is left as readable .part files.
        """

        def progress(_: float) -> None:
            if self.interrupted():
                raise Interrupted

        for path in self.made:
            if not part_of(path).exists():
                continue
            try:
                progress(0.0)
                finish_part(part_of(path), path, progress=progress)
            except Interrupted:
                return
            except BrazoError as error:
                self.problems.append(str(error))

    def kept(self) -> Iterator[Path]:
        """The files of this lab's recordings, as they are now."""
        for path in self.made:
            yield from (p for p in (path, part_of(path)) if p.exists())

    def _entries(self) -> list[os.DirEntry[str]]:
        folder = self.folder
        if not folder.exists():
            return []
        check_private(folder)
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        return [
            entry
            for entry in entries
            if entry.name.endswith(_ENDINGS)
            and not entry.name.startswith(".")
            and entry.is_file(follow_symlinks=False)
        ]


def in_bytes(size: float) -> str:
    """A size with a unit that suits it, two digits or more: 402 kB, 1.6 MB."""
    if size < 1000:
        return f"{size:.0f} bytes"
    unit = next(u for u in ("kB", "MB", "GB") if (size := size / 1000) < 999.5 or u == "GB")
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:.0f} {unit}"


def _read(path: Path, status: os.stat_result, written: bool) -> Run:
    name = path.name
    stem = name.removesuffix(PART).removesuffix(".parquet")
    named = _NAMED.search(stem)
    started = status.st_mtime
    if named:  # those of one second in their order
        started = time.mktime(time.strptime(named[1], _TIME)) + 1e-3 * int(named[2] or 0)
    try:
        found = summary_of(path)
    except BrazoError as error:
        return Run(name, path, "", started, 0.0, 0, status.st_size, written, str(error))
    cell = found.about.get("cell") or found.about.get("robot") or stem
    return Run(name, path, cell, started, found.seconds, found.rows, status.st_size, written)

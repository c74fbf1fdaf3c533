"""`Runs`: the folder of the lab's recordings, which are named by cell and start time.

A recording is written to `CELL-DATE-TIME.parquet.part` and converted to `.parquet` when the lab
closes.  If the process is killed, the `.part` file is still readable.  Recordings are deleted only
by the user.  The lab warns when they take more than `LIMIT` bytes.
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
from brazo.permissions import check_private, make_private
from brazo.recording.part_file import PART, claimed, part_of
from brazo.recording.stream import finish_part
from brazo.recording.summary import summary_of
from brazo.world.cell_writer import file_name

LIMIT = 10 * 10**9  # bytes
LONGEST = 60  # max characters of the cell name in a file name
_TIME = "%Y-%m-%d-%H%M%S"
_NAMED = re.compile(r"-(\d{4}-\d\d-\d\d-\d{6})(?:-(\d+))?$")
_ENDINGS = (".parquet", ".parquet" + PART)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A recording in the folder of recordings."""

    name: str  # file name
    path: Path  # .parquet, or .parquet.part if not finished
    cell: str
    started: float  # s since the Unix epoch
    seconds: float
    rows: int
    size: int  # bytes
    written: bool = False  # whether a process is writing it
    problem: str = ""  # why it cannot be read

    @property
    def title(self) -> str:
        """Cell, start time and duration as text, for messages."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"{self.cell}, {when}, {self.seconds:.2f} s"


class Interrupted(Exception):
    """Raised when the user interrupts the conversion of a recording."""


class Runs:
    """The folder of recordings.

    `folder` is its path, by default `brazo.folders.runs_folder()`.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._given = None if folder is None else Path(folder).expanduser()
        self._project: Path | None = None
        self._known: dict[tuple[str, int, int], StoredRun] = {}  # by file name, mtime and size
        self._looking = threading.Lock()
        self.made: list[Path] = []  # paths of this lab's recordings when finished
        self.problems: list[str] = []  # messages about incomplete or unfinished recordings
        self.interrupted: Callable[[], bool] = lambda: False

    @property
    def folder(self) -> Path:
        """Path of the folder of recordings, which may not exist yet."""
        try:
            return self._given or self._project or runs_folder()
        except RuntimeError:  # no home folder
            raise BrazoError(
                "no home folder for recordings: start the lab with --runs DIR, or set the "
                f"environment variable {RUNS} to a folder"
            ) from None

    def use(self, folder: Path | None) -> None:
        """Use the recordings folder of a project; None selects the default folder.

        Has no effect if a folder was given to the constructor.
        """
        self._project = folder

    def new(self, cell: str) -> Path:
        """Return an unused path for a recording that starts now; create the folder if necessary."""
        folder = self.folder
        try:
            make_private(folder)
        except BrazoError as error:
            # The variable has no effect on the folder of a project or of the option.
            own = self._given is None and self._project is None
            variable = f", or set the environment variable {RUNS}" if own else ""
            raise BrazoError(
                f"cannot save recordings: {error}; start the lab with --runs DIR to choose another "
                f"folder{variable}"
            ) from None
        stem = f"{file_name(cell)[:LONGEST]}-{time.strftime(_TIME)}"
        path, k = folder / f"{stem}.parquet", 2
        while path.exists() or part_of(path).exists():
            path, k = folder / f"{stem}-{k}.parquet", k + 1
        return path

    def add(self, path: Path) -> None:
        """Register a recording of this lab; its .parquet file `path` may not exist yet."""
        self.made.append(path)

    def drop_empty(self, path: Path) -> bool:
        """Delete a recording of this lab if it has no rows; return whether it was deleted."""
        part = part_of(path)
        if not part.exists() or summary_of(part).rows:
            return False
        part.unlink()
        self.made.remove(path)
        return True

    def list(self) -> list[StoredRun]:
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
        """Total size of all recordings, bytes."""
        return sum(entry.stat().st_size for entry in self._entries())

    def over_limit(self) -> str:
        """Return a warning if the recordings take more than `LIMIT` bytes; empty otherwise."""
        size = self.size()
        if size <= LIMIT:
            return ""
        return (
            f"recordings take {in_bytes(size)}, more than {in_bytes(LIMIT)}: delete recordings "
            f"({self.folder})"
        )

    def delete(self, run: StoredRun) -> None:
        """Delete the file of a recording; raise `BrazoError` if it is still being written."""
        try:
            if run.path.name.endswith(PART):
                with claimed(run.path):
                    pass  # only checks the lock: Windows cannot delete an open file
            run.path.unlink(missing_ok=True)
        except OSError as error:
            raise BrazoError(f"{run.path}: cannot be deleted: {error.strerror}") from None

    def finish(self) -> None:
        """Convert the recordings made by this lab to .parquet files.

        The function in the attribute `interrupted` is called repeatedly.  If it returns True, the
        conversion stops, and the remaining recordings stay .part files, which are readable.
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
        """Paths of the existing recordings made by this lab, .parquet or .part."""
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
    """Format a size in bytes with a suitable decimal unit, such as 402 kB or 1.6 MB."""
    if size < 1000:
        return f"{size:.0f} bytes"
    unit = next(u for u in ("kB", "MB", "GB") if (size := size / 1000) < 999.5 or u == "GB")
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:.0f} {unit}"


def _read(path: Path, status: os.stat_result, written: bool) -> StoredRun:
    name = path.name
    stem = name.removesuffix(PART).removesuffix(".parquet")
    named = _NAMED.search(stem)
    started = status.st_mtime
    if named:  # recordings of the same second are ordered by their suffix
        started = time.mktime(time.strptime(named[1], _TIME)) + 1e-3 * int(named[2] or 0)
    try:
        found = summary_of(path)
    except BrazoError as error:
        return StoredRun(name, path, "", started, 0.0, 0, status.st_size, written, str(error))
    cell = found.about.get("cell") or found.about.get("robot") or stem
    return StoredRun(name, path, cell, started, found.seconds, found.rows, status.st_size, written)

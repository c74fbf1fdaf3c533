"""Storage of the compared runs in a project: a list in `compare.yaml`, samples in `compare/`.

    - {file: 1.parquet, name: PD, named: on}

`named` is on if the user chose the name.  Files are written and read on another thread.  A listed
file can be missing if the lab was killed while writing it.  Files of removed runs are not listed,
and are kept for undo until the project is opened again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import SimpleQueue

from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.lab.panels.compare.held_runs import MOST_RUNS, HeldRun, read_run
from brazo.program.flow import flow
from brazo.project.folder import COMPARE, COMPARED, Project

Work = Callable[[], None]


class StoredRuns:
    """Writes and reads the compared runs of one project.  Use on the lab's thread only.

    `post` queues a call for the lab's thread.  `report(message)` is called when a run cannot be
    written or read.
    """

    def __init__(self, post: Callable[[Work], None], report: Callable[[str], None]) -> None:
        self._post, self._report = post, report
        self.folder: Path | None = None  # of the project
        self._files: dict[HeldRun, str] = {}
        self._count = 0
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def text(self, project: Project, runs: Iterable[HeldRun]) -> str:
        """Text of `compare.yaml` for these runs.

        Also starts to write the files of the runs that have no file yet.
        """
        if project.folder != self.folder:
            self._use(project.folder)
        lines = []
        for run in runs:
            if run not in self._files:
                self._write(run)
            fields = {"file": self._files[run], "name": run.name, "named": run.named}
            lines.append(f"- {flow(fields)}\n")
        return "".join(lines)

    def load(self, project: Project, done: Callable[[list[HeldRun]], None]) -> None:
        """Read the runs of a project on another thread, then call `done(runs)`.

        All runs have the number 0; the caller must number them.  `done` is not called if the
        project lists no runs, or if another project is opened before the runs are read.  Files of
        runs that are not listed are deleted.
        """
        self._use(project.folder)
        folder = project.folder / COMPARED
        listed = _listed(project)
        for path in folder.glob("*.parquet"):
            if path.name not in {file for file, _, _ in listed}:
                path.unlink(missing_ok=True)

        def work() -> None:
            found: dict[str, HeldRun] = {}
            for file, name, named in listed:
                if not (folder / file).exists():
                    continue
                try:
                    run = HeldRun(0, name, read_run(folder / file), saved=True, named=named)
                    found[file] = run
                except (BrazoError, OSError) as error:
                    why = f"run {name} was not restored: {error}"
                    self._post(lambda why=why: self._report(why))
            self._post(lambda: read(found))

        def read(found: dict[str, HeldRun]) -> None:
            if project.folder == self.folder:
                self._files |= {run: file for file, run in found.items()}
                done(list(found.values()))

        if listed:
            self._do(work)

    def close(self) -> None:
        """Wait until all runs are written, and end the thread that writes them."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()

    def _use(self, folder: Path) -> None:
        self.folder = folder
        self._files = {}
        numbers = [int(p.stem) for p in (folder / COMPARED).glob("*.parquet") if p.stem.isdigit()]
        self._count = max(numbers, default=0)

    def _write(self, run: HeldRun) -> None:
        assert self.folder is not None
        self._count += 1
        self._files[run] = name = f"{self._count}.parquet"
        path, recording = self.folder / COMPARED / name, run.recording

        def work() -> None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                recording.to_parquet(path)
            except (BrazoError, OSError) as error:
                why = f"run {run.name} was not saved in the project: {error}"
                self._post(lambda: self._report(why))

        self._do(work)

    def _do(self, work: Work) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="brazo compare", daemon=True)
            self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _listed(project: Project) -> list[tuple[str, str, bool]]:
    """Runs listed in `compare.yaml`: file, name, and whether the user chose the name."""
    text, found = project.text(COMPARE), []
    if not text:
        return []
    for item in parse_document(text, project.folder / COMPARE).items(MOST_RUNS):
        fields = item.mapping(("file", "name", "named"), required=("file", "name"))
        file = fields["file"].text()
        if Path(file).name != file or not file.endswith(".parquet"):
            fields["file"].fail(f"must be the name of a .parquet file in {COMPARED}")
        named = "named" in fields and fields["named"].choice("on", "off", "true", "false")
        found.append((file, fields["name"].text(), named in ("on", "true")))
    return found

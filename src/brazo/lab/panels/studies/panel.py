"""Studies panel: runs a study in another process, and shows its results and report.

Study files are read, run and summarised on other threads and processes, so that the lab's thread is
not delayed.  Results of finished runs are stored in the project.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.job_folders import JobFolders
from brazo.lab.app.panel import Panel, Values
from brazo.lab.panels.studies.layout import layout, table_rows
from brazo.lab.panels.studies.sources import StudySource, describe, sources
from brazo.project.folder import Project
from brazo.study.background import GRACE, REPORT, StudyOutcome, StudyProcess, read_summary
from brazo.study.execution import StudyProgress
from brazo.study.results import read_results

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

LOOK_EVERY = 0.1  # s
LIST_EVERY = 2.0  # s, to find new files of the project


class StudiesPanel(Panel):
    """Panel with the study selector, and the progress and results of a study."""

    id, title, icon, side, order = "studies", "Studies", "studies", "right", 50
    rate = 5.0
    needs_robot = False
    scripts = ("panels/studies/studies.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._scratch: Path | None = None
        self._sources: dict[str, StudySource] = {}
        self._listed = -math.inf
        self._chosen = ""
        self._about = self._size = self._problem = ""
        self._outcome: StudyOutcome | None = None
        self._jobs = max(1, os.cpu_count() or 1)
        self._replace = False
        self._job: Job | None = None
        self._running: StudySource | None = None  # the last that was started
        self._active = threading.Event()  # set while a process runs, also after it was cancelled
        self._idle = threading.Event()  # the opposite, to wait for
        self._idle.set()
        self._folders = JobFolders()  # of tables
        self._progress: StudyProgress | None = None
        self.on("choose", self._choose, str, still=True)
        self.on("run", self._run, still=True)
        self.on("cancel", self._cancel, still=True)
        self.on_setting("replace", "_replace", still=True)
        self.on_number("jobs", self._set_jobs)
        self.on("report", self._report, still=True)
        self.on("csv", self._csv, still=True)

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        return layout(self._outcome.tables if self._outcome else (), max(1, os.cpu_count() or 1))

    def values(self) -> Values:
        if time.monotonic() - self._listed > LIST_EVERY:
            self._list()
        running = self._active.is_set()
        outcome = self._outcome
        return {
            "sources": [[one.id, one.title] for one in self._sources.values()],
            "chosen": self._chosen,
            "about": self._about,
            "size": self._size,
            "jobs": self._jobs,
            "replace": self._replace,
            "running": running,
            "may-run": bool(self._chosen) and not running,
            "progress": self._fraction() if running else None,
            "progress-text": self._progress_text(running),
            "problem": self._problem,
            "runs": "–" if outcome is None else _runs_text(outcome),
            "any": outcome is not None and bool(outcome.runs),
        }

    def _fraction(self) -> float:
        now = self._progress
        return 0.0 if now is None or not now.total else now.done / now.total

    def _progress_text(self, running: bool) -> str:
        if not running:
            return "not running"
        now, source = self._progress, self._running
        which = "" if source is None or self._is_shown(source) else f"{source.title}: "
        if source is not None and source not in self._sources.values():
            which = f"{source.title} of another project: "
        if now is None:
            return f"{which}starting…"
        text = f"{which}{now.done} of {now.total} runs"
        if math.isfinite(now.rate) and math.isfinite(now.remaining):
            text += f", {now.rate:.3g} runs/s, {_time_text(now.remaining)} left"
        return text

    def _show(self, outcome: StudyOutcome | None) -> None:
        self._outcome = outcome
        self.refresh()
        for k, one in enumerate(outcome.tables if outcome else ()):
            self.put({f"table{k}": table_rows(one)})

    # ---- choice ----------------------------------------------------------------------------

    def restore(self, project: Project) -> None:
        self._sources = {}  # read the results again, also of the same project
        self._list()

    def _list(self) -> None:
        self._listed = time.monotonic()
        before = self._sources.get(self._chosen)
        self._sources = sources(self.context.saving.project, self._temporary)
        chosen = self._chosen if self._chosen in self._sources else next(iter(self._sources))
        if self._sources[chosen] != before:  # another project has other results
            self._choose(chosen)

    def _is_shown(self, source: StudySource) -> bool:
        """Whether `source` is the selected study of the open project."""
        return self._sources.get(self._chosen) == source

    def _temporary(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="brazo-lab-"))
        return self._scratch

    def _choose(self, key: str) -> None:
        if key not in self._sources:  # a page must not be able to run other files
            raise BrazoError("this study no longer exists")
        self._chosen, source = key, self._sources[key]
        self._about, self._size, self._problem = "", "…", ""
        self._show(read_summary(source.folder))

        def look() -> None:
            try:
                about, size = describe(source)
                problem = ""
            except BrazoError as error:
                about, size, problem = "", "–", str(error)
            self.context.post(lambda: self._described(source, about, size, problem))

        # On another thread: a study file loads its robots.
        threading.Thread(target=look, name="brazo study file", daemon=True).start()

    def _described(self, source: StudySource, about: str, size: str, problem: str) -> None:
        if self._is_shown(source):
            self._about, self._size = about, size
            self._problem = problem or self._problem

    def _set_jobs(self, count: float) -> None:
        most = max(1, os.cpu_count() or 1)
        if not 1 <= round(count) <= most:
            raise BrazoError(f"{count:g} processes: must be 1 to {most}, the number of processors")
        self._jobs = round(count)

    # ---- runs ------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._active.is_set():
            raise BrazoError("a study is already running: cancel it first")
        source = self._sources[self._chosen]
        jobs, replace = self._jobs, self._replace
        self._problem, self._progress, self._running = "", None, source
        self._active.set()
        self._idle.clear()

        def work(job: Job) -> StudyOutcome:
            outcome = StudyOutcome("stopped")
            try:
                outcome = self._compute(job, source, jobs, replace)
            except BrazoError as error:
                outcome = StudyOutcome("failed", str(error))
                raise
            finally:
                self._active.clear()
                self._idle.set()
                self.context.post(lambda: self._ended(source, outcome))
            return outcome

        self._job = self.context.jobs.start(f"Study {source.title}", work)

    def _compute(self, job: Job, source: StudySource, jobs: int, replace: bool) -> StudyOutcome:
        """Run a study in another process, and wait until it ends or the job is cancelled.

        Raises `BrazoError` if the study fails.
        """
        try:
            process = StudyProcess(source.source, source.folder, jobs, replace)
        except OSError as error:
            raise BrazoError(f"the study cannot be started: {error.strerror or error}") from None
        try:
            while process.running:
                self._progress = now = process.progress
                fraction = None if now is None or not now.total else now.done / now.total
                job.tell(fraction, "" if now is None else f"{now.done} of {now.total} runs")
                time.sleep(LOOK_EVERY)
        finally:
            process.cancel()  # has no effect after the end
        if process.outcome.state == "failed":
            raise BrazoError(process.outcome.text)
        return process.outcome

    def _ended(self, source: StudySource, outcome: StudyOutcome) -> None:
        if not self._is_shown(source):
            return
        if outcome.state == "failed":
            self._problem = outcome.text
        found = read_summary(source.folder)
        self._show(found if found is not None else self._outcome)

    def _cancel(self) -> None:
        if self._job is not None:
            self.context.jobs.cancel(self._job.number)

    # ---- files -----------------------------------------------------------------------------

    def _report(self) -> None:
        source = self._sources[self._chosen]
        path = source.folder / REPORT
        if not path.is_file():
            raise BrazoError("there is no report yet: run the study first")
        self.download(f"{Path(source.title).stem}-report.html", path)

    def _csv(self) -> None:
        source = self._sources[self._chosen]
        name = f"{Path(source.title).stem}.csv"

        def work(job: Job, folder: Path) -> Path:
            job.tell(None, "writing")
            read_results(source.folder).to_csv(folder / name)
            return folder / name

        self._folders.start(
            self.context.jobs,
            f"Table of {source.title}",
            work,
            lambda path: self.download(name, path),
        )

    def closed(self) -> None:
        self._cancel()
        self._folders.close()
        if self._scratch is not None:
            self._idle.wait(2.0 * GRACE)  # the study writes there until its process has ended
            shutil.rmtree(self._scratch, ignore_errors=True)


def _runs_text(outcome: StudyOutcome) -> str:
    text = f"{outcome.runs} of {outcome.total}"
    if outcome.failed:
        text += f", {outcome.failed} failed"
    return text


def _time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

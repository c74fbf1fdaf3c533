"""Study in a separate process, so that the calling program can continue.

    study = StudyProcess("compare", "results/compare")
    while study.running:
        print(study.progress)             # a `StudyProgress`, or None before the first runs
        time.sleep(0.1)
    study.outcome                         # a `StudyOutcome`: state, message, tables

The process runs at low priority.  It ends when `cancel` is called.  It also ends when the calling
program ends, because the standard input of the process is then closed.  The results of finished
chunks of runs stay in the folder of the study, so the same study can be continued.  The folder also
contains the report and `summary.json`, which has the result tables of the last `StudyProcess` that
had results.

The process sends progress and outcome through the pipe of its standard output.  Anything that the
study or its worker processes print is redirected to standard error, which is a temporary
file.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from brazo.files import replacing
from brazo.study.execution import StudyProgress
from brazo.study.tables import TextTable, result_tables

SUMMARY, REPORT = "summary.json", "report.html"
GRACE = 10.0  # s, for a cancelled study to write the results of its finished chunks
_LOW_PRIORITY = 10
# The module search path is that of the parent, not the current folder.
_WORKER = """
import json, sys
job = json.loads(sys.stdin.buffer.readline())
sys.path[:] = job.pop("path")
from brazo.study.background import work
work(job)
"""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """Outcome of a study; `state` is "done", "stopped" or "failed"."""

    state: str
    text: str = ""  # reason of the state "failed"
    runs: int = 0  # runs with results
    total: int = 0  # runs of the study
    failed: int = 0  # failed runs
    tables: list[TextTable] = field(default_factory=list)


class StudyProcess:
    """Study that runs in another process.

    `source` is the name of a shipped study or the path of a study file.  `folder`, `jobs` and
    `replace` are as for `run_study`.
    """

    def __init__(
        self, source: str | Path, folder: str | Path, jobs: int | None = None, replace: bool = False
    ) -> None:
        self.progress: StudyProgress | None = None
        self._outcome: StudyOutcome | None = None
        self._cancelled = False
        job = {
            "path": sys.path,
            "source": str(source),
            "folder": str(folder),
            "jobs": jobs,
            "replace": replace,
        }
        priority = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)  # Windows
        hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process ends)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                creationflags=priority | hidden,
            )
        except OSError:
            self._errors.close()
            raise
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended already; `_read` finds the reason
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        self._reader = threading.Thread(target=self._read, name="brazo study", daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether the process is alive or its messages are still being read."""
        return self._reader.is_alive()

    @property
    def outcome(self) -> StudyOutcome:
        """Outcome of the study; valid only after `running` has become False."""
        if self._outcome is None:
            return StudyOutcome("failed", "the process of the study ended without a result")
        return self._outcome

    def cancel(self) -> None:
        """Stop the study and wait until its process has ended; results of finished chunks remain.

        A process that does not end within 10 s is killed.
        """
        if self.running:
            self._cancelled = True
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # the process stops when it reads the end of its input
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join()

    def _read(self) -> None:
        process = self._process
        assert process.stdout is not None and process.stdin is not None
        try:
            for line in process.stdout:
                self._take(json.loads(line))
        except (OSError, ValueError, TypeError, KeyError) as error:
            process.kill()
            self._outcome = StudyOutcome("failed", f"the process sent an unknown message: {error}")
        process.wait()
        if self._outcome is None and self._cancelled:
            self._outcome = StudyOutcome("stopped")
        elif self._outcome is None:
            self._errors.seek(0)
            errors = self._errors.read().decode(errors="replace").strip()
            if errors:
                self._outcome = StudyOutcome("failed", errors.splitlines()[-1])
        for stream in (process.stdin, process.stdout, self._errors):
            with contextlib.suppress(OSError):
                stream.close()

    def _take(self, message: list[Any]) -> None:
        kind, *rest = message
        if kind == "progress":
            done, total, rate, left = rest
            nan = float("nan")
            self.progress = StudyProgress(
                done, total, nan if rate is None else rate, nan if left is None else left
            )
        else:
            self._outcome = outcome_of(rest[0])


def outcome_of(content: dict[str, Any]) -> StudyOutcome:
    """Return the outcome described by a JSON object."""
    tables = [
        TextTable(
            one["title"],
            tuple(one["columns"]),
            [tuple(row) for row in one["rows"]],
            one.get("names", 2),
        )
        for one in content.get("tables", ())
    ]
    return StudyOutcome(**{**content, "tables": tables})


def read_summary(folder: Path) -> StudyOutcome | None:
    """Read the outcome of the last `StudyProcess` with results from `summary.json` in `folder`.

    Return None if the file does not exist or is not valid.
    """
    try:
        return outcome_of(json.loads((folder / SUMMARY).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return None


# ---- in the process ------------------------------------------------------------------------


def work(job: dict[str, Any]) -> None:
    """Run the study that `job` describes, then end the process; entry point of the process.

    Progress and outcome are written to standard output as JSON lines.
    """
    from brazo.errors import BrazoError

    messages = os.fdopen(os.dup(1), "wb")  # not inherited by workers
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(_LOW_PRIORITY)
    run = _BackgroundRun(job, messages)
    try:
        outcome = run.outcome()
    except KeyboardInterrupt:
        outcome = {"state": "stopped", "total": run.total}
    except BrazoError as error:
        outcome = {"state": "failed", "text": str(error)}
    except Exception as error:
        outcome = {"state": "failed", "text": f"{type(error).__name__}: {error}"}
    run.send("outcome", outcome)
    sys.stderr.flush()
    os._exit(0)  # threads of a cancelled study may still compute


class _BackgroundRun:
    """Run of a study in this process; the end of standard input stops it like Ctrl+C."""

    def __init__(self, job: dict[str, Any], messages: IO[bytes]) -> None:
        self._job, self._messages, self.total = job, messages, 0
        self._stopped = self._computed = False
        signal.signal(signal.SIGINT, self._interrupt)
        threading.Thread(target=_wait_for_end, args=(sys.stdin.buffer,), daemon=True).start()

    def outcome(self) -> dict[str, Any]:
        from brazo.study.execution import run_study
        from brazo.study.results import read_results
        from brazo.study.study_file import load_study

        state, folder = "done", Path(self._job["folder"])
        study = load_study(self._job["source"])
        self.total = study.runs
        jobs, replace = self._job["jobs"], self._job["replace"]
        try:
            results = run_study(study, folder, jobs=jobs, replace=replace, progress=self._progress)
            self._computed = True
        except KeyboardInterrupt:
            self._computed = True
            state = "stopped"
            if not (folder / "results.parquet").is_file():
                return {"state": state, "total": study.runs}
            results = read_results(folder)
        found = {
            "state": state,
            "runs": len(results),
            "total": study.runs,
            "failed": len(results.failures),
            "tables": [
                {
                    "title": one.title,
                    "columns": one.columns,
                    "rows": one.rows,
                    "names": one.names,
                }
                for one in result_tables(results)
            ],
        }
        results.to_html(folder / REPORT)
        with replacing(folder / SUMMARY) as temporary:
            temporary.write_text(json.dumps(found), encoding="utf-8")
        return found

    def send(self, *message: Any) -> None:
        with contextlib.suppress(OSError):  # the parent has ended
            self._messages.write(json.dumps(message).encode() + b"\n")
            self._messages.flush()

    def _progress(self, now: StudyProgress) -> None:
        self.send("progress", now.done, now.total, _finite(now.rate), _finite(now.remaining))
        if self._stopped:  # in case that the interrupt was lost, e.g. in a callback
            raise KeyboardInterrupt

    def _interrupt(self, *_: object) -> None:
        if not self._stopped and not self._computed:
            self._stopped = True
            raise KeyboardInterrupt


def _wait_for_end(line: IO[bytes]) -> None:
    while line.read(1):
        pass
    _thread.interrupt_main()


def _finite(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None

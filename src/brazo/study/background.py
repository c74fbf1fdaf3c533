"""A study in a process of its own, so that a program with other duties never waits for it.

    study = StudyProcess("compare", "results/compare")
    while study.running:
        print(study.progress)             # a `StudyProgress`, or None before the first runs
        time.sleep(0.1)
    study.outcome                         # an `StudyOutcome`: state, message, tables

The process runs at low priority.  It ends when it is cancelled, and when the process that started
it ends: its standard input is then closed.  Finished chunks are kept, so the same study continues.
The folder also has the report and `summary.json`, the tables of the last call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """How a study ended: `state` is done, stopped or failed."""

    state: str
    text: str = ""
    runs: int = 0  # with results
    total: int = 0
    failed: int = 0
    tables: list[TextTable] = field(default_factory=list)


class StudyProcess:
    """A study that runs in another process."""

    def __init__(
        self, source: str | Path, folder: str | Path, jobs: int | None = None, replace: bool = False
    ) -> None:
        self.progress: StudyProgress | None = None
        self._outcome: StudyOutcome | None = None
        command = [sys.executable, "-m", "brazo.study.background"]
        options = json.dumps([str(source), str(folder), jobs, replace])
        priority = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)  # Windows
        hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)
        self._process = subprocess.Popen(
            [*command, options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=priority | hidden,
        )
        self._reader = threading.Thread(target=self._read, name="brazo study", daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether the process is alive, or its messages are still being read."""
        return self._reader.is_alive()

    @property
    def outcome(self) -> StudyOutcome:
        """How the study ended; only after `running` is False."""
        if self._outcome is None:
            return StudyOutcome("failed", "the process of the study ended without a result")
        return self._outcome

    def cancel(self) -> None:
        """End the study; the runs of finished chunks are kept.  Returns when it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()  # the process stops when it reads the end of its input
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None and self._process.stderr is not None
        for line in self._process.stdout:
            kind, *rest = json.loads(line)
            if kind == "progress":
                done, total, rate, left = rest
                nan = float("nan")
                self.progress = StudyProgress(
                    done, total, nan if rate is None else rate, nan if left is None else left
                )
            else:
                self._outcome = outcome_of(rest[0])
        errors = self._process.stderr.read().decode(errors="replace").strip()
        if self._process.wait() and self._outcome is None and errors:
            self._outcome = StudyOutcome("failed", errors.splitlines()[-1])
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def outcome_of(content: dict[str, Any]) -> StudyOutcome:
    """An outcome from its JSON form."""
    tables = [
        TextTable(one["title"], tuple(one["columns"]), [tuple(row) for row in one["rows"]])
        for one in content.get("tables", ())
    ]
    return StudyOutcome(**{**content, "tables": tables})


def read_summary(folder: Path) -> StudyOutcome | None:
    """The outcome of the last call for a folder; None if there is none."""
    try:
        return outcome_of(json.loads((folder / SUMMARY).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return None


# ---- in the process ------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Run a study and write its progress and outcome as JSON lines."""
    from brazo.errors import BrazoError

    source, folder, jobs, replace = json.loads(arguments[0])
    if hasattr(os, "nice"):
        os.nice(_LOW_PRIORITY)
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=(sys.stdin.buffer, stop), daemon=True).start()
    try:
        outcome = _run(source, Path(folder), jobs, replace, stop)
    except BrazoError as error:
        outcome = {"state": "failed", "text": str(error)}
    except Exception as error:
        outcome = {"state": "failed", "text": f"{type(error).__name__}: {error}"}
    _say("outcome", outcome)
    return 0


def _run(
    source: str, folder: Path, jobs: int | None, replace: bool, stop: threading.Event
) -> dict[str, Any]:
    from brazo.study.execution import run_study
    from brazo.study.results import read_results
    from brazo.study.study_file import load_study

    def progress(now: StudyProgress) -> None:
        _say("progress", now.done, now.total, _finite(now.rate), _finite(now.remaining))
        if stop.is_set():
            raise KeyboardInterrupt

    state = "done"
    study = load_study(source)
    try:
        results = run_study(study, folder, jobs=jobs, replace=replace, progress=progress)
    except KeyboardInterrupt:
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
            {"title": one.title, "columns": one.columns, "rows": one.rows}
            for one in result_tables(results)
        ],
    }
    results.to_html(folder / REPORT)
    with replacing(folder / SUMMARY) as temporary:
        temporary.write_text(json.dumps(found), encoding="utf-8")
    return found


def _wait_for_end(line: IO[bytes], stop: threading.Event) -> None:
    while line.read(1):
        pass
    stop.set()


def _finite(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None


def _say(*message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`JobFolders`: background jobs that write a file for the page into a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from brazo.lab.app.jobs import Job, Jobs

CLOSING = 10.0  # s, for cancelled jobs to stop writing


class JobFolders:
    """Starts background jobs with one temporary folder each."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._written: dict[Path, bool] = {}  # whether the work in a folder has ended

    def start(
        self,
        jobs: Jobs,
        title: str,
        work: Callable[[Job, Path], Path],
        done: Callable[[Path], object],
    ) -> Job:
        """Start a job that writes a file into a temporary folder.

        `work(job, folder)` runs in the background and returns the path of the file.  Then
        `done(path)` is called on the lab's thread.  The folder is deleted after `done` returns.
        """

        def write(job: Job) -> Path:
            folder = Path(tempfile.mkdtemp(prefix="brazo-lab-"))
            self._note(folder, False)
            try:
                path = work(job, folder)
                job.settle()  # from here on `hand_over` removes the folder
            except BaseException:
                self._remove(folder)
                raise
            self._note(folder, True)
            return path

        def hand_over(path: Path) -> None:
            try:
                done(path)
            finally:
                self._remove(path.parent)

        return jobs.start(title, write, hand_over)

    def close(self) -> None:
        """Wait up to `CLOSING` seconds for cancelled jobs, then delete the remaining folders."""
        with self._changed:
            self._changed.wait_for(lambda: all(self._written.values()), CLOSING)
        for folder in tuple(self._written):
            self._remove(folder)

    def _note(self, folder: Path, written: bool) -> None:
        with self._changed:
            self._written[folder] = written
            self._changed.notify_all()

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with self._changed:
            self._written.pop(folder, None)
            self._changed.notify_all()

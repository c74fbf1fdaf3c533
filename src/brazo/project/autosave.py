"""`Autosave`: writes a project in a separate thread, so that no caller waits for the disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from brazo.errors import BrazoError
from brazo.project.folder import Head, Project

log = logging.getLogger(__name__)

DELAY = 0.5  # s, from a request of a page until its lab collects the work and calls `put`


class Autosave:
    """Thread that writes the files of a project.

    Queued files that the thread has not started to write are replaced by those of the next call of
    `put`.  After each write, the thread calls `report(message)`; the message is empty if the write
    succeeded.  A failed write is not repeated before the next call of `put`.
    """

    def __init__(self, project: Project, report: Callable[[str], None]) -> None:
        self.project = project
        self._report = report
        self._next: tuple[Mapping[str, str], Head] | None = None
        self._busy = False
        self._closed = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="brazo autosave", daemon=True)
        self._thread.start()

    def put(self, files: Mapping[str, str], head: Head) -> None:
        """Queue files (path -> text) and the fields of `project.yaml` for writing; do not wait."""
        with self._change:
            self._next = (files, head)
            self._change.notify_all()

    def flush(self) -> None:
        """Wait until the queued files are written, or the write has failed."""
        with self._change:
            self._change.wait_for(lambda: self._next is None and not self._busy)

    def close(self) -> None:
        """Write the queued files, and end the thread."""
        self.flush()
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._change:
                self._busy = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._next is not None or self._closed)
                if self._next is None:
                    return
                (files, head), self._next = self._next, None
                self._busy = True
            problem = ""
            try:
                self.project.write(files, head)
            except BrazoError as error:
                problem = str(error)
            except Exception as error:  # the thread must continue: others wait for it
                log.exception("could not write a project")
                problem = f"internal error: {type(error).__name__}: {error}"
            self._report(problem)

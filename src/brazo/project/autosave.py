"""`Autosave`: writes a project on a thread of its own, so that no caller waits for the disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from brazo.errors import BrazoError
from brazo.project.folder import Head, Project

log = logging.getLogger(__name__)


class Autosave:
    """Writes the newest contents that were given; contents in between are skipped.

    `report(message)` is called on the thread after each attempt, with an empty message if it
    succeeded.  After a failure the next contents are tried again.
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
        """Write these files soon; returns immediately."""
        with self._change:
            self._next = (files, head)
            self._change.notify_all()

    def flush(self) -> None:
        """Wait until everything given is written."""
        with self._change:
            self._change.wait_for(lambda: self._next is None and not self._busy)

    def close(self) -> None:
        """Write what was given, and end the thread."""
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
                log.exception("a project was not written")
                problem = f"internal error: {type(error).__name__}: {error}"
            self._report(problem)

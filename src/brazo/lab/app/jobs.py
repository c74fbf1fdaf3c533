"""Background jobs with progress and cancellation.

    lab.jobs.start("Derive equations", work, done)      runs work(job) in a thread
    lab.jobs.start_process("Derive", derive, ("puma560",), done)     runs derive in a process

`work` regularly calls `job.tell(0.3, "mass matrix")`, which raises `JobCancelled` if the user
cancelled the job.  The code generator (`brazo.codegen`) makes the same check before it compiles
each function.  A cancelled job is shown as cancelled immediately and its result is discarded, even
if its thread needs some seconds to stop.

Work that cannot call `job.tell` should run in a process, which can be terminated at any time.  If
that is not possible, start the job with `cancellable=False`.

`done(result)` is called on the lab's thread.  Errors of `work` and `done` are shown to the user.  A
job can no longer be cancelled after `job.settle()` was called or `done` has started.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from brazo.codegen.checkpoint import checkpoints
from brazo.errors import BrazoError
from brazo.lab.server.repeats import Repeats
from brazo.text import one_line

log = logging.getLogger(__name__)
log.addFilter(Repeats())
KEPT = 4  # finished jobs kept in the list
LOOK_EVERY = 0.1  # s, polling interval of a job's process
_STARTING = threading.Lock()


class JobCancelled(Exception):
    """Raised inside the work of a job after the user cancelled the job."""


class Job:
    """A background job.  Its work calls `tell`; the user interface calls `cancel`."""

    def __init__(
        self, number: int, title: str, changed: Callable[[], None], cancellable: bool = True
    ) -> None:
        self.number = number
        self.title = title
        self.fraction: float | None = None  # None: unknown
        self.text = ""
        self.state = "running"  # then done, failed or cancelled
        self.cancellable = cancellable
        self._changed = changed
        self._cancelled = threading.Event()
        self._lock = threading.Lock()

    def tell(self, fraction: float | None = None, text: str = "") -> None:
        """Report progress: `fraction` is from 0 to 1, or None if unknown; `text` names the step.

        Raises `JobCancelled` if the job is cancelled.  The method can be passed to functions that
        take a callback `progress(fraction, text)`.
        """
        self.check()
        known = fraction is not None and math.isfinite(fraction)
        self.fraction = min(max(float(fraction), 0.0), 1.0) if known else None  # type: ignore[arg-type]
        self.text = text
        self._changed()

    def check(self) -> None:
        """Raise `JobCancelled` if the job is cancelled."""
        if self._cancelled.is_set():
            raise JobCancelled

    @property
    def cancelled(self) -> bool:
        """Whether the job is cancelled."""
        return self._cancelled.is_set()

    def settle(self) -> None:
        """Prevent any later cancellation; raise `JobCancelled` if the job is cancelled already."""
        with self._lock:
            self.check()
            self.cancellable = False
        self._changed()

    def cancel(self) -> None:
        """Cancel the job if it is cancellable; its thread ends at the next `check` or `tell`."""
        with self._lock:
            if not self.cancellable:
                return
            self._cancelled.set()
        self.end("cancelled")

    def end(self, state: str, text: str = "") -> None:
        """Set the final state: done, failed or cancelled.  Later calls have no effect."""
        with self._lock:
            if self.state != "running":
                return
            self.state, self.text = state, text
        self._changed()

    def shown(self) -> dict[str, Any]:
        """State of this job as a dict for JSON, as sent to the pages."""
        return {
            "number": self.number,
            "title": self.title,
            "fraction": None if self.fraction is None else round(self.fraction, 3),
            "text": self.text,
            "state": self.state,
            "cancellable": self.cancellable,
        }


class Jobs:
    """The background jobs of a lab.

    `post(call)` queues a call for the lab's thread.  `changed(jobs)` is called, on any thread, when
    a job changes; `jobs` is the list of all jobs (see `Job.shown`).
    """

    def __init__(
        self,
        post: Callable[[Callable[[], None]], None],
        changed: Callable[[list[dict[str, Any]]], None],
    ) -> None:
        self._post = post
        self._tell = changed
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._telling = threading.Lock()  # the last list published must be the current one

    def start(
        self,
        title: str,
        work: Callable[[Job], Any],
        done: Callable[[Any], Any] | None = None,
        cancellable: bool = True,
    ) -> Job:
        """Run `work(job)` in a new thread, then `done(result)` on the lab's thread."""
        job = self._new(title, cancellable)
        thread = threading.Thread(
            target=self._run, args=(job, work, done), name=f"brazo job {title}", daemon=True
        )
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()
        return job

    def start_process(
        self,
        title: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...] = (),
        done: Callable[[Any], Any] | None = None,
    ) -> Job:
        """Run `function(progress, *arguments)` in a new process.

        The function reports its progress with `progress(fraction, text)`; see `Job.tell`.  When it
        returns, `done(result)` is called on the lab's thread.  The function must be defined at
        module level.  Its arguments and its result must be picklable.
        """

        def work(job: Job) -> Any:
            return _in_process(job, function, arguments)

        return self.start(title, work, done)

    def cancel(self, number: int) -> None:
        """Cancel the job with this number, or remove it from the list if it is finished."""
        with self._lock:
            job = self._jobs.get(number)
            if job is not None and job.state != "running":
                del self._jobs[number]
        if job is not None and job.state == "running":
            job.cancel()
        self._news()

    @property
    def busy(self) -> bool:
        """Whether the thread of any job is still running, including threads of cancelled jobs."""
        return any(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """Cancel all jobs that can be cancelled, without waiting for their threads."""
        for job in tuple(self._jobs.values()):
            job.cancel()

    def _new(self, title: str, cancellable: bool) -> Job:
        job = Job(next(self._numbers), title, self._news, cancellable)
        with self._lock:
            ended = [n for n, one in self._jobs.items() if one.state != "running"]
            for number in ended[: max(0, len(ended) - KEPT + 1)]:
                del self._jobs[number]
            self._jobs[job.number] = job
        self._news()
        return job

    def _run(self, job: Job, work: Callable[[Job], Any], done: Callable[[Any], Any] | None) -> None:
        try:
            with checkpoints(job.check):
                result = work(job)
            job.check()
        except JobCancelled:
            return job.end("cancelled")
        except BrazoError as error:
            return job.end("failed", str(error))
        except Exception as error:
            log.exception("%s failed", one_line(job.title))
            return job.end("failed", f"{type(error).__name__}: {error}")
        if done is not None:
            self._post(lambda: self._hand_over(job, done, result))
        else:
            job.end("done")

    def _hand_over(self, job: Job, done: Callable[[Any], Any], result: Any) -> None:
        try:
            job.settle()
            done(result)
        except JobCancelled:
            job.end("cancelled")
        except BrazoError as error:
            job.end("failed", str(error))
        except Exception as error:
            job.end("failed", f"{type(error).__name__}: {error}")
            raise
        else:
            job.end("done")

    def _news(self) -> None:
        with self._telling:
            with self._lock:
                jobs = [job.shown() for job in self._jobs.values()]
            self._tell(jobs)


def _in_process(job: Job, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    context = multiprocessing.get_context("spawn")  # forking a process with threads is unsafe
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, function, arguments), daemon=True)
    with _without_main():
        process.start()
    theirs.close()
    try:
        while True:
            job.check()
            if not ours.poll(LOOK_EVERY):
                continue
            try:
                kind, *rest = ours.recv()
            except EOFError:
                raise BrazoError(
                    f"{job.title}: the process crashed or was killed: start it again"
                ) from None
            if kind == "progress":
                job.tell(*rest)
            elif kind == "done":
                return rest[0]
            else:
                raise BrazoError(rest[0])
    finally:
        process.terminate()
        process.join()
        ours.close()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Context in which a new process does not import and run the user's `__main__` script."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _work(line: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    def progress(fraction: float | None = None, text: str = "") -> None:
        line.send(("progress", fraction, text))

    try:
        line.send(("done", function(progress, *arguments)))
    except BrazoError as error:
        line.send(("failed", str(error)))
    except Exception as error:
        line.send(("failed", f"{type(error).__name__}: {error}"))

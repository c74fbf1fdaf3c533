"""Long work beside the lab: with progress, and a way to cancel it.

    lab.jobs.start("Derive equations", work, done)      work(job) -> result, in a thread of its own
    lab.jobs.start_process("Derive", derive, ("puma560",), done)   a module's function elsewhere

`work` calls `job.tell(0.3, "mass matrix")` now and then, which also raises `Cancelled` when the
user cancelled it; so does the compiler before each kernel.  Cancel takes effect at once: the job is
over for the user and its result is dropped, even if its thread needs some seconds to notice.  Work
without such points belongs in a process, which can be ended at any time; where it cannot go there
either, `cancellable=False` offers no Cancel.  `done(result)` is called on the lab's thread; an
error is shown.  A cancelled job has changed nothing: from `job.settle()` on, and once `done` is
called, it cannot be cancelled.
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
KEPT = 4  # finished jobs that stay in the list
LOOK_EVERY = 0.1  # s
_STARTING = threading.Lock()


class Cancelled(Exception):
    """The user does not want the work any more."""


class Job:
    """One piece of work under way; `tell` is for the work, `cancel` for the user."""

    def __init__(
        self, number: int, title: str, changed: Callable[[], None], cancellable: bool = True
    ) -> None:
        self.number = number
        self.title = title
        self.fraction: float | None = None  # None: nobody knows
        self.text = ""
        self.state = "running"  # then done, failed or cancelled
        self.cancellable = cancellable
        self._changed = changed
        self._cancelled = threading.Event()
        self._lock = threading.Lock()

    def tell(self, fraction: float | None = None, text: str = "") -> None:
        """Say how far the work is (0..1, None when unknown); raises `Cancelled` when it is to end.

        May be given to whatever takes `progress(fraction, text)`.
        """
        self.check()
        known = fraction is not None and math.isfinite(fraction)
        self.fraction = min(max(float(fraction), 0.0), 1.0) if known else None  # type: ignore[arg-type]
        self.text = text
        self._changed()

    def check(self) -> None:
        """Raise `Cancelled` when the work is to end."""
        if self._cancelled.is_set():
            raise Cancelled

    @property
    def cancelled(self) -> bool:
        """Whether the work is to end."""
        return self._cancelled.is_set()

    def settle(self) -> None:
        """Raise `Cancelled` when the work is to end; from here on it cannot be cancelled."""
        with self._lock:
            self.check()
            self.cancellable = False
        self._changed()

    def cancel(self) -> None:
        """End it, unless it is too late for that; its thread ends when it next checks."""
        with self._lock:
            if not self.cancellable:
                return
            self._cancelled.set()
        self.end("cancelled")

    def end(self, state: str, text: str = "") -> None:
        """Set the final state; the first one stays."""
        with self._lock:
            if self.state != "running":
                return
            self.state, self.text = state, text
        self._changed()

    def shown(self) -> dict[str, Any]:
        """What the pages show of it."""
        return {
            "number": self.number,
            "title": self.title,
            "fraction": None if self.fraction is None else round(self.fraction, 3),
            "text": self.text,
            "state": self.state,
            "cancellable": self.cancellable,
        }


class Jobs:
    """The work under way; `changed(jobs)` is called from any thread when there is news."""

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
        self._telling = threading.Lock()  # so that what is told last is what is true

    def start(
        self,
        title: str,
        work: Callable[[Job], Any],
        done: Callable[[Any], Any] | None = None,
        cancellable: bool = True,
    ) -> Job:
        """Begin work in a thread."""
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
        """Begin `function(progress, *arguments)` in a process of its own.

        The function is one of a module's, arguments and result are plain data.
        """

        def work(job: Job) -> Any:
            return _in_process(job, function, arguments)

        return self.start(title, work, done)

    def cancel(self, number: int) -> None:
        """End a job, or take a finished one off the list."""
        with self._lock:
            job = self._jobs.get(number)
            if job is not None and job.state != "running":
                del self._jobs[number]
        if job is not None and job.state == "running":
            job.cancel()
        self._news()

    @property
    def busy(self) -> bool:
        """Whether the thread of a job still runs, if only of a cancelled one."""
        return any(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """Ask everything under way to end."""
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
        except Cancelled:
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
        except Cancelled:
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
    context = multiprocessing.get_context("spawn")  # threads and forks do not go together
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
                raise BrazoError(f"{job.title}: the process ended without a result") from None
            if kind == "told":
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
    """A new process imports the main module anew, and with it would run a user's script again."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _work(line: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    def progress(fraction: float | None = None, text: str = "") -> None:
        line.send(("told", fraction, text))

    try:
        line.send(("done", function(progress, *arguments)))
    except BrazoError as error:
        line.send(("failed", str(error)))
    except Exception as error:
        line.send(("failed", f"{type(error).__name__}: {error}"))

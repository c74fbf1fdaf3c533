"""Distribution of the rows of a batch over threads; machine code runs without the interpreter lock.

A batch is split into chunks of rows. The calling thread and the worker threads take one chunk after
another. Each row is computed independently, so results do not depend on the number of threads. The
worker threads are kept between calls, because starting threads would cost more than most batches.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["share", "thread_count", "threads"]

_PIECES_PER_THREAD = 4  # rows may differ in cost, and other processes may use a CPU

_chosen: int | None = None
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_lock = threading.Lock()


class threads:
    """Set the number of threads for large batches: a number, or None for the default.

    ``threads(1)`` sets the number permanently; ``with threads(1): ...`` restores it afterwards. The
    default is the environment variable ``BRAZO_THREADS``, or one thread per CPU if it is not set.
    The argument ``threads=`` of a call has precedence.
    """

    def __init__(self, count: int | None) -> None:
        global _chosen
        self._before = _chosen
        _chosen = None if count is None else _checked(count, "threads")

    def __enter__(self) -> threads:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _chosen
        _chosen = self._before


def thread_count() -> int:
    """Default number of threads for a large batch."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get("BRAZO_THREADS", "")
    return _checked(named, "BRAZO_THREADS") if named else _cpus()


def share(
    run: Callable[[int, int], Any], rows: int, min_rows: int, count: int | None = None
) -> list[Any]:
    """Call ``run(start, stop)`` for pieces of [0, rows) in several threads; return the results.

    ``count`` is the max number of threads (default: :func:`thread_count`). Fewer are used if a
    thread would get fewer than ``min_rows`` rows. The results are in no particular order.
    """
    workers = 1
    if rows >= 2 * min_rows:
        workers = thread_count() if count is None else _checked(count, "threads")
        workers = min(workers, rows // min_rows)
    if workers == 1:
        return [run(0, rows)]
    piece = -(-rows // (workers * _PIECES_PER_THREAD))
    piece += -piece % 8  # whole lanes
    starts = itertools.count(0, piece)  # the next free chunk; one step is atomic
    results: list[Any] = []

    def work() -> None:
        for start in starts:
            if start >= rows:
                return
            results.append(run(start, min(start + piece, rows)))

    pool = _helpers(workers - 1)
    others = [pool.submit(work) for _ in range(workers - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()
    return results


def _helpers(count: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        if _pool is None or _pool_size < count:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _pool_size = ThreadPoolExecutor(count, "brazo"), count
        return _pool


def _forget_helpers() -> None:
    """Discard the thread pool in a forked process, because threads do not survive a fork."""
    global _pool, _pool_size, _lock
    _pool, _pool_size, _lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


def _checked(count: int | str, what: str) -> int:
    try:
        number = int(count)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise BrazoError(f"{what} is {count!r}; it must be an integer of at least 1")
    return number


def _cpus() -> int:
    """Number of CPUs that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1

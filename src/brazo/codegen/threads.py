"""Sharing the rows of a batch among threads; machine code runs outside the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["share"]


def share(
    run: Callable[[int, int], None], rows: int, least: int, threads: int | None = None
) -> None:
    """Run over [0, rows) in pieces of at least ``least`` rows, by one thread per CPU or by
    ``threads``. Pieces are small: rows may differ much in cost."""
    workers = 1
    if rows >= 2 * least:
        workers = min(threads or _cpus(), rows // least)
    if workers == 1:
        run(0, rows)
        return
    from concurrent.futures import ThreadPoolExecutor

    piece = max(least, -(-rows // (8 * workers)))
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda start: run(start, min(start + piece, rows)), range(0, rows, piece)))


def _cpus() -> int:
    """CPUs this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1

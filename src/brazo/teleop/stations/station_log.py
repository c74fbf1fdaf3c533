"""`StationLog`: log of a teleoperation station, with times (s) since its start.

Terminal, page and recording use the same times.
"""

from __future__ import annotations

import time
from collections import deque

from brazo.text import one_line

KEPT = 200


class StationLog:
    """The newest log entries; one thread may write them, all threads may read them."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self._entries: deque[tuple[int, float, str]] = deque(maxlen=KEPT)
        self._count = 0

    def now(self) -> float:
        """Return the time (s) since the start of the station."""
        return time.perf_counter() - self.begin

    def add(self, text: str, t: float | None = None) -> float:
        """Log a text at time t (s), by default now; return the time."""
        t = max(self.now() if t is None else t, 0.0)
        self._count += 1
        self._entries.append((self._count, t, one_line(text)))
        return t

    def last(self, n: int) -> list[tuple[float, str]]:
        """Return the last n entries, oldest first, as (t, text)."""
        return [(t, text) for _, t, text in list(self._entries)[-n:]]

    def after(self, number: int) -> tuple[int, list[str]]:
        """Return the number of the newest entry, and the lines of all entries after `number`."""
        new = [entry for entry in list(self._entries) if entry[0] > number]
        return (new[-1][0] if new else number), [line(t, text) for _, t, text in new]


def line(t: float, text: str) -> str:
    """Return an entry as one line of text, with its time t (s)."""
    return f"{t:8.3f} s  {text}"

"""`Diary`: log of a station, with times in seconds since the start of the station.

The terminal, the page and the recording all use these times, so that they agree.
"""

from __future__ import annotations

import time
from collections import deque

from brazo.text import one_line

KEPT = 200


class Diary:
    """The newest log entries; written by one thread, readable from any."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self._entries: deque[tuple[int, float, str]] = deque(maxlen=KEPT)
        self._count = 0

    def now(self) -> float:
        """Return the time since the start of the station, in s."""
        return time.perf_counter() - self.begin

    def add(self, text: str, t: float | None = None) -> float:
        """Log a text at time t (s, default now); return that time."""
        t = max(self.now() if t is None else t, 0.0)
        self._count += 1
        self._entries.append((self._count, t, one_line(text)))
        return t

    def last(self, n: int) -> list[tuple[float, str]]:
        """Return the last n entries, oldest first, as (t, text)."""
        return [(t, text) for _, t, text in list(self._entries)[-n:]]

    def after(self, number: int) -> tuple[int, list[str]]:
        """Return the number of the newest entry and the lines logged after entry `number`."""
        new = [entry for entry in list(self._entries) if entry[0] > number]
        return (new[-1][0] if new else number), [line(t, text) for _, t, text in new]


def line(t: float, text: str) -> str:
    """Return an entry as a line of the terminal."""
    return f"{t:8.3f} s  {text}"

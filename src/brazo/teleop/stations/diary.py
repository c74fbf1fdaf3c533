"""`Diary`: what happened at a station, by one clock: seconds since the station began.

The terminal, the page and the recording all tell these times, so that they tell the same.
"""

from __future__ import annotations

import time
from collections import deque

from brazo.text import one_line

KEPT = 200


class Diary:
    """The newest entries; one thread writes, any may read."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self._entries: deque[tuple[int, float, str]] = deque(maxlen=KEPT)
        self._count = 0

    def now(self) -> float:
        """Seconds since the station began."""
        return time.perf_counter() - self.begin

    def add(self, text: str, t: float | None = None) -> float:
        """Write down what happened at t, else now; that time."""
        t = max(self.now() if t is None else t, 0.0)
        self._count += 1
        self._entries.append((self._count, t, one_line(text)))
        return t

    def last(self, n: int) -> list[tuple[float, str]]:
        """The last n entries, oldest first: when, and what."""
        return [(t, text) for _, t, text in list(self._entries)[-n:]]

    def after(self, number: int) -> tuple[int, list[str]]:
        """What was written after that entry, as lines, and the number of the last of them."""
        new = [entry for entry in list(self._entries) if entry[0] > number]
        return (new[-1][0] if new else number), [line(t, text) for _, t, text in new]


def line(t: float, text: str) -> str:
    """An entry as the terminal shows it."""
    return f"{t:8.3f} s  {text}"

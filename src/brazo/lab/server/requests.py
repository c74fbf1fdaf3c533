"""`Requests`: the queue of calls for the lab's thread.

Calls of the lab itself and of the page in control have priority.  They are run in order and never
dropped.  Requests of other pages are queued separately, with only the newest request of each kind
per page.  The pages take turns, and at most `RATE` of these requests are run per second, so that
they do not block the lab's thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from brazo.connections import RateLimit

Call = Callable[[], None]
RATE = 30.0  # requests of pages that are not in control, per second
BURST = 30.0
MAX_CALLS = 10_000


class Requests:
    """Queue of calls with two priorities.  Any thread puts calls; the lab's thread takes them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: dict[Hashable, Call] = {}  # by kind, in order
        self._others: dict[Hashable, dict[Hashable, Call]] = {}  # page -> kind -> request
        self._budget = RateLimit(RATE, BURST)

    def put(self, call: Call, kind: Hashable = None) -> None:
        """Queue a call with high priority.

        If `kind` is not None, the call replaces a queued call of the same kind.
        """
        with self._changed:
            self._calls[object() if kind is None else kind] = call
            self._changed.notify()

    def put_other(self, page: Hashable, kind: Hashable, call: Call) -> None:
        """Queue a request of a page that is not in control, with low priority.

        The request replaces a queued request of the same page and kind.
        """
        with self._changed:
            self._others.setdefault(page, {})[kind] = call
            self._changed.notify()

    def forget(self, page: Hashable) -> None:
        """Drop the low-priority requests of a page that disconnected."""
        with self._changed:
            self._others.pop(page, None)

    def take(self, timeout: float) -> Call | None:
        """Remove and return the next call; None if no call arrives within `timeout` (s)."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                if self._calls:
                    return self._calls.pop(next(iter(self._calls)))
                wait = end - time.monotonic()
                if self._others:
                    if self._budget.allows(time.monotonic_ns() // 1000):
                        return self._take_other()
                    wait = min(wait, 1.0 / RATE)
                if end <= time.monotonic():
                    return None
                self._changed.wait(wait)

    def _take_other(self) -> Call:
        page = next(iter(self._others))
        requests = self._others.pop(page)
        call = requests.pop(next(iter(requests)))
        if requests:
            self._others[page] = requests  # at the end: the pages take turns
        return call

    @property
    def crowded(self) -> bool:
        """Whether the queue of high-priority calls is full.

        While it is full, no messages are read from the page in control.
        """
        return len(self._calls) >= MAX_CALLS

    def __len__(self) -> int:
        with self._changed:
            return len(self._calls) + sum(map(len, self._others.values()))

"""The calls that wait for the lab's thread.

Calls of the lab itself and of the page in control come first, in order, and none is dropped.
Requests of other pages wait apart: of one kind from one page only the newest, the pages in turn,
and at most `RATE` of them a second.  So they take a bounded share of the thread's time, however
many arrive.
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
    """A queue with two ranks: put from any thread, take on the lab's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: dict[Hashable, Call] = {}  # by kind, in order
        self._others: dict[Hashable, dict[Hashable, Call]] = {}  # page -> kind -> request
        self._budget = RateLimit(RATE, BURST)

    def put(self, call: Call, kind: Hashable = None) -> None:
        """Have a call made; one with a `kind` replaces the one of that kind that waits."""
        with self._changed:
            self._calls[object() if kind is None else kind] = call
            self._changed.notify()

    def put_other(self, page: Hashable, kind: Hashable, call: Call) -> None:
        """Have a request of a page that is not in control carried out when there is time."""
        with self._changed:
            self._others.setdefault(page, {})[kind] = call
            self._changed.notify()

    def forget(self, page: Hashable) -> None:
        """Drop the requests of a page that is gone."""
        with self._changed:
            self._others.pop(page, None)

    def take(self, timeout: float) -> Call | None:
        """The next call, or None when there is none for `timeout` seconds."""
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
            self._others[page] = requests  # behind the other pages
        return call

    @property
    def crowded(self) -> bool:
        """Whether so many calls wait that the page in control is not to be read."""
        return len(self._calls) >= MAX_CALLS

    def __len__(self) -> int:
        with self._changed:
            return len(self._calls) + sum(map(len, self._others.values()))

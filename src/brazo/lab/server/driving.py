"""Who drives: several pages may watch a lab, one at a time may act.

The first page to come drives.  A watcher may *ask*; the driver hands over or keeps control, and
whoever does not answer for `ANSWER_TIME` loses it.  A driver that goes away (a reload, a lost
connection) keeps its place for `RETURN_TIME`; then control passes to the page that asked, else to
the one that has been there longest.

A page is known by a key of its own choosing that no other page is told, so that what it sends on
its two connections, the lab's and viser's, can be seen to come from one page.  Others see only its
number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

ANSWER_TIME = 10.0  # s
RETURN_TIME = 4.0  # s


class Driving:
    """The pages of a lab by their keys, and which of them drives; use from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}  # in the order they came
        self._count = 0
        self._driver = ""
        self._left: float | None = None  # when the driver went
        self._asking = ""
        self._asked = 0.0

    def join(self, key: str) -> int:
        """A page came; its number."""
        with self._lock:
            self._count += 1
            self._numbers[key] = self._count
            if key == self._driver:
                self._left = None
            elif not self._driver:
                self._driver = key
            return self._count

    def leave(self, key: str) -> None:
        """A page went."""
        with self._lock:
            self._numbers.pop(key, None)
            if key == self._asking:
                self._asking = ""
            if key == self._driver:
                self._left = self._clock()
            if not self._numbers:
                self._pass("")  # whoever comes next drives

    def present(self, key: str) -> bool:
        """Whether a page with this key is there."""
        return key in self._numbers

    def drives(self, key: str) -> bool:
        """Whether this page may act."""
        return key != "" and key == self._driver and key in self._numbers

    def holds(self, key: str) -> bool:
        """Whether control is this page's, also while it is away for a moment."""
        return key != "" and key == self._driver

    def ask(self, key: str) -> None:
        """A watcher wants control."""
        with self._lock:
            if key in self._numbers and key != self._driver and not self._asking:
                self._asking, self._asked = key, self._clock()
                if self._driver not in self._numbers:
                    self._pass(key)

    def hand_over(self, key: str) -> None:
        """The driver gives control to the page that asked, else to the one longest there."""
        with self._lock:
            if self.drives(key):
                others = [k for k in self._numbers if k != key]
                if others:
                    self._pass(self._asking or others[0])

    def keep(self, key: str) -> None:
        """The driver says no."""
        with self._lock:
            if self.drives(key):
                self._asking = ""

    def wait(self) -> float | None:
        """Seconds until control passes by itself; None when nothing is under way."""
        with self._lock:
            ends = []
            if self._asking:
                ends.append(self._asked + ANSWER_TIME)
            if self._left is not None:
                ends.append(self._left + RETURN_TIME)
            return max(0.0, min(ends) - self._clock()) if ends else None

    def settle(self) -> bool:
        """Let control pass where the time for it has come; whether it did."""
        with self._lock:
            if self.wait() != 0.0:
                return False
            self._pass(self._asking or next(iter(self._numbers), ""))
            return True

    @property
    def driver(self) -> int:
        """Number of the page that drives; 0 when none does."""
        return self._numbers.get(self._driver, 0)

    @property
    def asking(self) -> int:
        """Number of the page that asks for control; 0 when none does."""
        return self._numbers.get(self._asking, 0)

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._numbers)

    def _pass(self, key: str) -> None:
        self._driver, self._asking, self._left = key, "", None

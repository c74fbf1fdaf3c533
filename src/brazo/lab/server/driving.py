"""Control of the lab: several browser pages may be open, but only one of them is in control.

The other pages are view-only.  The first page that connects gets control.  Another page may request
control; the page in control (the driver) hands it over or keeps it.  If the driver does not answer
within `ANSWER_TIME`, it loses control.  A driver that disconnects (reload, connection loss) keeps
control for `RETURN_TIME`.  Then control passes to the page that requested it, otherwise to the page
that has been connected longest.

A page chooses a secret key and sends it on both of its connections, the lab's and viser's, so that
the lab can attribute their messages to one page.  Other pages see only the number of the page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

ANSWER_TIME = 10.0  # s, for the answer to a request for control
RETURN_TIME = 4.0  # s, for the reconnection of the page in control


class Driving:
    """The open pages, identified by their keys, and which of them is in control; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}  # in the order of connection
        self._count = 0
        self._driver = ""
        self._left: float | None = None  # time at which the driver disconnected
        self._asking = ""
        self._asked = 0.0

    def join(self, key: str) -> int:
        """Register a page that connected; return the page's number."""
        with self._lock:
            self._count += 1
            self._numbers[key] = self._count
            if key == self._driver:
                self._left = None
            elif not self._driver:
                self._driver = key
            return self._count

    def leave(self, key: str) -> None:
        """Remove a page that disconnected."""
        with self._lock:
            self._numbers.pop(key, None)
            if key == self._asking:
                self._asking = ""
            if key == self._driver:
                self._left = self._clock()
            if not self._numbers:
                self._pass("")  # the next page that connects gets control

    def present(self, key: str) -> bool:
        """Whether a page with this key is connected."""
        return key in self._numbers

    def drives(self, key: str) -> bool:
        """Whether the page `key` is connected and in control."""
        return key != "" and key == self._driver and key in self._numbers

    def holds(self, key: str) -> bool:
        """Whether the page `key` has control, including while it is briefly disconnected."""
        return key != "" and key == self._driver

    def ask(self, key: str) -> None:
        """Request control for the page `key`; ignored while another request is pending.

        Control passes at once if the page in control is disconnected.
        """
        with self._lock:
            if key in self._numbers and key != self._driver and not self._asking:
                self._asking, self._asked = key, self._clock()
                if self._driver not in self._numbers:
                    self._pass(key)

    def hand_over(self, key: str) -> None:
        """Pass control from the page `key` to the page that requested it.

        If no page requested control, it passes to the other page that has been connected longest.
        Ignored if the page `key` is not in control, or if no other page is connected.
        """
        with self._lock:
            if self.drives(key):
                others = [k for k in self._numbers if k != key]
                if others:
                    self._pass(self._asking or others[0])

    def keep(self, key: str) -> None:
        """Reject the pending request for control; ignored unless the page `key` is in control."""
        with self._lock:
            if self.drives(key):
                self._asking = ""

    def wait(self) -> float | None:
        """Time (s) until control passes automatically; None if no timeout is running."""
        with self._lock:
            ends = []
            if self._asking:
                ends.append(self._asked + ANSWER_TIME)
            if self._left is not None:
                ends.append(self._left + RETURN_TIME)
            return max(0.0, min(ends) - self._clock()) if ends else None

    def settle(self) -> bool:
        """Pass control to another page if a timeout has expired; return whether control passed."""
        with self._lock:
            if self.wait() != 0.0:
                return False
            self._pass(self._asking or next(iter(self._numbers), ""))
            return True

    @property
    def driver(self) -> int:
        """Number of the page in control; 0 if no page is in control."""
        return self._numbers.get(self._driver, 0)

    @property
    def asking(self) -> int:
        """Number of the page that requests control; 0 if no page requests it."""
        return self._numbers.get(self._asking, 0)

    @property
    def pages(self) -> int:
        """Number of open pages."""
        return len(self._numbers)

    def _pass(self, key: str) -> None:
        self._driver, self._asking, self._left = key, "", None

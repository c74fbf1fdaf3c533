"""`HoldToRun`: an enable (deadman) switch as a state machine; the clock is an argument.

                 press
          UP ────────────► DOWN   while renewed at least every `timeout` seconds
           ▲                │
           └────────────────┘ release, stop, or no renewal for `timeout` seconds

Only a new press leads to DOWN.  A renewal after a release, a stop or a timeout has no effect: a
page that was disconnected and reconnects with the button still held causes no motion.  Each press
has a number, and a motion is bound to that number (`holds`).  A motion that is still being prepared
when the switch is released therefore never starts.

`StopLatch` is for a switch without renewals, of which only the level (up or down) and the number of
presses can be read.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

TIMEOUT = 0.25  # s without a renewal


class HoldToRun:
    """Enable (deadman) switch that must be renewed while it is held; thread-safe.

    `timeout` (s) is the maximum time between renewals.  `first` (s), if given, is the maximum time
    between a press and its first renewal; a terminal repeats a held key only after such a delay.
    """

    timeout = TIMEOUT

    def __init__(
        self,
        timeout: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        first: float | None = None,
    ) -> None:
        if timeout is not None:
            self.timeout = timeout
        self._first = first
        self._clock = clock
        self._lock = threading.Lock()
        self._presses = 0
        self._down = False
        self._renewed = -math.inf
        self._fresh = False  # pressed and not renewed yet

    @property
    def presses(self) -> int:
        """Number of presses so far, which is the number of the last press."""
        return self._presses

    @property
    def held(self) -> bool:
        """Whether the switch is down and was renewed in time."""
        with self._lock:
            return self._check()

    def holds(self, press: int) -> bool:
        """Return whether press number `press` is the last press and is still held."""
        with self._lock:
            return press == self._presses and self._check()

    def press(self) -> int:
        """Press the switch; return the number of this press."""
        with self._lock:
            self._presses += 1
            self._down = self._fresh = True
            self._renewed = self._clock()
            return self._presses

    def renew(self) -> bool:
        """Report that the switch is still down; return False if the press has already ended."""
        with self._lock:
            if not self._check():
                return False
            self._fresh, self._renewed = False, self._clock()
            return True

    def release(self, press: int | None = None) -> bool:
        """Release the switch; return whether a press was ended.

        If `press` is given, the switch is released only if this is the number of the last press.
        """
        with self._lock:
            if press not in (None, self._presses) or not self._check():
                return False
            self._down = False
            return True

    def stop(self) -> bool:
        """Release the switch because of STOP; return whether it was held."""
        return self.release()

    def _check(self) -> bool:
        timeout = self.timeout
        if self._fresh and self._first is not None:
            timeout = self._first
        # A timeout is final: a clock that runs backwards does not undo it.
        self._down = self._down and self._clock() - self._renewed <= timeout
        return self._down


class StopLatch:
    """Keeps a switch off after STOP until the switch is released and pressed again.

    Only the level (up or down) and the press count of the switch are read.  After a STOP, the
    switch counts as released until it was read as up and its press count has increased.  `stop` is
    thread-safe; the other methods are for the thread that reads the switch.
    """

    def __init__(self) -> None:
        self._pressed = threading.Event()
        self._presses: int | None = None  # at the STOP; None without one
        self._seen_up = False
        self.stops = 0  # number of effective STOPs

    @property
    def stopped(self) -> bool:
        """Whether a STOP still keeps the switch off."""
        return self._presses is not None

    def stop(self) -> None:
        """Keep the switch off from the next call of `passes` on."""
        self._pressed.set()

    def passes(self, down: bool, presses: int) -> bool:
        """Return whether the switch counts as held.

        `down` is its current level and `presses` its press count.
        """
        if self._pressed.is_set():
            self._pressed.clear()
            self.stops += 1
            self._presses, self._seen_up = presses, False
        if self._presses is None:
            return down
        self._seen_up = self._seen_up or not down
        if self._seen_up and down and presses > self._presses:
            self._presses = None
            return True
        return False

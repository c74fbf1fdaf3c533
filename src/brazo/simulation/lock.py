"""The lock that steps hold, made fair: a loop that steps without pause lets others in between.

Python's locks are not: a thread that releases one and takes it again at once nearly always wins.
So those who have to wait are counted, and the loop waits for a moment when there are any.
"""

from __future__ import annotations

import threading
import time

HAND_OVER = 1e-4  # s


class StepLock:
    """A reentrant lock: `with lock:` holds it, like `threading.RLock`."""

    def __init__(self) -> None:
        self.inner = threading.RLock()  # for the loop itself, which need not be counted
        self._counting = threading.Lock()
        self._waiting = 0

    def acquire(self, blocking: bool = True, timeout: float = -1.0) -> bool:
        """Take the lock; False when that was not possible in time."""
        if self.inner.acquire(blocking=False):
            return True
        if not blocking:
            return False
        with self._counting:
            self._waiting += 1
        try:
            return self.inner.acquire(timeout=timeout)
        finally:
            with self._counting:
                self._waiting -= 1

    def release(self) -> None:
        """Give the lock back."""
        self.inner.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.inner.release()

    def hand_over(self) -> None:
        """Between two steps: let those in who are waiting."""
        if self._waiting:
            time.sleep(HAND_OVER)

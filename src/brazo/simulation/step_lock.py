"""Lock for simulation steps that admits other threads between two steps of a continuous loop.

Python's locks are not fair: a thread that releases a lock and at once acquires it again nearly
always succeeds before the waiting threads.  Waiting threads are therefore counted, and the loop
sleeps briefly if there are any.
"""

from __future__ import annotations

import threading
import time

HAND_OVER = 1e-4  # s


class StepLock:
    """A reentrant lock with the interface of `threading.RLock`."""

    def __init__(self) -> None:
        self.inner = threading.RLock()  # used by the loop itself, which is not counted as waiting
        self._counting = threading.Lock()
        self._waiting = 0

    def acquire(self, blocking: bool = True, timeout: float = -1.0) -> bool:
        """Acquire the lock; return False if it was not acquired within `timeout` seconds."""
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
        """Release the lock."""
        self.inner.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.inner.release()

    def hand_over(self) -> None:
        """Give waiting threads time to acquire the lock; call this between two steps."""
        if self._waiting:
            time.sleep(HAND_OVER)

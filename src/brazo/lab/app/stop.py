"""STOP: a thread that does nothing but wait for the button."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from brazo.lab.server.repeats import Repeats

log = logging.getLogger(__name__)
log.addFilter(Repeats())


class Stopper:
    """Calls `stop` as soon as `press` is called, whatever else is going on."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._pressed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._wait, name="brazo stop", daemon=True)
        self._thread.start()

    def press(self) -> None:
        """Stop now; returns at once."""
        self._pressed.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._pressed.set()
        self._thread.join()

    def _wait(self) -> None:
        while True:
            self._pressed.wait()
            self._pressed.clear()
            if self._closed:
                return
            try:
                self._stop()
            except Exception:  # the next press must still be heard
                log.exception("could not stop")

"""The lab's own thread: makes the queued calls in order, and a frame in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from brazo.errors import BrazoError
from brazo.lab.server.requests import Requests

RATE = 60.0  # Hz, frames at most


class Worker:
    """Runs `call(request)` for each request, `frame()` after it and at most `RATE` times a second.

    `wait(due)` says how long it may sleep when the next frame is due at `due`.
    """

    def __init__(
        self,
        requests: Requests,
        call: Callable[[Callable[[], None]], None],
        frame: Callable[[], None],
        wait: Callable[[float], float],
    ) -> None:
        self._requests = requests
        self._call, self._frame, self._wait = call, frame, wait
        self._closed = False
        self._ended = False  # set on the thread itself
        self._thread = threading.Thread(target=self._run, name="brazo lab", daemon=True)

    @property
    def closed(self) -> bool:
        """Whether it takes no more calls."""
        return self._closed

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def post(self, call: Callable[[], None]) -> None:
        """Have a call made; returns at once."""
        self._requests.put(call)

    def do(self, call: Callable[[], None]) -> None:
        """Have a call made; returns once it is, and raises what it raised."""
        done = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        if self._closed:
            raise BrazoError("this lab is stopped")
        if threading.current_thread() is self._thread:
            return call()
        self._requests.put(run)
        while not done.wait(0.2):
            if not self._thread.is_alive():
                raise BrazoError("this lab was stopped")
        if errors:
            raise errors[0]

    def close(self) -> None:
        """End the thread once what waits has been done."""
        self._closed = True
        self._requests.put(self._end)
        self._thread.join()

    def _end(self) -> None:
        self._ended = True

    def _run(self) -> None:
        due = 0.0  # when the next frame may be shown
        while True:
            request = self._requests.take(self._wait(due))
            if request is not None:
                self._call(request)
            if self._ended:
                return
            now = time.monotonic()
            if now >= due:
                due = max(due + 1.0 / RATE, now)
                self._frame()

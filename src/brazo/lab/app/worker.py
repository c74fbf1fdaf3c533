"""`Worker`: the lab's thread, which runs queued calls and updates the display between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from brazo.errors import BrazoError
from brazo.lab.server.requests import Requests

RATE = 60.0  # Hz, max frame rate


class Worker:
    """The lab's thread.  Runs `call(request)` for each request, and `frame()` at up to `RATE` Hz.

    `wait(due)` returns how long (s) the thread may wait for the next request.  `due` is the
    earliest time of the next call of `frame` (monotonic clock, s).
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
        """Whether `close` has been called."""
        return self._closed

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, call: Callable[[], None]) -> None:
        """Queue a call for the thread and return immediately."""
        self._requests.put(call)

    def do(self, call: Callable[[], None]) -> None:
        """Run a call on the thread; block until it returns, and re-raise its exception."""
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
        """Run the queued calls, then end the thread."""
        self._closed = True
        self._requests.put(self._end)
        self._thread.join()

    def _end(self) -> None:
        self._ended = True

    def _run(self) -> None:
        due = 0.0  # earliest time of the next frame (monotonic, s)
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

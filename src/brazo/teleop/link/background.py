"""An asyncio event loop in a background thread, so that a control loop never waits for I/O.

`InBackground` is the base class of objects that run one coroutine in such a thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self


class Background:
    """Background thread with an event loop that runs one coroutine until `stop` is called."""

    def __init__(self, name: str, main: Callable[[Background], Coroutine[Any, Any, None]]) -> None:
        self._main = main
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self.ready: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self, timeout: float = 10.0) -> None:
        """Start the thread and wait until the coroutine sets `ready`, at most `timeout` seconds.

        If the coroutine fails before it sets `ready`, its error is raised here.
        """
        self._thread.start()
        try:
            self.ready.result(timeout)
        except BaseException:
            self.stop()
            raise

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the event loop; thread-safe.

        This has no effect if the loop has ended.
        """
        loop = self._loop
        if loop is not None:
            # The loop may close between the check and the call.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *arguments)

    async def stopped(self) -> None:
        """Wait until `stop` is called; to be awaited by the coroutine."""
        assert self._stopping is not None
        await self._stopping.wait()

    def stop(self, timeout: float = 5.0) -> None:
        """Request the coroutine to end and wait at most `timeout` seconds for the thread."""
        if self._stopping is not None:
            self.call(self._stopping.set)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        async def whole() -> None:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            await self._main(self)

        try:
            asyncio.run(whole())
            if not self.ready.done():
                self.ready.set_result(None)
        except BaseException as error:
            if self.ready.done():
                raise
            self.ready.set_exception(error)
        finally:
            self._loop = None


class InBackground:
    """Base class of objects with a background thread that runs from `start` to `close`.

    The object is also a context manager.
    """

    def __init__(self, thread_name: str) -> None:
        self._thread_name = thread_name
        self._background: Background | None = None

    def start(self) -> Self:
        """Start the background thread and return when it is ready (a server: when it listens)."""
        if self._background is None:
            self._background = Background(self._thread_name, self._main)
            self._background.start()
        return self

    def close(self) -> None:
        """Close all connections and stop the thread."""
        if self._background is not None:
            self._background.stop()
            self._background = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _main(self, background: Background) -> None:
        """Coroutine of the thread: set `background.ready`, then run until `background.stopped`."""
        raise NotImplementedError

    def _call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the event loop; this has no effect if the loop is not running."""
        if self._background is not None:
            self._background.call(function, *arguments)

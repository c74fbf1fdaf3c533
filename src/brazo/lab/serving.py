"""Opening a lab and keeping it open: the link, the browser, and a clean end by signal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any

from brazo.lab.app import Lab


def serve(
    source: Any = "cooperative",
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = True,
    block: bool = True,
    wait: bool = False,
    meanwhile: Callable[[Lab], object] | None = None,
) -> Lab:
    """Open the lab on a cell, a robot, a file, a simulation or a recording.

    With `block`, stay until Ctrl+C and call `meanwhile(lab)` some times a second.  With `wait`,
    time begins when the first page is there.  A busy port makes way for the next free one.  Any
    host but the loopback asks for the token in `Lab.url`.
    """
    if not block:
        return _open(source, host, port, open_browser, wait)
    with until_signal() as stopped:
        lab = _open(source, host, port, open_browser, wait)
        try:
            _say(f"brazo lab: {lab.note}" if lab.note else "")
            _say(f"brazo lab: {lab.url}  (Ctrl+C stops)")
            while not stopped.wait(0.2):  # a wait without end could not be interrupted on Windows
                if meanwhile is not None:
                    meanwhile(lab)
        finally:
            lab.stop()
    return lab


def _open(source: Any, host: str, port: int, open_browser: bool, wait: bool) -> Lab:
    lab = Lab(source, host, port, wait)
    if open_browser:
        show(lab)
    return lab


def show(lab: Lab) -> None:
    """Open a lab in the default browser, where there is a screen for one."""
    if _has_screen():
        threading.Thread(target=webbrowser.open, args=(lab.url,), daemon=True).start()


def _has_screen() -> bool:
    """False where only a text browser could be opened, which would take the terminal over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def until_signal() -> Iterator[threading.Event]:
    """An event that Ctrl+C and SIGTERM set, in place of what they otherwise do."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped  # signals are the main thread's; whoever waits here is stopped with it
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {s: signal.signal(s, lambda *_: stopped.set()) for s in signals}
    try:
        yield stopped
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _say(line: str) -> None:
    if line:
        print(line, flush=True)  # noqa: T201

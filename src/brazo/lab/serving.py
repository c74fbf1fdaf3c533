"""`serve`: open a lab, start the browser, and close the lab cleanly on a signal."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from brazo.codegen.checkpoint import checkpoints
from brazo.errors import BrazoError
from brazo.lab.app.lab import Lab
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.panels.registry import panel_types
from brazo.project.folder import Project
from brazo.text import one_line

EVERY = 3.0  # s, between messages while kernels are compiled
AGAIN = 10.0  # s, during which a second Ctrl+C closes a lab with unsaved work


def serve(
    source: Any = "cooperative",
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = True,
    block: bool = True,
    wait: bool = False,
    poll: Callable[[Lab], object] | None = None,
    token: bool = False,
    runs: str | Path | None = None,
    keep: bool = False,
) -> Lab:
    """Open the lab on a cell, a robot, a file, a project, a simulation or a recording.

    With `block`, run the lab until Ctrl+C or SIGTERM and call `poll(lab)` about five times per
    second; then close the lab and return it.  Without `block`, return the open lab at once.  At a
    terminal, if there is unsaved work, the first Ctrl+C lists it, and a second one within 10 s
    closes the lab.  Ctrl+C before the lab is open raises KeyboardInterrupt.

    With `wait`, the simulation starts when the first page connects.  If `port` is busy, the next
    free port is used.  If `host` is not the loopback address, or if `token` is true, pages need the
    token in `Lab.url`.  Recordings are stored in the folder `runs`.  By default, this is the
    recordings folder of the open project if it has a name, otherwise
    `brazo.folders.runs_folder()`.  Ctrl+C while a recording is being finished leaves it as a
    readable .part file.

    If `source` is a project, the work is saved in the project's folder.  With `keep`, if `source`
    is a file or a shipped cell or robot, the work is saved in an untitled project in the user's
    data folder.  The command `brazo` uses `keep`.
    """

    def open_lab() -> Lab:
        lab = Lab(source, panel_types(), host, port, wait, token, runs, keep)
        if open_browser:
            show(lab)
        return lab

    if not block:
        return open_lab()
    _tell(f"opening {_title(source)} …")
    with until_signal() as stopped:
        lab = _interruptible(open_lab, stopped)
        try:
            _say(f"brazo lab: {lab.note}" if lab.note else "")
            _say(f"brazo lab: {lab.url}  (Ctrl+C stops)")
            _warn_slips(lab)
            _say_over_limit(lab)
            # Short waits, because an unlimited wait cannot be interrupted on Windows.
            while not (stopped.wait(0.2) and _may_close(lab, stopped)):
                if poll is not None:
                    poll(lab)
        finally:
            stopped.clear()
            lab.runs.interrupted = stopped.is_set
            lab.stop()
            _say_recordings(lab)
    return lab


def _title(source: Any) -> str:
    """Name of the argument `source` of `serve`, for a message."""
    if isinstance(source, str | Path):
        return str(source).removeprefix("cell:").removeprefix("robot:")
    if isinstance(source, Project):
        return f"project {source.name} ({source.folder})"
    return getattr(source, "name", "") or getattr(
        getattr(source, "cell", None), "name", "the simulation"
    )


def _warn_slips(lab: Lab) -> None:
    """Warn on stderr about values in the opened files that are probably in mm or deg by mistake."""
    slips = [] if isinstance(lab.sim, RecordingReplay) else lab.sim.world.findings
    for text in dict.fromkeys(str(finding) for finding in slips if finding.slip):
        print(one_line(f"warning: {text}"), file=sys.stderr, flush=True)  # noqa: T201


def _say_over_limit(lab: Lab) -> None:
    try:
        over = lab.runs.over_limit()
    except (BrazoError, OSError):
        return  # the Data panel shows why the folder cannot be used
    _say(f"brazo lab: {over}" if over else "")


def _say_recordings(lab: Lab) -> None:
    """Print the paths of the recordings of a closed lab, and problems with them."""
    for path in lab.runs.kept():
        _say(f"brazo lab: recording kept: {path}")
    for problem in lab.runs.problems:
        _say(f"brazo lab: {problem}")


def _interruptible(open_lab: Callable[[], Lab], stopped: threading.Event) -> Lab:
    """Call `open_lab` in a thread and return the lab.

    Raise KeyboardInterrupt as soon as `stopped` is set, even while equations are compiled.
    """
    opened: list[Lab] = []
    errors: list[BaseException] = []
    done, deciding = threading.Event(), threading.Lock()
    abandoned = False

    began = reported = time.monotonic()
    compiled = 0

    def check() -> None:
        # Called before a kernel is compiled, not before one is loaded.
        nonlocal compiled, reported
        compiled += 1
        now = time.monotonic()
        if compiled == 1:
            _tell("compiling the equations of the robots (kept for the next start) …")
        elif now - reported > EVERY:
            reported = now
            _tell(f"still compiling, {now - began:.0f} s …")
        if stopped.is_set():
            raise KeyboardInterrupt

    def work() -> None:
        try:
            with checkpoints(check):
                lab = open_lab()
            with deciding:
                if not abandoned:
                    opened.append(lab)
                    return
            lab.stop()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="brazo opening", daemon=True).start()
    while not done.wait(0.05):
        with deciding:
            abandoned = stopped.is_set() and not opened
        if abandoned:
            raise KeyboardInterrupt
    if errors:
        raise errors[0]
    return opened[0]


def show(lab: Lab) -> None:
    """Open a lab in the default browser, if there is a graphical display."""
    if _has_screen():
        threading.Thread(target=webbrowser.open, args=(lab.browser_url(),), daemon=True).start()


def _has_screen() -> bool:
    """Whether there is a graphical display; otherwise, `webbrowser` may start a text browser."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _may_close(lab: Lab, stopped: StopRequest) -> bool:
    """Whether the lab may close now.

    If there is unsaved work, the first Ctrl+C in a terminal prints a warning and the result is
    False.  A second Ctrl+C within `AGAIN` seconds closes the lab; a later one prints a new warning,
    because the unsaved work may have changed.
    """
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    warned = time.monotonic() - stopped.warned < AGAIN
    if warned or stopped.by != signal.SIGINT or not at_terminal:
        return True
    lost: list[str] = []
    lab.do(lambda: lost.extend(one.title for one in lab.unsaved.savable()))
    if not lost:
        return True
    stopped.warned = time.monotonic()
    stopped.clear()
    _say(f"brazo lab: unsaved work: {'; '.join(lost)}")
    _say(f"brazo lab: save it in the page, or press Ctrl+C again within {AGAIN:g} s to discard it")
    return False


class StopRequest(threading.Event):
    """Event that Ctrl+C or SIGTERM sets; see `until_signal`."""

    by = 0  # number of the signal
    warned = -math.inf  # time (monotonic, s) of the last warning about unsaved work


@contextlib.contextmanager
def until_signal() -> Iterator[StopRequest]:
    """Context manager: inside it, Ctrl+C and SIGTERM set the returned event and do nothing else.

    A second Ctrl+C while the event is set raises KeyboardInterrupt.  Outside of the main thread,
    signals are not handled and the event is never set.
    """
    stopped = StopRequest()

    def stop(by: int, _frame: object) -> None:
        if by == signal.SIGINT and stopped.is_set():
            raise KeyboardInterrupt
        stopped.by = by
        stopped.set()

    if threading.current_thread() is not threading.main_thread():
        yield stopped  # only the main thread receives signals
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {s: signal.signal(s, stop) for s in signals}
    try:
        yield stopped
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _tell(line: str) -> None:
    """Print a progress message to stderr, only if stderr is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(one_line(f"brazo lab: {line}"), file=sys.stderr, flush=True)  # noqa: T201


def _say(line: str) -> None:
    if line:
        print(one_line(line), flush=True)  # noqa: T201

"""Ctrl+C in a long command: partial results are kept and reported, and the exit code is 130.

A second Ctrl+C within 10 s of the first ends any command after 5 s, a third Ctrl+C immediately.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import typer

from brazo.cli.output import print_line
from brazo.errors import BrazoError
from brazo.text import one_line

INTERRUPTED = 130  # exit code of shells for SIGINT
GRACE = 5.0  # s; time for a command to end by itself after the second Ctrl+C
WITHIN = 10.0  # s; later presses count as the first one, since a lab may stay open after one


@cache
def end_on_second_press() -> None:
    """End the process `GRACE` seconds after a second Ctrl+C, and immediately after a third.

    Python runs signal handlers on the main thread between bytecode instructions, so a long call
    into compiled code delays them.  The interpreter also writes a byte to a pipe at each signal
    (`signal.set_wakeup_fd`), without delay.  A thread counts these bytes.
    """
    reading, writing = os.pipe()
    if os.name != "nt":
        os.set_blocking(writing, False)
        # A forked process inherits the pipe; its Ctrl+C must not count here.
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(
        target=_count_presses, args=(reading,), name="brazo Ctrl+C", daemon=True
    ).start()


def _count_presses(pipe: int) -> None:
    presses: list[float] = []  # times
    ending = False
    while len(presses) < 3:
        count, now = os.read(pipe, 64).count(int(signal.SIGINT)), time.monotonic()
        recent = [t for t in presses if ending or now - t < WITHIN]
        presses = recent + [now] * count
        if len(presses) >= 2 and not ending:
            ending = True
            timer = threading.Timer(GRACE, exit_now, (INTERRUPTED,))
            timer.daemon = True
            timer.start()
    exit_now(INTERRUPTED)


def exit_now(code: int) -> NoReturn:
    """Exit immediately, without waiting for threads that are still compiling."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


@contextlib.contextmanager
def between_steps() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl+C was pressed; call it between steps.

    A first Ctrl+C therefore takes effect after the current step.  A second Ctrl+C interrupts
    immediately.
    """
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # signals are delivered to the main thread only
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def samples_kept(output: Path | None, write: Callable[[Any], None]) -> Iterator[None]:
    """If the `with` block fails or Ctrl+C stops it, write the samples computed so far to `output`.

    The attribute `run` of the exception contains the samples (see `brazo.dynamics.simulate`), and
    `write(run)` writes them.  A BrazoError is raised again; after Ctrl+C the exit code is 130.
    """
    try:
        yield
    except (BrazoError, KeyboardInterrupt) as error:
        run = getattr(error, "run", None)
        kept = ""
        if output is not None:
            kept = f"{output} was not written"
            if run is not None:
                try:
                    write(run)
                    kept = f"{output} holds the {len(run.t)} samples up to {run.t[-1]:g} s"
                except BrazoError as full:  # the first failure is reported too
                    kept = str(full)
        if isinstance(error, BrazoError):
            if kept and run is not None:
                print(f"note: {one_line(kept)}", file=sys.stderr)
            raise
        print(f"stopped by user{'; ' if kept else ''}{one_line(kept)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def print_recorded(file: Path) -> None:
    """Print the length of a recording and the command that replays it."""
    from brazo.recording.source import open_source

    source = open_source(file)
    blocks = [block[0] for block in source.read([source.time])]
    length = blocks[-1][-1] - blocks[0][0] if blocks else 0.0
    print_line(f"wrote {file}: {length:.2f} s, {source.rows} rows")
    print_line(f"replay: brazo replay {shlex.quote(str(file))}")

"""Run ffmpeg as a child process; the package imageio-ffmpeg contains or finds the program."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from typing import IO

from brazo.errors import BrazoError


def ffmpeg() -> str:
    """Return the path of the ffmpeg program; raise BrazoError if there is none."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except ImportError:
        raise BrazoError("videos need imageio-ffmpeg: pip install imageio-ffmpeg") from None
    except RuntimeError as error:
        raise BrazoError(
            f"no ffmpeg program found ({error}): pip install --force-reinstall imageio-ffmpeg, or "
            "set IMAGEIO_FFMPEG_EXE to the path of an ffmpeg program"
        ) from None


class Running:
    """A running ffmpeg process with pipes for its input and output."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self.stdin, self.stdout = process.stdin, process.stdout
        self._errors = errors

    def failure(self) -> str:
        """Wait for the process to end; return the reason if it failed, otherwise an empty text.

        The reason is the last line of the messages of ffmpeg, or the exit code if there are none.
        """
        if self.process.wait() == 0:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.process.returncode}"


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """Context manager that starts ffmpeg and yields the process.

    If the process is still running at the end of the block, it is killed.
    """
    command = [ffmpeg(), "-hide_banner", "-loglevel", "error", *arguments]
    with tempfile.TemporaryFile() as errors:
        process = None
        try:
            with _deferred_interrupt():
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,  # Ctrl+C is for this process, which then ends ffmpeg
                )
            yield Running(process, errors)
        finally:
            if process is not None:
                _end(process)


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[None]:
    """Context manager that defers a KeyboardInterrupt to the end of the block.

    An interrupt inside `Popen` would leave an ffmpeg process that nothing ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl+C raises nothing here
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            raise KeyboardInterrupt


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()

"""Conversion of a recording in a separate process, so that control loops are not disturbed.

Workbooks (.xlsx) and logs (.mcap) are written in pure Python, which holds the interpreter lock.  A
thread would therefore stop a 1 kHz loop for milliseconds at a time.  The process lowers its
priority, reports progress on stdout as one JSON object per line, and never leaves an incomplete
file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brazo.errors import BrazoError
from brazo.recording.conversion import writer_of

if TYPE_CHECKING:
    from brazo.recording.recording import Recording
    from brazo.recording.source import Progress

# The module search path is that of the parent, not the current folder.
_WORKER = """
import json, sys
job = json.loads(sys.stdin.readline())
sys.path[:] = job.pop("path")
from brazo.recording.export_process import work
work(job)
"""


class Export:
    """Conversion that runs in a separate process; see `wait` and `cancel`.

    `source` is a file or a `Recording`, which is first written to a temporary file.  The suffix of
    `target` sets the format.  `signals` (names or patterns), `start` and `stop` (s) select what is
    written; by default everything is written.
    """

    def __init__(
        self,
        source: str | Path | Recording,
        target: str | Path,
        *,
        signals: str | Sequence[str] | None = None,
        start: float | None = None,
        stop: float | None = None,
    ) -> None:
        self.target = Path(target)
        writer_of(self.target)  # raises for an unknown format before the process starts
        self.fraction = 0.0  # completed fraction
        self._failure: str | None = None
        self._cancelled = False
        self._folder: Path | None = None
        if not isinstance(source, (str, Path)):
            self._folder = Path(tempfile.mkdtemp(prefix="brazo-"))
            try:
                source.to_parquet(self._folder / "run.parquet")
            except BaseException as error:
                shutil.rmtree(self._folder, ignore_errors=True)
                if isinstance(error, BrazoError):
                    text = f"{self.target}: cannot be written: temporary file {error}"
                    raise BrazoError(text) from error
                raise
            source = self._folder / "run.parquet"
        job = {
            "path": sys.path,
            "source": str(Path(source).absolute()),
            "target": str(self.target.absolute()),
            "signals": signals if signals is None or isinstance(signals, str) else list(signals),
            "start": start,
            "stop": stop,
        }
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process ends)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        self._done = threading.Event()
        threading.Thread(target=self._listen, name="brazo export", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether the conversion has ended, successfully or not."""
        return self._done.is_set()

    def wait(self, timeout: float | None = None, progress: Progress | None = None) -> Path:
        """Wait for the conversion and return the path of the file.

        `progress(fraction)` is called regularly; an exception that it raises cancels the
        conversion.  Raises BrazoError if the conversion failed or was cancelled.  After `timeout`
        (s), raises TimeoutError; the conversion continues.
        """
        try:
            if progress is None:
                ended = self._done.wait(timeout)
            else:
                ended = self._follow(timeout, progress)
        except BaseException:
            self.cancel()
            raise
        if not ended:
            raise TimeoutError(f"{self.target}: not written within {timeout} s")
        if self._cancelled:
            raise BrazoError(f"{self.target}: the export was cancelled")
        if self._failure is not None:
            raise BrazoError(self._failure)
        return self.target

    def cancel(self) -> None:
        """Stop the conversion and wait until its process has ended; no incomplete file is left."""
        if not self.done:
            self._cancelled = True
            assert self._process.stdin is not None
            self._process.stdin.close()  # the process cleans up and exits
            self._done.wait()

    def _follow(self, timeout: float | None, progress: Progress) -> bool:
        import time

        start = time.monotonic()
        while not self._done.wait(0.1):
            progress(self.fraction)
            if timeout is not None and time.monotonic() - start > timeout:
                return False
        progress(self.fraction)
        return True

    def _listen(self) -> None:
        process = self._process
        assert process.stdout is not None and process.stdin is not None
        message: dict = {}
        try:
            for line in process.stdout:
                message = json.loads(line)
                self.fraction = message.get("fraction", self.fraction)
            process.wait()
            if "error" in message:
                self._failure = message["error"]
            elif not message.get("done"):
                self._errors.seek(0)
                end = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
                self._failure = f"{self.target}: the export ended early: {''.join(end)}"
        except (OSError, ValueError) as error:
            self._failure = f"{self.target}: the export ended early: {error}"
        finally:
            process.stdout.close()
            if not process.stdin.closed:
                process.stdin.close()
            self._errors.close()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._done.set()


def work(job: dict) -> None:
    """Run a conversion and report to stdout; this is the entry point of the separate process."""
    from brazo.recording.conversion import convert

    if hasattr(os, "nice"):
        os.nice(10)
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended,), daemon=True).start()

    def send(**message: object) -> None:
        print(json.dumps(message), flush=True)  # noqa: T201

    last = 0.0

    def progress(fraction: float) -> None:
        nonlocal last
        if ended.is_set():
            raise KeyboardInterrupt  # cancelled, or the parent has ended
        if fraction >= last + 0.01 or fraction >= 1.0:
            last = fraction
            send(fraction=fraction)

    try:
        convert(
            job["source"],
            job["target"],
            signals=job["signals"],
            start=job["start"],
            stop=job["stop"],
            progress=progress,
        )
    except BrazoError as error:
        send(error=str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)
    else:
        send(done=True, fraction=1.0)


def _watch(ended: threading.Event) -> None:
    """Set `ended` when the parent closes stdin."""
    sys.stdin.read()
    ended.set()

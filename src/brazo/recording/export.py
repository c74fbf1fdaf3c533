"""A conversion in a process of its own, so that a loop running beside it feels nothing.

Workbooks and logs are written by pure Python, which holds the interpreter's lock: in a thread, it
would stop a 1 kHz loop for milliseconds at a time.  The process lowers its own priority, says how
far it is on its standard output, one JSON object a line, and leaves no half-written file behind,
whatever ends it.
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

# The way to modules is that of the parent, not the folder the process happens to start in.
_WORKER = """
import json, sys
job = json.loads(sys.stdin.readline())
sys.path[:] = job.pop("path")
from brazo.recording.export import work
work(job)
"""


class Export:
    """A conversion that goes on in the background: `wait` for it, or `cancel` it."""

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
        writer_of(self.target)  # an unknown format is refused here, not over there
        self.fraction = 0.0  # of the work done
        self._failure: str | None = None
        self._cancelled = False
        self._folder: Path | None = None
        if not isinstance(source, (str, Path)):
            self._folder = Path(tempfile.mkdtemp(prefix="brazo-"))
            try:
                source.to_parquet(self._folder / "run.parquet")
            except BaseException:
                shutil.rmtree(self._folder, ignore_errors=True)
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
        """Whether the work has ended, well or not."""
        return self._done.is_set()

    def wait(self, timeout: float | None = None, progress: Progress | None = None) -> Path:
        """Return the file when it is there; raise what went wrong."""
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
        """End the work; no file is left."""
        if not self.done:
            self._cancelled = True
            assert self._process.stdin is not None
            self._process.stdin.close()  # the process ends itself, and cleans up
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
        said: dict = {}
        try:
            for line in process.stdout:
                said = json.loads(line)
                self.fraction = said.get("fraction", self.fraction)
            process.wait()
            if "error" in said:
                self._failure = said["error"]
            elif not said.get("done"):
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
    """Do one conversion, in a process that has nothing else to do."""
    from brazo.recording.conversion import convert

    if hasattr(os, "nice"):
        os.nice(10)
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended,), daemon=True).start()

    def say(**what: object) -> None:
        print(json.dumps(what), flush=True)  # noqa: T201

    last = 0.0

    def progress(fraction: float) -> None:
        nonlocal last
        if ended.is_set():
            raise KeyboardInterrupt  # cancelled, or nobody is there any more
        if fraction >= last + 0.01 or fraction >= 1.0:
            last = fraction
            say(fraction=fraction)

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
        say(error=str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)
    else:
        say(done=True, fraction=1.0)


def _watch(ended: threading.Event) -> None:
    """Notice that the parent has let go."""
    sys.stdin.read()
    ended.set()

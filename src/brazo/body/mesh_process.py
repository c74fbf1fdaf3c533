"""Client of `mesh_worker`, a separate process that reads mesh files.

One process reads all files.  It is started for the first file, stopped after `IDLE` seconds without
requests, and replaced if it crashes or exceeds a time limit.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from brazo.body.mesh_worker import MeshPart
from brazo.errors import BrazoError

TIME = 90.0  # s for a file, including the start of the process
CPU_TIME = 30.0  # s of processor time for a file, on POSIX
LOOK_EVERY = 0.2  # s, polling interval of `check`
IDLE = 10.0  # s
_WORKER = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from brazo.body.mesh_worker import serve
serve()
"""


class MeshReader:
    """Reader of mesh files in a separate process; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None

    def read(self, path: Path, max_triangles: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices (v, 3) and faces (f, 3) of all objects of a mesh file together.

        Raises BrazoError if the file cannot be read.
        """
        (part,) = self._read(path, max_triangles, separate=False)
        return part.vertices, part.faces

    def read_parts(
        self,
        path: Path,
        max_triangles: int,
        times: float = 1.0,
        check: Callable[[], Any] | None = None,
    ) -> list[MeshPart]:
        """Return the objects of a mesh file separately.

        `times` is a factor for the default time limits.  `check` is called regularly; if it raises
        an exception, reading stops and the exception is raised again.  Raises BrazoError if the
        file cannot be read.
        """
        return self._read(path, max_triangles, separate=True, times=times, check=check)

    def _read(
        self,
        path: Path,
        max_triangles: int,
        separate: bool,
        times: float = 1.0,
        check: Callable[[], Any] | None = None,
    ) -> list[MeshPart]:
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            process = self._running()
            watch = _Watch(process, times * TIME, check)
            request = {
                "path": str(path.absolute()),
                "max_triangles": max_triangles,
                "separate": separate,
                "cpu_time": times * CPU_TIME,
            }
            try:
                return self._ask(process, request)
            except (EOFError, OSError, ValueError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)  # for its exit code
                self._stop()
                if watch.error is not None:
                    raise watch.error from None
                reason = _ended(process.returncode, watch.timed_out)
                raise BrazoError(f"{path}: {reason}") from None
            except BrazoError as error:
                raise BrazoError(f"{path}: {error}") from None
            except BaseException:  # part of an answer is left in the pipe
                self._stop()
                raise
            finally:
                watch.end()
                self._stop_when_idle()

    def close(self) -> None:
        """Stop the process if it is running."""
        with self._lock:
            self._stop()

    def _ask(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> list[MeshPart]:
        requests, answers = process.stdin, process.stdout
        assert requests is not None and answers is not None
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        answer = json.loads(answers.readline() or "null")
        if answer is None:
            raise EOFError
        if "error" in answer:
            raise BrazoError(answer["error"])
        found = []
        for one in answer["parts"]:
            vertices = _array(answers, one["vertices"], np.float64)
            faces = _array(answers, one["faces"], np.int32)
            color = None if one["color"] is None else tuple(one["color"])
            found.append(MeshPart(tuple(one["names"]), vertices, faces, color, one["sized"]))
        return found

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            if self._process.poll() is None:
                return self._process
            self._stop()
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **single},  # every thread would use additional memory
            # Ctrl+C must reach only the calling process.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._process = process
        assert process.stdin is not None
        process.stdin.write(json.dumps(sys.path).encode() + b"\n")
        return process

    def _stop_when_idle(self) -> None:
        self._idle = threading.Timer(IDLE, self.close)
        self._idle.daemon = True
        self._idle.start()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


class _Watch:
    """Thread that kills the worker process after a time limit or if `check` raises an error."""

    def __init__(
        self, process: subprocess.Popen[bytes], seconds: float, check: Callable[[], Any] | None
    ) -> None:
        self.timed_out = False
        self.error: BaseException | None = None
        self._process, self._seconds, self._check = process, seconds, check
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        self._done.set()

    def _run(self) -> None:
        due = time.monotonic() + self._seconds
        while not self._done.wait(LOOK_EVERY if self._check else max(0.0, due - time.monotonic())):
            try:
                if self._check is not None:
                    self._check()
            except BaseException as error:
                self.error = error
                break
            if time.monotonic() >= due:
                self.timed_out = True
                break
        else:
            return
        self._process.kill()


def _array(answers: IO[bytes], rows: int, kind: type) -> np.ndarray:
    size = 3 * rows * np.dtype(kind).itemsize
    data = answers.read(size)
    if len(data) < size:
        raise EOFError
    return np.frombuffer(data, kind).reshape(-1, 3)


def _ended(code: int | None, timed_out: bool) -> str:
    """Return a message that explains why the process ended without an answer.

    `code` is the exit code of the process; `timed_out` is True if it was killed after a time limit.
    """
    import signal

    limit = getattr(signal, "SIGXCPU", None)
    if timed_out or (limit is not None and code == -limit):
        return "takes too long to read; simplify the mesh or convert it to binary STL"
    return "the mesh reader crashed on this file; convert it to binary STL"


reader = MeshReader()
atexit.register(reader.close)
if hasattr(os, "register_at_fork"):  # a fork must not share the pipes
    os.register_at_fork(after_in_child=reader.__init__)

"""Run `brazo` commands as processes without paying for the imports of each.

A command spends half a second or more on imports.  A server process imports brazo once and forks
for every command: the fork has its own arguments, environment, folder, output and exit code, like
a process of `python -m brazo`.  Where there is no fork, a process is started instead.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

_SERVER = """
import gc, json, os, runpy, sys
import brazo.cli.main, brazo.lab.app.opening, brazo.program.controller_file
import brazo.program.summary, brazo.project, brazo.recording.parquet, brazo.recording.recording
import brazo.recording.report, brazo.robot, brazo.simulation.simulation
import llvmlite.binding, llvmlite.ir, mujoco, numpy.random, pyarrow.parquet
import matplotlib.backends.backend_agg, matplotlib.backends.backend_svg, matplotlib.figure
import pydantic.dataclasses, pydantic.type_adapter, rich.console, rich.progress, rich.table
gc.freeze()

def command(job):
    for number, path in ((0, os.devnull), (1, job["stdout"]), (2, job["stderr"])):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    if job["file_size"] is not None:
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], job["file_size"]))
    sys.argv = ["brazo", *job["arguments"]]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    runpy.run_module("brazo", run_name="__main__", alter_sys=True)

answers = os.fdopen(os.dup(1), "w")
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        answers.close()
        command(json.loads(line))
        sys.exit()
    answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\\n")
    answers.flush()
"""


class Process(subprocess.Popen[str]):
    """A process that does not outlive a failed test; the `with` block would wait for its end."""

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, trace)


@cache
def _server() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)

    atexit.register(end)
    return process


def brazo(
    *arguments: object,
    cwd: str | Path | None = None,
    columns: int = 140,
    file_size: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; outputs are text.

    `file_size` limits the files that it writes (bytes); it needs a system with fork.
    """
    texts = [str(one) for one in arguments]
    environment = {**os.environ, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    if not hasattr(os, "fork"):
        assert file_size is None
        return subprocess.run(
            [sys.executable, "-m", "brazo", *texts],
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            timeout=120,
            env=environment,
        )
    with tempfile.TemporaryDirectory() as folder:
        out, error = Path(folder, "out"), Path(folder, "error")
        for path in (out, error):
            path.touch()
        job = {
            "arguments": texts,
            "environment": environment,
            "folder": str(cwd or Path.cwd()),
            "stdout": str(out),
            "stderr": str(error),
            "file_size": file_size,
        }
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(
            ["brazo", *texts], code, out.read_text("utf-8"), error.read_text("utf-8")
        )

"""Ctrl+C: partial results are written and reported, and the next command reports what to do."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from brazo.cli import interruption
from brazo.cli.interruption import GRACE
from brazo.recording import Recording
from brazo.recording.source import open_source
from tests.cli.command import Process, brazo

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
ENDLESS = "name: endless\ncell: cooperative\nrobots: {scara1: [wait: 500s]}\n"


def started(*arguments, cwd):
    return Process(
        [sys.executable, "-m", "brazo", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


def wait_for(condition, process) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_rows(part) -> bool:
    return part.is_file() and part.stat().st_size > 0 and open_source(part).rows > 0


def test_interrupted_run_is_a_complete_recording(tmp_path):
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    command = ("run", "endless.yaml", "--headless", "-o", "out")
    with started(*command, cwd=tmp_path) as process:
        wait_for(lambda: has_rows(tmp_path / "out" / "run.parquet.part"), process)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    recording = Recording.open(tmp_path / "out" / "run.parquet")
    assert not list((tmp_path / "out").glob("*.part"))
    assert "stopped by user" in output and "brazo replay out/run.parquet" in output
    assert f"out/run.parquet: {recording.duration:.2f} s, {len(recording)} rows" in output
    again = brazo(*command, cwd=tmp_path, columns=200)
    assert (
        again.returncode == 2
        and "out/run.parquet: already exists; replace it with --force" in again.stderr
    )


def test_interrupted_simulate_keeps_its_samples(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time, pathlib\n"
        "def torque(t, q, qd):\n"
        "    pathlib.Path('began').touch()\n"
        "    time.sleep(0.05)\n"
        "    return 0 * q\n"
    )
    command = ("simulate", "scara1", "--torque", "slow.py", "-o", "run.csv")
    with started(*command, cwd=tmp_path) as process:
        wait_for((tmp_path / "began").exists, process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    # Without a complete first step there are no samples to keep.
    if (tmp_path / "run.csv").exists():
        kept = Recording.open(tmp_path / "run.csv")
        assert f"run.csv holds the {len(kept)} samples up to {kept.t[-1]:g} s" in error
    else:
        assert error == "stopped by user; run.csv was not written\n"


def test_diverged_simulate_keeps_its_samples(tmp_path):
    (tmp_path / "wild.py").write_text(
        "def torque(t, q, qd):\n    return [20 * qd[0] ** 3 + 20, 0, 0, 0, 0]\n"
    )
    command = ("simulate", "scara1", "--torque", "wild.py", "-o", "run.parquet")
    done = brazo(*command, cwd=tmp_path, columns=200)
    error = done.stderr
    assert done.returncode == 1
    assert "is not finite" in error and "Traceback" not in error
    kept = Recording.open(tmp_path / "run.parquet")
    assert f"run.parquet holds the {len(kept)} samples up to {kept.t[-1]:g} s" in error
    assert len(kept) > 10 and np.isfinite(kept.matrix(["scara1.q", "scara1.qd"])).all()


def test_interrupted_follower_reports_its_recording(tmp_path):
    command = ("teleop", "follower", "--robot", "scara1", "--listen", "127.0.0.1:0")
    more = ("--headless", "--record", "run.parquet")
    with started(*command, *more, cwd=tmp_path) as process:
        wait_for(lambda: has_rows(tmp_path / "run.parquet.part"), process)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    rows = len(Recording.open(tmp_path / "run.parquet"))
    assert f"s, {rows} rows" in output and not list(tmp_path.glob("*.part"))


# Ctrl+C while the station starts, when its threads are already running.
INTERRUPTED_START = """
import os, signal, time
from brazo.cli.main import main
from brazo.teleop.stations import FollowerStation

enter = FollowerStation.__enter__

def interrupted(station):
    entered = enter(station)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
    return entered

FollowerStation.__enter__ = interrupted
main()
"""


def test_follower_interrupted_while_it_starts_completes_its_recording(tmp_path):
    command = ("teleop", "follower", "--robot", "scara1", "--listen", "127.0.0.1:0", "--headless")
    more = ("--record", "run.parquet")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_START, *command, *more],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.parquet").is_file() and not list(tmp_path.glob("*.part"))


# A compiler that takes minutes and, like LLVM, releases the interpreter lock and ignores signals.
SLOW_COMPILER = """
import hashlib, sys, threading
from brazo.codegen import jit

def slow(ir, target):
    # Printed later by another thread: a signal before the call below would end the command.
    threading.Timer(0.5, print, ("compiling",), {"flush": True}).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)

jit.compile_object = slow
sys.argv[0] = "brazo"
from brazo.cli.main import main
main()
"""


def compiling(*arguments, cwd):
    """Start a command and wait until it compiles."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_COMPILER, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env={**os.environ, "BRAZO_CACHE_DIR": str(cwd / "cache")},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "compiling\n", process.communicate()
    return process


def press_ctrl_c(process):
    """Send SIGINT and wait until it is delivered: the kernel merges pending equal signals."""
    process.send_signal(signal.SIGINT)
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():  # not Linux
        time.sleep(0.2)
        return
    bit = 1 << (signal.SIGINT - 1)
    while process.poll() is None and any(
        int(line.split()[1], 16) & bit
        for line in status.read_text().splitlines()
        if line.startswith(("SigPnd:", "ShdPnd:"))
    ):
        time.sleep(0.01)


def test_ctrl_c_ends_a_lab_that_is_opening(tmp_path):
    with compiling("lab", "puma560", "--port", "0", "--no-browser", cwd=tmp_path) as process:
        press_ctrl_c(process)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error == "stopped by user\n"


@pytest.mark.parametrize("command", [("fk", "puma560", "0", "0", "0", "0", "0", "0"), ("lab",)])
def test_a_second_ctrl_c_ends_a_command_that_is_compiling(command, tmp_path):
    options = ("--port", "0", "--no-browser") if command == ("lab",) else ()
    with compiling(*command, *options, cwd=tmp_path) as process:
        press_ctrl_c(process)
        press_ctrl_c(process)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_third_ctrl_c_does_not_wait(tmp_path):
    with compiling("fk", "puma560", "0", "0", "0", "0", "0", "0", cwd=tmp_path) as process:
        for _ in range(3):
            press_ctrl_c(process)
        sent = time.monotonic()
        process.communicate(timeout=60)
    assert process.returncode == 130 and time.monotonic() - sent < GRACE


def test_only_presses_within_the_time_limit_end_the_process(monkeypatch):
    """The first Ctrl+C may only list unsaved work of a lab, which stays open."""
    times, ended = iter([0.0, 60.0, 61.0]), threading.Event()
    read = threading.Semaphore(0)

    def monotonic():
        read.release()
        return next(times)

    monkeypatch.setattr(interruption, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(interruption, "GRACE", 0.0)
    monkeypatch.setattr(interruption, "exit_now", lambda code: ended.set())
    reading, writing = os.pipe()
    threading.Thread(target=interruption._count_presses, args=(reading,), daemon=True).start()
    for _ in range(2):
        os.write(writing, bytes([signal.SIGINT]))
        assert read.acquire(timeout=10)
    assert not ended.wait(0.3)
    os.write(writing, bytes([signal.SIGINT]))
    assert ended.wait(10)

"""Full disk: no traceback, the rows written so far can be read, exit code 1.

A limit on the file size replaces the full disk: writing past it fails in the same manner.
"""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from brazo.recording import Recording
from tests.cli.command import Process, brazo

resource = pytest.importorskip("resource", reason="no limit on file sizes on this system")
BRAZO = [sys.executable, "-m", "brazo"]


def limited(*arguments, cwd, size):
    """Run a shell command whose files are limited to `size` bytes; return exit code and errors."""
    done = brazo(*arguments, cwd=cwd, columns=1000, file_size=size)
    return done.returncode, done.stderr


def started(*arguments, cwd, size, output=subprocess.PIPE):
    """Start a shell command whose files are limited to `size` bytes."""
    return Process(
        [*BRAZO, *arguments],
        cwd=cwd,
        stdout=output,
        stderr=subprocess.PIPE if output == subprocess.PIPE else subprocess.STDOUT,
        text=True,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "1000"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_headless_run_ends_and_keeps_its_rows(tmp_path):
    code, error = limited(
        "run", "cooperative", "--headless", "-o", "out", cwd=tmp_path, size=1_000_000
    )
    assert code == 1, error
    assert "File too large" in error and "Traceback" not in error
    part, whole = tmp_path / "out" / "run.parquet.part", tmp_path / "out" / "run.parquet"
    found = Recording.open(part if part.exists() else whole)
    assert len(found) > 50 and np.isfinite(found["scara1.q.shoulder"]).all()


@pytest.mark.parametrize("name", ["run.parquet", "run.xlsx"])
def test_simulate_reports_the_file(tmp_path, name):
    command = ("simulate", "srm1", "--t-end", "5", "-o", name)
    code, error = limited(*command, cwd=tmp_path, size=50_000)
    assert code == 2 and "Traceback" not in error
    assert error.startswith(f"error: {name}: cannot be written: ") and "File too large" in error
    assert not list(tmp_path.iterdir())


DIVERGES = "def torque(t, q, qd):\n    return [20 * qd[0] ** 3 + 20, 0, 0, 0, 0]\n"


def test_diverged_simulate_on_a_full_disk_reports_both(tmp_path):
    (tmp_path / "wild.py").write_text(DIVERGES)
    command = ("simulate", "scara1", "--torque", "wild.py", "-o", "run.parquet")
    code, error = limited(*command, cwd=tmp_path, size=2_000)
    assert code == 1 and "Traceback" not in error, error
    assert "is not finite" in error and "run.parquet: cannot be written: " in error
    assert [path.name for path in tmp_path.iterdir()] == ["wild.py"]


def test_failed_conversion_leaves_no_files(tmp_path):
    t = 1e-3 * np.arange(20_000)
    noise = np.random.default_rng(0).normal(size=len(t))
    Recording({"t": (t, "s"), "x": (noise, "m")}).to_parquet(tmp_path / "run.parquet")
    for name in ("run.csv", "run.xlsx", "run.mcap", "some.parquet"):
        code, error = limited("convert", "run.parquet", name, cwd=tmp_path, size=30_000)
        assert code == 2 and "Traceback" not in error, (name, error)
        assert f"{name}: cannot be written" in error
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]


def test_terminated_conversion_leaves_no_files(tmp_path):
    t = 1e-3 * np.arange(300_000)
    Recording({"t": (t, "s"), "x": (np.sin(t), "m")}).to_parquet(tmp_path / "run.parquet")
    process = started("convert", "run.parquet", "run.csv", cwd=tmp_path, size=1 << 30)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(1e-3)
    process.terminate()
    _, error = process.communicate(timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]
    assert process.returncode == 143 and not error


HAND = """
again: true
steps:
  - {at: 300ms, engage: true}
  - {at: 500ms, for: 4s, circle: 20mm, turns: 4, plane: xy}
  - {at: 5s, release: true}
"""


def seconds(text, wanted):
    """Time (s) of the last line of a station's log that contains the text."""
    lines = [line for line in text.splitlines() if wanted in line]
    assert lines, text
    return float(lines[-1].split(" s ")[0])


def test_both_stations_continue_without_their_recordings(tmp_path):
    (tmp_path / "hand.yaml").write_text(HAND, encoding="utf-8")
    log = tmp_path / "follower.log"
    with log.open("w") as output:
        follower = started(
            "teleop", "follower", "--robot", "scara2", "--listen", "127.0.0.1:0", "--headless",
            "--record", "f.parquet", cwd=tmp_path, size=30_000, output=output,
        )  # fmt: skip
    with follower:
        try:
            deadline = time.monotonic() + 60
            while "ws://" not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.02)
            address = log.read_text().split("ws://")[1].split("/")[0]
            master = started(
                "teleop", "master", "--connect", address, "--script", "hand.yaml", "--headless",
                "--record", "m.parquet", cwd=tmp_path, size=30_000,
            )  # fmt: skip
            output, error = master.communicate(timeout=120)
            alive = follower.poll() is None
        finally:
            follower.terminate()
            follower.wait(60)
    logged = log.read_text()
    assert alive, logged
    for text in (output + error, logged):
        assert "recording stopped" in text and "File too large" in text, text
        assert "Traceback" not in text
    # The follower kept following after its disk was full.
    assert seconds(logged, "recording stopped") < seconds(logged, "→ ") - 0.5, logged
    for name in ("f", "m"):
        part, whole = tmp_path / f"{name}.parquet.part", tmp_path / f"{name}.parquet"
        assert len(Recording.open(part if part.exists() else whole)) > 10

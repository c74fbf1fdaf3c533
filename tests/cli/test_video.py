"""`brazo video` and `brazo plot --scope`: real processes, files, exit codes, messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import imageio_ffmpeg
import numpy as np
import pytest

import brazo
from brazo.recording import Recording
from tests.cli.command import brazo as run

SMALL = ("--size", "96x64", "--no-shadows")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A planar arm that moves for two seconds, 100 rows a second."""
    arm = brazo.load("planar-2r")
    t = np.linspace(0.0, 2.0, 201)
    q = np.column_stack([0.5 * t, np.sin(t)])
    tool = arm.fk(q)[:, :3, 3]
    columns = {"t": (t, "s")}
    columns |= {f"q.{name}": (q[:, k], "rad") for k, name in enumerate(arm.joint_names)}
    for name, points in (("tool", tool + [1e-3, 0.0, 0.0]), ("tool_ref", tool)):
        columns |= {f"{name}.{a}": (points[:, k], "m") for k, a in enumerate("xyz")}
    path = tmp_path_factory.mktemp("runs") / "run.parquet"
    return Recording(columns, [], {"robot": "planar-2r"}).to_parquet(path)


def test_a_part_of_a_recording_becomes_a_video(recording, tmp_path):
    options = ("--from", "500ms", "--to", "1", "--fps", "20", "--trail", "--json", *SMALL)
    done = run("video", recording, "-o", "a.mp4", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported["frames"] == 11 and reported["frames_per_second"] > 0
    assert imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))[0] == 11
    again = run("video", recording, "-o", "a.mp4", cwd=tmp_path)
    assert again.returncode == 2 and "already exists; replace it with --force" in again.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "a.avi"), "videos are written as .mp4, .webm, .gif"),
        (("--size", "97x64"), "must be even"),
        (("--fps", "0"), "fps is 0"),
        (("--camera", "behind"), "expected default, front"),
        (("--camera", "none.yaml"), "none.yaml: no such file"),
    ],
)
def test_mistakes_are_explained(recording, tmp_path, options, said):
    done = run("video", recording, *options, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_leaves_no_half_file(recording, tmp_path):
    command = ("video", str(recording), "-o", "a.mp4", "--speed", "0.0005", *SMALL)
    process = subprocess.Popen(
        [sys.executable, "-m", "brazo", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    with process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()):  # the temporary file
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode not in (0, -signal.SIGKILL)
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())


def test_the_scope_is_a_figure(recording, tmp_path):
    done = run("plot", recording, "scope.svg", "--scope", "xy", "--at", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "scope.svg").read_text(encoding="utf-8")
    assert "Max error" in text and "1.000 mm" in text
    for options, said in (
        (("--at", "1"), "--robot and --at need --scope"),
        (("--scope", "xy", "-s", "q"), "give only one of them"),
        (("--scope", "zz"), "xy, xz, yz or all"),
    ):
        done = run("plot", recording, "other.svg", *options, cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr

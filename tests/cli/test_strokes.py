"""`brazo strokes`: from a video to the tool path of a robot."""

from __future__ import annotations

import csv
import json

import numpy as np

from tests.cli.command import brazo as run
from tests.trajectory.marker_videos import circle, pictures, write_video


def test_a_marker_in_a_video_becomes_a_trace_of_the_tool(tmp_path):
    write_video(tmp_path / "a.mp4", pictures(circle(60)), "-preset", "veryfast")
    options = ("--color", "#19bf33", "--centre", "300mm", "0", "0.24", "--width", "16cm")
    done = run("strokes", "a.mp4", *options, "--time", "4", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["path"], found["strokes"], found["frames_with_marker"]) == ("a.yaml", 1, 60)
    assert found["size"] == [0.16, 0.12]
    options = ("--trajectory", "a.yaml", "--trace", "a.csv", "--dt", "0.01")
    done = run("simulate", "rv2aj", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "a.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["pen"] == "down"]
    xyz = np.array([[float(row[f"{axis} [m]"]) for axis in "xyz"] for row in rows])
    # 1 mm is a pixel.
    assert np.abs(np.hypot(xyz[:, 0] - 0.3, xyz[:, 1]) - 0.04).max() < 0.5e-3
    assert np.abs(xyz[:, 2] - 0.24).max() < 1e-6
    again = run("strokes", "a.mp4", "--color", "red", "--centre", "0", "0", "0", cwd=tmp_path)
    assert again.returncode == 2 and "a.yaml: already exists" in again.stderr


def test_invalid_options_are_refused_before_the_video_is_read(tmp_path):
    centre = ("--centre", "0.3", "-0.1", "0.2")
    for options, message in (
        (("--color", "pink", *centre), "colour 'pink': expected #RRGGBB or red"),
        (("--color", "red", *centre, "-o", "a.csv"), "must end in .yaml"),
        (("--color", "red", *centre, "--time", "0"), "--time 0: must be positive"),
        (("--color", "red", *centre, "--width", "3s"), "3s"),
        (("--color", "red", *centre), "none.mp4: no such file"),
    ):
        done = run("strokes", "none.mp4", *options, cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr, done.stderr

"""Recordings from the shell: real processes, exit codes, clear complaints."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from brazo.recording import Recorder, Recording


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "brazo.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=120,
        env={**os.environ, "COLUMNS": "140", "PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    columns = {"t": "s", "arm.q.elbow": "rad", "arm.torque.elbow": "N m"}
    for name in ("run.parquet", "killed.parquet"):
        recorder = Recorder(folder / name, columns, {"cell": "test"})
        t = 1e-3 * np.arange(3000)
        recorder.append_block(np.column_stack([t, np.sin(t), np.cos(t)]))
        recorder.event(1.5, "note", "half way")
        recorder.close() if name == "run.parquet" else recorder.abandon()
    return folder


def test_signals_are_listed(folder):
    shown = run("signals", folder / "run.parquet")
    assert shown.returncode == 0
    assert "3000 rows" in shown.stdout and "arm.torque.elbow" in shown.stdout
    said = json.loads(run("signals", folder / "run.parquet", "--json").stdout)
    assert said["rows"] == 3000 and said["events"] == {"note": 1}
    assert said["signals"][1] == {
        "name": "arm.q.elbow",
        "unit": "rad",
        "least": 0.0,
        "greatest": float(np.sin(1e-3 * np.arange(3000)).max()),
    }


@pytest.mark.parametrize("ending", ["xlsx", "csv", "mcap", "parquet"])
def test_convert_writes_every_format(folder, tmp_path, ending):
    done = run("convert", folder / "run.parquet", tmp_path / f"out.{ending}")
    assert done.returncode == 0 and "wrote" in done.stdout and not done.stderr
    assert (tmp_path / f"out.{ending}").stat().st_size > 10_000


def test_some_signals_and_some_time(folder, tmp_path):
    options = ["-s", "arm.q", "--from", "500ms", "--to", "1"]
    done = run("convert", folder / "run.parquet", tmp_path / "out.csv", *options)
    assert done.returncode == 0, done.stderr
    some = Recording.open(tmp_path / "out.csv")
    assert some.names == ["arm.q.elbow"] and len(some) == 501


def test_a_killed_run_is_converted_then_finished(folder, tmp_path):
    part = folder / "killed.parquet.part"
    assert run("convert", part, tmp_path / "out.csv").returncode == 0
    assert len(Recording.open(tmp_path / "out.csv")) == 3000
    assert run("convert", part, folder / "killed.parquet").returncode == 0
    assert not part.exists() and len(Recording.open(folder / "killed.parquet")) == 3000


def test_a_figure_and_a_report(folder, tmp_path):
    assert run("plot", folder / "run.parquet", tmp_path / "a.png", "--from", "1").returncode == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run("report", folder / "run.parquet", tmp_path / "a.html").returncode == 0
    assert "half way" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["convert", "run.parquet", "out.txt"], "unknown format"),
        (["convert", "nothing.parquet", "out.csv"], "nothing.parquet: no such file"),
        (["convert", "run.parquet", "out.csv", "-s", "leg"], "no signal matches 'leg'"),
        (["convert", "run.parquet", "out.csv", "--from", "3kg"], "expected a time"),
        (["convert", "run.parquet", "out.csv", "--from", "9"], "nothing was recorded"),
        (["convert", "run.parquet", "nowhere/out.csv"], "cannot be written"),
        (["convert", "run.parquet", "run.parquet"], "the recording itself"),
        (["plot", "run.parquet", "a.bmp"], ".png, .svg, .pdf"),
        (["report", "run.parquet", "a.txt"], ".html"),
    ],
)
def test_mistakes_are_one_clear_line(folder, arguments, said):
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert not list(folder.glob("out*"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_bar_shows_how_far_it_is(folder, tmp_path):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "brazo.cli.main", "convert"]
        + [str(folder / "run.parquet"), str(tmp_path / "out.xlsx")],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert process.wait() == 0
    assert b"writing out.xlsx" in seen and "━".encode() in seen

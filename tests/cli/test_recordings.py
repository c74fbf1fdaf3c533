"""Recordings from the shell: real processes, exit codes, error messages."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import brazo
from brazo.recording import Recorder, Recording
from tests.cli.command import brazo as run


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
    listed = json.loads(run("signals", folder / "run.parquet", "--json").stdout)
    assert listed["rows"] == 3000 and listed["events"] == {"note": 1}
    peak = float(np.sin(1e-3 * np.arange(3000)).max())
    assert listed["signals"][1] == {
        "name": "arm.q.elbow",
        "unit": "rad",
        "min": 0.0,
        "max": peak,
        "least": 0.0,  # deprecated names
        "greatest": peak,
    }


@pytest.mark.parametrize("ending", ["xlsx", "csv", "mcap", "parquet"])
def test_convert_writes_every_format(folder, tmp_path, ending):
    done = run("convert", folder / "run.parquet", tmp_path / f"out.{ending}")
    assert done.returncode == 0 and "wrote" in done.stdout and not done.stderr
    assert (tmp_path / f"out.{ending}").stat().st_size > 10_000


def test_convert_selected_signals_and_times(folder, tmp_path):
    options = ["-s", "arm.q", "--from", "500ms", "--to", "1"]
    done = run("convert", folder / "run.parquet", tmp_path / "out.csv", *options)
    assert done.returncode == 0, done.stderr
    some = Recording.open(tmp_path / "out.csv")
    assert some.names == ["arm.q.elbow"] and len(some) == 501


def test_killed_run_is_converted_and_its_part_file_removed(folder, tmp_path):
    part = folder / "killed.parquet.part"
    assert run("convert", part, tmp_path / "out.csv").returncode == 0
    assert len(Recording.open(tmp_path / "out.csv")) == 3000
    assert run("convert", part, folder / "killed.parquet").returncode == 0
    assert not part.exists() and len(Recording.open(folder / "killed.parquet")) == 3000


def test_plot_and_report(folder, tmp_path):
    assert run("plot", folder / "run.parquet", tmp_path / "a.png", "--from", "1").returncode == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run("report", folder / "run.parquet", tmp_path / "a.html").returncode == 0
    assert "half way" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "run.parquet", "out.txt"], "unknown format"),
        (["convert", "nothing.parquet", "out.csv"], "nothing.parquet: no such file"),
        (["convert", "run.parquet", "out.csv", "-s", "leg"], "no signal matches 'leg'"),
        (["convert", "run.parquet", "out.csv", "--from", "3kg"], "expected a time"),
        (["convert", "run.parquet", "out.csv", "--from", "9"], "no rows from 9 s"),
        (["convert", "run.parquet", "nowhere/out.csv"], "cannot be written"),
        (["convert", "run.parquet", "run.parquet"], "are the same file"),
        (["plot", "run.parquet", "a.bmp"], ".png, .svg, .pdf"),
        (["report", "run.parquet", "a.txt"], ".html"),
    ],
)
def test_errors_are_one_line(folder, arguments, message):
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("out*"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_progress_bar(folder, tmp_path):
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
        pass  # the process has closed its end
    os.close(ours)
    assert process.wait() == 0
    assert b"writing out.xlsx" in seen and "━".encode() in seen


MINE = """\
name: mine
joints:
  - {a: 0.3, mass: 1, inertia: [0.01, 0.01, 0.01]}
  - {a: 0.2, mass: 1, inertia: [0.01, 0.01, 0.01]}
"""


def test_run_of_a_custom_robot_is_drawn_without_its_file(tmp_path):
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    made = run("simulate", "mine.yaml", "--t-end", "0.1", "-o", "f.parquet", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "mine.yaml").write_text(MINE.replace("0.3", "0.9"), encoding="utf-8")
    drawn = run("convert", "f.parquet", "f.html", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert "mine.yaml was changed since the run" in drawn.stdout
    (tmp_path / "mine.yaml").unlink()
    assert run("convert", "f.parquet", "g.html", cwd=tmp_path).returncode == 0
    other = run("convert", "f.parquet", "h.html", "--cell", "scara1", cwd=tmp_path)
    assert other.returncode == 2 and "'scara1' cannot be drawn" in other.stderr
    table = run("convert", "f.parquet", "h.csv", "--cell", "scara1", cwd=tmp_path)
    assert table.returncode == 2 and "--cell" in table.stderr


def test_damaged_recording_is_drawn_without_the_damaged_rows(tmp_path):
    joints = brazo.load("scara1").joint_names
    columns = {"t": "s"} | {f"scara1.q.{name}": "rad" for name in joints}
    recorder = Recorder(tmp_path / "run.parquet", columns, {"robot": "scara1"})
    for start in (0.0, 1.0):
        block = np.zeros((100, len(columns)))
        block[:, 0] = start + 0.01 * np.arange(100)
        recorder.append_block(block)
    recorder.abandon()
    data = bytearray(recorder.part.read_bytes())
    data[-1000] ^= 1  # in the second block
    recorder.part.write_bytes(data)
    page = tmp_path / "run.html"
    refused = run("convert", recorder.part, page)
    assert refused.returncode == 2 and "--salvage" in refused.stderr
    done = run("convert", recorder.part, page, "--salvage")
    assert done.returncode == 0, done.stderr
    assert "skipped, damaged: rows" in done.stderr and "100 rows" in done.stdout and page.exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rate_downsamples(folder, tmp_path, ending):
    done = run("convert", folder / "run.parquet", tmp_path / f"x.{ending}", "--rate", "100")
    assert done.returncode == 0 and "300 rows" in done.stdout
    whole, some = Recording.open(folder / "run.parquet"), Recording.open(tmp_path / f"x.{ending}")
    assert np.array_equal(some.t, whole.t[::10])
    assert np.array_equal(some["arm.q.elbow"], whole["arm.q.elbow"][::10])
    wrong = run("convert", folder / "run.parquet", tmp_path / "y.csv", "--rate", "0")
    assert wrong.returncode == 2 and "--rate 0" in wrong.stderr


def test_hint_for_a_large_file(folder, tmp_path, monkeypatch, capsys):
    from brazo.cli import recordings
    from brazo.cli.main import main

    monkeypatch.setattr(recordings, "LARGE", 1000)
    for options, hinted in (([], True), (["--rate", "10"], False)):
        target = tmp_path / f"{len(options)}.csv"
        arguments = ["convert", folder / "run.parquet", target, *options]
        monkeypatch.setattr(sys, "argv", ["brazo", *map(str, arguments)])
        with pytest.raises(SystemExit):
            main()
        assert ("--rate 100" in capsys.readouterr().out) == hinted


def test_runs_are_compared_as_a_figure_and_a_table(folder, tmp_path):
    figure, table = tmp_path / "both.svg", tmp_path / "both.csv"
    files = [folder / "run.parquet", folder / "killed.parquet"]
    done = run("compare", *files, "--plot", figure, "--table", table, "-n", "A", "-n", "B")
    assert done.returncode == 0, done.stderr
    assert "1.00 N m" in done.stdout and f"wrote {figure}" in done.stdout.replace("\n", "")
    assert ">A</text>" in figure.read_text("utf-8") and ">B</text>" in figure.read_text("utf-8")
    head, *rows = table.read_text("utf-8").splitlines()
    assert head.startswith("run,part,error_unit,rms_error")
    assert [row.split(",")[:2] for row in rows][::3] == [["A", "tool"], ["B", "tool"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "A", "-n", "A"], "the same name"),
        (["--plot", "out.txt"], "figures are written as .png, .svg, .pdf"),
    ],
)
def test_mistakes_in_a_comparison_are_explained(folder, tmp_path, arguments, message):
    files = [folder / "run.parquet", folder / "killed.parquet"]
    done = run("compare", *files, *arguments)
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " ")

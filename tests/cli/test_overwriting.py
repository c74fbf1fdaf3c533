"""Existing output files: confirmed on a terminal, otherwise kept unless --force is given."""

import os
import subprocess
import sys

import numpy as np
import pytest

from brazo.cli.main import main
from brazo.recording import Recorder, Recording

OLD = b"kept"


def shell(monkeypatch, *arguments) -> int:
    monkeypatch.setattr(sys, "argv", ["brazo", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    t = 1e-2 * np.arange(50)
    Recording({"t": (t, "s"), "arm.q.elbow": (np.sin(t), "rad")}).to("run.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ("convert run.parquet out.csv", "out.csv"),
        ("plot run.parquet out.svg", "out.svg"),
        ("report run.parquet out.html", "out.html"),
        ("teleop report run.parquet -o out.html", "out.html"),
        ("simulate scara1 --t-end 0.01 -o out.csv", "out.csv"),
        ("derive scara1 --to python -o out.py", "out.py"),
        ("derive scara1 --to text -o .", "scara1.txt"),
        ("export scara1 --urdf", "scara1.urdf"),
        ("export scara1 --mjcf -o out.xml", "out.xml"),
        ("export scara1 --urdf -o out.urdf", "out_meshes/base.stl"),
        ("run cooperative --headless --until 0.02 -o out", "out/run.parquet"),
        ("run cooperative --headless --until 0.02 -o out", "out/report.html"),
        ("run cooperative --headless --until 0.02 --record out.parquet", "out.parquet"),
        (
            "run cooperative --headless --until 0.02 --vary --seeds 1 --seed 3 -o out",
            "out/seed-3/run.parquet",
        ),
        ("teleop follower --robot scara1 --headless --record out.parquet", "out.parquet"),
        ("teleop master --connect x:1 --device keyboard --record out.parquet", "out.parquet"),
        ("bench --json out.json", "out.json"),
    ],
)  # fmt: skip
def test_existing_file_is_kept(folder, monkeypatch, capsys, arguments, file):
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(OLD)
    assert shell(monkeypatch, *arguments.split()) == 2
    error = capsys.readouterr().err
    assert path.name in error and "--force" in error
    assert path.read_bytes() == OLD


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ("convert run.parquet out.csv -f", "out.csv"),
        ("plot run.parquet out.svg --force", "out.svg"),
        ("simulate scara1 --t-end 0.01 -o out.csv --force", "out.csv"),
        ("export scara1 --urdf --force", "scara1.urdf"),
        ("run cooperative --headless --until 0.02 -o out --force", "out/run.parquet"),
    ],
)
def test_force_replaces_existing_file(folder, monkeypatch, arguments, file):
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(OLD)
    assert shell(monkeypatch, *arguments.split()) in (0, 1)  # a run that is cut off fails
    assert path.read_bytes() != OLD


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_the_user_is_asked(folder, answer, code):
    pty = pytest.importorskip("pty")
    (folder / "out.csv").write_bytes(OLD)
    terminal, shown = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "brazo", "convert", "run.parquet", "out.csv"],
        stdin=shown, stdout=subprocess.PIPE, stderr=shown, cwd=folder,
    ) as process:  # fmt: skip
        os.close(shown)
        asked = b""
        while b"?" not in asked:
            asked += os.read(terminal, 1000)
        assert b"out.csv already exists" in asked
        os.write(terminal, answer.encode() + b"\n")
        process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == code
    assert ((folder / "out.csv").read_bytes() == OLD) == (answer == "n")


def test_printed_command_converts_a_killed_run(folder, monkeypatch, capsys):
    old = Recording.open("run.parquet")
    recorder = Recorder(folder / "run.parquet", {"t": "s"}, replace=True)
    recorder.append_block(np.arange(3.0)[:, None])
    recorder.abandon()
    again = "run cooperative --headless --record run.parquet -f"
    assert shell(monkeypatch, *again.split()) == 2
    error = capsys.readouterr().err
    command = error.split("`")[1].split()
    assert command[:3] == ["brazo", "convert", "run.parquet.part"] and command[-1] == "--force"
    assert shell(monkeypatch, *command[1:-1]) == 2  # an older run is there
    assert shell(monkeypatch, *command[1:]) == 0
    assert len(Recording.open("run.parquet")) == 3 != len(old)


def test_the_command_that_finishes_a_killed_run_names_its_folder(folder, monkeypatch, capsys):
    (folder / "out").mkdir()
    recorder = Recorder(folder / "out" / "run.parquet", {"t": "s"})
    recorder.append_block(np.arange(3.0)[:, None])
    recorder.abandon()
    assert shell(monkeypatch, "run", "cooperative", "--headless", "-o", "out") == 2
    command = capsys.readouterr().err.split("`")[1]
    assert command.replace("\\", "/") == "brazo convert out/run.parquet.part out/run.parquet"
    assert shell(monkeypatch, *command.split()[1:]) == 0
    assert len(Recording.open("out/run.parquet")) == 3

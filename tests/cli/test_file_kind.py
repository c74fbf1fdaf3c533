"""Detection of robot, cell and program files, and its use by `check` and `run`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from brazo.cli.file_kind import cell_of, kind_of
from brazo.cli.main import app
from brazo.errors import BrazoError

CELL = "name: mine\nrobots: [{name: arm, robot: scara2}]\n"
PROGRAM = "name: task\ncell: mine.yaml\nrobots:\n  arm: [{wait: 10ms}]\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.yaml").write_text(CELL, encoding="utf-8")
    (tmp_path / "task.yaml").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "robot.yaml").write_text("name: arm\njoints: []\n", encoding="utf-8")
    return tmp_path


def test_kinds(folder):
    names = ("mine.yaml", "task.yaml", "robot.yaml", "none.yaml")
    assert [kind_of(str(folder / n)) for n in names] == ["cell", "program", "robot", None]
    assert kind_of("cooperative") is None
    assert cell_of(folder / "task.yaml", "mine.yaml") == str(folder / "mine.yaml")
    assert cell_of(folder / "task.yaml", "cooperative") == "cooperative"
    with pytest.raises(BrazoError, match="has no field 'cell'"):
        cell_of(folder / "task.yaml", None)


def test_a_program_file_is_checked_and_run_in_its_own_cell(folder):
    for name, wanted in (("mine.yaml", "ok: cell mine, arm"), ("task.yaml", "ok: program task")):
        done = CliRunner().invoke(app, ["check", str(folder / name)])
        assert done.exit_code == 0 and wanted in done.output
    done = CliRunner().invoke(app, ["run", str(folder / "task.yaml"), "--headless"])
    assert done.exit_code == 0 and "task: done in 0.01 s, no goals" in done.output


@pytest.mark.parametrize("text", ["a: 1\nb: 2\n", "- 1\n", "points: []\n", "name: only\n"])
def test_other_yaml_files_are_rejected_with_the_kinds(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    for command in (["check", str(path)], ["run", str(path), "--headless"]):
        done = CliRunner().invoke(app, command)
        assert isinstance(done.exception, BrazoError), done.output
        message = str(done.exception)
        assert message.startswith(f"{path}: not a robot")
        assert "joints" in message and "a cell has 'robots' as a list" in message
        assert "program has 'robots' as a map" in message
    done = CliRunner().invoke(app, ["check", "--json", str(path)])
    assert done.exit_code == 2 and '"ok": false' in done.output

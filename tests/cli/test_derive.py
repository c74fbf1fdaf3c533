"""`brazo derive`: printed equations, files, error messages."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from brazo.cli import derive
from brazo.errors import BrazoError


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)
    derive.register(app)
    return app


def run(app, *arguments):
    result = CliRunner().invoke(app, ["derive", *arguments], env={"COLUMNS": "100"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_prints_readable_equations(app):
    result = run(app, "scara2")
    assert result.exit_code == 0
    assert "M33 = I3zz + I4zz + I5zz + (m3/4 + m4 + m5) L3²" in result.stdout
    assert "Coriolis" in result.stdout and "G4 = -(m4 + m5) g" in result.stdout
    assert "M33 = 0.0541708" in run(app, "scara2", "--numeric").stdout


@pytest.mark.parametrize(
    ("to", "names"),
    [
        ("text", ["scara2.txt"]),
        ("latex", ["scara2.tex"]),
        ("c", ["scara2.c", "scara2.h"]),
        ("python", ["scara2.py"]),
    ],
)
def test_writes_files_and_prints_their_names(app, to, names, tmp_path):
    folder = tmp_path / "new" / "folder"
    result = run(app, "scara2", "--to", to, "-o", str(folder))
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert name in result.stdout.replace("\n", "")
        assert (folder / name).read_text(encoding="utf-8").count("\n") > 20


def test_octave_files_and_python_module_work_in_their_folder(app, tmp_path):
    run(app, "puma560-drives", "--to", "octave", "-o", str(tmp_path / "octave"))
    assert (tmp_path / "octave" / "puma560_drives_forward_dynamics.m").is_file()
    run(app, "scara1", "--to", "python", "--form", "recursive", "-o", str(tmp_path))
    script = "import sys; sys.path.insert(0, '.'); import scara1; print(scara1.gravity([0]*5)[2])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(-1.8 * 9.81)


def test_errors_are_one_line(app, tmp_path):
    for arguments, message in (
        (("scara9",), "no robot named"),
        (("scara1", "--to", "pascal"), "text, latex, c, python, octave"),
        (("scara1", "--form", "short"), "auto, expanded, recursive"),
        (("pegasus",), "kinematic only"),
        (("delta",), "closed loops"),
    ):
        with pytest.raises(BrazoError, match=message):
            run(app, *arguments)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(BrazoError, match="cannot be created"):
        run(app, "scara2", "--to", "c", "-o", str(blocked))
    assert blocked.read_text() == ""


def test_output_may_name_a_single_file(app, tmp_path):
    result = run(app, "scara2", "--to", "latex", "-o", str(tmp_path / "arm.tex"))
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["arm.tex"]
    assert (tmp_path / "arm.tex").read_text(encoding="utf-8").startswith("\\documentclass")


URDF = """\
<robot name="two">
<link name="base"/>
<link name="l1"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="l2"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="q1" type="continuous"><parent link="base"/><child link="l1"/>
<axis xyz="0 0 1"/></joint>
<joint name="q2" type="continuous"><parent link="l1"/><child link="l2"/>
<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def test_a_factor_of_one_is_not_written(app, tmp_path):
    (tmp_path / "two.urdf").write_text(URDF)
    text = run(app, str(tmp_path / "two.urdf")).stdout
    # m1 c1² + m2 (l1² + c2²) + I1 + I2 and 2 m2 l1 c2, by hand
    assert "M11 = 0.13 + 0.06 c2" in text and "1 q2" not in text

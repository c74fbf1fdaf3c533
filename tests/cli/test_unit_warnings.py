"""Commands warn about numbers in files that are probably in mm or degrees."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from brazo.cli.main import app

ROBOT = """name: crane
parameters:
  H: 600
joints:
  - {name: slew, d: H, limits: [-150deg, 150deg], mass: 5, inertia: [0.1, 0.1, 0.1]}
"""
CELL = "name: c\nrobots: [{name: r, robot: crane.yaml}]\n"
PROGRAM = """name: p
cell: c.yaml
robots:
  r:
    - line: {xyz: [-350, 200, 200], rpy: [180, 0, 0]}
"""
AT_PARAMETER = (
    "crane.yaml:3: parameters.H: 600 without a unit is read as 600 m; did you mean 600mm?"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("crane.yaml", ROBOT), ("c.yaml", CELL), ("p.yaml", PROGRAM)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "fk crane.yaml 10 --json",
        "ik crane.yaml --xyz 0 0 600 --json",
        "id crane.yaml --q 10 --json",
        "fd crane.yaml --q 10 --json",
        "simulate crane.yaml --t-end 0.01 --json",
        "derive crane.yaml",
        "export crane.yaml --mjcf -o out.xml",
        "study tune crane.yaml --controller ComputedTorque --rule pole-placement --duration 0.1s",
        "cad import parts.stl --robot crane.yaml",
        "cad import parts.stl --robot crane.yaml --pose 10",
    ],
)
def test_command_on_robot_file_warns_once_on_stderr(folder, words):
    result = CliRunner().invoke(app, words.split())
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning:")]
    assert [AT_PARAMETER in line for line in warnings].count(True) == 1
    assert "did you mean" not in result.stdout
    if words.endswith("--json"):
        json.loads(result.stdout)


def test_run_warns_about_its_program_and_the_robots_of_its_cell(folder):
    result = CliRunner().invoke(app, ["run", "p.yaml", "--headless", "--until", "0.01"])
    places = [line.split(" without")[0] for line in result.stderr.splitlines() if "mean" in line]
    assert [place.partition("yaml:")[2] for place in places] == [
        *(f"5: robots.r[0].line.xyz[{i}]: {x}" for i, x in enumerate((-350, 200, 200))),
        "5: robots.r[0].line.rpy[0]: 180",
        "3: parameters.H: 600",
    ]


def test_shipped_robots_and_other_findings_are_not_reported(folder):
    (folder / "thin.yaml").write_text("name: thin\njoints: [{a: 0.3, mass: 1}]\n")  # no inertia
    for words in ("fk puma560 0 0 0 0 0 0", "fk thin.yaml 10"):
        assert CliRunner().invoke(app, words.split()).stderr == ""

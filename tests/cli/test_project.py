"""`brazo` with project folders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from brazo.operate import Point
from brazo.program.controller_file import load_controllers
from brazo.program.point_file import points_yaml
from brazo.project.folder import CONTROLLERS, POINTS, Project, kept_cell
from brazo.robot import load
from brazo.world import parse_cell
from tests.cli.command import brazo

CELL = "name: one\nfloor: none\nrobots: [{name: arm, robot: scara1}]\n"
PROGRAM = "name: wave\nrobots:\n  arm:\n    - move_joints: up\n    - line: down\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    project = Project.create(tmp_path / "wave", "wave")
    files, _ = kept_cell(parse_cell(CELL), project.folder)
    points = [
        Point(1, "up", np.array([0.1, 1.0, 0.05, 0.0, 0.0])),
        Point(2, "down", np.array([0.1, 1.0, 0.08, 0.0, 0.0])),
    ]
    project.write(
        {**files, POINTS: points_yaml({"arm": points}), "programs/wave.yaml": PROGRAM},
        replace(project.head, edited=True, program="wave"),
    )
    return project.folder


def test_a_project_is_checked_and_run_headless(folder):
    # A robot that was deleted or renamed may still be named in the file.
    (folder / CONTROLLERS).write_text("arm: {controller: PDGravity}\ngone: {controller: PID}\n")
    done = brazo("check", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok: project wave, cell one, 1 program, 2 points, 0 warnings\n"
    done = brazo("run", str(folder), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["succeeded"], done


def test_a_mistake_in_a_project_names_file_and_line(folder):
    (folder / "programs" / "wave.yaml").write_text(PROGRAM.replace(": down", ": dwon"))
    done = brazo("check", str(folder))
    assert done.returncode == 2
    assert "wave.yaml:5: line: no point 'dwon'; did you mean 'down'?" in done.stderr
    (folder / POINTS).write_text("arm: [{name: up}]\n")
    done = brazo("run", str(folder))
    assert done.returncode == 2 and "points.yaml:1: arm[0]: " in done.stderr


def test_a_folder_that_is_no_project_is_no_command(tmp_path):
    done = brazo(str(tmp_path))
    assert done.returncode == 2 and "No such command" in done.stderr


def test_help_names_the_options_of_the_lab():
    done = brazo("--help")
    assert "--no-browser" in done.stdout and "--port" in done.stdout


def test_tuned_gains_are_written_to_a_project(folder, tmp_path):
    (folder / CONTROLLERS).write_text("other:\n  controller: PID\n", encoding="utf-8")
    done = brazo(
        "study", "tune", "scara2", "--controller", "ComputedTorque", "--rule", "pole-placement",
        "--duration", "100ms", "--write", folder, "-o", tmp_path / "out", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = load_controllers(folder / CONTROLLERS)
    found = json.loads(done.stdout)
    assert set(kept) == {"other", "scara2"}
    kept["scara2"].bind(load("scara2"), 1e-3)
    assert kept["scara2"].gains["kp"].tolist() == found["after"]["gains"]["kp"]
    assert not (tmp_path / "out" / CONTROLLERS).exists()
    done = brazo("study", "tune", "scara2", "--write", tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 2 and "this folder is not a project" in done.stderr

"""The cell in a recording: the same robot again, whatever became of its files."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import brazo
from brazo.formats.mjcf.writer import export_mjcf
from brazo.formats.urdf.writer import export_urdf
from brazo.lab.app.opening import as_cell
from brazo.model.shapes import Mesh
from brazo.recording.origin import LEFT_OUT, SOURCE
from brazo.recording.source import memory_source
from brazo.simulation.recorded_cell import recorded_cell
from brazo.world import load_cell
from brazo.world import recorded_cell as module
from brazo.world.recorded_cell import recorded_source, restored_cell

MINE = """\
name: mine
joints:
  - {a: 0.3, mass: 1, inertia: [0.01, 0.01, 0.01]}
  - {a: 0.2, mass: 1, inertia: [0.01, 0.01, 0.01]}
"""
Q = (0.3, -0.4)


def tool(cell) -> np.ndarray:
    (robot,) = cell.robots
    return brazo.Simulation(cell).robots[robot.name].arm.fk(np.resize(Q, len(robot.start)))


def meshes(cell) -> int:
    parts = [p for r in cell.robots for body in r.model.bodies for p in body.parts]
    return sum(isinstance(part.shape, Mesh) for part in parts)


def own_cell(folder: Path) -> Path:
    (folder / "mine.yaml").write_text(MINE)
    cell = folder / "cell.yaml"
    cell.write_text("name: bench\nrobots: [{name: left, robot: mine.yaml, base: {xyz: [1, 0, 0]}}]")
    return cell


def test_a_recorded_cell_may_have_a_frame_with_the_name_of_a_frame_of_the_robots(tmp_path):
    file = own_cell(tmp_path)
    file.write_text(file.read_text() + "\nframes: [{name: tool, xyz: [1, 2, 3]}]\n")
    again, _ = restored_cell(recorded_source(load_cell(file))) or pytest.fail("no cell")
    assert again.frames[0].name == "tool" and again.frames[0].pose[:3, 3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("change", ["nothing", "edited", "deleted"])
def test_a_cell_and_its_robots_are_those_of_the_run(tmp_path, change):
    cell = load_cell(own_cell(tmp_path))
    about = recorded_source(cell)
    if change == "edited":
        (tmp_path / "mine.yaml").write_text(MINE.replace("0.3", "0.9"))
    elif change == "deleted":
        (tmp_path / "mine.yaml").unlink()
        (tmp_path / "cell.yaml").unlink()
    found = restored_cell(about)
    assert found is not None
    again, notes = found
    assert np.allclose(tool(again), tool(cell), atol=1e-12)
    assert np.allclose(again.robots[0].base, cell.robots[0].base)
    if change == "edited":
        (note,) = notes
        assert str(tmp_path / "mine.yaml") in note and "stored in the recording is used" in note
    else:
        assert notes == []


@pytest.mark.parametrize("kind", ["urdf", "xml"])
@pytest.mark.parametrize("left", ["all", "meshes", "nothing"])
def test_a_robot_with_meshes_falls_back_to_generated_bodies(tmp_path, kind, left):
    home = tmp_path / "home"
    file = home / f"arm.{kind}"
    write = export_urdf if kind == "urdf" else export_mjcf
    write(brazo.load("srm1").model, file)
    cell = as_cell(brazo.load(file))
    about = recorded_source(cell)
    count = meshes(cell)
    assert count > 0
    if left == "meshes":
        file.unlink()
    elif left == "nothing":
        shutil.rmtree(home)
    found = restored_cell(about)
    assert found is not None
    again, notes = found
    assert np.allclose(tool(again), tool(cell), atol=1e-9)
    if left == "nothing" or (left == "meshes" and kind == "xml"):  # MJCF compiles its meshes in
        assert meshes(again) == 0 and "generated bodies are drawn" in notes[0]
    else:
        assert (meshes(again), notes) == (count, [])


def test_a_robot_file_with_meshes_is_drawn_without_them(tmp_path):
    export_urdf(brazo.load("srm1").model, tmp_path / "x.urdf")
    stl = next((tmp_path / "x_meshes").glob("*.stl"))
    stl.rename(tmp_path / "part.stl")
    file = tmp_path / "mine.yaml"
    parts = "a: 0.3, parts: [{mesh: part.stl}], mass"
    file.write_text(MINE.replace("a: 0.3, mass", parts))
    cell = as_cell(brazo.load(file))
    assert meshes(cell) == 1
    about = recorded_source(cell)
    assert restored_cell(about)[1] == []
    file.unlink()
    again, notes = restored_cell(about) or pytest.fail("no cell")
    assert meshes(again) == 0 and "1 mesh of the robots" in notes[0]
    assert np.allclose(tool(again), tool(cell))


@pytest.mark.parametrize("gone", [False, True])
def test_the_link_given_for_the_tool_is_kept(tmp_path, gone):
    export_urdf(brazo.load("srm1").model, tmp_path / "arm.urdf")
    whole = brazo.load(tmp_path / "arm.urdf")
    tip = whole.model.bodies[2].name
    arm = brazo.load(tmp_path / "arm.urdf", tip=tip)
    about = recorded_source(as_cell(arm))
    if gone:
        (tmp_path / "arm.urdf").unlink()
    again, _ = restored_cell(about) or pytest.fail("no cell")
    assert np.allclose(tool(again), tool(as_cell(arm)))


def test_a_text_that_is_too_long_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 100)
    file = own_cell(tmp_path)
    about = {"cell": "bench", "cell_file": str(file)} | recorded_source(load_cell(file))
    assert SOURCE not in about and "stores up to" in about[LEFT_OUT]
    t = np.zeros(2)
    source = memory_source({"t": (t, "s")}, (), about)
    cell, (note,) = recorded_cell(source, tmp_path / "run.parquet")
    assert cell.name == "bench" and "stores up to" in note
    file.unlink()
    with pytest.raises(brazo.BrazoError, match=r"stores up to .* --cell"):
        recorded_cell(source, tmp_path / "run.parquet")


def test_a_damaged_text_is_refused():
    for text in ("{}", "[1]", '{"files": {"../a.yaml": ""}, "references": {}, "origins": {}}'):
        with pytest.raises(brazo.BrazoError, match="not a cell description"):
            restored_cell({SOURCE: text})


@pytest.mark.parametrize(
    "reference",
    [{}, {"digest": "", "path": "", "text": None, "meshes": 0}, {"digest": 1}, None, "text"],
)
def test_a_damaged_robot_of_a_stored_cell_is_refused_with_the_file(reference, tmp_path):
    text = {"files": {"c.yaml": "robots: []"}, "references": {"a": reference}, "origins": {}}
    source = SimpleNamespace(about={SOURCE: json.dumps(text)})
    with pytest.raises(brazo.BrazoError, match=r"run\.parquet: .* cannot be loaded: .*--cell"):
        recorded_cell(source, tmp_path / "run.parquet")

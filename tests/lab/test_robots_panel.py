"""Robots and cells, without a browser: what is opened, saved and placed."""

from __future__ import annotations

import io
import zipfile

import pytest
import trimesh

from brazo.lab.transfers import Upload
from brazo.world import load_cell

ARM = """name: arm
convention: standard
base: {parts: [{mesh: part.stl}]}
joints:
  - {name: j1, type: revolute, d: 0.2, a: 0.3, limits: [-90deg, 90deg], parts: [{mesh: part.stl}]}
"""


@pytest.fixture
def lab(running):
    with running() as lab:
        yield lab


@pytest.fixture
def saved(lab, monkeypatch):
    """What the page is given to save: names and contents, newest last."""
    files: list = []
    monkeypatch.setattr(lab, "download", lambda name, content: files.append((name, content)))
    return files


def test_a_saved_cell_does_not_take_the_place_of_the_robot_it_names(lab, saved, tmp_path):
    panel = lab.panels["robots"]
    stl = trimesh.creation.box((0.1, 0.1, 0.1)).export(file_type="stl")
    assert isinstance(stl, bytes)
    for name, content in (("part.stl", stl), ("arm.yaml", ARM.encode())):
        panel._brought.take(Upload(name, content))
    lab.open(panel._brought.path("arm.yaml"))
    assert lab.sim.cell.name == "arm"
    lab.do(panel._save)
    ((name, content),) = saved
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
        assert sorted(archive.namelist()) == ["arm-2.yaml", "arm.yaml", "part.stl"]
    assert name == "arm-2.zip"
    assert (tmp_path / "arm.yaml").read_text() == ARM
    cell = load_cell(tmp_path / "arm-2.yaml")
    assert cell.robots[0].model.path == tmp_path / "arm.yaml"


def test_a_cell_of_named_robots_keeps_its_name_whatever_was_brought(lab, saved):
    panel = lab.panels["robots"]
    panel._brought.take(Upload("scara1.yaml", b"name: other"))
    lab.do(panel._save)
    assert [name for name, _ in saved] == ["scara1.yaml"]

"""Robots and cells, without a browser: what is opened, saved and placed."""

from __future__ import annotations

import io
import threading
import time
import zipfile

import pytest
import trimesh

from brazo.lab.app import lab as app
from brazo.lab.app.session import as_shown
from brazo.lab.server.transfers import Upload
from brazo.lab.serving import _warn_slips
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
    panel = lab.panels["robots"]
    monkeypatch.setattr(panel, "download", lambda name, content: files.append((name, content)))
    return files


def test_a_saved_cell_does_not_take_the_place_of_the_robot_it_names(lab, saved, tmp_path):
    panel = lab.panels["robots"]
    stl = trimesh.creation.box((0.1, 0.1, 0.1)).export(file_type="stl")
    assert isinstance(stl, bytes)
    for name, content in (("part.stl", stl), ("arm.yaml", ARM.encode())):
        panel._imported.take(Upload(name, content))
    lab.open(panel._imported.path("arm.yaml"))
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
    panel._imported.take(Upload("scara1.yaml", b"name: other"))
    lab.do(panel._save)
    assert [name for name, _ in saved] == ["scara1.yaml"]


def test_robots_come_and_go_when_nothing_is_under_way_and_faults_stay(lab, line):
    with line(lab) as page:
        page.send(["pause"], ["simulation/fault", "locked"], ["simulation/inject"])
        faults, sim = list(lab.robot.faults), lab.sim
        page.send(["robots/choose", "robot:scara2"], ["data/record"], ["robots/place"])
        assert "stop it first" in page.told["notice"]["text"] and lab.sim is sim
        page.send(["data/record-stop"], ["robots/place"])
        assert list(lab.sim.robots) == ["scara1", "scara2"]
        assert faults and list(lab.sim.robots["scara1"].faults) == faults
        page.send(["data/record"], ["robots/remove", "scara2"])
        assert list(lab.sim.robots) == ["scara1", "scara2"] and lab.sim.recording


def test_a_cancelled_open_opens_nothing(lab, line, monkeypatch):
    inside, go, closed = threading.Event(), threading.Event(), []

    def slow(source):
        sim = as_shown(source)
        close = sim.player.close
        monkeypatch.setattr(sim.player, "close", lambda: (closed.append(sim), close()))
        inside.set()
        assert go.wait(10)
        return sim

    monkeypatch.setattr(app, "as_shown", slow)
    with line(lab) as page:
        before = lab.sim
        page.send(["robots/open", "robot:panda"])
        assert inside.wait(20)
        job = lab.panels["robots"]._job
        page.send(["cancel-job", job.number])
        assert job.state == "cancelled"  # although its thread is still busy
        go.set()
        deadline = time.monotonic() + 20
        while lab.jobs.busy:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert job.state == "cancelled" and lab.sim is before
        assert closed and closed[0] is not before
        page.send(["cancel-job", job.number], ["robots/open", "robot:panda"])
        deadline = time.monotonic() + 20
        while lab.sim is before:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert lab.sim.cell.name == "panda"


def test_of_many_things_to_open_the_last_counts_and_few_are_built(lab, line, monkeypatch):
    inside, go, built = threading.Event(), threading.Event(), []

    def slow(source):
        built.append(source)
        inside.set()
        assert go.wait(60)
        return as_shown(source)

    monkeypatch.setattr(app, "as_shown", slow)
    with line(lab) as page:
        jobs = []
        for name in ("panda", "delta", "puma560", "scara2"):
            page.send(["robots/open", f"robot:{name}"])
            jobs.append(lab.panels["robots"]._job)
            assert inside.wait(20)
        go.set()
        while any(job.state == "running" for job in jobs):
            page.read()
        assert [job.state for job in jobs] == ["cancelled", "cancelled", "cancelled", "done"]
        assert built == ["robot:panda", "robot:scara2"] and lab.sim.cell.name == "scara2"


def test_a_brought_file_with_slips_of_units_gives_a_notice_with_its_own_name(lab):
    panel = lab.panels["robots"]
    assert lab.channel.get("robots/slips") == ""
    text = "name: long\nparameters: {H: 600}\njoints: [{d: H, a: 0.3}]\n"
    panel._imported.take(Upload("long.yaml", text.encode()))
    lab.open(panel._imported.path("long.yaml"))
    assert lab.channel.get("robots/slips").startswith("long.yaml:2: parameters.H: 600 without")
    lab.open("robot:scara1")
    assert lab.channel.get("robots/slips") == ""


def test_a_program_with_slips_of_units_is_usable_and_warned_of_under_its_text(lab):
    panel = lab.panels["program"]
    step = "    - line: {xyz: [-350, 0.2, 0.2]}\n"
    lab.do(lambda: panel._typed(f"name: p\nrobots:\n  scara1:\n{step}"))
    assert panel._program is not None
    found = panel.values()["problem"]
    assert found.startswith("warning: program.yaml:4: ")
    assert found.count("did you mean -350mm?") == 1


def test_slips_of_units_are_printed_when_the_lab_opens(lab, tmp_path, capsys):
    file = tmp_path / "long.yaml"
    file.write_text("name: long\nparameters: {H: 600}\njoints: [{d: H, a: 0.3}]\n")
    _warn_slips(lab)
    assert capsys.readouterr().err == ""
    lab.open(file)
    _warn_slips(lab)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {file}:2: parameters.H: 600 without a unit")

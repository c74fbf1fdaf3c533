"""The scene panel without a browser: edits while the simulation runs, undo, files."""

from __future__ import annotations

import io
import time
import zipfile

import numpy as np
import pytest
import trimesh

from brazo.lab.server.transfers import Upload
from brazo.model.shapes import Mesh
from brazo.operate.playing import Playing
from brazo.trajectory import jerk_limited, limits_of
from brazo.world import load_cell, parse_cell
from brazo.world.cell_edits import element, pose_of

ARM = """name: arm
convention: standard
base: {parts: [{mesh: part.stl}]}
joints:
  - {name: j1, type: revolute, d: 0.2, a: 0.3, limits: [-90deg, 90deg], parts: [{mesh: part.stl}]}
"""


@pytest.fixture
def lab(running):
    with running("empty") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        yield page


@pytest.fixture
def saved(lab, monkeypatch):
    """What the page is given to save: names and contents, newest last."""
    files: list = []
    panel = lab.panels["scene"]
    monkeypatch.setattr(panel, "download", lambda name, content: files.append((name, content)))
    return files


def send(page, *events: list) -> None:
    """Send events one after the other; those of robots compile in a job, which is awaited."""
    for event in events:
        page.send(event)
        deadline = time.monotonic() + 60
        while page.lab.jobs.busy or page.lab.channel.get("jobs"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        page.send()


def error(page) -> str:
    return page.reported.get("notice", {}).get("text", "")


def names(lab) -> list[str]:
    cell = lab.sim.cell
    groups = (cell.robots, cell.bodies, cell.fixtures, cell.chutes, cell.frames)
    return [one.name for group in groups for one in group]


def test_a_cell_is_built_from_nothing_while_it_runs(lab, page, saved):
    shown = [one["id"] for one in page.reported["panels"]]
    assert "scene" in shown and "pendant" not in shown  # nothing to jog yet
    sim = lab.sim
    send(page, ["scene/add-robot", "robot:puma560"])
    assert "pendant" in [one["id"] for one in page.reported["panels"]]
    assert page.reported["robots"] == ["puma560"]
    send(page, ["scene/attach", "gripper"])
    send(page, ["scene/add", "table"], ["scene/add", "box"])  # the table is selected: onto it
    table, box = element(lab.sim.cell, "table"), element(lab.sim.cell, "box")
    assert pose_of(box)[2, 3] == pytest.approx(pose_of(table)[2, 3] + 0.03)
    send(page, ["scene/select", "puma560"], ["scene/duplicate"], ["scene/attach", "none"])
    send(page, ["scene/attach", "tool"], ["scene/property", "tool-length", "15cm"])
    send(page, ["scene/add", "frame"], ["scene/add", "bin"], ["scene/add", "chute"])
    send(page, ["scene/add", "cylinder"])
    assert names(lab) == [
        "puma560", "puma560 2", "box", "cylinder", "table", "bin", "chute", "frame",
    ]  # fmt: skip
    assert lab.sim is sim and lab.sim.player.running
    assert error(page) == ""
    assert not lab.sim.world.overlaps()
    send(page, ["scene/cell-name", "mine"], ["scene/save"])
    ((name, content),) = saved
    assert name == "mine.yaml"
    cell = parse_cell(content)
    assert [robot.model.gripper is None for robot in cell.robots] == [False, True]
    assert cell.robots[1].source.attachment.length == 0.15  # type: ignore[union-attr]


def test_everything_can_be_undone_and_redone(lab, page):
    def state() -> list:
        return [(n, pose_of(element(lab.sim.cell, n)).tolist()) for n in names(lab)]

    events = [
        ["scene/add-robot", "robot:planar-3r"],
        ["scene/attach", "gripper"],
        ["scene/pose-yaw", 90.0],
        ["scene/add", "box"],
        ["scene/pose-x", "0.7m"],
        ["scene/property", "mass", 0.5],
        ["scene/property", "size-2", 100.0],
        ["scene/color", "#336699"],
        ["scene/rename", "part"],
        ["scene/fixed", True],
        ["scene/fixed", False],
        ["scene/duplicate"],
        ["scene/delete"],
    ]
    lab.do(lab.sim.player.pause)
    states = [state()]
    for event in events:
        send(page, event)
        assert error(page) == ""
        states.append(state())
    assert len(lab.history.labels) == len(events)
    part = element(lab.sim.cell, "part")
    assert (part.mass, part.shape.size[2]) == (0.5, 0.1)  # type: ignore[union-attr]
    assert part.color == pytest.approx((0.2, 0.4, 0.6))  # type: ignore[union-attr]
    for before in reversed(states[:-1]):
        lab.do(lab.history.undo)
        assert state() == before
    for after in states[1:]:
        lab.do(lab.history.redo)
        assert state() == after


def test_undo_restores_the_last_pose_not_the_start(lab, page):
    send(page, ["scene/add", "box"], ["scene/pose-z", 500.0])
    lab.do(lab.sim.player.pause)
    lab.sim.step(700)  # it falls
    fallen = lab.sim.world.pose("box")
    assert fallen[2, 3] == pytest.approx(0.03, abs=1e-3)
    send(page, ["scene/pose-x", 900.0], ["scene/delete"])
    lab.do(lab.history.undo)
    assert lab.sim.world.pose("box")[0, 3] == pytest.approx(0.9)
    lab.do(lab.history.undo)
    assert np.abs(lab.sim.world.pose("box") - fallen).max() < 1e-12


def test_an_element_inside_another_is_refused_and_nothing_changes(lab, page):
    send(page, ["scene/add-robot", "robot:puma560"], ["scene/add", "box"])
    lab.do(lab.sim.player.pause)
    before = lab.sim.world.pose("box")
    send(page, ["scene/pose-x", 0.0], ["scene/pose-y", 0.0])
    assert "box would overlap puma560 by" in error(page)
    assert np.abs(lab.sim.world.pose("box")[1:3, 3] - before[1:3, 3]).max() < 1e-6
    cell = lab.sim.cell
    send(page, ["scene/pose-z", -10.0])
    assert "box would overlap floor by 40 mm" in error(page) and lab.sim.cell is cell


def test_a_body_is_lowered_onto_the_surface_below(lab, page):
    lab.do(lab.sim.player.pause)
    send(page, ["scene/add", "table"], ["scene/add", "cylinder"], ["scene/pose-z", 900.0])
    send(page, ["scene/drop"])
    assert lab.sim.world.pose("cylinder")[2, 3] == pytest.approx(0.54, abs=1e-9)
    send(page, ["scene/pose-x", 2000.0], ["scene/drop"])
    assert lab.sim.world.pose("cylinder")[2, 3] == pytest.approx(0.04, abs=1e-9)
    send(page, ["scene/select", "table"], ["scene/pose-z", 800.0], ["scene/drop"])
    assert lab.sim.world.pose("table")[2, 3] == pytest.approx(0.5, abs=1e-9)


def test_bad_input_gives_a_reason(lab, page):
    send(page, ["scene/add", "box"])
    for event, reason in (
        (["scene/rename", "a/b"], "must not contain '/'"),
        (["scene/property", "mass", 0], "Mass: 0 kg is out of range"),
        (["scene/property", "size-0", "2 kg"], "kg"),
        (["scene/pose-x", 1e9], "from -100 to 100 m"),
        (["scene/add", "sofa"], "no element kind 'sofa'"),
        (["scene/add-robot", "robot:/etc/passwd"], "choose a robot from the list"),
        (["scene/attach", "gripper"], ""),
    ):
        send(page, event)
        assert reason in error(page), event
    send(page, ["scene/select", ""], ["scene/delete"])
    assert "select an element first" in error(page)
    assert names(lab) == ["box"] and len(lab.history.labels) == 1


def test_elements_used_by_a_running_program_cannot_be_removed(lab, page):
    send(page, ["scene/add-robot", "robot:scara1"], ["scene/add", "box"])
    text = "name: grab\nrobots:\n  scara1:\n    - wait_until: {held: box, timeout: 50s}\n"
    send(page, ["program/text", text], ["program/run"], ["scene/select", "box"], ["scene/delete"])
    assert "cannot delete box: the running program grab uses it" in error(page)
    send(page, ["scene/rename", "part"])
    assert names(lab) == ["scara1", "box"]
    send(page, ["scene/add", "table"], ["scene/pose-y", 2000.0])  # the rest can be edited
    run = lab.panels["program"].control.execution
    assert run is not None and not run.done and names(lab)[-1] == "table"
    send(page, ["program/end"], ["scene/select", "box"], ["scene/delete"])
    assert "box" not in names(lab)


def test_recording_continues_or_ends_with_a_notice(lab, page):
    send(page, ["scene/add-robot", "robot:scara1"], ["data/record"])
    lab.do(lambda: lab.sim.step(50))
    send(page, ["scene/add", "table"])
    assert lab.sim.recording
    send(page, ["scene/select", ""], ["scene/add", "box"])
    assert not lab.sim.recording
    page.until_said("The recording ended, because robots or bodies of the cell changed")


def test_a_mesh_is_imported_and_saved_with_the_cell(lab, page, saved, tmp_path):
    stl = trimesh.creation.box((300.0, 200.0, 100.0)).export(file_type="stl")
    assert isinstance(stl, bytes)
    lab.do(lambda: lab.panels["scene"]._add_mesh(Upload("block.stl", stl)))
    (fixture,) = lab.sim.cell.fixtures
    assert isinstance(fixture.shape, Mesh) and fixture.shape.scale[0] == 1e-3  # it is in mm
    assert fixture.pose[2, 3] == pytest.approx(0.05)
    lab.do(lab.panels["scene"]._save)
    ((name, content),) = saved
    assert name == "empty.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    shape = load_cell(tmp_path / "empty.yaml").fixtures[0].shape
    assert isinstance(shape, Mesh) and shape.path == tmp_path / "block.stl"


def test_saved_cell_does_not_overwrite_its_robot_file(lab, saved, tmp_path):
    stl = trimesh.creation.box((0.1, 0.1, 0.1)).export(file_type="stl")
    assert isinstance(stl, bytes)
    for name, content in (("part.stl", stl), ("arm.yaml", ARM.encode())):
        lab.imported.take(Upload(name, content))
    lab.open(lab.imported.path("arm.yaml"))
    assert lab.sim.cell.name == "arm"
    lab.do(lab.panels["scene"]._save)
    ((name, content),) = saved
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
        assert sorted(archive.namelist()) == ["arm-2.yaml", "arm.yaml", "part.stl"]
    assert name == "arm-2.zip"
    assert (tmp_path / "arm.yaml").read_text() == ARM
    cell = load_cell(tmp_path / "arm-2.yaml")
    assert cell.robots[0].model.path == tmp_path / "arm.yaml"


def test_faults_and_gains_stay_when_a_robot_is_added(lab, page):
    send(page, ["scene/add-robot", "robot:scara1"], ["pause"])
    send(page, ["simulation/fault", "locked"], ["simulation/inject"], ["control/scale", 2.0])
    robot = lab.sim.robots["scara1"]
    faults = list(robot.faults)
    gains = {name: robot.controller.gains[name].tolist() for name in robot.controller.gains}
    send(page, ["scene/add-robot", "robot:scara2"])
    assert lab.sim.robots["scara1"] is robot and faults and list(robot.faults) == faults
    now = {name: robot.controller.gains[name].tolist() for name in robot.controller.gains}
    assert now == gains


def test_a_bin_made_lower_than_its_walls_are_thick_can_be_read(lab, page, saved):
    send(page, ["scene/add", "bin"], ["scene/property", "wall", 30.0])
    send(page, ["scene/property", "size-2", 50.0], ["scene/save"])
    ((_, content),) = saved
    (read,) = parse_cell(content).fixtures
    assert (read.shape.size[2], read.shape.wall) == (0.05, 0.025)  # type: ignore[union-attr]


def test_two_parts_of_one_name_keep_their_meshes(lab, page):
    for side in (0.05, 0.08):
        data = trimesh.creation.box((side, side, side)).export(file_type="stl")
        assert isinstance(data, bytes)
        lab.do(lambda data=data: lab.panels["scene"]._add_mesh(Upload("part.stl", data)))
    send(page)
    first, second = lab.sim.cell.fixtures
    assert first.shape.path != second.shape.path
    for one, side in ((first, 0.05), (second, 0.08)):
        assert trimesh.load_mesh(one.shape.path).extents == pytest.approx([side] * 3)


def test_deleting_a_robot_ends_its_trajectory(lab, page):
    send(page, ["scene/add-robot", "robot:planar-2r"], ["scene/add-robot", "robot:planar-3r"])
    robot, ended = lab.sim.robots["planar-2r"], []
    away = jerk_limited(robot.q, robot.q + 1.0, limits_of(robot.arm))
    with lab.sim.lock:
        lab.sim.tasks.add(Playing(robot, away, True, ended.append))
    send(page, ["scene/select", "planar-2r"], ["scene/delete"])
    deadline = time.monotonic() + 10
    while not ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert ended == ["the robot was removed"]

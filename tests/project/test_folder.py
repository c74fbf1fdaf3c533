"""Project folders: what is written is read again, atomically, by one lab at a time."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import trimesh

from brazo.control import ComputedTorque, controllers
from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.operate import Point
from brazo.program.controller_file import controllers_yaml, read_controllers
from brazo.program.point_file import points_yaml
from brazo.project import folder, home
from brazo.project.autosave import Autosave
from brazo.project.folder import (
    CELL,
    CONTROLLERS,
    IMPORT_PREFIX,
    POINTS,
    Head,
    Project,
    is_project,
    kept_cell,
    with_points,
)
from brazo.robot import load
from brazo.simulation import Simulation
from brazo.world import Cell, load_cell, parse_cell
from brazo.world.cell import CellRobot
from brazo.world.robot_source import Edits, RobotSource


@pytest.fixture
def projects(tmp_path, monkeypatch):
    folder = tmp_path / "projects"
    monkeypatch.setenv("BRAZO_PROJECTS", str(folder))
    return folder


@pytest.fixture
def project(tmp_path):
    cell = load_cell("cooperative")
    project = Project.create(tmp_path / "mine", "my task", "cell:cooperative")
    files, digest = kept_cell(cell, project.folder)
    program = "name: wave\nrobots:\n  scara1:\n    - move_joints: up\n"
    up = Point(1, "up", np.array([0.1, 0.2, 0.05, 0.0, 0.0]))
    project.write(
        {**files, POINTS: points_yaml({"scara1": [up]}), "programs/wave.yaml": program},
        replace(project.head, digest=digest, program="wave", robot="scara2"),
    )
    return project


def test_what_is_written_is_read_again(project):
    again = Project(project.folder)
    assert again.head == Head(
        "my task", "cell:cooperative", project.head.digest, False, "wave", "scara2"
    )
    shipped = load_cell("cooperative")
    cell = again.cell()
    assert [one.name for one in cell.robots] == [one.name for one in shipped.robots]
    for mine, theirs in zip(cell.robots, shipped.robots, strict=True):
        assert np.array_equal(mine.base, theirs.base) and np.array_equal(mine.start, theirs.start)
    assert kept_cell(cell, project.folder)[1] == project.head.digest
    assert again.programs() == ["wave"]
    program = again.program()
    assert [one.name for one in program.points["scara1"]] == ["up"]
    Simulation(cell).world  # noqa: B018
    assert again.program("cooperative").name  # a shipped one


def test_only_changed_files_are_written_and_an_empty_text_deletes(project):
    path = project.folder / POINTS
    before = path.stat().st_mtime_ns, path.stat().st_ino
    project.write({POINTS: project.text(POINTS)})
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    project.write({"programs/wave.yaml": ""})
    assert project.programs() == []
    assert [one.name for one in project.folder.iterdir() if one.name.startswith(".")] == []


def test_files_that_are_set_aside_are_not_lost(project):
    text = project.text(POINTS)
    assert project.set_aside(POINTS).name == "points.yaml.unread"
    project.write({POINTS: text})  # written, although it was the same text before
    assert project.text(POINTS) == text
    assert project.set_aside(POINTS).name == "points.yaml.unread-2"
    with pytest.raises(BrazoError, match="cannot be renamed"):
        project.set_aside(POINTS)


def test_files_are_written_before_what_refers_to_them_and_deleted_last(project, monkeypatch):
    order = []
    real = folder._write

    def write(path, text):
        assert (project.folder / "programs/wave.yaml").exists()
        order.append(path.relative_to(project.folder).as_posix())
        real(path, text)

    monkeypatch.setattr(folder, "_write", write)
    files = {"programs/wave.yaml": "", CELL: "name: new\n", "cell/arm.yaml": "name: arm\n"}
    project.write(files, replace(project.head, edited=True))
    assert order == ["cell/arm.yaml", CELL, "project.yaml"] and project.programs() == []


def test_autosave_goes_on_after_any_failure(project, monkeypatch):
    reports = []
    autosave = Autosave(project, reports.append)
    for error in (BrazoError("disk full"), RuntimeError("bug"), None):
        with monkeypatch.context() as patch:
            if error is not None:
                patch.setattr(project, "write", Mock(side_effect=error))
            autosave.put({POINTS: ""}, project.head)
            autosave.flush()
    autosave.close()
    assert reports == ["disk full", "internal error: RuntimeError: bug", ""]


def test_one_lab_at_a_time(project):
    other = Project(project.folder)
    assert project.acquire() and project.acquire()
    assert not other.acquire()
    project.release()
    assert other.acquire()
    other.release()


def test_copy_and_archive_have_all_complete_files(project, tmp_path):
    recordings = project.folder / "recordings"
    recordings.mkdir()
    (recordings / "a.parquet").write_bytes(b"x")
    (recordings / "b.parquet.part").write_bytes(b"x")
    project.acquire()
    copy = project.copy(tmp_path / "copy", "other")
    assert copy.name == "other" and copy.program().name == "wave"
    assert (copy.folder / "recordings" / "a.parquet").is_file()
    with zipfile.ZipFile(io.BytesIO(project.archive())) as archive:
        names = set(archive.namelist())
    assert {"my-task/project.yaml", f"my-task/{CELL}", "my-task/recordings/a.parquet"} <= names
    assert not any(name.endswith((".part", ".lock")) for name in names)
    project.clear()
    assert project.programs() == [] and (recordings / "a.parquet").is_file()
    assert Project(project.folder).head == Head("my task", "cell:cooperative")
    project.release()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name: x\n", "field 'format' is missing"),
        ("format: brazo project 9\nname: x\n", "got 'brazo project 9'; update brazo"),
        ("format: brazo project 1\n", "name"),
        ("format: brazo project 1\nname: x\nedited: maybe\n", "edited"),
        ("format: brazo project 1\nname: x\ncolour: red\n", "colour"),
    ],
)
def test_a_folder_that_is_no_project_is_refused_with_file_and_line(tmp_path, text, wanted):
    (tmp_path / "project.yaml").write_text(text)
    with pytest.raises(BrazoError, match=r"project\.yaml") as error:
        Project(tmp_path)
    assert wanted in str(error.value)


def test_folders_that_are_not_there_or_not_empty(tmp_path):
    with pytest.raises(BrazoError, match="no such folder"):
        Project(tmp_path / "none")
    with pytest.raises(BrazoError, match="not a project"):
        Project(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BrazoError, match="not empty"):
        Project.create(tmp_path)
    assert not is_project(tmp_path) and not is_project("a\0b")


def test_a_missing_program_is_named_with_those_that_exist(project):
    with pytest.raises(BrazoError, match="no program 'wav'; programs: wave, cooperative"):
        project.program("wav")


@pytest.mark.parametrize("name", [*controllers(), "ideal"])
def test_controllers_are_read_as_they_were_written(name):
    arm = load("scara1")
    controller = name if name == "ideal" else controllers()[name]()
    if not isinstance(controller, str):
        controller.bind(arm, 1e-3)
        for gain in controller.gains:
            controller.gains[gain] = 1.25 * controller.gains[gain]
    text = controllers_yaml({"a b": controller})
    again = read_controllers(parse_document(text))["a b"]
    if isinstance(controller, str):
        assert again == name
        return
    assert not isinstance(again, str) and type(again) is type(controller)
    again.bind(arm, 1e-3)
    for gain in controller.gains:
        assert again.gains[gain].tolist() == controller.gains[gain].tolist()
    assert controllers_yaml({"a b": again}) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("arm: {controller: PIDD}", "PIDD"),
        ("arm: {gains: {kp: [1]}}", "controller"),
        ("arm: {controller: PID, gains: {kq: [1]}}", "kq"),
        ("arm: {controller: PID, options: {windup: never}}", "windup"),
        ("arm: {controller: PDGravity, options: {feedforward: no}}", "'no' is not allowed"),
    ],
)
def test_controllers_that_cannot_be_are_refused(text, wanted):
    with pytest.raises(BrazoError, match=wanted):
        read_controllers(parse_document(text))


def test_a_project_uses_its_controllers(project):
    controller = ComputedTorque(kp=[1.0] * 5, kd=[2.0] * 5)
    controller.bind(load("scara1"), 1e-3)
    project.write({CONTROLLERS: controllers_yaml({"scara1": controller})})
    sim = Simulation(project.cell(), project.controllers())
    assert sim.robots["scara1"].controller.gains["kp"].tolist() == [1.0] * 5


def test_points_of_the_program_take_precedence():
    def point(name: str, value: float) -> Point:
        return Point(1, name, np.array([value]))

    found = with_points(
        {"a": [point("P1", 1.0)]}, {"a": [point("P1", 2.0), point("P2", 3.0)], "b": []}
    )
    assert [(one.name, one.q[0]) for one in found["a"]] == [("P1", 1.0), ("P2", 3.0)]


URDF = """<robot name="{name}">
  <link name="base"/>
  <link name="arm"/>
  <joint name="j" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="{upper}" effort="1" velocity="1"/>
  </joint>
</robot>
"""


@pytest.mark.parametrize("temporary", [False, True])
def test_imported_files_are_copied_when_they_are_new_or_changed(tmp_path, monkeypatch, temporary):
    imported = tmp_path / "imported"
    folder = imported / f"{IMPORT_PREFIX}1"
    folder.mkdir(parents=True)
    if temporary:  # of a lab that does not keep its work
        monkeypatch.setattr("tempfile.tempdir", str(imported))
    project = Project.create(tmp_path / "mine")
    for name, upper in (("one", 1), ("two", 1), ("two", 1.25)):
        (folder / f"{name}.urdf").write_text(URDF.format(name=name, upper=upper))
        cell = parse_cell(f"name: c\nrobots: [{{name: r, robot: '{folder / name}.urdf'}}]\n")
        files, _ = kept_cell(cell, project.folder, None if temporary else imported)
        project.write(files)
        (robot,) = Project(project.folder).cell().robots
        copy = project.folder / "cell/imported" / folder.name / f"{name}.urdf"
        assert robot.model.name == name and f'upper="{upper}"' in copy.read_text()
        assert str(folder) not in files[CELL]


ROBOT = """
name: arm
joints:
  - {d: 100mm, mass: 1kg, parts: [{mesh: arm_meshes/link.stl}]}
"""


def test_edits_of_an_imported_robot_with_meshes_are_kept(tmp_path):
    folder = tmp_path / "imported" / f"{IMPORT_PREFIX}1"
    (folder / "arm_meshes").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(folder / "arm_meshes/link.stl")
    (folder / "arm.yaml").write_text(ROBOT)
    project = Project.create(tmp_path / "mine")
    source = RobotSource.load(folder / "arm.yaml")
    heavy = source.edited(Edits(fields={"joints[0].mass": 3.0}))
    zero = np.zeros(1)
    cell = Cell(
        name="c", robots=(CellRobot("a", heavy, start=zero), CellRobot("b", source, start=zero))
    )
    for mass in (3.0, 5.0):  # the second time with the robot of the project
        project.write(kept_cell(cell, project.folder, tmp_path / "imported")[0])
        first, second = Project(project.folder).cell().robots
        assert [r.model.bodies[1].inertia.mass for r in (first, second)] == [mass, 1.0]
        assert first.model.bodies[1].parts[0].shape.path.is_relative_to(project.folder.resolve())
        heavier = first.source.edited(Edits(fields={"joints[0].mass": 5.0}))
        cell = Cell(name="c", robots=(replace(first, source=heavier), second))
    assert (folder / "arm.yaml").read_text() == ROBOT


def test_imported_files_that_cannot_be_copied_are_an_error_of_the_user(tmp_path):
    folder = tmp_path / "imported" / f"{IMPORT_PREFIX}1"
    folder.mkdir(parents=True)
    (folder / "one.urdf").write_text(URDF.format(name="one", upper=1))
    cell = parse_cell(f"name: c\nrobots: [{{name: r, robot: '{folder}/one.urdf'}}]\n")
    project = Project.create(tmp_path / "mine")
    (project.folder / "cell").write_text("a file in the way")
    with pytest.raises(BrazoError, match="cannot be written"):
        kept_cell(cell, project.folder, tmp_path / "imported")


def test_untitled_projects_are_found_again_by_their_source(projects, tmp_path):
    first = home.untitled("cell:cooperative")
    assert home.untitled("cell:cooperative", first) is first
    second = home.untitled("cell:cooperative")  # open at the same time
    assert second.folder != first.folder
    first.release()
    third = home.untitled("cell:cooperative")
    assert third.folder == first.folder
    file = home.untitled(str(tmp_path / "cell.yaml"))
    assert file.name == "cell" and home.is_untitled(file.folder)
    other = home.untitled(str(tmp_path / "b" / "cell.yaml"))
    assert other.folder != file.folder
    for project in (second, third, file, other):
        project.release()


def test_recent_projects_last_first_without_deleted_ones(projects):
    folders = []
    for name in ("one", "two", "three"):
        folder, _ = home.new_folder(name)
        home.note_opened(Project.create(folder, name))
        folders.append(folder)
    home.note_opened(Project(folders[0]))
    (folders[1] / "project.yaml").unlink()
    assert [one.name for one in home.recent()] == ["one", "three"]
    with pytest.raises(BrazoError, match="exists"):
        home.new_folder("one")


def test_entries_of_the_recent_list_that_cannot_be_read_are_skipped(projects):
    for name in ("one", "two", "three"):
        home.note_opened(Project.create(home.new_folder(name)[0], name))
    head = projects / "two" / "project.yaml"
    text = head.read_text()
    head.write_text("{")
    with (projects / "recent.yaml").open("a") as file:
        file.write("- {folder: x}\n- 7\n" + f"- {{folder: '{projects / 'one'}', opened: late}}\n")
    assert [one.name for one in home.recent()] == ["three", "one"]
    home.note_opened(Project(projects / "one"))
    head.write_text(text)
    assert [one.name for one in home.recent()] == ["one", "three", "two"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights on Windows")
def test_an_untitled_project_is_recognized_behind_a_symbolic_link(projects, tmp_path, monkeypatch):
    first = home.untitled("cell:cooperative")
    link = tmp_path / "link"
    link.symlink_to(projects, target_is_directory=True)
    monkeypatch.setenv("BRAZO_PROJECTS", str(link))
    assert home.is_untitled(first.folder)
    assert home.is_untitled(link / home.UNTITLED / first.folder.name)
    assert home.untitled("cell:cooperative", first) is first
    first.release()


@pytest.mark.parametrize("name", ["", "  ", "../up", "a/b", "x" * 61, "untitled", "con\n\x01"])
def test_names_that_cannot_be_folders_are_refused(projects, name):
    with pytest.raises(BrazoError, match="project name"):
        home.new_folder(name)

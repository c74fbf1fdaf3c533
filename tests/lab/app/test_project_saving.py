"""The work in a lab is kept in a project and restored; every edit can be undone.  No browser."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from unittest.mock import Mock

import numpy as np
import pytest
import yaml

from brazo.errors import BrazoError
from brazo.lab.app.project_opening import Fresh, open_project
from brazo.lab.server.transfers import Upload
from brazo.program import parse_program
from brazo.project import home
from brazo.project.folder import Project, kept_cell
from brazo.simulation import Simulation

PROGRAM = "name: mine\nrobots:\n  scara1:\n    - line: {to: P1}  # slowly\n    - wait: 1s\n"


@pytest.fixture(autouse=True)
def projects(tmp_path, monkeypatch):
    folder = tmp_path / "projects"
    monkeypatch.setenv("BRAZO_PROJECTS", str(folder))
    return folder


@pytest.fixture
def lab(running):
    with running("robot:scara1", keep=True) as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        yield page


def names(lab, robot: str = "scara1") -> list[str]:
    return [one.name for one in lab.points.of(robot)]


def test_the_question_about_a_running_program_states_that_the_project_is_kept(lab, page):
    text = "name: wave\nrobots:\n  scara1:\n    - wait: 5s\n"
    page.send(["pendant/teach"], ["program/text", text], ["program/run"], ["pause"])
    page.send(["open", "robot:delta"])
    question = page.reported["question"]
    assert question["lost"] == ["Program wave is running at step 1 of 1"]
    assert question["note"] == "All other work stays saved in the project."
    page.send(["unsaved/discard", question["number"]])
    assert lab.sim.cell.name == "delta"
    page.send(["open", "robot:scara1"])
    assert names(lab) == ["P1"]


def add_robot(page) -> None:
    """Add a robot; it is compiled in a job."""
    page.send(["scene/add-robot", "robot:scara1"])
    deadline = time.monotonic() + 60
    while page.lab.jobs.busy or page.lab.channel.get("jobs"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    page.send()


def work(page) -> None:
    """Some work of every kind."""
    page.send(["pendant/teach"], ["pendant/teach"], ["pendant/point-name", 2, "above"])
    page.send(["trajectory/add-point", "above"], ["trajectory/add"], ["program/text", PROGRAM])
    page.send(["trajectory/cell/t", 2, 2.5], ["trajectory/size/circle/radius", 30.0])
    page.send(["control/scale", 2.0], ["dimensions/parameter-mm", "L1", 320.0])
    page.send(["scene/pose-x", 100.0], ["simulation/gravity", 2, -1.62])


def assert_restored(lab) -> None:
    robot = lab.robot
    assert names(lab) == ["P1", "above"]
    rows = lab.panels["trajectory"].draft.rows
    assert [row.t for row in rows] == [0.0, 2.5] and [bool(row.point) for row in rows] == [
        True,
        False,
    ]
    assert lab.panels["trajectory"].draft.curve.size("radius") == 0.03
    assert (
        lab.panels["program"].document.text == PROGRAM
        and lab.panels["program"].document.program is not None
    )
    assert robot.controller.gains["kp"].tolist() == [1250.0] * 5
    assert robot.arm.model.parameters["L1"] == 0.32
    assert robot.base[0, 3] == 0.1 and lab.sim.cell.gravity[2] == -1.62


def test_work_is_restored_when_the_lab_is_opened_again(running, line, projects):
    with running("robot:scara1", keep=True) as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        work(page)
        folder = lab.saving.project.folder
    with running("robot:scara1", keep=True) as lab:
        assert lab.saving.project.folder == folder
        assert_restored(lab)
    sim = Simulation(Project(folder).cell(), Project(folder).controllers())
    Project(folder).program().start(sim)  # as `brazo run` does
    assert [one.folder for one in home.recent()] == [folder]


def test_switching_cells_loses_nothing_and_asks_nothing(lab, page):
    work(page)
    page.send(["open", "robot:delta"])
    assert "question" not in page.reported and lab.sim.cell.name == "delta"
    assert names(lab) == [] and lab.history.labels == ()
    assert lab.panels["program"].document.text != PROGRAM
    page.send(["open", "robot:scara1"])
    assert_restored(lab)
    page.send(["project/start-over"])
    deadline = time.monotonic() + 30
    while names(lab):
        assert time.monotonic() < deadline
        page.send()
        time.sleep(0.02)
    assert lab.robot.arm.model.parameters["L1"] != 0.32


SCRIPT = """
import sys
from brazo.lab.serving import serve

lab = serve("robot:scara1", port=0, open_browser=False, block=False, keep=True)
lab.do(lab.panels["pendant"]._teach)
print(lab.saving.project.folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_lab_that_is_killed_loses_at_most_a_second(running):
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            folder = process.stdout.readline().strip()
            time.sleep(1.0)
            process.send_signal(signal.SIGKILL)
            process.wait(20)
        finally:
            process.kill()
    assert [one.name for one in Project(folder).points()["scara1"]] == ["P1"]
    with running("robot:scara1", keep=True) as lab:
        assert str(lab.saving.project.folder) == folder and names(lab) == ["P1"]


def test_save_as_continues_under_the_new_name(lab, page, fetch, projects):
    page.send(["pendant/teach"], ["project/save-as", "my arm"], ["pendant/teach"])
    assert lab.saving.project.folder == projects / "my-arm"
    assert page.reported["project"]["name"] == "my arm"
    assert lab.runs.folder == projects / "my-arm" / "recordings"
    page.send(["project/export"])
    offer = page.reported["download"]
    assert offer["name"] == "my arm.zip"
    with zipfile.ZipFile(io.BytesIO(fetch(lab, offer["address"]).body)) as archive:
        assert archive.read("my-arm/points.yaml").count(b"name:") == 2
    page.send(["project/save-as", "my arm"])
    page.until_said("exists; choose another name")
    page.send(["open", "robot:scara1"])  # the untitled one stays as it was
    assert names(lab) == ["P1"]
    folder = str(projects / "my-arm")
    page.send(["project/open", folder])
    page.until_opened = time.monotonic() + 30
    while names(lab) != ["P1", "P2"]:
        assert time.monotonic() < page.until_opened
        page.send()
        time.sleep(0.02)


def test_a_page_opens_only_projects_of_the_list(lab, page, tmp_path):
    Project.create(tmp_path / "other")
    page.send(["project/open", str(tmp_path / "other")])
    page.until_said("no longer exists")


def test_a_new_project_is_empty_and_is_opened_again(lab, page, running, projects):
    page.send(["trajectory/add"], ["control/scale", 2.0], ["project/new", "cell 7"])
    deadline = time.monotonic() + 30
    while lab.sim.cell.name != "cell 7":
        assert time.monotonic() < deadline
        page.send()
        time.sleep(0.02)
    assert not lab.sim.robots
    lab.do(lab.saving.save)
    lab.saving.flush()
    files = {path.name for path in (projects / "cell-7").glob("*.yaml")}
    assert not files & {"controllers.yaml", "trajectories.yaml"}  # of the cell before
    add_robot(page)
    page.send(["pendant/teach"])
    assert names(lab) == ["P1"]
    page.close()
    lab.stop()
    with running(projects / "cell-7") as again:
        assert list(again.sim.robots) == ["scara1"] and names(again) == ["P1"]


def test_a_lab_in_python_keeps_nothing_unless_it_is_asked_to(running, projects):
    with running("robot:scara1") as lab:
        lab.do(lab.panels["pendant"]._teach)
        assert lab.saving.project is None
    assert not projects.exists()


def test_a_source_that_changed_is_read_again_unless_its_cell_was_edited(running, line, tmp_path):
    path = tmp_path / "mine.yaml"
    text = "name: mine\nrobots: [{name: arm, robot: scara1, base: {xyz: [0.1, 0, 0]}}]\n"
    path.write_text(text)
    with running(path, keep=True) as lab:
        lab.do(lab.panels["pendant"]._teach)
    path.write_text(text.replace("0.1", "0.2"))
    with running(path, keep=True) as lab, line(lab) as page:
        assert lab.robot.base[0, 3] == 0.2 and names(lab, "arm") == ["P1"]
        page.send(["scene/pose-x", 500.0])
    path.write_text(text.replace("0.1", "0.3"))
    with running(path, keep=True) as lab, line(lab) as page:
        assert lab.robot.base[0, 3] == 0.5


# Each kind of edit: the event, and what it changes.
EDITS = {
    "teach": (["pendant/teach"], names),
    "waypoint": (["trajectory/add"], lambda lab: len(lab.panels["trajectory"].draft.rows)),
    "curve": (
        ["trajectory/size/circle/radius", 30.0],
        lambda lab: lab.panels["trajectory"].draft.curve.size("radius"),
    ),
    "gain": (["control/gain/kp", 1, 77.0], lambda lab: lab.robot.controller.gains["kp"].tolist()),
    "gains": (["control/scale", 2.0], lambda lab: lab.robot.controller.gains["kd"].tolist()),
    "controller": (["control/controller", "ideal"], lambda lab: lab.robot.controller_name),
    "length": (
        ["dimensions/parameter-mm", "L1", 320.0],
        lambda lab: lab.robot.arm.model.parameters["L1"],
    ),
    "base": (["scene/pose-x", 100.0], lambda lab: lab.robot.base[0, 3]),
    "gravity": (["simulation/gravity", 2, -1.0], lambda lab: lab.sim.cell.gravity[2]),
    "step": (["simulation/dt", 2.0], lambda lab: lab.sim.dt),
    "program": (["program/text", PROGRAM], lambda lab: lab.panels["program"].document.text),
}


@pytest.fixture(scope="module")
def shared(running):
    with running("robot:scara1") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.mark.parametrize("kind", EDITS)
def test_every_kind_of_edit_is_undone_and_redone(shared, line, kind):
    event, look = EDITS[kind]
    with line(shared) as page:
        page.send()
        before = look(shared)
        page.send(event, [])  # the second, invalid event lets queued edits pass
        page.send()
        after = look(shared)
        assert after != before and len(shared.history.labels) == 1
        label = page.reported["history/undo"]
        page.send(["undo"])
        page.send()
        assert look(shared) == before and page.reported["history/redo"] == label
        page.send(["redo"])
        page.send()
        assert look(shared) == after
        page.send(["undo"])
        page.send()
        shared.do(shared.history.clear)


def test_adding_and_removing_robots_is_undone_and_redone(lab, page):
    add_robot(page)
    (other,) = set(lab.sim.robots) - {"scara1"}
    page.send(["undo"])
    assert list(lab.sim.robots) == ["scara1"]
    page.send(["redo"])
    assert set(lab.sim.robots) == {"scara1", other}
    page.send(["scene/select", "scara1"], ["scene/delete"], ["undo"])
    assert set(lab.sim.robots) == {"scara1", other}


def test_a_point_is_shared_by_pendant_trajectory_and_program(lab, page):
    page.send(["pendant/teach"], ["trajectory/add-point", "P1"], ["program/text", PROGRAM])
    trajectory, program = lab.panels["trajectory"], lab.panels["program"]
    assert program.document.error == ""
    page.send(["pendant/point-name", 1, "on top"])
    assert trajectory._name_of(trajectory.draft.rows[0]) == "on top"
    assert (
        "- line: {to: on top}  # slowly\n" in program.document.text and program.document.error == ""
    )
    page.send(["undo"])
    assert program.document.text == PROGRAM and names(lab) == ["P1"]
    page.send(["trajectory/cell/q1", 1, 20.0])  # of the point, in degrees
    (point,) = lab.points.of("scara1")
    assert point.q[1] == pytest.approx(np.radians(20.0), abs=1e-15)
    assert trajectory.draft.rows[0].q.tolist() == point.q.tolist()
    page.send(["undo"])
    assert trajectory.draft.rows[0].q[1] == pytest.approx(lab.robot.reference.q[1], abs=1e-15)
    page.send(["pendant/point-delete", 1])
    assert (
        "no point 'P1'" in program.document.error
        and trajectory._name_of(trajectory.draft.rows[0]) == ""
    )
    page.send(["undo"])
    assert program.document.error == "" and trajectory._name_of(trajectory.draft.rows[0]) == "P1"
    page.send(["trajectory/add"], ["trajectory/cell/name", 2, "below"])
    assert names(lab) == ["P1", "below"]


def test_a_saved_program_contains_the_points_that_it_names(lab, page, fetch):
    page.send(["pendant/teach"], ["pendant/teach"], ["program/text", PROGRAM], ["program/save"])
    text = fetch(lab, page.reported["download"]["address"]).body.decode()
    assert [one.name for one in parse_program(text).points["scara1"]] == ["P1"]


def test_a_pose_in_a_frame_follows_it(running, line):
    with running("cooperative") as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        page.send(["pendant/teach-in", "scara2"], ["pendant/teach"])
        (point,) = lab.points.of("scara1")
        assert point.frame == "scara2"
        T = lab.sim.robots["scara2"].base @ point.T
        tool = lab.robot.base @ lab.robot.arm.fk(lab.robot.reference.q)
        assert np.abs(T - tool).max() < 1e-12
        x = 1e3 * (lab.sim.robots["scara2"].base[0, 3] + 0.05)
        page.send(["scene/select", "scara2"], ["scene/pose-x", x], ["select", "scara1", -1])
        lab.do(lambda: lab.display.ask(lab.panels["pendant"]))
        (shown,) = lab.channel.get("pendant/points")
        tool[0, 3] += 0.05
        x = 1e3 * (np.linalg.inv(lab.robot.base) @ tool)[0, 3]
        assert float(shown["where"].split()[0].replace("−", "-")) == pytest.approx(x, abs=0.51)


def test_start_over_with_a_source_that_cannot_be_opened_keeps_the_work(running, line, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nrobots: [{name: arm, robot: scara1}]\n")
    with running(path, keep=True) as lab, line(lab) as page:
        page.send(["pendant/teach"])
        text = path.read_text()
        path.unlink()
        project = lab.saving.project
        with pytest.raises(BrazoError, match="mine"):
            lab.open(Fresh(project))
        page.send(["pendant/teach"])
        lab.do(lab.saving.save)
        lab.saving.flush()
        assert [one.name for one in project.points()["arm"]] == names(lab, "arm") == ["P1", "P2"]
        path.write_text(text)
        lab.open(Fresh(project))
        assert lab.saving.project is project and names(lab, "arm") == []
        assert not (project.folder / "points.yaml").exists()


def test_a_project_that_cannot_be_opened_leaves_the_open_one_as_it_is(lab, page, monkeypatch):
    broken = home.untitled("robot:delta")
    (broken.folder / "points.yaml").write_text("delta: [{name: 1, colour: red}]\n")
    broken.release()
    released, release = [], Project.release
    monkeypatch.setattr(Project, "release", lambda one: (released.append(one.folder), release(one)))
    page.send(["pendant/teach"], ["open", "robot:delta"])
    page.until_said("points.yaml")
    assert lab.sim.cell.name == "scara1" and lab.history.labels
    assert released == [broken.folder]
    page.send(["pendant/teach"])
    lab.do(lab.saving.save)
    lab.saving.flush()
    assert [one.name for one in lab.saving.project.points()["scara1"]] == ["P1", "P2"]


def test_files_that_cannot_be_restored_are_set_aside_and_reported(running, line, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nrobots: [{name: arm, robot: scara1}]\n")
    with running(path, keep=True) as lab, line(lab) as page:
        page.send(["trajectory/add"], ["control/scale", 2.0])
        folder = lab.saving.project.folder
    (folder / "view.yaml").write_bytes(b"\xff")  # not text: the default view is used
    kept = {name: (folder / name).read_text() for name in ("trajectories.yaml", "controllers.yaml")}
    path.write_text(path.read_text().replace("scara1", "puma560"))  # one more joint
    with running(path, keep=True) as lab:
        lab.do(lab.saving.save)
        with line(lab) as page:
            deadline = time.monotonic() + 20
            news, notices = page.reported, []
            while len(notices) < 2:
                assert time.monotonic() < deadline, notices
                if "notice" in news:
                    notices.append(news["notice"]["text"])
                news = page.read() if len(notices) < 2 else {}
    for name, text in kept.items():
        assert (folder / f"{name}.unread").read_text() == text
        assert any(f"{name}.unread" in notice for notice in notices)
        assert not (folder / name).exists()


def test_a_source_that_was_unreadable_is_read_again(running, tmp_path):
    path = tmp_path / "mine.yaml"
    text = "name: mine\nrobots: [{name: arm, robot: scara1, base: {xyz: [0.1, 0, 0]}}]\n"
    path.write_text(text)
    with running(path, keep=True) as lab:
        folder = lab.saving.project.folder
    before = Project(folder).head
    path.write_text("robots: {")
    project = Project(folder)
    opening = open_project(project)
    assert "cannot be read" in opening.note
    assert opening.digest == before.digest == kept_cell(opening.sim.cell, folder)[1]
    opening.sim.player.close()
    project.release()


def test_full_disk_is_reported_once_and_then_the_save(lab, page, monkeypatch):
    project, saving, said = lab.saving.project, lab.saving, []
    monkeypatch.setattr(lab.notices, "announce", lambda text, kind: said.append(text))

    def save() -> None:
        lab.do(saving.save)
        saving.flush()
        page.send()  # what the writer posted is done

    with monkeypatch.context() as patch:
        patch.setattr(project, "write", Mock(side_effect=BrazoError("disk full")))
        for _ in range(3):
            save()
            assert not saving.keeps and page.reported["project"]["problem"] == "disk full"
        assert said == ["the project is not saved: disk full"]
    save()
    assert saving.keeps and page.reported["project"]["problem"] == "" and len(said) == 1


def test_points_are_saved_when_the_cell_cannot_be_written(lab, page, monkeypatch):
    project, saving, said = lab.saving.project, lab.saving, []
    lab.do(saving.save)
    saving.flush()
    before = project.text("cell/cell.yaml")
    monkeypatch.setattr(lab.notices, "announce", lambda text, kind: said.append(text))
    with monkeypatch.context() as patch:
        patch.setattr(
            "brazo.lab.app.project_saving.kept_cell", Mock(side_effect=BrazoError("no file of it"))
        )
        page.send(["scene/pose-x", 100.0], ["pendant/teach"])
        for _ in range(3):
            lab.do(saving.save)
            saving.flush()
            page.send()  # what the writer posted is done
            assert not saving.keeps and page.reported["project"]["problem"] == "no file of it"
        assert said == ["the project is not saved: no file of it"]
        points = Project(project.folder).points()
        assert [one.name for one in points["scara1"]] == ["P1"]
        assert project.text("cell/cell.yaml") == before
    lab.do(saving.save)
    saving.flush()
    page.send()
    assert saving.keeps and len(said) == 1 and project.text("cell/cell.yaml") != before


def test_closing_lab_always_releases_its_project(running, monkeypatch):
    with running("robot:scara1", keep=True) as lab:
        project = lab.saving.project
        monkeypatch.setattr(lab.saving, "_collected", Mock(side_effect=RuntimeError("bug")))
    other = Project(project.folder)
    assert lab.saving.project is None and other.acquire()
    other.release()


def test_a_loaded_program_does_not_replace_another_of_the_project(lab, page):
    panel, project = lab.panels["program"], lab.saving.project
    page.send(["pendant/teach"], ["program/from-points"], ["program/text", PROGRAM])
    assert panel.document.name == "scara1-points"
    page.send(["program/from-points"])
    assert panel.document.name == "scara1-points-2"
    other = PROGRAM.replace("1s", "2s")
    for content, name in ((other, "scara1-points-3"), (PROGRAM, "scara1-points")):
        given = Upload("scara1-points.yaml", content.encode())
        lab.do(lambda given=given: panel._load(given))
        assert (panel.document.name, panel.document.text) == (
            name,
            content,
        )  # the same text is the same program
    lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
    assert project.programs() == ["scara1-points", "scara1-points-2", "scara1-points-3"]
    assert project.program_path("scara1-points").read_text() == PROGRAM


def test_program_is_opened_with_its_cell(lab, page):
    panel = lab.panels["program"]
    text = "name: mine\ncell: cooperative\nrobots:\n  scara1:\n    - wait: 1s\n"
    page.send(["program/text", text], ["program/open-cell"])
    assert lab.sim.cell.name == "cooperative"
    assert (panel.document.name, panel.document.text) == (
        "program",
        text,
    ) and panel.document.program is not None
    lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
    assert lab.saving.project.program().name == "mine"


def of_robot(lab, robot: str) -> tuple:
    """Points, waypoints and gains of a robot."""
    kp = lab.sim.robots[robot].controller.gains["kp"].tolist()
    return names(lab, robot), [row.t for row in lab.panels["trajectory"]._drafts[robot].rows], kp


def test_work_on_a_robot_is_kept_when_it_is_renamed_and_when_its_deletion_is_undone(lab, page):
    page.send(["dimensions/parameter-mm", "L1", 320.0])
    page.send(["pendant/teach"], ["trajectory/add"], ["control/scale", 2.0])
    before = of_robot(lab, "scara1")
    assert before == (["P1"], [0.0], [1250.0] * 5)
    project, panels = lab.saving.project, lab.panels

    def kept() -> list[set[str]]:
        lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
        found = yaml.safe_load(project.text("trajectories.yaml")) or {}
        return [set(project.points()), set(found), set(project.controllers())]

    page.send(["pendant/tcp-touch"], ["scene/rename", "arm"])
    assert list(panels["pendant"]._tools._touches) == ["arm"]
    first = panels["dimensions"]._first_source()
    assert first.model.parameters["L1"] != lab.robot.arm.model.parameters["L1"] == 0.32
    assert of_robot(lab, "arm") == before and kept() == [{"arm"}] * 3
    page.send(["undo"], ["undo"], ["redo"])  # also the gains
    assert of_robot(lab, "scara1") == before and kept() == [{"scara1"}] * 3
    page.send(["redo"])
    lab.do(panels["scene"]._delete)
    assert not lab.sim.robots and kept()[1:] == [set(), set()]
    assert [one.robot for one in lab.unsaved.work() if one.robot] == []
    page.send(["undo"])
    assert of_robot(lab, "arm") == before and kept() == [{"arm"}] * 3


TWO = """\
name: two
robots:
  scara1:
    - line: {in: scara2, xyz: [0, 0, 1]}  # scara2
    - wait: 1s
  scara2: []
"""


def test_programs_and_poses_use_the_new_name_of_a_robot(running, line, projects):
    with running("cooperative", keep=True) as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        document = lab.panels["program"].document
        page.send(["pendant/teach-in", "scara2"], ["pendant/teach"])
        page.send(["program/new"], ["program/text", TWO], ["program/new"], ["program/text", TWO])
        page.send(["program/break", "scara1", [1]])
        page.send(["scene/select", "scara2"], ["scene/rename", "right"])
        assert document.text == TWO.replace("in: scara2", "in: right").replace(
            "scara2: []", "right: []"
        )
        assert lab.points.lists()["scara1"][0].frame == "right"
        project = lab.saving.project
        lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
        texts = [project.program_path(name).read_text() for name in project.programs()]
        assert texts == [document.text] * 2
        page.send(["undo"])
        lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
        texts = [project.program_path(name).read_text() for name in project.programs()]
        assert texts == [TWO] * 2 and lab.points.lists()["scara1"][0].frame == "scara2"


def test_a_step_is_moved_to_another_robot(running, line):
    with running("cooperative") as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        panel = lab.panels["program"]
        page.send(["program/text", TWO], ["program/break", "scara1", [1]])
        page.send(["program/move", "scara1", [1], [0], "scara2"])
        moved = (
            "name: two\nrobots:\n  scara1:\n    - line: {in: scara2, xyz: [0, 0, 1]}  # scara2\n"
        )
        assert panel.document.text == f"{moved}  scara2:\n    - wait: 1s\n"
        (at,) = panel._builder.breaks
        assert at == panel._builder.selected and (at.robot, at.path) == ("scara2", (0,))
        page.send(["undo"])
        assert panel.document.text == TWO


def test_velocities_at_waypoints_are_planned_and_kept(lab, page):
    page.send(["trajectory/add"], ["pendant/teach"], ["trajectory/add-point", "P1"])
    page.send(["trajectory/add"], ["trajectory/cell/q0", 3, 40.0], ["trajectory/cell/q0", 1, 20.0])
    panel = lab.panels["trajectory"]
    automatic = panel._velocity_rows()[1]
    assert not automatic["mark"] and automatic["v0"] == pytest.approx(10.0)
    page.send(["trajectory/cell/v0", 2, 20.0], ["trajectory/cell/v1", 2, -3.0])
    assert panel._velocity_rows()[1]["mark"]
    qd = panel._plan.motion.sample(1.0).qd
    assert np.abs(np.degrees(qd[:2]) - (20.0, -3.0)).max() < 1e-12
    lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
    (kept,) = yaml.safe_load(lab.saving.project.text("trajectories.yaml")).values()
    assert kept["points"][1]["point"] == "P1" and len(kept["points"][1]["qd"]) == 5
    page.send(["trajectory/velocity-auto", 2])
    assert panel._plan.motion.sample(1.0).qd[0] == pytest.approx(np.radians(10.0))
    page.send(["undo"])
    assert np.array_equal(panel._plan.motion.sample(1.0).qd, qd)


def test_torque_functions_and_free_motion(lab, page):
    def settled(wanted: str) -> None:
        deadline = time.monotonic() + 30
        while getattr(lab.robot.controller, "torques", None) != wanted:
            assert time.monotonic() < deadline
            page.send()
            time.sleep(0.01)

    before = lab.robot.controller
    page.send(["control/torque-zero"])
    settled("")
    q = lab.robot.q.copy()
    lab.sim.step(50)
    assert np.abs(lab.robot.q - q).max() > 1e-4  # the quill falls
    page.send(["control/torque", 0, "3*t"], ["control/torque", 0, "3*x"])
    page.until_said("unknown name 'x'")
    settled("3*t; 0; 0; 0; 0")
    lab.do(lab.saving.save)
    lab.saving.flush()
    assert lab.saving.project.controllers()["scara1"].torques == "3*t; 0; 0; 0; 0"
    page.send(["undo"], ["undo"])
    assert lab.robot.controller is before
    assert np.array_equal(lab.robot.reference.q, lab.robot.q)  # holds where it is now


def test_the_dh_table_inertia_and_joints_are_edited_kept_and_undone(running, line):
    with running("robot:puma560", keep=True) as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        first = lab.robot.arm

        def carried_out() -> None:
            page.send([])
            page.send()

        page.send(["dimensions/dh-alpha", 0, 80.0])
        carried_out()
        page.send(["dimensions/dh-theta", 1, 5.0])
        carried_out()
        page.send(["dimensions/inertia-xy", "shoulder", 0.01])
        carried_out()
        model = lab.robot.arm.model
        assert model.dh[0].alpha == np.radians(80.0) and model.dh[1].offset == np.radians(5.0)
        assert 0.01 in [one.inertia.tensor[1, 0] for one in model.bodies if one.inertia]
        page.send(["dimensions/dh-kind", 2])
        assert lab.robot.arm.joint_kinds[2] == "prismatic" and lab.robot.q[2] == 0.0
        page.send(["dimensions/joint-remove"], ["dimensions/joint-add"], ["dimensions/joint-add"])
        assert lab.robot.n == 7 and lab.robot.arm.joint_names[5:] == ("joint 6", "joint 7")
        lab.do(lambda: lab.sim.step(20))
        T = lab.robot.arm.fk(lab.robot.q)
        lab.do(lambda: (lab.saving.save(), lab.saving.flush()))
        (kept,) = Simulation(lab.saving.project.cell()).robots.values()
        assert np.abs(kept.arm.fk(lab.robot.q) - T).max() < 1e-12
        page.send(["dimensions/reset-all"])
        assert lab.robot.n == 6 and lab.robot.arm.joint_kinds == first.joint_kinds
        page.send(["undo"])
        assert lab.robot.n == 7
        page.send(*[["undo"]] * 7)
        ready = first.poses["ready"]
        assert lab.robot.n == 6 and np.array_equal(lab.robot.arm.fk(ready), first.fk(ready))
        assert lab.history.labels == ()

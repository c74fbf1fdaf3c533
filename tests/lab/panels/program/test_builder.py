"""Building a program by the events of the page: steps, points, fields, order, undo, runs."""

from __future__ import annotations

import time

import numpy as np
import pytest

from brazo.lab.panels.program.panel import NEW
from brazo.program import steps as s

ROBOT = "puma560"


@pytest.fixture(scope="module")
def lab(running):
    with running(f"robot:{ROBOT}") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture
def page(lab, line):
    lab.do(lambda: panel(lab).take_text(NEW))
    with line(lab) as page:
        page.send(["panels-shown", ["program"]])
        yield page


def panel(lab):
    return lab.panels["program"]


def steps(lab) -> list[s.Step]:
    return panel(lab).source.steps.get(ROBOT, [])


def verbs(lab) -> list[str]:
    return [s.verb_of(step) for step in steps(lab)]


def until(condition) -> None:
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_steps_at_the_current_pose_make_points_and_are_undone_with_them(lab, page):
    before = len(lab.points.of(ROBOT))
    page.send(["program/add", "movej"], ["program/add", "movel"])
    assert [step.place is not None for step in steps(lab)] == [True, True]
    (point,) = list(lab.points.of(ROBOT))[before:]  # both steps use it
    assert steps(lab)[0].to == steps(lab)[1].target.point == point.name
    assert np.array_equal(point.q, lab.sim.robots[ROBOT].reference.q)
    page.send(["undo"], ["undo"])
    assert steps(lab) == [] and len(lab.points.of(ROBOT)) == before
    page.send(["redo"])
    assert verbs(lab) == ["move_joints"] and len(lab.points.of(ROBOT)) == before + 1
    page.send(["program/teach-in", "world"], ["program/add", "movej"])
    taught = lab.points.of(ROBOT).find(steps(lab)[1].to)
    tool = lab.sim.robots[ROBOT].arm.fk(lab.sim.robots[ROBOT].reference.q)
    assert taught.frame == "world" and np.abs(taught.T - tool).max() < 1e-12
    page.send(["program/teach-in", ""])


def test_loops_are_filled_and_steps_moved_in_and_out(lab, page):
    page.send(["program/add", "wait"], ["program/add", "loop"], ["program/add", "wait"])
    page.send(["program/field", "time", "250ms"])
    loop = s.Repeat(times=2, do=(s.Wait(time=0.25),))
    assert steps(lab) == [s.Wait(time=1.0), loop]
    page.send(["program/pick", ROBOT, [0]], ["program/shift", 1])  # into the loop
    assert steps(lab) == [s.Repeat(times=2, do=(s.Wait(time=1.0), s.Wait(time=0.25)))]
    page.send(["program/shift", -1])  # and out of it
    assert steps(lab) == [s.Wait(time=1.0), loop]
    page.send(["program/break", ROBOT, [1, 0]], ["program/move", ROBOT, [1], [0], ROBOT])
    assert steps(lab) == [loop, s.Wait(time=1.0)]
    assert {one.path for one in panel(lab)._builder.breaks} == {(0, 0)}
    page.send(["program/duplicate"], ["program/delete"], ["program/delete"])
    assert verbs(lab) == ["repeat"]
    page.send(["program/move", ROBOT, [7], [0], ROBOT])
    page.until_said("no longer exists")


def test_fields_change_the_step_and_bad_values_are_refused(lab, page):
    page.send(["program/add", "movej"], ["program/field", "target", "pose"])
    tool = lab.sim.robots[ROBOT].arm.fk(lab.sim.robots[ROBOT].reference.q)
    assert steps(lab)[0].target.xyz == pytest.approx(tool[:3, 3], abs=1e-6)
    page.send(["program/field", "x", "45cm"], ["program/field", "speed", "fraction"])
    page.send(["program/field", "fraction", 80], ["program/field", "motion", "line"])
    (step,) = steps(lab)
    assert isinstance(step, s.Line)
    assert step.target.xyz[0] == 0.45 and step.speed == s.Speed(fraction=0.8)
    page.send(["program/field", "fraction", 300])
    page.until_said("fraction of the drives' limits")
    assert steps(lab) == [step]
    page.send(["program/field", "x", 9000])
    until(lambda: "reach" in panel(lab)._form()["error"])
    page.send(["undo"], ["program/touch-up"])
    assert steps(lab)[0].target.xyz == pytest.approx(tool[:3, 3], abs=1e-6)
    page.send(["program/add", "arc"], ["program/field", "via-z", 700])
    assert steps(lab)[1].values["points"][1][2] == pytest.approx(0.7)
    page.send(["program/arc-point", 0])
    assert steps(lab)[1].values["points"][0] == pytest.approx(tool[:3, 3], abs=1e-6)
    page.send(["program/add", "grip"])
    page.until_said("has no gripper")
    assert len(steps(lab)) == 2


def test_every_kind_of_step_has_a_form_and_reads_back(lab, page):
    page.send(*(["program/add", kind] for kind in ("wait", "sync", "controller", "wait_until")))
    page.send(["program/add", "signal"], ["program/add", "note"], ["program/field", "text", "a: b"])
    assert verbs(lab) == ["wait", "sync", "set_controller", "wait_until", "set_signal", "note"]
    for i in range(6):
        page.send(["program/pick", ROBOT, [i]])
        assert panel(lab)._form()["fields"]
    page.send(["program/pick", ROBOT, [3]], ["program/field", "condition", "at"])
    page.send(["program/field", "time", 0.5], ["program/pick", ROBOT, [1]])
    page.send(["program/field", "name", "together"])
    assert steps(lab)[3].condition == s.At(0.5) and steps(lab)[1].name == "together"
    assert "only 'puma560' has a sync named 'together'" in panel(lab).document.error
    assert panel(lab)._form()["error"].startswith("sync: only")


def test_a_program_runs_from_a_step_stops_at_a_breakpoint_and_dry(lab, page):
    page.send(["program/add", "wait"], ["program/field", "time", 60])
    page.send(["program/add", "wait"], ["program/field", "time", 0.05], ["program/add", "wait"])
    page.send(["program/field", "time", 0.1])
    page.send(["program/break", ROBOT, [2]], ["program/pick", ROBOT, [1]], ["program/from-here"])
    run = panel(lab).control.execution
    until(lambda: run.paused)
    assert run.states[ROBOT].index == 2
    page.send(["program/add", "wait"])
    page.until_said("stop it first")
    page.send(["program/break", ROBOT, [2]], ["program/go-on"])
    until(lambda: run.done)
    assert run.succeeded and lab.sim.time < 60.0
    lab.do(lab.sim.player.pause)
    page.send(["program/pick", ROBOT, [0]], ["program/delete"])
    now, q = lab.sim.time, lab.sim.robots[ROBOT].q.copy()
    page.send(["program/add", "movej"], ["program/field", "target", "offset"])
    page.send(["program/field", "z", -30], ["program/dry-run"])
    page.until_said("Dry run: done after")
    assert lab.sim.time == now and np.array_equal(lab.sim.robots[ROBOT].q, q)
    assert not panel(lab)._dry_run.active


def test_points_in_the_text_are_not_mixed_up_with_those_of_the_project(lab, page):
    robot, points = lab.sim.robots[ROBOT], lab.points.of(ROBOT)
    lab.do(lambda: lab.points.edit("clear", ROBOT, lambda all: all.restore(())))
    lab.do(lambda: lab.points.edit("teach", ROBOT, lambda all: all.teach(robot.reference.q, "P1")))
    own = (robot.reference.q + 0.1).tolist()
    text = (
        f"name: own\npoints:\n  {ROBOT}: [{{name: P1, q: {own}}}, {{name: P2, q: {own}}}]\n"
        f"robots:\n  {ROBOT}:\n    - move_joints: P1\n"
    )
    lab.do(lambda: panel(lab).take_text(text))
    page.send(["program/add", "movej"])
    assert [step.to for step in steps(lab)] == ["P1", "P3"]  # P1 and P2 mean those of the text
    assert np.array_equal(points.find("P3").q, robot.reference.q)
    page.send(["program/pick", ROBOT, [0]], ["program/touch-up"])
    page.until_said("P1 is defined in the program text")
    number = points.find("P1").number
    lab.do(lambda: lab.points.edit("rename", ROBOT, lambda all: all.rename(number, "there")))
    assert [step.to for step in steps(lab)] == ["P1", "P3"]
    assert panel(lab).document.program is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_previews_continue_after_errors(lab, page, monkeypatch):
    page.send(["program/text", f"name: a\nrobots:\n  {ROBOT}:\n    - grip: {{body: nothing}}\n"])
    previews = panel(lab)._previews
    until(lambda: "no body 'nothing'" in previews.error(ROBOT, 0))

    def broken(*given, **options):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("brazo.lab.panels.program.previews.Preview", broken)
        lab.do(lambda: panel(lab).take_text(NEW))
        until(lambda: not previews._busy)
    page.send(["program/add", "movel"])
    until(lambda: previews.target(ROBOT, 0) is not None)


def test_a_dry_run_marks_the_step_that_collides(running, line, tmp_path):
    path = tmp_path / "wall.yaml"
    path.write_text(
        "name: wall\nrobots: [{name: arm, robot: puma560}]\n"
        "fixtures: [{name: wall, box: [2cm, 1m, 1m], xyz: [70cm, 0, 50cm]}]\n"
    )
    text = "name: a\nrobots:\n  arm: [{wait: 0.05s}, {line: {by: [15cm, 0, 0], speed: 1}}]\n"
    with running(path) as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        page.send(["program/text", text], ["program/dry-run"])
        page.until_said("would touch wall")
        errors = [row["error"] for row in panel(lab)._rows("arm")]
        assert errors[0] == "" and errors[1].startswith("Dry run: arm/")
        page.send(["program/text", text.replace("15cm", "-5cm")], ["program/dry-run"])
        assert not any(row["error"] for row in panel(lab)._rows("arm"))
        page.until_said("Dry run: done after")

"""Unsaved work is not lost without a question when something is opened; without a browser."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from brazo.errors import BrazoError
from brazo.lab import serving
from brazo.lab.app.unsaved import Work
from brazo.lab.server.transfers import Upload
from brazo.program import parse_program
from brazo.trajectory import parse_via_list

DELTA = ["open", "robot:delta"]


@pytest.fixture
def lab(running):
    with running("robot:scara1") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        yield page


def asked(page) -> list[str]:
    """What the question lists; nothing when there is none."""
    return page.reported.get("question", {}).get("lost", [])


def answer(page, how: str) -> None:
    page.send([f"unsaved/{how}", page.reported.pop("question")["number"]])


def fetched(lab, fetch, page) -> dict[str, str]:
    """The files that were downloaded."""
    offer = page.reported["download"]
    body = fetch(lab, offer["address"]).body
    if not offer["name"].endswith(".zip"):
        return {offer["name"]: body.decode()}
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def bring(lab, name: str, content: bytes) -> None:
    """A file that was chosen or dropped, as it arrives on the lab's thread."""
    lab.do(lambda: lab.panels["robots"]._bring(Upload(name, content)))


def until(page, condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        page.send()
        time.sleep(0.02)


def test_no_question_without_unsaved_work(lab, page):
    page.send(DELTA)
    assert lab.sim.cell.name == "delta" and not asked(page)


WORK = {
    "taught points": (["pendant/teach"], "scara1: 1 taught point"),
    "trajectory": (["trajectory/add"], "scara1: trajectory of 1 point"),
    "curve": (["trajectory/size/circle/radius", 30.0], "scara1: trajectory (circle)"),
    "dimensions": (["dimensions/parameter-mm", "L1", 320.0], "scara1: dimensions (L1)"),
    "gains": (["control/scale", 2.0], "scara1: gains ("),
    "base": (["scene/pose-x", 100.0], "Cell scara1: scara1 moved"),
    "gravity": (["simulation/gravity", 2, -1.62], "Cell scara1: gravity"),
}


@pytest.mark.parametrize("kind", WORK)
def test_every_kind_of_work_is_listed_and_cancel_keeps_it(lab, page, kind):
    event, title = WORK[kind]
    page.send(event)
    sim = lab.sim
    page.send(DELTA)
    before = [one.title for one in lab.unsaved.work()]
    assert len(asked(page)) == 1 and asked(page)[0].startswith(title)
    assert lab.sim is sim
    answer(page, "cancel")
    assert lab.sim is sim and [one.title for one in lab.unsaved.work()] == before
    page.send(DELTA)
    answer(page, "discard")
    assert lab.sim.cell.name == "delta"
    assert [one for one in lab.unsaved.work() if not one.kept] == []


@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_program_that_runs_is_listed_and_can_only_be_discarded(lab, page, status):
    text = "name: wave\nrobots:\n  scara1:\n    - wait: 5s\n    - wait: 5s\n"
    page.send(["program/text", text], ["program/save"], ["program/run"], ["pause"])
    if status == "paused":
        page.send(["program/pause"])
    sim = lab.sim
    page.send(DELTA)
    question = page.reported["question"]
    assert asked(page) == [f"Program wave is {status} at step 1 of 2"]
    assert (question["title"], question["save"]) == ("Open delta?", "")
    answer(page, "save")  # which such a question does not offer
    assert lab.sim is sim and not lab.panels["program"].control.over
    page.send(DELTA)
    answer(page, "cancel")
    assert lab.sim is sim and not lab.panels["program"].control.over
    assert lab.unsaved.savable() == []  # Ctrl+C asks about files only
    page.send(DELTA)
    answer(page, "discard")
    assert lab.sim.cell.name == "delta" and lab.unsaved.work() == []


def test_a_program_of_several_robots_is_listed_with_the_step_of_each(lab, page):
    page.send(["open", "cell:cooperative"])
    steps = "[wait: 5s, wait: 5s]"
    first, second = lab.sim.robots
    text = f"name: two\nrobots:\n  {first}: {steps}\n  {second}: {steps}\n"
    page.send(["program/text", text], ["program/save"], ["program/run"], ["pause"])
    page.send(["pendant/teach"], DELTA)
    assert sorted(asked(page)) == sorted(
        [
            f"Program two is running: {first} at step 1 of 2, {second} at step 1 of 2",
            f"{lab.robot.name}: 1 taught point",
        ]
    )
    assert page.reported["question"]["save"]
    answer(page, "save")
    assert lab.sim.cell.name == "delta" and page.reported["download"]["name"].endswith(
        "points.yaml"
    )


def test_save_downloads_readable_files_and_then_opens(lab, page, fetch):
    robot = lab.robot
    here = robot.reference.q.copy()
    page.send(["pendant/teach"], ["pendant/point-name", 1, "above"], ["trajectory/add"])
    page.send(["trajectory/add"], ["trajectory/size/circle/radius", 30.0], ["control/scale", 2.0])
    page.send(["dimensions/parameter-mm", "L1", 320.0])
    gains = {name: list(robot.controller.gains[name]) for name in robot.controller.gains}
    page.send(DELTA)
    assert len(asked(page)) == 5
    answer(page, "save")
    until(page, lambda: lab.sim.cell.name == "delta")
    files = fetched(lab, fetch, page)
    points = parse_program(files["scara1-points.yaml"])
    (point,) = points.points["scara1"]
    assert [step.to for step in points.steps["scara1"]] == ["above"]
    assert point.name == "above" and np.allclose(point.q, here)
    assert len(parse_via_list(files["scara1-trajectory.yaml"], robot.arm).points) == 2
    assert len(parse_via_list(files["scara1-curve.yaml"], robot.arm).points) > 2
    (step,) = parse_program(files["scara1-gains.yaml"]).steps["scara1"]
    assert {name: list(values) for name, values in step.gains.items()} == gains
    assert yaml.safe_load(files["scara1.yaml"])["parameters"]["L1"] == pytest.approx(0.32)


@pytest.mark.parametrize("slow", [False, True])
def test_a_failed_download_keeps_the_work_and_cancels(lab, page, monkeypatch, slow):
    """With `slow`, a background job creates the files."""

    def fail(name, content):
        raise BrazoError("the download failed")

    calls = []
    files = {"a.txt": "a"}
    monkeypatch.setattr(lab.unsaved, "_download", fail)
    lost = [Work("work", (lambda job: files) if slow else files)]
    lab.do(
        lambda: lab.unsaved.ask(
            "?", lost, lambda: calls.append("proceed"), lambda: calls.append("cancelled")
        )
    )
    page.send()
    answer(page, "save")
    until(page, lambda: calls)
    assert calls == ["cancelled"]


def test_work_that_was_saved_is_not_asked_about(lab, page):
    page.send(["dimensions/parameter-mm", "L1", 320.0], ["dimensions/save"])
    page.send(["scene/pose-x", 100.0], ["scene/save"])
    page.send(["trajectory/add"], ["pendant/slide", 0, 20.0], ["step", 2000], ["trajectory/add"])
    until(page, lambda: lab.panels["trajectory"]._plan is not None)
    page.send(["trajectory/save"], DELTA)
    assert not asked(page) and lab.sim.cell.name == "delta"


def test_robots_panel_and_imported_file_also_ask(lab, page):
    page.send(["pendant/teach"], ["robots/open", "cell:cooperative"])
    until(page, lambda: asked(page))
    assert page.reported["question"]["text"] == "Opening cooperative discards:"
    assert page.reported["question"]["note"] == ""  # no project keeps the work
    answer(page, "cancel")
    bring(lab, "mine.yaml", lab.sim.cell.path.read_bytes())
    until(page, lambda: asked(page))
    assert page.reported["question"]["text"] == "Opening mine.yaml discards:"
    answer(page, "discard")
    assert lab.panels["robots"]._imported.name_of(lab.sim.cell.path) == "mine.yaml"


def test_unreadable_file_causes_no_question(lab, page):
    page.send(["pendant/teach"])
    bring(lab, "bad.yaml", b"name: bad\njoints: 7\n")
    until(page, lambda: lab.panels["robots"]._problem)
    assert not asked(page)
    assert len(lab.panels["pendant"].points) == 1


def test_an_edited_program_is_kept_by_another_cell_and_asked_about_by_another_program(lab, page):
    text = "name: mine\nrobots: {}\n# mine\n"
    page.send(["program/text", text], DELTA)
    assert lab.sim.cell.name == "delta" and not asked(page)
    assert lab.panels["program"].document.text == text
    page.send(["program/choose", "cooperative"])
    assert asked(page) == ["Program program.yaml, edited"]
    answer(page, "cancel")
    assert lab.panels["program"].document.text == text
    page.send(["program/save"], ["program/choose", "cooperative"])
    assert not asked(page)
    assert lab.panels["program"].document.name == "cooperative"


def test_a_program_that_opens_its_cell_asks_about_taught_points(lab, page):
    page.send(["program/choose", "cooperative"], ["pendant/teach"], ["program/open-cell"])
    assert asked(page) == ["scara1: 1 taught point"]
    answer(page, "discard")
    assert lab.sim.cell.name == "cooperative"
    assert lab.panels["program"].document.name == "cooperative"


def test_points_of_a_trajectory_are_not_replaced_without_a_question(lab, page):
    page.send(["trajectory/add"], ["trajectory/source", "curve"])
    until(page, lambda: lab.panels["trajectory"]._plan is not None)
    page.send(["trajectory/as-points"])
    assert asked(page) == ["scara1: trajectory of 1 point"]
    answer(page, "cancel")
    assert len(lab.panels["trajectory"].draft.rows) == 1


def test_a_robot_that_is_removed_asks_about_its_own_work(running, line):
    with running("cooperative") as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        page.send(["select", "scara1", -1], ["pendant/teach"])
        page.send(["select", "scara2", -1], ["pendant/teach"], ["scene/delete"])
        assert asked(page) == ["scara2: 1 taught point"]
        answer(page, "cancel")
        assert "scara2" in lab.sim.robots


def test_an_answer_to_an_older_question_does_nothing(lab, page):
    page.send(["pendant/teach"], DELTA)
    old = page.reported.pop("question")["number"]
    page.send(["open", "robot:puma560"])
    page.send(["unsaved/discard", old])
    assert lab.sim.cell.name == "scara1"
    answer(page, "discard")
    assert lab.sim.cell.name == "puma560"


def test_view_only_page_is_not_asked_and_cannot_answer(lab, page, line):
    page.send(["pendant/teach"])
    with line(lab) as other:
        page.send(DELTA)
        other.send(["unsaved/discard", page.reported["question"]["number"]])
        assert not asked(other) and lab.sim.cell.name == "scara1"


def test_a_program_in_python_opens_without_a_question(lab, page):
    page.send(["pendant/teach"])
    lab.open("robot:delta")
    assert lab.sim.cell.name == "delta" and not asked(page)


SCRIPT = """
from brazo.lab.serving import serve

def teach(lab):
    if not len(lab.panels["pendant"].points):
        lab.do(lab.panels["pendant"]._teach)
        print("taught", flush=True)

serve("robot:scara1", port=0, open_browser=False, poll=teach)
"""


def test_ctrl_c_asks_again_about_later_work(monkeypatch):
    now = 0.0
    monkeypatch.setattr(serving, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    work = SimpleNamespace(savable=lambda: [SimpleNamespace(title="scara1: 1 taught point")])
    lab: Any = SimpleNamespace(do=lambda call: call(), unsaved=work)
    stopped = serving.StopRequest()
    stopped.by = signal.SIGINT
    assert not serving._may_close(lab, stopped)
    now = 3600.0
    assert not serving._may_close(lab, stopped)
    now += 1.0
    assert serving._may_close(lab, stopped)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no terminal to hand over")
def test_the_first_ctrl_c_at_a_terminal_lists_unsaved_work_and_the_second_closes():
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            while process.stdout.readline() != "taught\n":
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            line = process.stdout.readline()
            assert line == "brazo lab: unsaved work: scara1: 1 taught point\n"
            assert "Ctrl+C again" in process.stdout.readline()
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)

"""Recording in the lab without a browser, and lengths that stay lengths."""

from __future__ import annotations

import time

import pytest

from brazo.world.robot_source import RobotSource


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        page.send(["pause"], ["reset"], ["panels-shown", ["data", "program", "dimensions"]])
        yield page
        page.send(["pause"], ["data/record-stop"])


def test_reset_ends_a_recording_with_a_notice(lab, page):
    page.send(["data/record"], ["step", 20], ["reset"])
    assert not lab.sim.recording
    assert "The recording ended with the reset and is kept." in page.reported["notice"]["text"]


def test_recording_restarts_with_reset_and_run(lab, page):
    page.send(["data/record"], ["step", 20], ["program/again"], ["pause"])
    assert "A new recording starts with the run." in page.reported["notice"]["text"]
    assert lab.sim.recording
    page.send(["program/end"], ["data/record-stop"])
    assert not lab.sim.recording


def test_negative_length_is_rejected(lab, page):
    before = lab.robot.arm.model.parameters["L_base"]
    page.send(["dimensions/parameter-mm", "L_base", "-5"])
    page.send()
    assert "L_base -5 mm: a length must be above 0" in page.reported["notice"]["text"]
    assert lab.robot.arm.model.parameters["L_base"] == before


SLASHED = ("a/b", "../../x", "x\\..\\..\\y")


@pytest.mark.parametrize("name", SLASHED)
def test_a_robot_with_an_odd_name_is_shown_clicked_and_exported(running, line, tmp_path, name):
    text = RobotSource.load("scara1").text().replace("name: scara1", f"name: '{name}'", 1)
    (tmp_path / "robot.yaml").write_text(text, encoding="utf-8")
    with running(tmp_path / "robot.yaml") as lab, line(lab) as page:
        (robot,) = lab.sim.robots
        assert "/" not in robot and "/" not in lab.sim.cell.name
        drawn = [one.name for one in lab.sim.world.drawn].index(f"{robot}/link 1")
        lab.do(lambda: lab.display.clicked(drawn))
        assert lab.selection.joint == 0
        page.send(["pause"], ["data/record"], ["step", 20], ["data/record-stop"])
        before = set(tmp_path.parent.iterdir())
        given = exported(lab, page, ["data/export", "csv"], ["data/export", "csv"])
        assert given[0] == given[1] and not set(given[0]) & set("/\\")
        assert set(tmp_path.parent.iterdir()) == before


def exported(lab, page, *events) -> list[str]:
    """File names of the downloads offered to a page."""
    names: list[str] = []
    panel = lab.panels["data"]
    give = panel.download
    panel.download = lambda name, content: (names.append(name), give(name, content))
    page.send(*events)
    deadline = time.monotonic() + 30
    while len(names) < len(events):
        assert time.monotonic() < deadline, page.reported.get("jobs")
        time.sleep(0.01)
    lab.do(lambda: None)  # handing it over is done
    folder = lab.panels["data"].recordings.folder
    assert not [path.name for path in folder.iterdir() if path.name.startswith("export")]
    return names


def test_two_export_requests_give_two_downloads(lab, page, monkeypatch):
    page.send(["data/record"], ["step", 50], ["data/record-stop"])
    ended, post = [], lab.jobs._post
    # Both are done before the first is handed over.
    monkeypatch.setattr(lab.jobs, "_post", lambda call: ended.append(call))
    page.send(["data/export", "csv"], ["data/export", "csv"])
    deadline = time.monotonic() + 30
    while len(ended) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    monkeypatch.setattr(lab.jobs, "_post", post)
    for call in ended:
        lab.do(call)
    assert [job.state for job in lab.jobs._jobs.values()][-2:] == ["done", "done"]

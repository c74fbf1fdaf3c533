"""Robots and cells, without a browser: what is opened."""

from __future__ import annotations

import threading
import time

import pytest

from brazo.lab.app import project_opening as app
from brazo.lab.app.session import as_shown
from brazo.lab.server.transfers import Upload
from brazo.lab.serving import _warn_slips


@pytest.fixture
def lab(running):
    with running() as lab:
        yield lab


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


def test_last_of_many_open_requests_is_used_and_few_are_built(lab, line, monkeypatch):
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


def test_imported_file_with_unit_mistakes_gives_a_notice_with_its_name(lab):
    panel = lab.panels["robots"]
    assert lab.channel.get("robots/slips") == ""
    text = "name: long\nparameters: {H: 600}\njoints: [{d: H, a: 0.3}]\n"
    panel._imported.take(Upload("long.yaml", text.encode()))
    lab.open(panel._imported.path("long.yaml"))
    assert lab.channel.get("robots/slips").startswith("long.yaml:2: parameters.H: 600 without")
    lab.open("robot:scara1")
    assert lab.channel.get("robots/slips") == ""


def test_program_with_unit_mistakes_is_usable_with_a_warning(lab):
    panel = lab.panels["program"]
    step = "    - line: {xyz: [-350, 0.2, 0.2]}\n"
    lab.do(lambda: panel._typed(f"name: p\nrobots:\n  scara1:\n{step}"))
    assert panel.document.program is not None
    found = panel.values()["problem"]
    assert found.startswith("warning: program.yaml:4: ")
    assert found.count("did you mean -350mm?") == 1


def test_unit_warnings_are_printed_when_the_lab_opens(lab, tmp_path, capsys):
    file = tmp_path / "long.yaml"
    file.write_text("name: long\nparameters: {H: 600}\njoints: [{d: H, a: 0.3}]\n")
    _warn_slips(lab)
    assert capsys.readouterr().err == ""
    lab.open(file)
    _warn_slips(lab)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {file}:2: parameters.H: 600 without a unit")

"""The Studies panel in a real Chromium: run a study of the project, see results, get the report."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.lab.panels.acting import until

pytestmark = pytest.mark.browser
STUDY = """
name: quick
about: Two controllers with a payload.
robots: [scara2]
controllers: [PID, ComputedTorque]
duration: 100ms
factors: {payload: {grid: [0, 2, 4]}}
"""


@pytest.fixture(scope="module")
def opened(running, open_page, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    with running("robot:scara1", runs=runs, keep=True) as lab:
        project = lab.saving.project
        assert project is not None
        folder = project.folder / "studies"
        folder.mkdir(exist_ok=True)
        (folder / "quick.yaml").write_text(STUDY)
        (folder / "bad.yaml").write_text(STUDY.replace("payload", "paylod"))
        opened = open_page(lab, "studies")
        yield opened
        assert opened.errors == []


def choose(opened, title: str) -> None:
    chosen = opened.panel.get_by_label("Study", exact=True)
    expect(chosen.locator("option", has_text=title)).to_have_count(1)
    chosen.select_option(label=title)


def test_a_study_of_the_project_is_run_and_shown(opened) -> None:
    choose(opened, "quick.yaml")
    expect(opened.panel.get_by_text("8 runs", exact=True)).to_be_visible()
    expect(opened.panel.get_by_text("Two controllers with a payload.")).to_be_visible()
    before = opened.lab.sim.time
    opened.lab.do(opened.lab.sim.player.play)
    opened.button("Run").click()
    expect(opened.button("Cancel")).to_be_enabled()
    # The simulation of the lab goes on meanwhile.
    until(opened.page, lambda: opened.lab.sim.time > before + 0.2)
    table = opened.panel.get_by_role("table", name="scara2")
    # Low priority: on a busy computer the study waits for others.
    expect(table.get_by_text("ComputedTorque")).to_be_visible(timeout=300_000)
    expect(opened.panel.get_by_text("8 of 8", exact=True)).to_be_visible()
    with opened.page.expect_download() as found:
        opened.button("Report").click()
    page = found.value.path().read_text("utf-8")
    assert found.value.suggested_filename == "quick-report.html"
    assert "scara2: ranking" in page
    with opened.page.expect_download() as found:
        opened.button("Table CSV").click()
    assert len(found.value.path().read_text("utf-8").splitlines()) == 2 + 8  # names, units, runs


def test_a_mistake_of_a_file_is_shown_with_its_line(opened) -> None:
    choose(opened, "bad.yaml")
    expect(opened.panel.get_by_text("bad.yaml:7: factors.paylod: unknown factor")).to_be_visible()


def test_a_long_study_can_be_cancelled(opened) -> None:
    choose(opened, "cooperative")
    expect(opened.panel.get_by_text("200 runs", exact=True)).to_be_visible()
    opened.button("Run").click()
    expect(opened.button("Cancel")).to_be_enabled()
    expect(opened.panel.get_by_text(re.compile(r"\d+ of 200 runs"))).to_be_visible()
    opened.button("Cancel").click()
    expect(opened.button("Run")).to_be_enabled()
    expect(opened.panel.get_by_text("not running", exact=True)).to_be_visible()

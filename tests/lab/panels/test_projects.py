"""Projects as a person uses them, in a real Chromium: teach, close, reopen, run, rename, undo."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from browsing import SOON
from playwright.sync_api import expect

from tests.lab.panels.acting import until

pytestmark = pytest.mark.browser
WIDE = {"width": 1000, "height": 620}


@pytest.fixture(scope="module", autouse=True)
def projects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "projects"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAZO_PROJECTS", str(folder))
        yield folder


def test_five_taught_points_survive_the_lab_and_are_run_renamed_and_undone(
    running, open_page, projects
):
    turns = (10, 20, 30, 40, 50)
    with running("robot:rv2aj", keep=True) as lab:
        lab.sim.player.speed = 4.0
        opened = open_page(lab, "pendant", WIDE)
        joint = opened.panel.get_by_label("J1 value")
        for degrees in turns:
            joint.fill(str(degrees))
            joint.press("Enter")
            until(opened.page, lambda goal=degrees: np.degrees(lab.robot.q[0]) > goal - 1e-3)
            opened.button("Teach").click()
        table = opened.panel.get_by_role("table", name="Taught points")
        expect(table.locator("tbody tr")).to_have_count(5)
        assert opened.errors == []
        opened.page.close()
    with running("robot:rv2aj", keep=True) as lab:
        lab.sim.player.speed = 4.0
        opened = open_page(lab, "pendant", WIDE)
        page = opened.page
        table = opened.panel.get_by_role("table", name="Taught points")
        expect(table.locator("tbody tr")).to_have_count(5)
        taught = [float(np.degrees(one.q[0])) for one in lab.points.of("rv2aj")]
        assert taught == pytest.approx(turns, abs=1e-2)
        opened.button("Run through points").click()
        expect(page.locator(".brazo-notices")).to_contain_text("5 points done in")
        assert np.degrees(lab.robot.reference.q[0]) == pytest.approx(50.0, abs=1e-2)

        name = table.get_by_label("Point 1", exact=True)
        name.fill("above the box")
        name.press("Enter")
        expect(name).to_have_value("above the box")
        name.blur()
        undo = page.get_by_role("button", name="Undo", exact=True)
        expect(undo).to_have_attribute("title", "Undo: rename P1 (Ctrl+Z)")
        page.keyboard.press("Control+z")
        expect(name).to_have_value("P1")
        expect(undo).to_be_disabled()
        page.keyboard.press("Control+Shift+Z")
        expect(name).to_have_value("above the box")

        opened.name = "program"
        opened.show()
        opened.button("From points").click()
        expect(opened.panel.get_by_label("Program text")).to_have_value(
            "name: rv2aj points\nrobots:\n  rv2aj:\n    - move_joints: {to: above the box}\n"
            + "".join(f"    - move_joints: {{to: P{k}}}\n" for k in range(2, 6))
        )
        page.locator(".brazo-bar .home").click()
        page.get_by_label("Name of the project").fill("five points")
        page.get_by_role("button", name="Save as").click()
        expect(page.locator(".brazo-bar .home")).to_have_text("five points")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Start page")).to_be_hidden()
        page.locator(".brazo-bar .run").click()
        expect(page.locator(".brazo-notices")).to_contain_text("rv2aj points: done after")
        assert opened.errors == []
        page.close()
    folder = projects / "five-points"
    script = "from brazo.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "run", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0 and "rv2aj points: done in" in done.stdout, done


def test_start_page_opens_cells_and_projects_with_stop_visible(running, open_page):
    with running("robot:scara1", keep=True) as lab:
        opened = open_page(lab, "pendant", WIDE)
        page = opened.page
        opened.button("Teach").click()
        page.locator(".brazo-bar .home").click()
        start = page.get_by_role("dialog", name="Start page")
        for title in ("Project", "Recent projects", "Cells", "Programs", "Robots"):
            expect(start.get_by_role("heading", name=title, exact=True)).to_be_visible()
        before = lab.channel.stops
        page.locator(".brazo-bar .stop").click()
        until(page, lambda: lab.channel.stops > before)
        start.get_by_role("button", name="delta").first.click()
        expect(start).to_be_hidden()
        opened.ready()
        page.locator(".brazo-bar .home").click()
        start.get_by_role("button", name="scara1 not named").click()
        until(page, lambda: lab.sim.cell.name == "scara1")
        opened.ready()
        assert [one.name for one in lab.points.of("scara1")] == ["P1"]
        assert opened.errors == []


def test_camera_and_panels_are_restored(running, open_page):
    look = "() => window.brazoViewer.camera()"
    with running("robot:planar-2r", keep=True) as lab:
        opened = open_page(lab, "trajectory", WIDE)
        page = opened.page
        page.evaluate(
            "() => window.brazoViewer.setCamera({ eye: [1.5, 2.125, 3.5], target: [0, 0.5, 0] })"
        )
        project = lab.saving.project
        until(page, lambda: "2.125" in project.text("view.yaml"))
        assert "trajectory" in project.text("view.yaml")
        page.close()
    with running("robot:planar-2r", keep=True) as lab:
        context = opened.page.context.browser.new_context(viewport=WIDE)
        page = context.new_page()
        page.set_default_timeout(SOON)
        page.goto(lab.url)
        page.wait_for_function(
            "(name) => document.documentElement.dataset.brazoReady === name", arg="planar-2r"
        )
        expect(page.locator("#panel-trajectory")).to_be_visible()
        until(page, lambda: page.evaluate(look)["eye"] == [1.5, 2.125, 3.5])
        context.close()

"""A cell and a program made entirely in the browser: two Pumas hand over a box; kept, run
headless."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import SOON
from playwright.sync_api import Locator, Page, expect

from tests.lab.panels.acting import number, typed, until

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[4]
MAIN = "from brazo.cli.main import main; main()"
# As in `few_frames`, which does not reach another process.
FEW_FRAMES = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.lab.rendering import render_rarely, update_rarely
update_rarely()
render_rarely(Path({folder!r}))
"""
BENT = {"shoulder": 90, "wrist pitch": 90}  # degrees
GOALS = "goals:\n  - {body: box, on: table}\n"


class LabProcess:
    """`brazo lab` in a separate process."""

    def __init__(self, projects: Path, source: str) -> None:
        script = FEW_FRAMES.format(root=str(ROOT), folder=str(projects.parent)) + MAIN
        environment = {**os.environ, "BRAZO_PROJECTS": str(projects), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, "lab", source, "--no-browser", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        self.url = ""
        for line in self.process.stdout:
            if found := re.search(r"http://\S+", line):
                self.url = found[0]
                break

    def kill(self) -> None:
        """End it without notice."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def labs(tmp_path) -> Iterator[list[LabProcess]]:
    found: list[LabProcess] = []
    yield found
    for lab in found:
        if lab.process.poll() is None:
            lab.kill()


def opened(browser, lab: LabProcess, errors: list[str]) -> Page:
    context = browser.new_context(viewport={"width": 800, "height": 560})
    context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.goto(lab.url)
    return page


def show(page: Page, name: str) -> Locator:
    """Bring a panel to the front."""
    panel = page.locator(f"#panel-{name.lower()}")
    page.locator(f"[role=tab][aria-controls=panel-{name.lower()}]").click()
    expect(panel).to_be_visible()
    return panel


def drawn(page: Page, cell: str) -> None:
    page.wait_for_function(
        "(name) => document.documentElement.dataset.brazoReady === name", arg=cell
    )


def entry(scene: Locator, name: str) -> Locator:
    return scene.locator(".scene-tree .entry", has=scene.page.locator(f"b:text-is('{name}')"))


def fill(panel: Locator, **fields: float | str) -> None:
    """Type numbers into fields."""
    for label, value in fields.items():
        typed(panel.get_by_label(label, exact=True), str(value))


def build_cell(page: Page) -> None:
    scene = show(page, "Scene")
    scene.get_by_label("Robot to add").select_option("robot:puma560")
    expect(entry(scene, "puma560")).to_have_attribute("aria-selected", "true")
    typed(scene.get_by_label("Name", exact=True), "left")
    expect(entry(scene, "left")).to_have_attribute("aria-selected", "true")
    fill(scene, x=-750, y=0, z=0)
    scene.get_by_label("Flange").select_option("gripper")
    expect(entry(scene, "left")).to_contain_text("Gripper")
    pendant = show(page, "Pendant")
    joints = [pendant.get_by_label(f"{name} value", exact=True) for name in BENT]
    for joint, angle in zip(joints, BENT.values(), strict=True):
        typed(joint, str(angle))
    for joint, angle in zip(joints, BENT.values(), strict=True):
        until(page, lambda: abs(number(joint.input_value()) - angle) < 0.02)  # noqa: B023
    show(page, "Scene")
    scene.get_by_role("button", name="Use current pose as start").click()
    scene.get_by_role("button", name="Duplicate", exact=True).click()
    expect(entry(scene, "left 2")).to_have_attribute("aria-selected", "true")
    typed(scene.get_by_label("Name", exact=True), "right")
    expect(entry(scene, "right")).to_have_attribute("aria-selected", "true")
    fill(scene, x=750, y=0, z=0, yaw=180)
    scene.get_by_role("button", name="Table", exact=True).click()
    expect(entry(scene, "table")).to_have_attribute("aria-selected", "true")
    fill(scene, **{"Length (x)": 500, "Width (y)": 1000, "Height": 500, "x": 0, "y": 0, "z": 500})
    scene.get_by_role("button", name="Box", exact=True).click()
    expect(entry(scene, "box")).to_have_attribute("aria-selected", "true")
    fill(scene, **{"Length (x)": 240, "Width (y)": 40, "Height (z)": 40, "Mass": 0.4})
    fill(scene, x=-100, y=150, z=520)


class Building:
    """The Program panel as a person uses it."""

    def __init__(self, page: Page) -> None:
        self.panel = show(page, "Program")
        self.form = self.panel.locator("brazo-step-form")

    def robot(self, name: str) -> None:
        self.name, self.count = name, 0
        self.panel.get_by_label("Robot", exact=True).select_option(name)

    def add(self, label: str) -> None:
        self.panel.get_by_role("button", name=label, exact=True).click()
        self.count += 1
        steps = self.panel.get_by_role("listbox", name=f"Steps of {self.name}")
        expect(steps.get_by_role("option", selected=True)).to_have_count(1)
        expect(steps.get_by_role("option")).to_have_count(self.count)

    def set(self, **fields: float | str) -> None:
        """Set fields of the selected step; choices by their value."""
        for label, value in fields.items():
            field = self.form.get_by_label(label.replace("_", " "), exact=True)
            if field.evaluate("(node) => node.tagName") == "SELECT":
                field.select_option(value)
                expect(field).to_have_value(str(value))
            else:
                typed(field, str(value))

    def pose(self, label: str, frame: str, xyz, rpy=None, **more: str) -> None:
        self.add(label)
        self.set(Target="pose")
        self.set(Frame=frame, **more)
        self.set(**dict(zip("xyz", xyz, strict=True)))
        if rpy is None:
            self.form.locator("label", has=self.form.page.get_by_label("Keep orientation")).click()
            expect(self.form.get_by_label("roll", exact=True)).to_have_count(0)
        else:
            self.set(**dict(zip(("roll", "pitch", "yaw"), rpy, strict=True)))

    def offset(self, z: float) -> None:
        self.add("MoveL")
        self.set(Target="offset")
        self.set(z=z)

    def symmetric(self) -> None:
        name = "Gripper may turn 180°"
        self.form.locator("label", has=self.form.page.get_by_label(name)).click()
        expect(self.form.get_by_label(name)).to_be_checked()


DOWN = (180, 0, 0)


def build_program(page: Page) -> Building:
    build = Building(page)
    text = build.panel.get_by_label("Program text")
    text.press("Control+End")
    text.press_sequentially(GOALS)
    text.press("Control+Enter")
    build.robot("left")
    build.pose("MoveJ", "box", (-80, 0, 120), DOWN, Path="free")
    build.symmetric()
    build.pose("MoveL", "box", (-80, 0, 5))
    build.add("Grip")
    build.offset(150)
    build.pose("MoveJ", "table", (0, 0, 250), (0, 0, 0), Moves="box", Path="free")
    build.add("Sync")
    build.add("Sync")
    build.add("Release")
    build.offset(100)
    build.add("MoveJ")  # the point where it is now
    build.set(Path="free")
    build.add("Sync")
    build.robot("right")
    build.add("Sync")
    build.pose("MoveJ", "box", (80, 0, 120), DOWN, Path="free")
    build.symmetric()
    build.pose("MoveL", "box", (80, 0, 5))
    build.add("Grip")
    build.add("Sync")
    build.add("Sync")
    build.pose("MoveJ", "table", (100, -200, 100), (0, 0, 0), Moves="box", Path="free")
    build.pose("MoveL", "table", (100, -200, 22), (0, 0, 0), Moves="box")
    build.add("Release")
    build.offset(120)
    return build


def test_two_pumas_hand_over_a_box_from_an_empty_project(browser, labs, tmp_path):
    errors: list[str] = []
    lab = LabProcess(tmp_path, "empty")
    labs.append(lab)
    page = opened(browser, lab, errors)
    page.locator(".brazo-bar .home").click()
    page.get_by_label("Name of the new project").fill("hand over")
    page.get_by_role("button", name="New empty project").click()
    drawn(page, "hand over")
    build_cell(page)
    build = build_program(page)
    text = build.panel.get_by_label("Program text")
    expect(build.panel.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(build.panel.locator("brazo-steps li.bad")).to_have_count(0)
    # The last edit of `build_program`, after the round trip through the lab.
    expect(text).to_have_value(re.compile(r"release:\s+- line: \{by: \[0, 0, 120mm\]\}\ngoals"))
    written = text.input_value()
    simulation = show(page, "Simulation")
    typed(simulation.get_by_label("Speed value"), "400")
    state = build.panel.locator("brazo-text[name=state]")
    for _ in range(3):
        build.panel.get_by_role("button", name="Reset and run").click()
        expect(state).to_have_text(re.compile("^running"))
        expect(state).not_to_have_text(re.compile("^running"), timeout=180_000)
        why = build.panel.locator("brazo-text[name=why]").inner_text()
        assert re.match("done at .*, 1 of 1 goals", state.inner_text()), why
        scene = show(page, "Scene")
        entry(scene, "box").click()
        at = [scene.get_by_label(axis, exact=True) for axis in "xyz"]
        until(page, lambda: abs(number(at[0].input_value()) - 100) < 2.0)  # noqa: B023
        place = [number(one.input_value()) for one in at]
        assert place == pytest.approx([100, -200, 520], abs=2.0)
        show(page, "Program")
    assert errors == []
    page.context.close()
    lab.kill()

    folder = tmp_path / "hand-over"
    lab = LabProcess(tmp_path, str(folder))
    labs.append(lab)
    page = opened(browser, lab, errors)
    drawn(page, "hand over")
    scene = show(page, "Scene")
    for name in ("left", "right", "table", "box"):
        expect(entry(scene, name)).to_be_visible()
    for name in ("left", "right"):
        expect(entry(scene, name)).to_contain_text("Gripper")
    panel = show(page, "Program")
    expect(panel.get_by_label("Program text")).to_have_value(written)
    expect(panel.get_by_role("option", name="MoveJ to P1")).to_have_count(1)
    expect(panel.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    assert errors == []
    page.context.close()
    lab.kill()

    done = subprocess.run(
        [sys.executable, "-c", MAIN, "run", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr

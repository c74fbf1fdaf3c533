"""The scene panel in a browser: build a cell, select, drag, undo and download it."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from brazo.world import parse_cell
from brazo.world.cell_edits import element, pose_of
from tests.lab.panels.acting import show, typed, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("empty") as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    # Large enough to grab one axis of the gizmo.
    return open_page(lab, "scene", {"width": 1366, "height": 768})


@pytest.fixture
def page(opened) -> Page:
    return opened.page


@pytest.fixture
def panel(page) -> Locator:
    return show(page, "Scene")


def row(panel: Locator, name: str) -> Locator:
    return panel.locator(".scene-tree .entry", has=panel.page.locator(f"b:text-is('{name}')"))


def spot(page: Page, node: str, offset=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Where a point of a node of the scene is on the page."""
    page.wait_for_function(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])", arg=node
    )
    at = page.evaluate(
        """async ([name, offset]) => {
            // A click finds objects where the last frame has drawn them.
            await new Promise((done, fail) => {
                setTimeout(fail, 30000, new Error("no frame was drawn"));
                const off = window.brazoViewer.onDrawn(() => (off(), done()));
                window.brazoViewer.redraw();
            });
            const { nodeRefFromName, camera, canvas } = window.__viserMutable;
            const node = nodeRefFromName[name];
            node.updateWorldMatrix(true, false);
            const p = camera.position.clone().set(...offset);
            p.applyMatrix4(node.matrixWorld).project(camera);
            const box = canvas.getBoundingClientRect();
            return [box.x + ((p.x + 1) / 2) * box.width, box.y + ((1 - p.y) / 2) * box.height];
        }""",
        [node, list(offset)],
    )
    return np.array(at)


def test_a_cell_is_built_with_clicks(lab, opened, page, panel):
    expect(panel).to_contain_text("The cell is empty")
    panel.get_by_label("Robot to add").select_option("robot:puma560")
    expect(row(panel, "puma560")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tab", name="Pendant")).to_be_visible()  # there is a robot to jog
    panel.get_by_label("Flange").select_option("gripper")
    expect(row(panel, "puma560")).to_contain_text("Gripper")
    panel.get_by_role("button", name="Table", exact=True).click()
    expect(row(panel, "table")).to_have_attribute("aria-selected", "true")
    panel.get_by_role("button", name="Box", exact=True).click()
    expect(row(panel, "box")).to_have_attribute("aria-selected", "true")
    typed(panel.get_by_label("Name", exact=True), "part")
    expect(row(panel, "part")).to_be_visible()
    typed(panel.get_by_label("Mass", exact=True), "0.35")
    until(page, lambda: element(lab.sim.cell, "part").mass == 0.35)
    panel.get_by_label("Colour").fill("#0055aa")
    until(page, lambda: element(lab.sim.cell, "part").color[2] > 0.6)
    assert lab.sim.player.running and not opened.errors


def test_the_tree_is_used_with_the_keyboard(lab, page, panel):
    panel.get_by_role("button", name="Bin", exact=True).click()
    expect(row(panel, "bin")).to_have_attribute("aria-selected", "true")
    row(panel, "part").click()
    expect(row(panel, "part")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(row(panel, "table")).to_have_attribute("aria-selected", "true")
    expect(row(panel, "table")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(row(panel, "bin")).to_be_focused()
    page.keyboard.press("Delete")
    expect(row(panel, "bin")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row(panel, "bin")).to_be_visible()


def test_a_click_in_the_scene_selects(lab, page, panel):
    row(panel, "table").click()
    lab.do(lab.sim.player.pause)
    drawn = [one.name for one in lab.sim.world.drawn]
    for name in ("part", "bin"):
        node = next(n for n in lab.scene.names if n.endswith(f"{drawn.index(name)}-{name}"))
        expect(row(panel, name)).to_have_attribute("aria-selected", "false")
        page.mouse.click(*spot(page, node))
        expect(row(panel, name)).to_have_attribute("aria-selected", "true")


def test_the_gizmo_drags_a_table_and_snaps(lab, page, panel):
    row(panel, "bin").click()
    panel.get_by_role("radio", name="50", exact=True).click()
    before = pose_of(element(lab.sim.cell, "bin"))[:3, 3].copy()
    gizmo = f"{lab.scene.root}/element-gizmo"
    length = 0.16 * lab.scene.size
    middle, at = (spot(page, gizmo, (share * length, 0.0, 0.0)) for share in (0.0, 0.6))
    page.mouse.move(*at)
    page.evaluate("() => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 50)))")
    page.mouse.down()
    way = (at - middle) / np.linalg.norm(at - middle)
    for far in range(8, 41, 8):
        page.mouse.move(*(at + far * way))
    until(page, lambda: lab.panels["scene"]._gizmo.dragging)
    assert np.array_equal(pose_of(element(lab.sim.cell, "bin"))[:3, 3], before)
    page.mouse.up()
    until(page, lambda: pose_of(element(lab.sim.cell, "bin"))[0, 3] > before[0] + 0.02)
    moved = pose_of(element(lab.sim.cell, "bin"))[:3, 3]
    assert np.abs(moved / 0.05 - np.round(moved / 0.05)).max() < 1e-9
    expect(panel.get_by_label("x", exact=True)).to_have_value(f"{1000 * moved[0]:.1f}")
    page.get_by_role("button", name="Undo").click()
    until(page, lambda: np.array_equal(pose_of(element(lab.sim.cell, "bin"))[:3, 3], before))


def test_the_cell_file_is_downloaded(lab, opened, page, panel, tmp_path):
    typed(panel.get_by_label("Cell name"), "mine")
    until(page, lambda: lab.sim.cell.name == "mine")
    with page.expect_download() as download:
        panel.get_by_role("button", name="Download cell file").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    cell = parse_cell(path.read_text())
    assert (
        cell.name == "mine"
        and [one.name for one in cell.bodies] == ["part"]
        and cell.robots[0].model.gripper
    )
    assert not opened.errors

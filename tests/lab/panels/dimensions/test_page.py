"""Dimensions in a browser: what is typed is what the robot has, drawn and computed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import brazo
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.lab.scene.scene import node_name
from tests.lab.panels.acting import drawn, number, show, switch, typed, unfold, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:scara1") as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "dimensions")


@pytest.fixture
def page(opened) -> Page:
    return opened.page


@pytest.fixture
def panel(lab, page, opened) -> Locator:
    if lab.sim.cell.name != "scara1" or lab.panels["dimensions"].values()["edited"]:
        lab.open("robot:scara1")
    lab.do(lab.sim.player.pause)
    opened.settle()
    drawn(page, "scara1")
    page.keyboard.press("Escape")  # no notice of the test before
    panel = show(page, "Dimensions")
    expect(panel.locator('brazo-text[name="changed"]')).to_have_text("nothing")
    return panel


def mesh_size(page: Page, lab, body: int, part: int) -> list[float]:
    """Size of a drawn solid (m) along the axes of its frame."""
    name = f"{lab.scene.names[body]}/{part}-{node_name(lab.sim.world.drawn[body].parts[part].name)}"
    return page.evaluate(
        """(name) => {
            let box = null;
            window.__viserMutable.nodeRefFromName[name]?.traverse((object) => {
                if (!object.geometry) return;
                object.geometry.computeBoundingBox();
                box = object.geometry.boundingBox;
            });
            return box ? box.max.clone().sub(box.min).toArray() : [0, 0, 0];
        }""",
        name,
    )


def test_a_longer_segment_is_drawn_and_moves_the_tool(lab, page, panel):
    q = lab.robot.q
    assert lab.sim.world.drawn[1].parts[0].name == "first segment"
    beam = 0
    before, flange = mesh_size(page, lab, 1, beam), mesh_size(page, lab, 1, 3)
    eye = "() => window.__viserMutable.camera.position.toArray()"
    looked_from = page.evaluate(eye)
    typed(panel.get_by_label("L1 value"), "42cm")
    until(page, lambda: max(mesh_size(page, lab, 1, beam)) > max(before) + 0.01)
    after = mesh_size(page, lab, 1, beam)
    assert max(after) - max(before) == pytest.approx(0.12, abs=1e-6)
    # The beam is longer, its section is what it was but for the facets of its ends, and the
    # flange of the next joint is not touched at all.
    assert sorted(after)[:2] == pytest.approx(sorted(before)[:2], abs=2e-4)
    assert mesh_size(page, lab, 1, 3) == pytest.approx(flange, abs=1e-9)
    assert page.evaluate(eye) == pytest.approx(looked_from, abs=1e-6)
    longer = brazo.load("scara1").with_parameters(L1=0.42)
    assert np.abs(lab.robot.tool() - longer.fk(q)).max() < 1e-12
    inspector = show(page, "Inspector")
    switch(inspector, "All digits")
    x = inspector.locator(".inspector-pose brazo-text").first
    until(page, lambda: x.inner_text().strip() != "")  # the panel was not in view before
    until(page, lambda: abs(number(x.inner_text()) - 1e3 * longer.fk(q)[0, 3]) < 1e-6)
    switch(inspector, "All digits")


def test_a_track_is_pulled_while_the_simulation_runs(lab, page, panel):
    lab.sim.player.play()
    track = panel.get_by_role("slider", name="L2", exact=True)
    box = track.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.35 * box["width"], y)
    page.mouse.down()
    for share in (0.45, 0.6, 0.75, 0.9):
        page.mouse.move(box["x"] + share * box["width"], y)
    page.mouse.up()
    until(page, lambda: lab.robot.arm.parameters["L2"] > 0.5)
    back = panel.get_by_label("L2 as in the file")
    back.click()
    until(page, lambda: lab.robot.arm.parameters["L2"] == pytest.approx(0.25))
    assert lab.sim.player.running


def test_masses_and_friction_reach_the_equations(lab, page, panel):
    unfold(panel, "Masses", "Friction")
    typed(panel.get_by_label("Mass elbow", exact=True), "7")
    typed(panel.get_by_label("x elbow", exact=True), "-100")
    typed(panel.get_by_label("Viscous shoulder", exact=True), "0.25")
    typed(panel.get_by_label("Coulomb + shoulder", exact=True), "0.5")
    until(page, lambda: lab.robot.arm.model.joints[0].friction.coulomb[0] == 0.5)
    lab.do(lambda: None)  # the edit is carried out to its end
    model = lab.robot.arm.model
    elbow = model.bodies[2].inertia
    assert elbow.mass == 7.0 and elbow.com == pytest.approx([-0.1, 0.0, 0.0])
    assert model.joints[0].friction.viscous == 0.25
    assert model.joints[0].friction.coulomb == (0.5, 0.0)
    assert lab.robot.controller.is_bound_to(lab.robot.arm, lab.sim.dt)
    expect(panel).to_contain_text("elbow mass, elbow centre")


def test_gripper_and_width_change_the_solids(lab, page, panel):
    typed(panel.get_by_label("Gripper open", exact=True), "60")
    typed(panel.get_by_label("Width value", exact=True), "1.5")
    until(page, lambda: lab.sim.cell.robots[0].source.width == 1.5)
    until(page, lambda: lab.robot.arm.model.gripper.opening == pytest.approx((0.0, 0.06)))
    assert lab.robot.world.gripper.opening <= 0.06 + 1e-9


def test_immediately_reverted_value_is_not_shown(lab, page, panel):
    """The lab's value is unchanged, so it sends nothing."""
    lab.panels["dimensions"].rate, rate = 0.2, lab.panels["dimensions"].rate
    try:
        lab.do(lambda: None)  # the panel is polled now, and not again for a while
        until(page, lambda: lab.display._due["dimensions"] > time.monotonic() + 4)
        typed(panel.get_by_label("Width value", exact=True), "1.5")
        until(page, lambda: lab.sim.cell.robots[0].source.width == 1.5)
        lab.open("robot:scara1")
        expect(panel.get_by_label("Width value", exact=True)).to_have_value("1.00")
    finally:
        lab.panels["dimensions"].rate = rate


@pytest.mark.parametrize(
    ("label", "shown", "text", "said"),
    [
        ("Width value", "1.00", "-1", "body.width: −1 must be greater than 0"),
        ("Gripper open", "80.0", "0", "gripper.opening"),
        ("L1 value", "300.0", "heavy", "heavy"),
        ("L1 value", "300.0", "3kg", "a mass"),
        ("L1 value", "300.0", "-5", "L1 −5 mm: a length must be above 0"),
    ],
)
def test_invalid_dimension_is_rejected_without_change(lab, page, panel, label, shown, text, said):
    before = lab.sim.world.mj_model
    field = panel.get_by_label(label, exact=True)
    expect(field).to_have_value(shown)
    typed(field, text)
    expect(page.locator(".brazo-notices .error").last).to_contain_text(said)
    expect(field).to_have_value(shown)
    assert lab.sim.world.mj_model is before


def test_edited_robot_is_saved_as_a_robot_file_and_reset(lab, page, panel, tmp_path):
    typed(panel.get_by_label("L1 value"), "333")
    unfold(panel, "Masses")
    typed(panel.get_by_label("Mass quill", exact=True), "1.25")
    until(page, lambda: lab.robot.arm.model.bodies[3].inertia.mass == 1.25)
    with page.expect_download() as download:
        panel.get_by_role("button", name="Save robot file").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "scara1.yaml"
    saved, edited = brazo.load(path), lab.robot.arm
    q = edited.random_q(seed=1)
    assert np.array_equal(saved.fk(q), edited.fk(q))
    assert np.array_equal(saved.mass_matrix(q), edited.mass_matrix(q))
    assert "a: L1" in path.read_text() and RobotFile.read(Path(path)).build().poses.keys() == (
        edited.poses.keys()
    )
    reset = panel.get_by_role("button", name="Reset")
    reset.click()
    expect(reset).to_be_disabled()
    assert lab.robot.arm.parameters["L1"] == 0.3
    assert lab.robot.arm.model.bodies[3].inertia.mass == 1.0


def test_a_delta_and_a_robot_without_parameters(lab, page, panel, tmp_path):
    page.get_by_label("Cell", exact=True).select_option("robot:delta")
    drawn(page, "delta")
    typed(panel.get_by_label("L2 value"), "550")
    until(page, lambda: lab.robot.arm.parameters["L2"] == pytest.approx(0.55))
    typed(panel.get_by_label("L2 value"), "200")
    expect(page.locator(".brazo-notices .error").last).to_contain_text("rods")
    path = tmp_path / "two.urdf"
    path.write_text(
        '<robot name="two"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><limit lower="-1" upper="1"/></joint></robot>',
        encoding="utf-8",
    )
    lab.open(path)
    expect(panel).to_contain_text("two was loaded from two.urdf, which has no parameters")

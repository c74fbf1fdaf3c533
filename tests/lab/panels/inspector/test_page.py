"""The inspector in a browser: the arm it describes is the arm there is."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import brazo
from brazo.kinematics.orientation import matrix_from_oat, rpy_from_matrix
from tests.lab.panels.acting import drawn, number, show, switch, unfold, until

pytestmark = pytest.mark.browser

FGL = Path(__file__).parents[3] / "data" / "robots" / "puma560-fgl.yaml"


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:puma560") as lab:
        lab.do(lab.sim.player.pause)  # time would leave the page little of the processor
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "inspector")


@pytest.fixture
def page(opened):
    return opened.page


@pytest.fixture
def panel(lab, page) -> Locator:
    if lab.sim.cell.name != "puma560":
        lab.open("robot:puma560")
    lab.do(lab.sim.player.pause)
    drawn(page, "puma560")
    lab.set_q(lab.robot.arm.poses["nominal"])
    return show(page, "Inspector")


def tool(panel: Locator) -> np.ndarray:
    """What the panel says of the tool (4, 4): O-A-T, all digits; NaN until it is computed."""
    texts = panel.locator(".inspector-pose brazo-text").all_inner_texts()
    values = [number(text) if text else np.nan for text in texts]
    T = np.eye(4)
    T[:3, 3] = 1e-3 * np.array(values[0::2])
    T[:3, :3] = matrix_from_oat(np.radians(values[1::2]))
    return T


def matrix(panel: Locator, name: str) -> np.ndarray:
    rows = panel.locator(f'brazo-matrix[name="{name}"] tbody tr')
    return np.array(
        [[number(x) for x in row.locator("td").all_inner_texts()] for row in rows.all()]
    )


def test_a_golden_pose_typed_into_the_pendant_is_read_back(lab, opened, page, golden):
    lab.open(FGL)
    lab.sim.player.speed = 4.0
    drawn(page, "puma560-fgl")
    entry = golden["robots"]["puma560_fgl"]["fk"][2]
    pendant = show(page, "Teach pendant")
    pendant.get_by_role("radio", name="Base").click()
    switch(pendant, "Reduced speed")
    typed = [*(1000 * x for x in entry["xyz"]), *entry["OAT_deg"]]
    for label, value in zip("XYZOAT", typed, strict=True):
        pendant.get_by_label(f"{label} value", exact=True).fill(repr(value))
    pendant.get_by_role("button", name="Move joint (MoveJ)", exact=True).click()
    opened.settle()
    until(page, lambda: not lab.sim.moving)
    panel = show(page, "Inspector")
    switch(panel, "All digits")
    until(page, lambda: np.abs(tool(panel) - entry["T"]).max() < 1e-6)
    assert np.abs(tool(panel) - entry["T"]).max() < 1e-9
    switch(panel, "All digits")
    pendant.get_by_role("radio", name="Joint").click()


def test_angles_frames_and_digits_can_be_chosen(lab, page, panel):
    T = np.array(lab.robot.arm.fk(lab.robot.q))
    figures = panel.locator(".inspector-pose brazo-text")
    expect(figures.nth(0)).to_have_text("596.303")
    panel.get_by_role("radio", name="RPY").click()
    expect(panel.get_by_text("roll", exact=True)).to_be_visible()
    for i, angle in enumerate(np.degrees(rpy_from_matrix(T[:3, :3]))):
        until(
            page, lambda i=i, a=angle: abs(number(figures.nth(2 * i + 1).inner_text()) - a) < 2e-3
        )
    panel.get_by_role("radio", name="O-A-T").click()
    expect(panel.get_by_text("roll", exact=True)).to_have_count(0)  # the panel is redrawn
    switch(panel, "All digits")
    until(page, lambda: np.abs(tool(panel) - T).max() < 1e-11)
    right = panel.evaluate("(panel) => panel.getBoundingClientRect().right")
    for part in panel.locator(".inspector-pose > *").all():
        box = part.bounding_box()
        assert box["x"] + box["width"] <= right
    switch(panel, "All digits")
    expect(figures.nth(0)).to_have_text("596.303")


def test_joints_stand_on_their_bars_and_near_a_stop_they_warn(lab, page, panel):
    bar = panel.get_by_role("meter", name="shoulder")
    expect(bar.locator("b")).to_have_text("45.00")
    assert (bar.get_attribute("aria-valuemin"), bar.get_attribute("aria-valuemax")) == (
        "-45",
        "225",
    )
    share = "(bar) => Number(getComputedStyle(bar).getPropertyValue('--at'))"
    assert bar.evaluate(share) == pytest.approx(90 / 270, abs=1e-6)
    assert bar.get_attribute("near") is None
    q = lab.robot.q
    q[1] = math.radians(224.9)
    lab.set_q(q)
    expect(bar).to_have_attribute("near", "")


def test_another_way_to_hold_the_pose_is_gone_to_and_the_tool_comes_back(lab, opened, page, panel):
    T = np.array(lab.robot.arm.fk(lab.robot.q))
    chosen = panel.get_by_role("button", name="LEFTY · ABOVE · FLIP")
    expect(panel.get_by_role("button", name="RIGHTY · ABOVE · NOFLIP")).to_have_attribute(
        "aria-pressed", "true"
    )
    lab.sim.player.speed = 4.0
    lab.sim.player.play()
    chosen.click()
    opened.settle()
    until(page, lambda: not lab.sim.moving)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    until(page, lambda: np.abs(lab.robot.arm.fk(lab.robot.q) - T).max() < 1e-6)
    assert lab.robot.arm.configuration(lab.robot.q) == "LEFTY ABOVE FLIP"


def test_a_way_beyond_the_limits_is_refused_in_words(lab, page, panel):
    before = lab.robot.q
    way = panel.get_by_role("button", name="RIGHTY · BELOW · FLIP", exact=False).first
    expect(way).to_contain_text("out of limits: shoulder −47.8°")
    lab.sim.player.play()
    way.click()
    expect(page.locator(".brazo-notices")).to_contain_text(
        re.compile(r"shoulder cannot move to −47.\d\d°: its limits are −45.00 to 225.00°")
    )
    assert not lab.sim.moving and np.abs(lab.robot.q - before).max() < 1e-6


def test_a_singular_arm_is_warned_of(lab, panel):
    warning = panel.locator("brazo-warning")
    expect(warning).to_be_hidden()
    lab.set_q(lab.robot.arm.poses["ready"])
    expect(warning).to_contain_text("Singular: wrist roll and flange")


def test_the_matrices_are_the_arm_s(lab, page, panel):
    unfold(panel, "Transforms", "Jacobian", "Dynamics", "D-H table")
    arm, q = brazo.load("puma560"), lab.robot.q
    switch(panel, "All digits")
    for name, expected in {
        "jacobian": arm.jacobian(q),
        "frame/3": arm.frames(q)[3],
        "frame/7": arm.fk(q),
        "M": arm.mass_matrix(q),
        "C": np.zeros((6, 6)),
    }.items():

        def shown(name: str = name, expected: np.ndarray = expected) -> bool:
            found = matrix(panel, name)
            return found.shape == expected.shape and np.abs(found - expected).max() < 2e-6

        until(page, shown)
    panel.get_by_role("radio", name="Tool axes").click()
    in_tool = arm.jacobian(q, frame="tool")
    until(page, lambda: np.abs(matrix(panel, "jacobian") - in_tool).max() < 2e-6)
    switch(panel, "All digits")
    panel.get_by_role("radio", name="Base axes").click()
    torques = panel.get_by_role("table", name="Torques").locator("tbody tr")
    expect(torques).to_have_count(6)
    shoulder = torques.nth(1).locator("td").all_inner_texts()
    assert number(shoulder[1]) == pytest.approx(arm.gravity(q)[1], abs=1e-3)
    assert shoulder[0] == "shoulder" and shoulder[4] == "N m"
    rows = panel.get_by_role("table", name="D-H table").locator("tbody tr")
    expect(rows.nth(1).locator("td")).to_have_text(["shoulder", "q2", "0.00", "431.80", "0.0"])


@pytest.mark.parametrize("name", ["cooperative", "robot:delta", "robot:panda", "robot:pegasus"])
def test_any_robot_can_be_looked_at(lab, opened, page, panel, name):
    page.get_by_label("Cell", exact=True).select_option(name if ":" in name else f"cell:{name}")
    drawn(page, name.partition(":")[2] or name)
    lab.do(lab.sim.player.pause)
    expect(panel.locator("brazo-joint")).to_have_count(lab.robot.n)
    expect(panel.locator(".inspector-figures brazo-text").first).not_to_be_empty()
    words = {
        "robot:delta": "platform, centre to rods",
        "robot:panda": "ARM1 · ELBOW2 · NOFLIP",
        "robot:pegasus": "gives no masses",
    }
    unfold(panel, *["Lengths"] * (name == "robot:delta"), "Dynamics")
    if name in words:
        expect(panel).to_contain_text(words[name])
    else:
        panel.get_by_label("Robot", exact=True).select_option("scara2")
        expect(panel.locator("brazo-joint").nth(3)).to_contain_text("quill")
        panel.get_by_role("radio", name="World").first.click()
        x = panel.locator(".inspector-pose brazo-text").first
        until(page, lambda: abs(number(x.inner_text()) - 1e3 * lab.robot.tool()[0, 3]) < 0.1)
        panel.get_by_role("radio", name="Base").first.click()
    assert opened.errors == []

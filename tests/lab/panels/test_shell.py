"""What all panels share: keys, tables, messages, the state in the bar, the size of everything."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from brazo.simulation import JointLocked
from tests.lab.panels.acting import show, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:panda") as lab:  # seven joints
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "view", {"width": 1366, "height": 560})


def stops(lab) -> int:
    return lab.channel.get("stops") or 0


def test_space_operates_a_control_that_has_the_keyboard_and_else_stops(lab, opened):
    page, before = opened.page, stops(lab)
    frames = show(page, "View").get_by_role("checkbox", name="Centres of mass")
    frames.focus()
    page.keyboard.press("Space")
    expect(frames).to_be_checked()
    page.keyboard.press("Space")
    expect(frames).not_to_be_checked()
    section = opened.panel.locator("summary", has_text="Camera")
    section.focus()
    page.keyboard.press("Space")
    assert section.evaluate("(node) => node.parentNode.open") is False
    page.keyboard.press("Space")
    assert stops(lab) == before
    frames.locator("xpath=..").click()  # by pointer: the hand is not on this control any more
    expect(frames).to_be_checked()
    page.keyboard.press("Space")
    until(page, lambda: stops(lab) == before + 1)
    expect(frames).to_be_checked()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Space")
    until(page, lambda: stops(lab) == before + 2)
    assert opened.errors == []


def test_arrows_choose_among_radio_buttons(lab, opened):
    page = opened.page
    modes = show(page, "Teach pendant").get_by_role("radio")
    modes.nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(modes.nth(1)).to_have_attribute("aria-checked", "true")
    expect(modes.nth(1)).to_be_focused()
    expect(modes.nth(1)).to_have_attribute("tabindex", "0")
    expect(modes.nth(0)).to_have_attribute("tabindex", "-1")
    page.keyboard.press("ArrowLeft")
    expect(modes.nth(0)).to_have_attribute("aria-checked", "true")


def test_escape_stops_unless_it_closes_or_discards_something(lab, opened):
    page, before = opened.page, stops(lab)
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.brazo-help")).not_to_be_visible()
    page.get_by_role("button", name="Start page").click()
    page.keyboard.press("Escape")
    expect(page.locator(".brazo-start")).to_have_count(0)
    speed = show(page, "Simulation").get_by_label("Speed value")
    speed.fill("50")
    page.keyboard.press("Escape")
    expect(speed).to_have_value("100")
    opened.settle()
    assert stops(lab) == before
    page.keyboard.press("Escape")
    until(page, lambda: stops(lab) == before + 1)


def test_a_slider_goes_by_the_arrows(lab, opened):
    track = show(opened.page, "Simulation").get_by_role("slider", name="Speed")
    track.focus()
    opened.page.keyboard.press("ArrowRight")
    until(opened.page, lambda: lab.sim.player.speed == pytest.approx(1.01))
    opened.page.keyboard.press("ArrowLeft")
    until(opened.page, lambda: lab.sim.player.speed == pytest.approx(1.0))
    assert opened.errors == []


def test_a_button_is_clicked_although_its_panel_gets_new_content_while_it_is_pressed(lab, opened):
    page = opened.page
    button = show(page, "Simulation").get_by_role("button", name="Reset")
    lab.do(lab.sim.player.pause)
    lab.do(lambda: lab.clock.step(10))
    button.hover()
    page.mouse.down()
    html = lab.channel.get("panel/simulation")
    lab.do(lambda: lab.channel.put({"panel/simulation": f"{html}<i id=renewed></i>"}))
    opened.settle()
    page.mouse.up()
    until(page, lambda: lab.sim.time == 0.0)
    page.locator("#renewed").wait_for(state="attached")
    lab.do(lambda: lab.channel.put({"panel/simulation": html}))
    page.locator("#renewed").wait_for(state="detached")
    lab.do(lab.sim.player.play)


PLACES = """(panel) => [...document.querySelectorAll(`#panel-${panel} button, .brazo-bar button`)]
    .filter((node) => node.offsetParent)
    .map((node) => { const b = node.getBoundingClientRect(); return [b.left, b.top, b.width]; })"""


@pytest.mark.parametrize("panel", ["pendant", "program", "trajectory"])
def test_messages_move_no_button(lab, opened, panel):
    page = opened.page
    page.locator(f"[role=tab][aria-controls=panel-{panel}]").click()
    page.locator(f"#panel-{panel}").wait_for()
    opened.settle()
    lab.do(lambda: lab.channel.put({f"{panel}/why": ""}))
    opened.settle()
    before = page.evaluate(PLACES, panel)
    sentence = "joint 2 is beyond its limit of 101.0° at 2.31 s; " * 4
    put = {f"{panel}/why": sentence, f"{panel}/problem": sentence}
    lab.do(lambda: (lab.channel.put(put), lab.say(sentence, "error")))
    page.get_by_text("joint 2 is beyond").first.wait_for()
    assert page.evaluate(PLACES, panel) == before
    lab.do(lambda: lab.channel.put(dict.fromkeys(put, "")))


def test_the_bar_shows_stop_and_active_faults(lab, opened):
    page, state = opened.page, opened.page.locator(".brazo-bar .running")
    before = stops(lab)
    page.locator(".brazo-bar .stop").click()
    until(page, lambda: stops(lab) == before + 1)  # tests before it stopped, too
    expect(state).to_have_text("robots stopped")
    until(page, lambda: lab.clock._stop == "at rest")  # shown while the robots brake, too
    there = lab.robot.reference.q.copy()
    there[0] += 0.3
    lab.do(lambda: lab.mover.go_to(lab.session.robot, there))
    expect(state).to_have_text("running")
    chip = page.locator(".brazo-bar .faults")
    expect(chip).not_to_be_visible()
    lab.do(lambda: lab.sim.inject(JointLocked("panda", lab.robot.arm.joint_names[0])))
    expect(chip).to_have_text("1 fault")
    assert lab.robot.arm.joint_names[0] in (chip.get_attribute("title") or "")
    chip.click()
    clear = page.locator("#panel-simulation").get_by_role("button", name="Clear all")
    clear.click()
    expect(chip).not_to_be_visible()
    assert opened.errors == []


def test_a_wide_table_scrolls_inside_and_is_copied_as_text_with_tabs(lab, opened):
    page = opened.page
    until(page, lambda: not lab.sim.moving)
    panel = show(page, "Trajectory")
    panel.get_by_role("button", name="Add current pose").click()
    row = panel.locator(".brazo-table tbody tr").first
    row.wait_for()
    seen = panel.locator(".brazo-scroll").first.evaluate(
        """(box) => ({ wide: box.scrollWidth > box.clientWidth,
            bar: box.offsetHeight - box.clientHeight,
            panel: box.closest(".content").scrollWidth <= box.closest(".content").clientWidth })"""
    )
    assert seen["wide"] and seen["panel"]
    page.evaluate(
        "() => (navigator.clipboard.writeText = async (text) => { window.copied = text; })"
    )
    panel.locator("brazo-table button.copy").first.click()
    page.wait_for_function("() => window.copied")
    head, first = [line.split("\t") for line in page.evaluate("() => window.copied").split("\n")]
    q = lab.robot.reference.q
    assert head[1:4] == ["t [s]", "joint 1 [°]", "joint 2 [°]"]
    assert [float(text) for text in first[2:9]] == pytest.approx(np.degrees(q), abs=0.006)
    assert opened.errors == []


DRAWN = """(root) => {
    const seen = { flat: 0, hulls: 0, edges: 0 };
    for (const [name, node] of Object.entries(window.__viserMutable.nodeRefFromName)) {
        if (!node || !/^\\/cell-[^/]+\\/\\d+-[^/]*\\/\\d+-[^/]*(\\/edges)?$/.test(name)) continue;
        if (name.endsWith("/edges")) seen.edges++;
        else node.traverse((o) => {
            if (o.isMesh && !o.brazoTwin && o.material.flatShading) seen.flat++;
            if (o.brazoTwin === "hull" && o.visible) seen.hulls++;
        });
    }
    return seen;
}"""


def test_looks_of_the_scene_are_chosen_and_kept(lab, opened):
    page = opened.page
    panel = show(page, "View")

    def seen() -> dict[str, int]:
        return page.evaluate(DRAWN)

    panel.get_by_role("radio", name="Flat").click()
    until(page, lambda: seen()["flat"] > 0)
    assert seen()["hulls"] == 0
    panel.get_by_role("radio", name="Outline").click()
    until(page, lambda: seen()["hulls"] > 0 and seen()["edges"] > 0 and seen()["flat"] == 0)
    assert page.evaluate("() => JSON.parse(localStorage['brazo-look']).shading") == "outline"
    light = """() => { let found; window.__viserMutable.nodeRefFromName["/light"]
        .traverse((o) => { if (o.isLight) found = o.intensity; }); return found; }"""
    before = page.evaluate(light)
    panel.get_by_role("slider", name="Key light").fill("50")
    until(page, lambda: page.evaluate(light) == pytest.approx(before / 2))
    panel.get_by_role("button", name="Default look").click()
    until(page, lambda: page.evaluate(light) == pytest.approx(before))
    until(page, lambda: seen() == {"flat": 0, "hulls": 0, "edges": 0})
    assert opened.errors == []


def test_a_split_view_draws_the_scene_with_four_cameras(lab, opened):
    page = opened.page
    panel = show(page, "View")
    page.evaluate(
        """() => { window.drawnWith = new Set();
            const { scene } = window.__viserMutable, { onBeforeRender } = scene;
            scene.onBeforeRender = (...all) => {
                window.drawnWith.add(all[2].position.toArray().map((v) => v.toFixed(3)).join());
                onBeforeRender(...all);
            }; }"""
    )
    # As viser's client does when it first draws, on a busy machine after the page is built.
    page.evaluate("() => document.querySelector('.brazo-quarters').remove()")
    panel.locator("label.brazo-toggle", has_text="Split view").click()
    until(page, lambda: page.evaluate("() => window.drawnWith.size") == 4)
    expect(page.locator(".brazo-quarters")).to_be_visible()
    panel.get_by_role("button", name="Default look").click()
    expect(page.locator(".brazo-quarters")).not_to_be_visible()
    assert opened.errors == []


def test_bars_and_panels_are_scaled_and_nothing_leaves_the_page(lab, opened):
    page = opened.page
    panel = show(page, "View")
    inside = """() => [".brazo-bar .stop", ".brazo-status", "#panel-view", "#root"].map((one) => {
        const b = document.querySelector(one).getBoundingClientRect();
        return b.left >= 0 && b.right <= innerWidth + 1 && b.top < innerHeight;
    })"""
    height = "() => document.querySelector('.brazo-bar').getBoundingClientRect().height"

    def scaled(pixels: float) -> None:
        """Wait until the bar has this height and nothing leaves the page."""
        until(
            page,
            lambda: (
                page.evaluate(height) == pytest.approx(pixels, abs=0.5)
                and all(page.evaluate(inside))
            ),
        )

    page.set_viewport_size({"width": 3840, "height": 600})
    page.get_by_label("Size of bars and panels").select_option("2")
    scaled(96)
    page.set_viewport_size({"width": 1366, "height": 560})  # no more than fits
    scaled(48 * 1366 / 1180)
    panel.get_by_label("Size of bars and panels").select_option("auto")
    scaled(48)
    assert opened.errors == []

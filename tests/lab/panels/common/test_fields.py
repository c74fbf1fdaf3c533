"""Fields in a browser: typed values arrive unchanged while the lab sends updates."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.lab.panels.acting import show, typed, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:scara1") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "dimensions")


@pytest.fixture
def page(opened) -> Page:
    return opened.page


@pytest.fixture
def length(lab, page) -> Locator:
    """The field of a length, at 250 mm."""
    field = show(page, "Dimensions").get_by_label("L1 value")
    lengthen(lab, 0.25)
    expect(field).to_have_value("250.0")
    return field


def lengthen(lab, to: float) -> None:
    lab.do(lambda: lab.panels["dimensions"]._edit(parameters={"L1": to}))


def test_typing_replaces_a_number_that_changes(lab, page, length):
    length.focus()
    lengthen(lab, 0.26)
    expect(length).to_have_value("260.0")
    page.keyboard.insert_text("300")
    expect(length).to_have_value("300")
    page.keyboard.press("Enter")
    until(page, lambda: lab.robot.arm.parameters["L1"] == 0.3)
    lengthen(lab, 0.27)  # what was typed is done with
    expect(length).to_have_value("270.0")
    page.keyboard.insert_text("310")
    page.keyboard.press("Enter")
    until(page, lambda: lab.robot.arm.parameters["L1"] == 0.31)


def test_a_click_selects_the_whole_number(lab, page, length):
    page.keyboard.press("Escape")
    length.click()
    page.keyboard.insert_text("300")
    expect(length).to_have_value("300")
    page.keyboard.press("Escape")
    expect(length).to_have_value("250.0")
    assert lab.robot.arm.parameters["L1"] == 0.25


def test_number_with_caret_is_not_updated(lab, opened, page, length):
    length.focus()
    page.keyboard.press("End")
    lengthen(lab, 0.26)
    expect(opened.panel.get_by_label("L1", exact=True)).to_have_js_property("value", "260")
    expect(length).to_have_value("250.0")
    page.keyboard.insert_text("5")
    expect(length).to_have_value("250.05")
    page.keyboard.press("Escape")
    expect(length).to_have_value("260.0")


def test_unedited_field_shows_the_current_number(lab, opened, page, length):
    length.focus()
    page.keyboard.press("End")
    lengthen(lab, 0.26)
    expect(opened.panel.get_by_label("L1", exact=True)).to_have_js_property("value", "260")
    length.blur()
    expect(length).to_have_value("260.0")


def test_typed_number_does_not_wait_for_a_frame(lab, page, length):
    page.evaluate(
        """() => {
            window.everyFrame = window.requestAnimationFrame;
            window.kept = [];
            window.requestAnimationFrame = (callback) => window.kept.push(callback);
        }"""
    )
    try:
        typed(length, "290")
        until(page, lambda: lab.robot.arm.parameters["L1"] == 0.29)
    finally:
        page.evaluate(
            """() => {
                window.requestAnimationFrame = window.everyFrame;
                window.kept.forEach((callback) => requestAnimationFrame(callback));
            }"""
        )


def test_slider_sends_its_last_value(lab, opened, page, length):
    opened.panel.get_by_label("L1", exact=True).evaluate(
        """(track) => {
            for (let i = 0; i <= 50; i++) {
                track.value = 250 + i;
                track.dispatchEvent(new Event("input"));
            }
        }"""
    )
    until(page, lambda: lab.robot.arm.parameters["L1"] == 0.3)


def test_pendant_target_replaces_the_live_joint_value(lab, page):
    field = show(page, "Teach pendant").locator("brazo-axis input.field").first
    lab.set_q([0.1, *lab.robot.q[1:]])
    expect(field).to_have_value("5.73")
    field.focus()
    lab.set_q([0.2, *lab.robot.q[1:]])
    expect(field).to_have_value("11.46")
    page.keyboard.insert_text("30")
    expect(field).to_have_value("30")
    lab.set_q([math.pi / 4, *lab.robot.q[1:]])
    page.keyboard.press("Escape")
    expect(field).to_have_value("45.00")


def test_a_number_too_large_for_the_channel_is_refused_with_a_message(lab, page, length):
    typed(length, "1e305")
    notice = page.locator(".brazo-notices .error")
    expect(notice).to_contain_text("is too large")
    expect(length).to_have_value("250.0")
    assert lab.robot.arm.parameters["L1"] == 0.25
    page.keyboard.press("Escape")


def test_typed_number_survives_a_panel_refresh(lab, opened, page, length):
    panel = lab.panels["dimensions"]
    length.focus()
    page.keyboard.insert_text("27")
    lab.do(lambda: lab.channel.put({"panel/dimensions": panel.html() + "<p>more</p>"}))
    expect(opened.panel.get_by_text("more", exact=True)).to_be_visible()
    page.keyboard.insert_text("5")
    expect(length).to_have_value("275")
    assert lab.robot.arm.parameters["L1"] == 0.25  # the content did not commit half a number
    page.keyboard.press("Enter")
    until(page, lambda: lab.robot.arm.parameters["L1"] == 0.275)
    lab.do(panel.refresh)

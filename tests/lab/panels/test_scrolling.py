"""Nothing scrolls the page of the lab: STOP stays in view whichever control gets the focus."""

from __future__ import annotations

import pytest

from tests.lab.panels.acting import assert_page_stays, panels_in_turn, resized, until

pytestmark = pytest.mark.browser
SCREENS = {"phone": (390, 844), "laptop": (1366, 768), "desktop": (1920, 1080)}


@pytest.fixture(scope="module")
def opened(running, open_page):
    with running("cooperative") as lab:
        lab.sim.player.pause()  # nothing has to be drawn
        yield open_page(lab, "pendant")


@pytest.mark.parametrize("screen", SCREENS)
def test_no_control_scrolls_the_page(opened, screen):
    width, height = SCREENS[screen]
    resized(opened.page, width, height)
    assert_page_stays(opened.page, ".brazo-bar .stop")
    assert opened.errors == []


def test_tab_goes_through_a_panel_and_the_page_stays(opened):
    page = opened.page
    resized(page, 390, 844)
    page.locator("[role=tab][aria-controls=panel-simulation]").focus()
    for _ in range(30):
        page.keyboard.press("Tab")
    tops = page.evaluate(
        """() => [document.scrollingElement.scrollTop, document.body.scrollTop,
            document.querySelector(".brazo-bar").getBoundingClientRect().top]"""
    )
    assert tops == [0, 0, 0]


def test_a_control_that_sticks_out_does_not_scroll_the_page(opened):
    scrolled = opened.page.evaluate(
        """() => [document.body, document.getElementById("root")].map((parent) => {
            const button = document.createElement("button");
            button.style.cssText = "position: absolute; top: 3000px; left: 3000px";
            parent.append(button);
            button.focus();
            button.scrollIntoView();
            button.remove();
            const boxes = [document.scrollingElement, document.body, parent];
            return boxes.map((box) => [box.scrollTop, box.scrollLeft]);
        }).flat(2)"""
    )
    assert not any(scrolled)


CUT = """() => [...document.querySelectorAll(".brazo-panel :is(input.field, button, td, th)")]
    .filter((node) => node.offsetParent && node.scrollWidth > node.clientWidth + 1)
    .filter((node) => getComputedStyle(node).textOverflow !== "ellipsis")
    .map((node) => `${node.closest(".brazo-panel").id}: ${node.value || node.textContent}`)"""


def test_no_value_and_no_label_is_cut(opened):
    page = opened.page
    resized(page, 1366, 768)
    for _ in panels_in_turn(page):
        # Content that just arrived may be cut until it is laid out.
        until(page, lambda: not page.evaluate(CUT), lambda: page.evaluate(CUT))

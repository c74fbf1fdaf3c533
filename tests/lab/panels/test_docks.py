"""The docks in a real Chromium: every tab keeps its own place, and what is new is in view."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.panels.acting import show, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "robots")


def scrolled(page) -> float:
    return page.locator(".brazo-dock.left > .content").evaluate("(node) => node.scrollTop")


def scroll(page, to: int) -> None:
    page.locator(".brazo-dock.left > .content").evaluate("(node, to) => (node.scrollTop = to)", to)


def shown_whole(opened) -> None:
    """Wait until nothing above the scroll position can move it any more.

    Content that arrives late moves what is in view; the browser then corrects `scrollTop` itself.
    """
    opened.page.evaluate("document.fonts.ready")
    content, before = opened.page.locator(".brazo-dock.left > .content"), None
    for _ in range(200):
        opened.settle()
        height = content.evaluate("(node) => node.scrollHeight")
        if height == before:
            return
        before = height
    raise AssertionError("the height of the panel never settles")


def test_each_tab_of_a_dock_keeps_its_own_scroll_position(opened):
    page = opened.page
    show(page, "Robots and cells")
    shown_whole(opened)
    scroll(page, 310)
    show(page, "Program")
    assert scrolled(page) == 0
    shown_whole(opened)
    scroll(page, 120)
    show(page, "Robots and cells")
    assert scrolled(page) == 310
    show(page, "Program")
    assert scrolled(page) == 120
    fold = page.locator(".brazo-dock.left .fold")
    fold.click()
    fold.click()
    assert scrolled(page) == 120
    assert opened.errors == []


def test_content_scrolled_beneath_title_or_footer_has_an_edge_there(opened):
    page = opened.page
    panel = show(page, "Dimensions")
    content = page.locator(".brazo-dock.left > .content")
    shadow = "(node) => getComputedStyle(node).boxShadow"
    title, footer = page.locator(".brazo-dock.left .name-line"), panel.locator(".dimensions-end")
    scroll(page, 0)
    expect(content).not_to_have_attribute("data-above", "")
    expect(content).to_have_attribute("data-below", "")
    assert title.evaluate(shadow) == "none" and footer.evaluate(shadow) != "none"
    scroll(page, 10_000)
    expect(content).to_have_attribute("data-above", "")
    expect(content).not_to_have_attribute("data-below", "")
    assert title.evaluate(shadow) != "none" and footer.evaluate(shadow) == "none"
    assert opened.errors == []


def test_the_message_of_a_rejected_file_is_in_view(lab, opened, tmp_path):
    page = opened.page
    panel = show(page, "Robots and cells")
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\njoints: 7\n", encoding="utf-8")
    panel.locator("brazo-upload input").first.set_input_files(path)
    scroll(page, 400)
    until(page, lambda: lab.panels["robots"]._problem)
    problem = panel.locator("brazo-problem")
    expect(problem).to_contain_text("bad.yaml")
    expect(problem).to_be_in_viewport(ratio=0.95)
    assert opened.errors == []

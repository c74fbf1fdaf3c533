"""A collision made and seen through the page: red solids, crosses, a count in the status bar."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.lab.panels.acting import show, switch, typed, until

pytestmark = pytest.mark.browser
# The colours of what a node draws, and whether it is shown at all.
SEEN = """(name) => {
    const node = window.__viserMutable.nodeRefFromName[name];
    let shown = Boolean(node), colors = [];
    for (let n = node; n; n = n.parent) shown = shown && n.visible;
    node?.traverse((o) => { if (o.material?.color) colors.push(o.material.color.getHexString()); });
    return { shown, colors };
}"""
RED, GREEN = "e03131", "2f9e44"


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


def test_fingers_that_come_down_on_the_platform(lab, open_page):
    opened = open_page(lab, "pendant")
    page, panel = opened.page, opened.panel
    panel.get_by_label("Robot", exact=True).select_option("scara2")
    switch(show(page, "View"), "Collision boxes")
    opened.show()
    owners = {geom: label.name for geom, label in enumerate(lab.sim.world.labels)}
    boxes = lab.view.overlays["boxes"]
    until(page, lambda: hasattr(boxes, "_solids"))
    lab.do(lambda: None)  # what makes them is done
    solids = boxes._solids
    opened.wait(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
        next(iter(solids.values())).name,
    )
    expect(page.locator(".collisions")).not_to_have_class("some")

    typed(panel.get_by_label("shoulder value"), "-60")  # away from the bars
    opened.settle()
    until(page, lambda: not lab.robot.moving)
    typed(panel.get_by_label("quill value"), "200")  # mm: farther than the platform
    expect(page.locator(".collisions.some")).to_be_visible()
    expect(panel.locator(".pendant-why")).to_have_text(
        re.compile("^finger (left|right) touches platform: move it back$")
    )
    crosses = f"{lab.scene.root}/contacts"
    opened.wait(f"(name) => ({SEEN})(name).shown", crosses)
    hit = next(s.name for g, s in solids.items() if owners[g] == "scara2/finger left")
    free = next(s.name for g, s in solids.items() if owners[g] == "scara1/first segment")
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [hit, RED])
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [free, GREEN])

    typed(panel.get_by_label("quill value"), "20")  # and up again
    expect(page.locator(".collisions.some")).to_have_count(0)
    expect(panel.locator(".pendant-why")).to_have_text("")
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [hit, GREEN])
    opened.wait(f"(name) => !({SEEN})(name).shown", crosses)
    assert opened.errors == []

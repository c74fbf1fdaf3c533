"""The drawing tools of the trajectory panel on the RV-2AJ, in a real Chromium."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="40mm" height="40mm" viewBox="0 0 40 40">
<circle cx="20" cy="20" r="10"/><path d="M5 5 h30 v30 h-30 z"/></svg>"""


@pytest.fixture(scope="module")
def rv2aj(running):
    with running("robot:rv2aj") as lab:
        lab.do(lab.sim.player.pause)
        lab.do(lambda: setattr(lab.robot, "controller", "ideal"))
        yield lab


@pytest.fixture(scope="module")
def opened(rv2aj, open_page):
    opened = open_page(rv2aj, "trajectory")
    opened.panel.get_by_role("radio", name="Curve").click()
    opened.settle()
    return opened


def until(condition, seconds=60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def choose(opened, kind: str) -> None:
    opened.panel.get_by_label("Curve", exact=True).last.select_option(kind)
    opened.settle()


def planned(lab):
    panel = lab.panels["trajectory"]
    until(lambda: panel._plan is not None)
    return panel._plan


def test_a_text_is_typed_and_drawn_by_the_tool_itself(rv2aj, opened):
    choose(opened, "text")
    field = opened.panel.get_by_label("Text", exact=True)
    field.fill("Li")
    field.press("Enter")
    opened.panel.get_by_label("Time", exact=True).fill("3")
    opened.panel.get_by_label("Time", exact=True).press("Enter")
    expect(opened.button("Run trajectory")).to_be_enabled(timeout=60_000)
    plan = planned(rv2aj)
    assert len(plan.pen_down) == 4  # two of L, i and its dot
    assert len(plan.approach)
    rv2aj.do(lambda: setattr(rv2aj.sim.player, "speed", 4.0))
    rv2aj.do(rv2aj.sim.player.play)
    opened.button("Run trajectory").click()
    opened.settle()
    until(lambda: rv2aj.panels["trajectory"]._playing is None)
    rv2aj.do(rv2aj.sim.player.pause)
    trace = rv2aj.panels["trajectory"]._trace
    path = rv2aj.panels["trajectory"].draft.curve.path()
    t = np.minimum(trace.t, path.duration)
    near = np.linalg.norm(trace.xyz - path.pose(t)[:, :3, 3], axis=1)
    assert near.max() < 1e-9
    assert trace.down.any() and not trace.down[0] and not trace.down[-1]
    with opened.page.expect_download() as saved:
        opened.button("Save trace").click()
    assert saved.value.suggested_filename.endswith("-trace.csv")


def test_a_stroke_is_drawn_on_the_pad_and_removed(rv2aj, opened):
    choose(opened, "drawing")
    pad = opened.panel.locator("brazo-pad canvas")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    mouse = opened.page.mouse
    mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    mouse.down()
    for k in range(1, 13):
        mouse.move(
            box["x"] + (0.2 + 0.05 * k) * box["width"],
            box["y"] + (0.5 - 0.2 * np.sin(k / 2)) * box["height"],
        )
    mouse.up()
    opened.settle()
    curve = rv2aj.panels["trajectory"].draft.curve
    until(lambda: len(curve.strokes) == 1)
    first, last = curve.strokes[0][0], curve.strokes[0][-1]
    assert first == pytest.approx((-0.3, 0.0), abs=0.01)
    assert last == pytest.approx((0.3, 0.2 * np.sin(6.0)), abs=0.01)
    expect(opened.button("Run trajectory")).to_be_enabled(timeout=60_000)
    opened.button("Remove last stroke").click()
    expect(opened.panel.get_by_text("no strokes yet")).to_be_visible()
    assert curve.strokes == ()


def test_an_svg_file_is_drawn(rv2aj, opened):
    choose(opened, "svg")
    expect(opened.panel.get_by_text("no SVG file yet")).to_be_visible()
    with opened.page.expect_file_chooser() as chooser:
        opened.panel.get_by_text("Load SVG…").click()
    chooser.value.set_files({"name": "a.svg", "mimeType": "image/svg+xml", "buffer": SVG})
    assert len(planned(rv2aj).pen_down) == 2


def test_an_infeasible_curve_is_marked_and_shifted_to_where_it_is_feasible(rv2aj, opened):
    choose(opened, "circle")
    radius = opened.panel.get_by_label("Radius", exact=True)
    radius.fill("100")
    radius.press("Enter")
    opened.panel.get_by_label("Time", exact=True).fill("8")
    opened.panel.get_by_label("Time", exact=True).press("Enter")
    why = opened.panel.get_by_text(re.compile("^t = .* s, tool at .* m: "))
    expect(why).to_be_visible(timeout=60_000)
    expect(opened.button("Run trajectory")).to_be_disabled()
    opened.wait(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
        f"{rv2aj.scene.root}/path/points",
    )
    before = rv2aj.panels["trajectory"].draft.curve.start[:3, 3].copy()
    opened.button("Shift to feasible").click()
    expect(opened.button("Run trajectory")).to_be_enabled(timeout=60_000)
    moved = rv2aj.panels["trajectory"].draft.curve.start[:3, 3] - before
    assert 1e-3 < np.linalg.norm(moved) < 0.2
    assert opened.errors == []

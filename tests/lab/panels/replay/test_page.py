"""A recording in a real Chromium: scrubbed and played, plots and list in step with the scene."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import SOON
from playwright.sync_api import expect

import brazo
import brazo.trajectory
from brazo.recording.recording import Recording
from tests.lab.panels.acting import assert_page_stays

pytestmark = pytest.mark.browser
PLACE = """([name, wanted]) => {
    const poses = __viserMutable.nodePoseData;
    const key = Object.keys(poses).find((k) => k.endsWith(name));
    const at = key && poses[key].position;
    return at && at.every((x, i) => Math.abs(x - wanted[i]) < 5e-6);
}"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Six seconds in which a bar falls and a robot moves to and fro."""
    path = tmp_path_factory.mktemp("replay") / "run.parquet"
    sim = brazo.Simulation("cooperative")
    pose = sim.world.pose("bar 1").copy()
    pose[:3, 3] += [0.0, 0.0, 0.3]
    sim.world.place("bar 1", pose)
    arm = sim.robots["scara2"]
    sim.recording.start(path)
    for k in range(6):
        by = np.array([0.4 if k % 2 == 0 else -0.4, 0, 0, 0, 0])
        arm.move(brazo.trajectory.quintic(arm.reference.q, arm.reference.q + by, duration=0.9))
        sim.log("note", f"turn <b>{k + 1}</b>")
        sim.step(1000)
    sim.recording.stop()
    return path


@pytest.fixture(scope="module")
def lab(run, running):
    with running(run) as lab:
        yield lab


@pytest.fixture(scope="module")
def recording(run):
    return Recording.open(run)


@pytest.fixture(scope="module")
def opened(lab, open_page):
    opened = open_page(lab, "replay", {"width": 1000, "height": 560})
    opened.page.locator("[role=tab][aria-controls=panel-data]").click()
    opened.page.get_by_label("Signals of plot 1").select_option("scara2.q")
    yield opened
    assert opened.errors == []


def in_step(opened, recording, t):
    """The scene, the plot's mark and its numbers all tell of this moment."""
    row = int(np.argmin(np.abs(recording.t - t)))
    wanted = [float(recording[f"bar 1.{axis}"][row]) for axis in "xyz"]
    opened.wait(PLACE, ["bar_1", wanted])
    opened.wait(
        "(t) => Math.abs(document.querySelector('#panel-data brazo-plot').now?.t - t) < 1e-6",
        float(recording.t[row]),
    )
    q = np.degrees(recording["scara2.q.shoulder"][row])
    opened.wait(
        """(q) => { const figure = document.querySelector("#panel-data brazo-plot .legend b");
            return Math.abs(Number(figure.textContent.replace("−", "-")) - q) < 6e-3; }""",
        float(q),
    )


def test_the_handle_of_the_timeline_is_pulled(lab, opened, recording):
    timeline = opened.page.get_by_label("Recording time")
    box = timeline.bounding_box()
    x = lambda share: box["x"] + 8 + share * (box["width"] - 16)  # noqa: E731
    y = box["y"] + box["height"] / 2
    mouse = opened.page.mouse
    mouse.move(x(0.0), y)
    mouse.down()
    for share in (0.05, 0.2, 0.5):
        mouse.move(x(share), y, steps=2)
    mouse.up()
    opened.settle()
    assert lab.sim.time == pytest.approx(3.0, abs=0.03)
    in_step(opened, recording, lab.sim.time)
    expect(opened.page.locator(".brazo-timeline .figures")).to_have_text(
        f"{lab.sim.time:.2f} / 6.00 s"
    )
    timeline.focus()
    opened.page.keyboard.press("ArrowLeft")
    opened.settle()
    assert lab.sim.time == pytest.approx(2.0, abs=0.03)
    opened.page.keyboard.press(",")
    opened.page.keyboard.press(".")
    opened.page.keyboard.press(".")
    opened.settle()
    opened.settle()
    in_step(opened, recording, lab.sim.time)


def test_an_event_is_clicked(lab, opened, recording):
    events = opened.page.locator("#panel-replay brazo-events li")
    expect(events.filter(has_text="turn <b>4</b>")).to_have_count(1)  # text stays text
    events.filter(has_text="turn <b>4</b>").get_by_role("button").click()
    opened.settle()
    assert lab.sim.time == pytest.approx(3.0, abs=1e-9)
    in_step(opened, recording, 3.0)
    expect(opened.page.locator("#panel-replay [aria-current]")).to_contain_text("turn <b>4</b>")
    before = events.count()
    opened.page.get_by_text("Show contacts").click()
    expect(events.filter(has_text="bar 1")).not_to_have_count(0)
    assert events.count() > before
    for moment in (5.0, 1.0, 6.0):  # the list goes along
        lab.do(lambda t=moment: lab.sim.seek(t))
        opened.settle()
        opened.wait(
            """() => {
                const list = document.querySelector("#panel-replay brazo-events ol");
                const row = list.querySelector("[aria-current]").getBoundingClientRect();
                const { top, bottom } = list.getBoundingClientRect();
                return row.top >= top - 1 && row.bottom <= bottom + 1;
            }"""
        )
    opened.page.get_by_text("Show contacts").click()
    expect(events).to_have_count(before)


@pytest.mark.parametrize("height", [700, 900])
def test_the_list_of_events_fills_its_panel(opened, height):
    opened.page.set_viewport_size({"width": 1000, "height": height})
    opened.show()
    opened.page.get_by_text("Show contacts").click()
    opened.wait(
        """() => {
            const list = document.querySelector("#panel-replay brazo-events ol");
            const holder = list.closest(".content");
            const bottom = (node) => node.getBoundingClientRect().bottom;
            const blank = bottom(holder) - bottom(list);
            const all = list.scrollHeight <= list.clientHeight;
            return list.clientHeight > 100 && (all || (blank > 0 && blank < 40))
                && holder.scrollHeight <= holder.clientHeight + 1;
        }"""
    )
    opened.page.get_by_text("Show contacts").click()
    opened.page.set_viewport_size({"width": 1000, "height": 560})
    opened.page.locator("[role=tab][aria-controls=panel-data]").click()


def test_it_plays_pauses_and_changes_speed(lab, opened, recording):
    lab.do(lambda: lab.sim.seek(0.0))
    speed = opened.page.locator("[aria-label*=speed i]")  # one, as the documentation has it
    assert speed.count() == 1
    assert speed.locator("option").all_inner_texts() == [
        f"{percent} %" for percent in (10, 25, 50, 100, 200, 400)
    ]
    opened.page.get_by_label("Replay speed").select_option("50")
    opened.wait("() => document.querySelector('.brazo-timeline select').value === '50'")
    assert lab.sim.player.speed == 0.5
    timeline = opened.page.locator(".brazo-timeline")
    timeline.get_by_label("Play", exact=True).click()
    opened.wait("() => Number(document.querySelector('.brazo-timeline b').textContent) > 0.3")
    opened.page.keyboard.press("Space")  # there is nothing to stop
    expect(timeline.get_by_label("Play", exact=True)).to_be_visible()
    assert not lab.sim.player.running and 0.3 <= lab.sim.time < 6.0
    in_step(opened, recording, lab.sim.time)
    opened.page.get_by_label("Replay speed").select_option("400")
    opened.page.keyboard.press("p")
    opened.wait("() => document.querySelector('.brazo-timeline b').textContent === '6.00'")
    expect(timeline.get_by_label("Play", exact=True)).to_be_visible()  # it ended by itself
    in_step(opened, recording, 6.0)
    expect(opened.page.locator(".brazo-bar .stop")).to_be_hidden()
    opened.page.get_by_label("Replay speed").select_option("100")


def test_the_plot_shows_all_of_it_and_closely_what_is_looked_at(lab, opened, recording):
    plot = opened.page.locator("#panel-data brazo-plot").first
    opened.wait(
        """(end) => { const { from, to } = document.querySelector("#panel-data brazo-plot").view;
            return from === 0 && Math.abs(to - end) < 1e-6; }""",
        recording.t[-1],
    )
    assert len(plot.evaluate("(plot) => plot.t")) == 3000  # an outline of 6000 rows
    box, inner = plot.locator(".stage").bounding_box(), plot.evaluate("(plot) => plot.box")
    left, y, mouse = box["x"] + inner["left"], box["y"] + 80, opened.page.mouse
    mouse.click(left + 0.25 * inner["width"], y)
    opened.settle()
    assert lab.sim.time == pytest.approx(1.5, abs=0.03)
    mouse.move(left + 0.2 * inner["width"], y)
    mouse.down()
    mouse.move(left + 0.3 * inner["width"], y, steps=3)
    mouse.up()
    opened.wait("() => document.querySelector('#panel-data brazo-plot').close")
    opened.wait(
        """() => { const plot = document.querySelector('#panel-data brazo-plot');
            return plot.t.length === plot.close.t.length; }"""
    )
    line = plot.evaluate("(plot) => plot.data[0]")
    t = np.array(line["t"])
    assert t[0] < 1.25 and t[-1] > 1.75 and np.allclose(np.diff(t), 1e-3)
    rows = np.searchsorted(recording.t, t - 1e-6)
    wanted = np.degrees(recording["scara2.q.shoulder"][rows])
    assert np.abs(np.array(line["y"]) - wanted).max() < 1e-4
    # What is looked at goes along with the moment.
    lab.do(lambda: lab.sim.seek(4.0))
    opened.wait("() => document.querySelector('#panel-data brazo-plot').view.to > 4")
    mouse.dblclick(left + 0.5 * inner["width"], y)
    opened.wait("() => document.querySelector('#panel-data brazo-plot').view.from === 0")


def test_a_watcher_moves_nothing(lab, opened, open_page):
    opened.settle()  # what was clicked before is done
    lab.do(lambda: lab.sim.seek(2.5))
    other = open_page(lab, "replay", {"width": 800, "height": 500})
    other.page.get_by_label("Recording time").focus()
    other.page.keyboard.press("ArrowRight")
    other.page.keyboard.press("Space")
    other.page.get_by_text("View only: request control.").wait_for()
    assert lab.sim.time == pytest.approx(2.5) and not lab.sim.player.running
    other.page.close()


@pytest.mark.parametrize("width", [390, 1366])
def test_no_control_scrolls_the_page(lab, open_page, width):
    opened = open_page(lab, "replay", {"width": width, "height": 560})
    assert_page_stays(opened.page, ".brazo-timeline .play")
    assert_page_stays(opened.page, ".brazo-bar .home")
    opened.page.close()


def test_a_first_visit_is_reported_of_recordings_and_sees_the_timeline(lab, browser):
    page = browser.new_context(viewport={"width": 1000, "height": 560}).new_page()
    page.set_default_timeout(SOON)
    page.goto(lab.url)
    card = page.get_by_role("note", name="Welcome")
    expect(card).to_contain_text("Space plays and pauses")
    expect(card).not_to_contain_text("pendant")
    page.locator(".brazo-timeline").wait_for()
    page.wait_for_function(
        """() => document.querySelector(".brazo-welcome").getBoundingClientRect().bottom
            < document.querySelector(".brazo-timeline").getBoundingClientRect().top"""
    )
    card.get_by_role("button", name="Got it").click()
    expect(card).to_have_count(0)
    page.reload()
    page.locator("html[data-brazo-replay]").wait_for()
    expect(card).to_have_count(0)
    page.context.close()

"""The Data panel in a real Chromium: plots that follow, pause and zoom, recordings that leave."""

from __future__ import annotations

import itertools
import re
import time

import numpy as np
import openpyxl
import pytest
from playwright.sync_api import expect

from brazo.recording.recording import Recording
from brazo.trajectory import quintic

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(lab, open_page):
    lab.do(lab.sim.player.pause)  # nothing moves, nothing has to be drawn
    return open_page(lab, "data")


@pytest.fixture(autouse=True)
def fresh(lab, opened):
    lab.clock._player.pause()
    lab.do(lab.clock.reset)
    lab.do(lambda: lab.display.ask(lab.panels["data"]))
    opened.settle()  # the page has no rows of the time before any more
    yield
    assert opened.errors == []


def move(lab, by=0.4, seconds=0.6) -> None:
    robot = lab.robot
    q = robot.reference.q
    lab.do(lambda: robot.move(quintic(q, q + by * np.array([1.0, -1.0, 0.1, 1.0, 0.5]), seconds)))


def until(condition, seconds=20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def newest(opened, label: str) -> float:
    """The time of the last row a plot has."""
    t = opened.lines(label)[0]["t"]
    return t[-1] if t else -1.0


def test_a_plot_shows_what_the_recording_has(lab, opened):
    lab.do(lambda: lab.clock.step(20))  # the plot keeps the rows from before a reset until then
    until(lambda: 0.0 <= newest(opened, "Position") <= 0.03)
    lab.sim.recording.start()
    move(lab)
    lab.do(lambda: lab.clock.step(800))
    recording = lab.sim.recording.stop()
    until(lambda: newest(opened, "Position") > 0.78)
    lines = opened.lines("Position")
    joints = lab.robot.arm.joint_names
    assert [line["label"] for line in lines] == list(joints)
    assert {line["unit"] for line in lines} == {"deg", "mm"}
    for joint, line in zip(joints, lines, strict=True):
        t, y = np.array(line["t"]), np.array(line["y"])
        recorded = t <= recording.t[-1] + 1e-9  # the plot may show one more step
        t, y = t[recorded], y[recorded]
        assert t[0] <= 0.02 and np.diff(t).max() < 0.0125
        q = recording[f"scara1.q.{joint}"][np.searchsorted(recording.t, t - 1e-6)]
        factor = 1000.0 if line["unit"] == "mm" else 180.0 / np.pi
        assert np.abs(y - factor * q).max() < 1e-5 * np.abs(factor * q).max() + 1e-9


def test_a_plot_is_drawn_before_its_lines_are_known(opened):
    opened.page.evaluate(
        """async () => {
            const plot = document.createElement("brazo-plot");
            plot.setAttribute("name", "unknown");
            document.querySelector("#panel-data").append(plot);
            const drawn = new Promise((next) => {
                const { draw } = plot;
                plot.draw = () => { next(); draw.call(plot); };
            });
            plot.soon();
            await drawn;
            await new Promise((next) => setTimeout(next, 0));
            plot.remove();
        }"""
    )
    assert opened.errors == []


def test_signals_are_chosen_hidden_and_added(lab, opened):
    panel = opened.panel
    chooser = panel.get_by_label("Signals of plot 1")
    chooser.select_option("scara1.tool")
    plot = panel.locator("brazo-plot").first
    expect(plot.locator(".legend .name")).to_have_text(["x", "y", "z"])
    panel.get_by_label("Add a signal to plot 1").select_option("energy.kinetic")
    expect(plot.locator(".legend .name").last).to_have_text("energy kinetic")
    panel.get_by_label("Add a signal to plot 1").select_option("scara1.qdd_ref.wrist pitch")
    expect(plot.locator(".legend .name").last).to_have_text("qdd_ref wrist pitch")
    lab.do(lambda: lab.clock.step(100))
    tool = lab.robot.tool()[:3, 3]
    expect(plot.get_by_role("button", name=re.compile("^tool x"))).to_contain_text(
        f"{1e3 * tool[0]:.2f}".replace("-", "−")
    )
    hide = plot.get_by_role("button", name=re.compile("^tool z"))
    hide.click()
    expect(hide).to_have_attribute("aria-pressed", "false")
    expect(panel.get_by_role("row", name=re.compile("tool y"))).to_be_visible()
    long = panel.get_by_role("row", name=re.compile("qdd_ref wrist pitch")).get_by_role("cell")
    expect(long.first).to_have_attribute("title", "scara1 qdd_ref wrist pitch")
    cells = long.evaluate_all(
        "(cells) => cells.map((cell) => [cell.scrollWidth, cell.clientWidth])"
    )
    assert cells[0][0] > cells[0][1]  # a long name is cut,
    assert all(content <= width for content, width in cells[1:])  # and no number
    table = long.first.locator("xpath=ancestor::div[1]")
    assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    # Every unit has a scale of its own, one below the other where there are more than two.
    opened.wait("() => document.querySelector('#panel-data brazo-plot').scales.length === 3")
    scales = plot.evaluate(
        "(plot) => plot.scales.map(({ unit, lines, box }) => [unit, lines, box])"
    )
    assert [(unit, lines) for unit, lines, _ in scales] == [
        ("mm", [0, 1]), ("J", [3]), ("deg/s²", [4])
    ]  # fmt: skip
    lanes = [(box["top"], box["top"] + box["height"]) for _, _, box in scales]
    assert all(end + 20 < top for (_, end), (top, _) in itertools.pairwise(lanes))
    assert all(end - top >= 60 for top, end in lanes)
    chooser.select_option("scara1.q")
    expect(plot.locator(".legend .name")).to_have_count(5)


def test_pausing_and_zooming_keep_the_view_while_rows_come(lab, opened):
    plot = opened.panel.locator("brazo-plot").first
    lab.sim.player.play()
    until(lambda: newest(opened, "Position") > 0.6)
    opened.button("Pause the plot").first.hover()
    opened.page.mouse.down()
    at = newest(opened, "Position")
    until(lambda: newest(opened, "Position") > at + 0.1)  # redrawn under the finger
    opened.page.mouse.up()
    held = plot.evaluate("(plot) => ({ ...plot.view })")
    at = newest(opened, "Position")
    until(lambda: newest(opened, "Position") > at + 0.5)
    assert plot.evaluate("(plot) => ({ ...plot.view })") == held
    opened.panel.get_by_label("Add a signal to plot 1").select_option("energy.kinetic")
    expect(plot.locator(".legend .name")).to_have_count(6)
    opened.wait("() => document.querySelector('#panel-data brazo-plot').t.length > 1")
    assert plot.evaluate("(plot) => ({ ...plot.view })") == held
    opened.panel.get_by_label("Signals of plot 1").select_option("scara1.q")
    expect(plot.locator(".legend .name")).to_have_count(5)
    opened.wait("() => document.querySelector('#panel-data brazo-plot').t.length > 1")
    box = plot.locator(".stage").bounding_box()
    inner = plot.evaluate("(plot) => plot.box")
    mouse, left, y = opened.page.mouse, box["x"] + inner["left"], box["y"] + 80
    mouse.move(left + 0.70 * inner["width"], y)
    mouse.down()
    mouse.move(left + 0.95 * inner["width"], y, steps=3)
    mouse.up()
    zoomed = plot.evaluate("(plot) => ({ ...plot.view })")
    assert zoomed["to"] - zoomed["from"] < 0.3 * (held["to"] - held["from"])
    mouse.dblclick(left + 0.5 * inner["width"], y)
    opened.wait(
        "(at) => document.querySelector('#panel-data brazo-plot').view.to > at", held["to"] + 0.3
    )
    for button, key, seconds in (("Less time", "+", 5.0), ("More time", "-", 10.0)):
        expect(opened.button(button).first).to_have_attribute("title", f"{button} ({key})")
        opened.button(button).first.click()
        view = plot.evaluate("(plot) => ({ ...plot.view })")
        assert view["to"] - view["from"] == pytest.approx(seconds)


def test_a_page_that_comes_later_asks_for_what_was_before(lab, opened, line):
    lab.do(lambda: lab.clock.step(2000))
    until(lambda: newest(opened, "Torque") > 1.97)
    with line(lab) as other:
        other.send(["data/plot/2/history"])
        reported = other.reported["data/plot/2/all"]
    assert reported["t"] == opened.lines("Torque")[0]["t"] and reported["t"][0] < 0.02
    # The page, too, once it has lost everything.
    plot = opened.panel.locator("brazo-plot").nth(1)
    plot.evaluate("(plot) => plot.clear()")
    lab.do(lambda: lab.clock.step(100))
    until(lambda: newest(opened, "Torque") > 2.07)
    until(lambda: opened.lines("Torque")[0]["t"][0] < 0.02)
    t = opened.lines("Torque")[0]["t"]
    assert np.diff(t).max() < 0.0125 and len(set(t)) == len(t)


def test_a_reset_clears_the_plots(lab, opened):
    lab.do(lambda: lab.clock.step(500))
    until(lambda: newest(opened, "Position") > 0.48)
    opened.page.get_by_role("tab", name="Simulation").click()
    opened.wait(
        """() => {
            const slider = document.querySelector("#panel-simulation brazo-slider");
            const { left, right } = slider.getBoundingClientRect();
            const inside = (box) => box.left >= left - 1 && box.right <= right + 1;
            const marks = [...slider.querySelectorAll(".mark")];
            return right > left && marks.length
                && marks.every((mark) => inside(mark.getBoundingClientRect()));
        }"""
    )
    opened.page.get_by_role("button", name="Reset", exact=True).click()
    opened.show()
    lab.do(lambda: lab.clock.step(100))
    until(lambda: 0.05 < newest(opened, "Position") < 0.1)


def test_recorded_steps_leave_in_every_format(lab, opened, tmp_path):
    expect(opened.button("XLSX")).to_be_disabled()
    opened.button("Record").click()
    opened.settle()
    move(lab, 0.3, 0.3)
    lab.do(lambda: lab.clock.step(400))
    expect(opened.panel.get_by_text("0.40 s, 400 steps")).to_be_visible()
    opened.button("Stop").click()
    expect(opened.button("XLSX")).to_be_enabled()
    files = {}
    for name in ("Parquet", "CSV", "XLSX", "MCAP", "Report", "3D replay"):
        with opened.page.expect_download() as download:
            opened.button(name).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        files[name] = path
    recording = Recording.open(files["Parquet"])
    assert len(recording) == 400 and recording.t[0] == 0.0
    q = recording["scara1.q.elbow"]
    assert q[0] - q[-1] == pytest.approx(0.3, abs=2e-3)
    assert (Recording.open(files["CSV"])["scara1.q.elbow"] == q).all()
    book = openpyxl.load_workbook(files["XLSX"], read_only=True)
    cells = [cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row]
    assert any("elbow" in str(cell) for cell in cells) and len(cells) > 400 * 40
    assert files["MCAP"].read_bytes().startswith(b"\x89MCAP")
    report = files["Report"].read_text(encoding="utf-8")
    assert "<svg" in report and "scara1" in report
    replay = files["3D replay"].read_text(encoding="utf-8")
    assert replay.lstrip().lower().startswith("<!doctype html") and len(replay) > 100_000


def test_a_kept_recording_is_chosen_by_click_or_key_and_deleted_after_a_question(lab, opened):
    recordings = lab.panels["data"].recordings
    for steps in (50, 60):
        lab.do(recordings._record)
        lab.do(lambda steps=steps: lab.clock.step(steps))
        lab.do(recordings._stop)
    newest, before = (run.name for run in lab.runs.list()[:2])
    rows = opened.panel.get_by_role("table", name="Recordings").locator("tbody tr")
    expect(rows.first).to_have_class(re.compile("marked"))
    expect(rows.first.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    rows.nth(1).get_by_text("scara1").click()  # anywhere in the row
    expect(rows.nth(1).get_by_role("button")).to_have_attribute("aria-pressed", "true")
    rows.first.get_by_role("button").press("Enter")
    expect(rows.nth(1).get_by_role("button")).to_have_attribute("aria-pressed", "false")
    for cell in rows.first.get_by_role("cell").all()[::2]:  # date and duration are never cut
        assert cell.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    count = rows.count()
    opened.button("Delete…").click()
    question = opened.page.get_by_role("alertdialog", name="Delete recording")
    expect(question.get_by_role("listitem")).to_contain_text("scara1, ")
    expect(question.get_by_role("button")).to_have_text(["Cancel", "Delete", "Save and delete"])
    question.get_by_role("button", name="Delete", exact=True).click()
    expect(rows).to_have_count(count - 1)
    names = [run.name for run in lab.runs.list()]
    assert newest not in names and before in names
    expect(opened.button("CSV")).to_be_disabled()  # none is chosen now


def test_a_watcher_changes_nothing(lab, opened, line):
    with line(lab) as other:
        other.send(["data/record"], ["data/show", 1, "scara1.energy"], ["data/remove-plot", 1])
        assert other.reported["me/refused"] == 3
    assert not lab.sim.recording
    expect(opened.panel.get_by_label("Signals of plot 1")).to_have_value("scara1.q")


def test_stored_rows_are_shown_turned_and_copied(lab, opened):
    lab.sim.step(round(1.5 / lab.sim.dt))
    page = opened.page
    page.evaluate("document.querySelector('[data-fold=rows]').open = true")
    rows = page.locator("brazo-rows")
    rows.scroll_into_view_if_needed()
    page.locator("[data-fold=rows]").get_by_role("button", name="Refresh").click()
    expect(rows.locator(".rows-where")).to_contain_text(re.compile(r"Rows 101 to 1\d\d of"))
    rows.get_by_role("button", name="First").click()
    expect(rows.locator("tbody tr")).to_have_count(100)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    rows.get_by_role("button", name="Copy").click()
    until(lambda: page.evaluate("navigator.clipboard.readText()").count("\n") == 100)
    assert page.evaluate("navigator.clipboard.readText()").startswith("Time (s)\t")
    frame = rows.locator(".rows-frame").bounding_box()
    assert frame is not None and frame["height"] <= 281

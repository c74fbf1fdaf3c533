"""HTML report: correct figures, escaped, self-contained, readable in a real browser."""

import re

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

import brazo
from brazo.recording.display import display_unit, measure, number
from brazo.recording.figures import default_figures
from brazo.recording.numbers import both_hold, key_numbers
from brazo.recording.recording import Recording
from brazo.recording.report import write_report


@pytest.fixture(scope="module")
def recording():
    t = np.arange(10_001) * 1e-3
    columns = {"t": (t, "s")}
    for robot, error in (("left", 1e-3), ("right", 2e-5)):
        q = np.sin(t)
        columns |= {
            f"{robot}.q.shoulder": (q, "rad"),
            f"{robot}.q.lift": (0.1 * q, "m"),
            f"{robot}.qd.shoulder": (np.cos(t), "rad/s"),
            f"{robot}.q_ref.shoulder": (q + error * np.sqrt(2) * np.sin(200 * np.pi * t), "rad"),
            f"{robot}.torque.shoulder": (10 * np.cos(t), "N m"),
            f"{robot}.tool.x": (np.cos(t), "m"),
            f"{robot}.tool.y": (np.sin(t), "m"),
            f"{robot}.tool.z": (0.0 * t, "m"),
            f"{robot}.contact.x": (3.0 * (t > 5), "N"),
            f"{robot}.contact.y": (4.0 * (t > 5), "N"),
            f"{robot}.contact.z": (0.0 * t, "N"),
        }
    columns |= {
        "distance.left-right": (0.5 + 0.4 * np.cos(t), "m"),
        "internal.left-right.z": (7.0 * ((t > 3) & (t < 4)) + 99.0 * (t > 9.5), "N"),
        "bar 1.x": (t, "m"),
        "bar 1.y": (t, "m"),
        "bar 1.z": (t, "m"),
        "bar 1.qw": (t, "1"),
        "energy.kinetic": (5.0 * np.abs(np.sin(t)), "J"),
    }
    events = [
        {"t": 2.0, "kind": "grasped", "text": "left holds bar 1", "robot": "left", "body": "bar 1"},
        {"t": 3.0, "kind": "grasped", "text": "right too", "robot": "right", "body": "bar 1"},
        {"t": 4.0, "kind": "released", "text": "left lets go", "robot": "left", "body": "bar 1"},
        {"t": 5.0, "kind": "note", "text": "<script>alert(1)</script>"},
        *({"t": 6 + 1e-3 * k, "kind": "tick", "text": f"number {k}"} for k in range(1000)),
    ]
    about = {
        "cell": "two <arms>",
        "robots": "left, right",
        "seed": "7",
        "brazo": "0.0.7",
        "limits": '{"left.torque.shoulder": [-20, 20]}',
        "costs": '{"engine": 60, "control": 20}',
    }
    return Recording(columns, events, about)


def test_key_figures(recording):
    numbers = key_numbers(recording)
    left, right, run = numbers["left"], numbers["right"], numbers["Run"]
    assert left["RMS error, rotary"] == "57.3 mdeg (shoulder)"  # 1 mrad
    assert right["RMS error, rotary"] == "1.15 mdeg (shoulder)"
    assert left["max torque"] == "10.0 N m (shoulder)"
    assert left["max drive load"] == "50.0 % of its limit (shoulder)"
    assert "max drive load" not in right
    assert left["tool path length"] == "10.0 m"  # 1 rad/s on a circle of 1 m radius
    assert left["max speed, tool"] == "1000 mm/s"
    assert left["max contact force"] == "5.00 N"
    assert run["simulated time"] == "10 s" and run["sampling"] == "every 1 ms (1000 Hz)"
    assert run["min distance left-right"] == "100 mm (at 9.425 s)"
    assert run["max internal force while both hold"] == "7.00 N (mean 6.99 N)"
    assert run["dual-grasp time"] == "1.00 s in 1 span"
    assert [(s.start, s.stop) for s in both_hold(recording)] == [(3.0, 4.0)]


@pytest.fixture(scope="module")
def three():
    """Pairs of three robots hold a bar: a and b from 1 s to 2 s, b and c from 5 s to 6 s."""
    t = np.arange(801) * 1e-2
    columns = {"t": (t, "s")}
    columns["internal.a-b.x"] = (np.where(t > 4, 80.0, 3.0), "N")
    columns["internal.c-b.x"] = (np.where(t > 4, 5.0, 70.0), "N")
    events = [
        {"t": at, "kind": kind, "robot": robot, "body": "bar"}
        for kind, robot, at in (
            ("grasped", "a", 1.0), ("grasped", "b", 1.0), ("released", "a", 2.0),
            ("grasped", "c", 5.0), ("released", "c", 6.0),
        )
    ]  # fmt: skip
    return Recording(columns, events)


def test_internal_force_of_a_pair_is_that_of_its_own_grasp(three):
    found = key_numbers(three)["Run"]
    assert found["max internal force while both hold, a-b"] == "3.00 N (mean 3.00 N)"
    assert found["max internal force while both hold, c-b"] == "5.00 N (mean 5.00 N)"
    spans = {pair: both_hold(three, pair) for pair in ("a-b", "c-b", "a-c")}
    assert [(s.start, s.stop) for s in spans["a-b"]] == [(1.0, 2.0)]
    assert [(s.start, s.stop) for s in spans["c-b"]] == [(5.0, 6.0)]
    assert spans["a-c"] == [] and both_hold(three) == spans["a-b"] + spans["c-b"]


def test_the_figure_of_an_internal_force_shows_the_grasp_of_its_pair(three):
    chapters = [c for c in default_figures(three) if c.title == "Internal force"]
    assert len(chapters) == 2
    for chapter, (start, stop) in zip(chapters, [(1.0, 2.0), (5.0, 6.0)], strict=True):
        low, high = chapter.figure.axes[0].get_xlim()
        assert len(chapter.figure.axes) == 1
        assert low <= start and stop <= high and high - low < 2.5


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "rad", "28.6 deg"),
        (1e-6, "rad", "0.0573 mdeg"),
        (-0.0123, "m", "−12.3 mm"),
        (2e-6, "m", "2.00 µm"),
        (0.5, "rad/s", "28.6 deg/s"),
        (1.5, "m/s", "1500 mm/s"),
        (0.02, "m/s²", "20.0 mm/s²"),
        (0.0, "N", "0 N"),
        (12345.0, "N", "12.3 kN"),
        (3.0, "1", "3.00"),
        (2.0, "furlong", "2.00 furlong"),
        (float("nan"), "m", "– mm"),
    ],
)
def test_values_in_display_units(value, unit, text):
    assert measure(value, unit) == text


def test_display_unit():
    assert display_unit("rad", 1.0, degrees=False) == ("rad", 1.0)
    # Plots of live signals have no peak: degrees and mm as well.
    assert [display_unit(unit)[0] for unit in ("rad/s", "m/s", "rad/s²", "m/s²")] == [
        "deg/s", "mm/s", "deg/s²", "mm/s²",
    ]  # fmt: skip
    assert number(1234.5) == "1230" and number(0.00123) == "0.00123" and number(1e-9) == "1.00e-09"


def test_page_is_self_contained_and_escaped(recording, tmp_path):
    path = write_report(
        recording,
        tmp_path / "r.html",
        "Run <1>",
        verdict="all bars down",
        success=True,
        numbers={"bars": "3 of 3", "Speed": {"real-time factor": "13.9"}},
    )
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text and "two <arms>" not in text
    for wanted in ("3 of 3", "real-time factor", "all bars down", "Step time: 80.0 µs"):
        assert wanted in text
    assert not re.findall(r'(?:src|href)="(?!#)[^"]+"|url\((?!#)', text)
    assert "and 600 more in the recording" in text
    assert text == write_report(
        recording, path, "Run <1>", verdict="all bars down", success=True,
        numbers={"bars": "3 of 3", "Speed": {"real-time factor": "13.9"}},
    ).read_text(encoding="utf-8")  # fmt: skip


def test_header_has_the_version_of_brazo(recording, tmp_path):
    page = write_report(recording, tmp_path / "page.html", figures={}).read_text(encoding="utf-8")
    assert "seed 7 · brazo 0.0.7" in page


def test_custom_figures(recording, tmp_path):
    path = recording.report(tmp_path / "r.html", figures={"Positions": ["left.q"]})
    text = path.read_text(encoding="utf-8")
    assert text.count("<figure>") == 1 and "<h1>two &lt;arms&gt;</h1>" in text
    with pytest.raises(brazo.BrazoError, match="html"):
        recording.report(tmp_path / "r.txt")


@pytest.mark.browser
def test_page_in_a_browser(recording, tmp_path, chromium_path):
    url = recording.report(tmp_path / "r.html", verdict="bar dropped", success=False).as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, args=["--no-sandbox", "--disable-gpu"]
        )
        for width, scheme in ((1280, "light"), (390, "light"), (1280, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            logged, loaded = [], []
            page.on("console", lambda message, logged=logged: logged.append(message.text))
            page.on("request", lambda request, loaded=loaded: loaded.append(request.url))
            page.goto(url)
            assert not logged and loaded == [url]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("figure svg").count() == 13
            ink, paper = page.evaluate(
                """() => [getComputedStyle(document.querySelector("figure svg text")).fill,
                          getComputedStyle(document.body).backgroundColor]"""
            )
            brightness = [sum(int(x) for x in re.findall(r"\d+", c)[:3]) for c in (ink, paper)]
            assert (brightness[0] < brightness[1]) == (scheme == "light")
            assert abs(brightness[0] - brightness[1]) > 350
            few, many = (page.locator("details", has_text=word) for word in ("note", "tick"))
            assert few.first.get_attribute("open") is not None
            assert many.first.locator("table").is_hidden()
            many.first.locator("summary").click()
            assert many.first.locator("table").is_visible()
            page.close()
        browser.close()


def test_internal_force_is_computed_over_rows_in_which_both_hold():
    t = np.arange(6) * 1e-3
    columns = {
        "t": (t, "s"),
        "a.grasp.body": (np.array([0.0, 1, 1, 1, 2, 0]), "1"),
        "b.grasp.body": (np.array([1.0, 1, 1, 2, 2, 2]), "1"),
        "internal.a-b.x": (np.array([0.0, 9, 1, 0, 2, 0]), "N"),
    }
    # Events are logged one step late.
    events = [
        {"t": 2e-3, "kind": "grasped", "text": "", "robot": "a", "body": "bar"},
        {"t": 1e-3, "kind": "grasped", "text": "", "robot": "b", "body": "bar"},
    ]
    run = key_numbers(Recording(columns, events))["Run"]
    assert run["max internal force while both hold"] == "9.00 N (mean 4.00 N)"
    assert run["dual-grasp time"].endswith("in 1 span")
    columns["a.grasp.body"] = (np.zeros(6), "1")
    assert not any("internal" in name for name in key_numbers(Recording(columns))["Run"])


def test_edit_of_the_robot_is_not_a_tool_motion():
    t = np.arange(11) * 1e-3
    x = 1e-4 * np.arange(11) + 0.5 * (np.arange(11) >= 6)  # longer by half a metre from 6 ms on
    columns = {"t": (t, "s"), "a.q.elbow": (t, "rad"), "a.tool.x": (x, "m")}
    columns |= {f"a.tool.{axis}": (0.0 * t, "m") for axis in "yz"}
    events = [{"t": 0.006, "kind": "edit", "text": "a: L1 = 0.8", "robot": "a"}]
    found = key_numbers(Recording(columns, events))["a"]
    assert found["max speed, tool"] == "100 mm/s"
    assert key_numbers(Recording(columns))["a"]["max speed, tool"] == "500000 mm/s"


def test_tool_speed_uses_simulated_time_not_wall_clock_time():
    simulated = np.arange(11) * 2e-3
    t = np.where(np.arange(11) < 6, simulated, simulated - 1.5e-3)  # a late row, and the next ones
    columns = {"t": (t, "s"), "simulated": (simulated, "s"), "a.q.elbow": (t, "rad")}
    columns |= {"a.tool.x": (0.1 * simulated, "m")}
    columns |= {f"a.tool.{axis}": (0.0 * t, "m") for axis in "yz"}
    found = key_numbers(Recording(columns))
    assert found["a"]["max speed, tool"] == "100 mm/s"
    assert found["Run"]["simulated time"] == "0.02 s"

"""The Trajectory manager in a real Chromium: points, curves, a path to look at, play, files."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from playwright.sync_api import expect

from brazo.trajectory import parse_via_list

pytestmark = pytest.mark.browser
PLACES = ((0.0, 0.0, 0.0), (0.5, -0.4, 0.03), (0.1, 0.3, 0.06))


@pytest.fixture(scope="module")
def opened(lab, open_page):
    lab.do(lab.sim.player.pause)
    return open_page(lab, "trajectory")


@pytest.fixture(autouse=True)
def fresh(lab, opened):
    lab.do(lab.sim.player.pause)
    lab.do(lab.clock.reset)
    lab.do(lambda: setattr(lab.sim.player, "speed", 4.0))
    opened.panel.get_by_role("radio", name="Points").click()
    opened.settle()
    lab.do(lab.panels["trajectory"]._clear)
    lab.do(lambda: lab.panels["trajectory"]._set_through("cubic"))
    yield
    assert opened.errors == []


def until(condition, seconds=20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def add_points(lab, opened) -> np.ndarray:
    """Three poses, each added by the button; joint values (3, n)."""
    home, found = lab.robot.world.start, []
    for place in PLACES:
        q = home + np.array([*place, *np.zeros(lab.robot.n - 3)])
        lab.set_q(q)
        opened.button("Add current pose").click()
        opened.settle()
        found.append(q)
    lab.set_q(home)
    return np.array(found)


def field(opened, name: str):
    return opened.panel.get_by_label(name, exact=True)


def rows(opened, count: int = 3) -> list[int]:
    """The numbers of the points, in the order of the table."""
    labels = opened.panel.locator("table[aria-label=Points] tbody tr td:first-child input")
    expect(labels).to_have_count(count)
    return [int(label.get_attribute("aria-label").split()[1]) for label in labels.all()]


def play(lab, opened):
    """Press Play and let time pass until it is over; the recording."""
    lab.do(lab.sim.player.play)
    expect(opened.button("Run trajectory")).to_be_enabled()
    lab.sim.recording.start()
    opened.button("Run trajectory").click()
    opened.settle()
    until(lambda: lab.panels["trajectory"]._playing is None)
    lab.do(lab.sim.player.pause)
    return lab.sim.recording.stop()


def drawn(lab) -> str:
    return f"{lab.scene.root}/path/line"


IS_DRAWN = "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])"


def test_points_are_added_edited_seen_and_played(lab, opened):
    q = add_points(lab, opened)
    _, two, three = rows(opened)
    expect(field(opened, f"shoulder {two}")).to_have_value(f"{np.degrees(q[1, 0]):.2f}")
    expect(field(opened, f"t {three}")).to_have_value("2.00")
    opened.wait(IS_DRAWN, drawn(lab))
    shoulder = field(opened, f"shoulder {two}")
    shoulder.fill("0.3rad")
    shoulder.press("Enter")
    expect(shoulder).to_have_value(f"{np.degrees(0.3):.2f}")
    late = field(opened, f"t {three}")
    late.fill("2.5")
    late.press("Enter")
    expect(opened.panel.get_by_text("2.50", exact=True).first).to_be_visible()
    opened.panel.get_by_label("Interpolation").select_option("quintic")
    opened.settle()
    recording = play(lab, opened)
    q[1, 0] = 0.3
    reference = recording.matrix("scara1.q_ref")
    began = recording.t[np.argmax(np.abs(np.diff(reference, axis=0)).max(axis=1) > 0)]
    for t, wanted in zip((0.0, 1.0, 2.5), q, strict=True):
        at = np.argmin(np.abs(recording.t - (began + t)))
        near = np.abs(reference[max(at - 5, 0) : at + 6] - wanted).max(axis=1)
        assert near.min() < 2e-3
    assert np.abs(lab.robot.q - q[2]).max() < 1e-3


def test_limit_violation_is_reported_rejected_and_scaled(lab, opened):
    add_points(lab, opened)
    _, two, _ = rows(opened)
    field(opened, f"t {two}").fill("0.05")
    field(opened, f"t {two}").press("Enter")
    opened.panel.get_by_label("Waypoint velocities").select_option("monotone")
    limits = opened.panel.get_by_role("table", name="Limits")
    expect(limits.get_by_text(re.compile(r"shoulder: speed .* of .*180 °/s")).first).to_be_visible()
    expect(opened.button("Run trajectory")).to_be_disabled()
    until(lambda: lab.panels["trajectory"]._plan is not None)  # it is planned again
    plan = lab.panels["trajectory"]._plan
    assert plan.past[:8].any() and not plan.past[-5:].any()
    opened.button("Scale time to limits").click()
    expect(opened.button("Run trajectory")).to_be_enabled()
    expect(limits).to_be_hidden()


def test_tool_points_straight_lines_and_unreachable_points(lab, opened):
    add_points(lab, opened)
    opened.panel.get_by_role("radio", name="Cartesian").click()
    one, two, three = rows(opened)
    T = lab.robot.arm.fk(lab.robot.world.start)
    expect(field(opened, f"x {one}")).to_have_value(f"{1e3 * T[0, 3]:.2f}".replace("-", "−"))
    opened.panel.get_by_label("Interpolation").select_option("line")
    expect(opened.button("Run trajectory")).to_be_enabled()
    field(opened, f"x {three}").fill("3m")
    field(opened, f"x {three}").press("Enter")
    expect(opened.panel.get_by_text(re.compile("^point 3, t = 2 s"))).to_be_visible()
    expect(opened.button("Run trajectory")).to_be_disabled()
    opened.button("×").nth(2).click()
    expect(opened.button("Run trajectory")).to_be_enabled()
    assert rows(opened, 2) == [one, two]
    opened.panel.get_by_label("Interpolation").select_option("cubic")
    opened.panel.get_by_role("radio", name="Joint").click()


def test_circle_loops_until_stop(lab, opened):
    opened.panel.get_by_role("radio", name="Curve").click()
    field(opened, "Radius").fill("4cm")
    field(opened, "Radius").press("Enter")
    field(opened, "Time").fill("2")
    field(opened, "Time").press("Enter")
    opened.button("Start at current pose").click()
    expect(opened.button("Run trajectory")).to_be_enabled()
    opened.wait(IS_DRAWN, drawn(lab))
    centre = lab.robot.tool()[:2, 3] - [0.04, 0.0]
    recording = play(lab, opened)
    tool = recording.matrix(["scara1.tool.x", "scara1.tool.y"])
    assert np.abs(np.linalg.norm(tool - centre, axis=1) - 0.04).max() < 1e-3
    assert np.linalg.norm(np.diff(tool, axis=0), axis=1).sum() == pytest.approx(
        2 * np.pi * 0.04, rel=0.02
    )
    opened.panel.get_by_text("Loop").click()
    lab.do(lab.sim.player.play)
    opened.button("Run trajectory").click()
    opened.wait("() => /round 2/.test(document.querySelector('#panel-trajectory').textContent)")
    opened.page.get_by_role("button", name="STOP", exact=True).click()
    expect(opened.panel.get_by_text("not playing")).to_be_visible()
    until(lambda: not lab.robot.moving)
    opened.panel.get_by_text("Loop").click()


def test_file_is_saved_loaded_and_validated(lab, opened, tmp_path):
    q = add_points(lab, opened)
    expect(opened.button("Save")).to_be_enabled()
    with opened.page.expect_download() as download:
        opened.button("Save").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    saved = parse_via_list(path.read_text(encoding="utf-8"), lab.robot.arm)
    assert np.abs(saved.joints(lab.robot.arm) - q).max() < 1e-12
    path.write_text(path.read_text(encoding="utf-8").replace("t: 2.0", "t: 7.5"), encoding="utf-8")
    chooser = opened.panel.locator("brazo-upload input")
    chooser.set_input_files(path)
    expect(opened.panel.locator("brazo-text[name=duration]")).to_have_text("7.50")
    bad = tmp_path / "bad.yaml"
    bad.write_text("points:\n  - {t: 0, q: [0]}\n  - {t: 1, q: [1]}\n", encoding="utf-8")
    chooser.set_input_files(bad)
    expect(opened.page.get_by_text(re.compile(r"bad\.yaml:2: "))).to_be_visible()
    expect(opened.panel.locator("brazo-text[name=duration]")).to_have_text("7.50")

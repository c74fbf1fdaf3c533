"""The Control panel in a real Chromium: laws, gains, how well they follow, a step to try them."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from playwright.sync_api import expect

from brazo.control import PID
from brazo.operate.playing import Playing
from brazo.trajectory import quintic
from tests.lab.panels.acting import switch

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(lab, open_page):
    lab.do(lab.sim.player.pause)
    return open_page(lab, "control")


@pytest.fixture(autouse=True)
def fresh(lab, opened):
    yield
    assert opened.errors == []


def until(condition, seconds=20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def step(lab, opened) -> dict[str, float]:
    """Press the button, let time pass; the numbers below the plot."""
    figures = opened.panel.locator(".brazo-figures brazo-text")
    before = lab.panels["control"]._response
    lab.do(lab.sim.player.play)
    begin = lab.sim.time  # a law just changed lets the arm sag, which takes a while to begin
    until(lambda: lab.sim.time > begin + 1.0 and np.abs(lab.robot.qd).max() < 1e-3)
    opened.button("Step").click()
    until(lambda: lab.panels["control"]._response is not before)
    until(lambda: not lab.robot.moving)
    lab.do(lab.sim.player.pause)
    overshoot = 100.0 * lab.panels["control"]._response.overshoot
    expect(figures.first).to_have_text(f"{overshoot:.2f}")
    names = ("overshoot", "rise", "settling", "error", "torque")
    read = {}
    for name, shown in zip(names, figures.all_inner_texts(), strict=True):
        read[name] = float(shown.replace("−", "-").replace("–", "nan"))
    return read


def test_a_law_is_chosen_and_its_gains_are_shown(lab, opened):
    panel = opened.panel
    expect(panel.get_by_label("Controller", exact=True)).to_have_value("ComputedTorque")
    panel.get_by_label("Controller", exact=True).select_option("PID")
    expect(panel.get_by_label("Feed-forward")).to_be_visible()
    law = lab.robot.controller
    assert isinstance(law, PID)
    for i in range(lab.robot.n):
        expect(panel.get_by_label(f"kp {i}", exact=True)).to_have_value(f"{law.gains['kp', i]:.4g}")


def test_a_gain_is_taken_when_it_is_typed_and_not_before(lab, opened):
    field = opened.panel.get_by_label("kp 1", exact=True)
    before = lab.robot.controller.gains["kp", 1]
    field.click()
    field.press_sequentially("45")
    opened.settle()
    assert lab.robot.controller.gains["kp", 1] == before
    expect(field).to_have_value("45")
    field.press("Enter")
    opened.settle()
    assert lab.robot.controller.gains["kp", 1] == 45.0
    field.fill("-3")
    field.press("Enter")
    expect(opened.page.get_by_text(re.compile("must be at least 0"))).to_be_visible()
    expect(field).to_have_value("45")
    opened.button("Defaults").click()
    expect(field).to_have_value(f"{before:.4g}")


def test_the_plot_and_the_numbers_of_a_step_react_to_a_gain(lab, opened):
    first = step(lab, opened)
    plot = opened.panel.get_by_label("Step response", exact=True)
    way = plot.evaluate("(plot) => plot.data")[0]
    assert max(way["y"]) == pytest.approx(2.0 * (1.0 + first["overshoot"] / 100.0), rel=1e-3)
    assert way["t"][-1] == pytest.approx(1.5, abs=2e-3)
    field = opened.panel.get_by_label("kd 0", exact=True)
    kd = lab.robot.controller.gains["kd", 0]
    field.fill(f"{0.3 * kd:.5g}")
    field.press("Enter")
    second = step(lab, opened)
    assert second["overshoot"] > first["overshoot"] + 10.0
    assert second["settling"] > first["settling"]
    again = plot.evaluate("(plot) => plot.data")[0]
    assert max(again["y"]) > max(way["y"]) + 0.2
    # What was asked of the joint is drawn beside it while it moves.
    live = opened.lines("Tracking")
    assert [line["label"] for line in live] == ["shoulder", "reference"]
    assert np.ptp(live[1]["y"]) == pytest.approx(2.0, abs=1e-3)
    opened.panel.get_by_text("Compare with the reference").click()
    expect(opened.panel.locator("brazo-plot").first.locator(".legend .name")).to_have_count(1)


def test_feed_forward_is_an_option_that_keeps_the_gains(lab, opened):
    kp = lab.robot.controller.gains["kp"]
    opened.panel.get_by_label("Feed-forward").select_option("full")
    until(lambda: lab.robot.controller.feedforward == "full")
    assert (lab.robot.controller.gains["kp"] == kp).all()
    expect(opened.panel.get_by_label("Feed-forward")).to_have_value("full")


def test_tracking_errors_are_those_of_the_run(lab, opened):
    robot = lab.robot
    lab.do(lab.clock.reset)
    q = robot.reference.q
    lab.do(lambda: robot.move(quintic(q, q + [0.5, -0.5, 0.03, 0.4, 0.2], 0.8)))
    lab.sim.recording.start()
    lab.do(lambda: lab.clock.step(1000))
    recording = lab.sim.recording.stop()
    table = opened.panel.get_by_role("table", name="Tracking errors")
    for i, (joint, kind) in enumerate(
        zip(robot.arm.joint_names, robot.arm.joint_kinds, strict=True)
    ):
        scale = 180.0 / np.pi if kind == "revolute" else 1e3
        error = scale * recording[f"scara1.error.{joint}"]
        cells = table.get_by_role("row").nth(i + 1).get_by_role("cell")
        want = [np.sqrt((error**2).mean()), np.abs(error).max()]
        close = pytest.approx(want, rel=0.02, abs=1e-4)
        # The page may still show numbers of before for a moment.
        until(lambda c=cells, close=close: [float(c.nth(k).inner_text()) for k in (1, 2)] == close)


def test_the_comparison_keeps_its_place_when_it_is_switched(lab, opened):
    toggle = opened.panel.locator("label.brazo-toggle", has_text="Compare with the reference")
    lines = opened.panel.get_by_label("Tracking", exact=True).locator("button.line")
    expect(lines.first).to_be_attached()
    at_first = lines.count()  # with the reference or without it, as the tests before left it
    toggle.scroll_into_view_if_needed()
    before = toggle.bounding_box()
    for count in (3 - at_first, at_first):
        switch(opened.panel, "Compare with the reference")
        expect(lines).to_have_count(count)
        assert toggle.bounding_box() == before


def test_a_step_needs_time_that_passes_and_a_law(lab, opened):
    lab.do(lab.sim.player.pause)
    opened.button("Step").click()
    expect(opened.page.get_by_text(re.compile("the simulation is paused"))).to_be_visible()
    lab.do(lab.sim.player.play)
    opened.panel.get_by_label("Controller", exact=True).select_option("ideal")
    expect(opened.button("Defaults")).to_have_count(0)
    opened.button("Step").click()
    expect(opened.page.get_by_text(re.compile("no feedback controller"))).to_be_visible()
    lab.do(lab.sim.player.pause)


def test_a_step_during_a_trajectory_names_the_trajectory(lab, opened):
    lab.do(lab.clock.reset)
    robot = lab.robot
    q = robot.reference.q
    lab.do(lambda: lab.sim.tasks.add(Playing(robot, quintic(q, q + 0.05, 30.0), False, print)))
    lab.do(lab.sim.player.play)
    message = opened.page.get_by_text(f"a trajectory moves {robot.name}: stop it first")
    opened.button("Step").click()
    expect(message).to_be_visible()
    opened.page.evaluate(  # a plot that missed rows asks for its data: the message stays
        """async () => {
            const { send } = await import("/lab/server/page/channel.js");
            send("control/plot/history");
        }"""
    )
    opened.settle()
    assert message.is_visible()
    lab.do(lab.clock.reset)
    lab.do(lab.sim.player.pause)


def test_an_empty_step_response_has_a_time_axis_of_a_second(lab, opened):
    lab.do(lambda: lab.panels["control"]._figure.clear())
    opened.settle()
    plot = opened.panel.get_by_label("Step response", exact=True)
    view = plot.evaluate("(plot) => { const { from, to } = plot.view; return [from, to]; }")
    assert view == [0, 1]

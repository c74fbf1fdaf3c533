"""Both pages of a teleoperation in a real Chromium: a Delta's handle is dragged, a SCARA follows.

How soon the follower holds is tested with the link; here every patience is long, so that a busy
machine is slow and never a reason to stop.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from browsing import SOON
from playwright.sync_api import Page, expect

import brazo
from brazo.lab.app.opening import as_cell
from brazo.lab.stations import FollowerLab, MasterLab
from brazo.simulation import Simulation
from brazo.teleop import FollowerLink, LinkRules, MasterLink, PoseMap, Rules, SafetyState
from brazo.teleop.devices import PageHandle
from brazo.teleop.proxy import FaultProxy
from brazo.teleop.stations import FollowerStation, MasterStation
from brazo.trajectory import limits_of
from tests.lab.panels.acting import assert_page_stays

pytestmark = pytest.mark.browser

PATIENT = Rules(degrade=3.0, recover=2.0, stale=6.0, late=20.0)
LINK = LinkRules(silence=4.0, stalled=10.0)
SIZE = {"width": 1000, "height": 560}


@dataclass
class Session:
    """Both stations, the link between them, and their labs."""

    follower: FollowerStation
    hand: PageHandle
    master: MasterStation
    proxy: FaultProxy
    follower_lab: FollowerLab
    master_lab: MasterLab

    @property
    def state(self) -> SafetyState:
        return self.follower.follower.safety.state

    def tool(self) -> np.ndarray:
        return self.follower.robot.tool()[:3, 3].copy()

    def handle(self) -> np.ndarray:
        return self.master_lab.robot.tool()[:3, 3].copy()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    delta = brazo.load("delta")
    sim = Simulation(as_cell("robot:teleop-scara"))
    arm = sim.robots["teleop-scara"].arm
    limits = limits_of(arm)
    follower = FollowerStation(
        sim,
        FollowerLink(name="teleop-scara", rules=LINK),
        mapping=PoseMap(arm, limits, delta),
        limits=limits,
        rules=PATIENT,
    )
    follower_lab = FollowerLab(follower, port=0)
    try:
        with (
            FaultProxy(f"127.0.0.1:{follower.link.port}") as proxy,
            MasterLink(f"127.0.0.1:{proxy.port}", name="browser", rules=LINK) as link,
        ):
            hand = PageHandle(deadman=30.0)
            master = MasterStation(link, hand, delta, rate=50)
            master_lab = MasterLab(master, port=0)
            try:
                yield Session(follower, hand, master, proxy, follower_lab, master_lab)
            finally:
                master_lab.stop()
    finally:
        follower_lab.stop()
        sim.player.close()


@pytest.fixture(scope="module")
def master_page(session, open_page):
    return open_page(session.master_lab, "master", SIZE)


@pytest.fixture(scope="module")
def follower_page(session, open_page):
    return open_page(session.follower_lab, "follower", SIZE)


def until(condition, what: str) -> None:
    end = time.monotonic() + SOON / 1000
    while not condition():
        assert time.monotonic() < end, f"after {SOON / 1000:g} s still not: {what}"
        time.sleep(0.01)


def strip(page: Page, part: str):
    """A part of the row above the scene."""
    return page.locator(f".station-strip .{part}")


def spot(page: Page, lab: MasterLab, offset) -> np.ndarray:
    """Where a point beside the handle's arrows is on the page."""
    at = page.evaluate(
        """([name, offset]) => {
            const { nodeRefFromName, camera, canvas } = window.__viserMutable;
            const node = nodeRefFromName[name];
            node.updateWorldMatrix(true, false);
            const p = camera.position.clone().set(...offset);
            p.applyMatrix4(node.matrixWorld).project(camera);
            const box = canvas.getBoundingClientRect();
            return [box.x + ((p.x + 1) / 2) * box.width, box.y + ((1 - p.y) / 2) * box.height];
        }""",
        [f"{lab.scene.root}/gizmo", list(offset)],
    )
    return np.array(at)


def take_handle(session: Session, page: Page) -> tuple[np.ndarray, np.ndarray]:
    """Put the mouse down on the arrow along X; where, and which way it points."""
    lab = session.master_lab
    page.wait_for_function(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
        arg=f"{lab.scene.root}/gizmo",
    )
    length = 0.14 * lab.scene.size
    middle, at = (spot(page, lab, (share * length, 0.0, 0.0)) for share in (0.0, 0.6))
    page.mouse.move(*at)
    page.evaluate("() => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 50)))")
    page.mouse.down()
    return at, (at - middle) / np.linalg.norm(at - middle)


def test_pages_show_role_and_state(session, master_page, follower_page):
    for opened, role in ((master_page, "Master"), (follower_page, "Follower")):
        expect(strip(opened.page, "role")).to_have_text(role)
        expect(strip(opened.page, "state")).to_have_text("IDLE")
        expect(strip(opened.page, "link")).to_contain_text("link up")
        expect(opened.page.locator(".station-dead")).to_be_hidden()
        shown = opened.page.locator(".brazo-status .time")
        expect(shown).to_contain_text(["time", "simulated"])
        offline = opened.page.locator(".brazo-offline")
        expect(offline).to_contain_text("The station does not answer")
    for opened, what in (
        (master_page, "STOP: release the handle"),
        (follower_page, "STOP the robot"),
    ):
        opened.page.keyboard.press("?")
        keys = opened.page.locator(".brazo-help")
        expect(keys).to_contain_text(what)
        expect(keys).not_to_contain_text("Play or pause")  # a station's time cannot be paused
        opened.page.keyboard.press("Escape")
        expect(keys).to_be_hidden()
    expect(master_page.panel.get_by_label("Master X", exact=True)).to_have_value("+y")
    expect(master_page.panel.get_by_label("Scale k", exact=True)).to_have_value("1.00")


def test_dragging_the_handle_moves_the_follower(session, master_page, follower_page):
    page = master_page.page
    page.bring_to_front()
    handle, tool = session.handle(), session.tool()
    at, way = take_handle(session, page)
    for far in range(6, 49, 6):
        page.mouse.move(*(at + far * way))
    until(lambda: session.handle()[0] - handle[0] > 0.02, "the handle is dragged along X")
    until(lambda: session.state is SafetyState.ENGAGED, "engaged")
    page.mouse.move(*(at + 70 * way))
    # The paper's directions: the master's X is the follower's Y.
    until(lambda: session.tool()[1] - tool[1] > 0.01, "the follower's tool moves along Y")
    until(lambda: not session.follower.moving, "the mouse stands, and so does the follower")
    until(lambda: np.abs((session.tool() - tool)[[0, 2]]).max() < 1e-5, "along Y alone")
    assert session.tool()[1] - tool[1] < session.handle()[0] - handle[0] + 1e-5
    for opened in (master_page, follower_page):
        expect(strip(opened.page, "state")).to_have_text("ENGAGED")


def test_lost_link_shows_hold_and_grey_page_on_both_sides(session, master_page, follower_page):
    """Continue from a handle that is being dragged."""
    session.proxy.set(half_open=True)
    until(lambda: session.state is SafetyState.HOLD, "HOLD")
    expect(strip(follower_page.page, "state")).to_have_text("HOLD")
    for opened in (master_page, follower_page):
        expect(strip(opened.page, "link")).to_have_text("LINK LOST")
        expect(opened.page.locator(".station-dead")).to_be_visible()
        canvas = opened.page.locator("#root canvas").first
        assert "grayscale" in canvas.evaluate("(node) => getComputedStyle(node).filter")
    # Data known only to the follower is not shown.
    expect(strip(master_page.page, "state")).to_have_text("UNKNOWN")
    expect(master_page.page.locator("#panel-link brazo-bar b").first).to_have_text("–")
    until(lambda: not session.follower.moving, "at rest")
    session.proxy.set()
    expect(strip(master_page.page, "state")).to_have_text("HOLD")
    expect(strip(master_page.page, "link")).to_contain_text("link up")
    expect(master_page.page.locator("#panel-link .station-state p")).to_contain_text("link lost")
    happened = follower_page.page.locator("#panel-link td")
    expect(happened.filter(has_text="→ HOLD").first).to_be_visible()
    expect(happened.filter(has_text="link to 'browser' lost")).to_be_visible()
    expect(happened.filter(has_text="'browser' reconnected")).to_be_visible()
    assert session.state is SafetyState.HOLD


def test_drag_does_not_recover_from_hold_but_the_switch_does(session, master_page, follower_page):
    page = master_page.page
    page.bring_to_front()
    page.mouse.up()
    until(lambda: not session.hand.run, "let go")
    tool = session.tool()
    handle = session.handle()
    at, way = take_handle(session, page)
    for far in (-6, -12, -18, -24):
        page.mouse.move(*(at + far * way))
    until(lambda: abs(session.handle()[0] - handle[0]) > 0.01, "the handle moves alone")
    assert session.state is SafetyState.HOLD and np.allclose(session.tool(), tool, atol=1e-4)
    page.mouse.up()
    until(lambda: not session.master_lab.panels["master"]._gizmo.dragging, "let go")
    # The switch, by its key, and a key that moves the handle.
    page.keyboard.down("e")
    until(lambda: session.state is SafetyState.ENGAGED, "engaged again")
    for opened in (master_page, follower_page):
        expect(strip(opened.page, "state")).to_have_text("ENGAGED")
    page.keyboard.down("ArrowUp")
    until(lambda: session.tool()[1] - tool[1] > 0.005, "follows again")
    page.keyboard.up("ArrowUp")
    page.keyboard.up("e")
    until(lambda: session.state is SafetyState.IDLE, "idle")
    expect(strip(follower_page.page, "state")).to_have_text("IDLE")


def test_the_mapping_is_changed_while_running(session, master_page, follower_page):
    panel = master_page.panel
    mapping = session.follower.mapping
    assert isinstance(mapping, PoseMap)
    field = panel.get_by_label("Scale k", exact=True)
    field.fill("2")
    field.press("Enter")
    until(lambda: mapping.increments.scale == 2.0, "scale 2")
    expect(follower_page.panel.locator("brazo-text[name=scale]")).to_have_text("2")
    panel.get_by_label("Master X", exact=True).select_option("-z")
    until(lambda: mapping.increments.directions[2, 0] == -1.0, "X to −Z")
    assert np.linalg.det(mapping.increments.directions) == pytest.approx(1.0)
    master_page.button("Default axes").click()
    until(lambda: mapping.increments.directions[1, 0] == 1.0, "X to Y")
    expect(panel.get_by_label("Master X", exact=True)).to_have_value("+y")


def test_stop_on_the_followers_page_is_hold(session, master_page, follower_page):
    page = master_page.page
    page.bring_to_front()
    page.locator(".station-run button").hover()
    page.mouse.down()
    until(lambda: session.state is SafetyState.ENGAGED, "engaged by the button")
    follower_page.page.locator(".brazo-bar .stop").dispatch_event("pointerdown")
    until(lambda: session.state is SafetyState.HOLD, "HOLD")
    expect(strip(follower_page.page, "cause")).to_contain_text("stopped at the follower")
    expect(strip(page, "state")).to_have_text("HOLD")
    # The end of the cause contains what to do and must not be cut off.
    cause = strip(page, "cause")
    expect(cause).to_contain_text("release, then press and hold to resume")
    assert cause.evaluate(
        "(node) => node.scrollWidth <= node.clientWidth && "
        "node.parentNode.scrollHeight <= node.parentNode.clientHeight"
    )
    page.mouse.up()
    until(lambda: not session.hand.run, "let go")


def test_the_follower_is_moved_from_its_own_page(session, follower_page):
    follower_page.button("Home").click()
    start = session.follower.robot.world.start
    until(lambda: np.allclose(session.follower.robot.q, start, atol=1e-4), "home")
    follower_page.panel.get_by_label("lift", exact=True).last.fill("150")
    follower_page.panel.get_by_label("lift", exact=True).last.press("Enter")
    until(lambda: abs(session.follower.robot.q[1] - 0.15) < 1e-4, "lifted")


def test_station_cannot_pause_or_change_its_robot(session, follower_page):
    page = follower_page.page
    channel = "(await import('/lab/server/page/channel.js'))"
    for event, message in (
        ("'pause'", "a station cannot be paused"),
        ("'step', 1", "a station cannot run in single steps"),
        ("'reset'", "a station cannot be reset"),
        ("'speed', 0.5", "the simulation speed of a station cannot be changed"),
    ):
        page.evaluate(f"async () => {channel}.send({event})")
        expect(page.get_by_text(message)).to_be_visible()
    assert session.follower.sim.player.running
    expect(page.locator(".brazo-bar brazo-select")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1000, 1366])
def test_no_control_scrolls_the_page(master_page, follower_page, width):
    for opened in (master_page, follower_page):
        opened.page.bring_to_front()
        opened.page.set_viewport_size({"width": width, "height": 560})
        assert_page_stays(opened.page, ".brazo-bar .stop")
        # The row of the link is above the scene and covers nothing; no bar is cut.
        top, bottom = opened.page.evaluate(
            """() => [document.getElementById("root").getBoundingClientRect().top,
                document.querySelector(".station-strip").getBoundingClientRect().bottom]"""
        )
        assert bottom <= top
        for bar in (".brazo-bar", ".station-strip", ".brazo-status"):
            wide = opened.page.locator(bar).evaluate("(bar) => bar.scrollWidth - bar.clientWidth")
            assert wide <= 0, bar


def test_pages_have_no_errors(master_page, follower_page):
    assert master_page.errors == [] and follower_page.errors == []

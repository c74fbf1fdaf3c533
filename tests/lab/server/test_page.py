"""The lab in a real Chromium: what a user sees and does."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
import pytest
from browsing import SOON
from playwright.sync_api import Page, expect

from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.lab.app.lab import Lab
from brazo.lab.scene.scene import node_name
from brazo.world.drawn_parts import drawn_parts
from tests.lab.panels import acting

pytestmark = pytest.mark.browser

SIZE = {"width": 1000, "height": 520}


@dataclass
class Opened:
    """A page of the lab, and what it said and fetched since it was opened."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)  # messages to the lab

    def record(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self.sent.append(message)

    def wait(self, condition: str, argument=None) -> None:
        self.page.wait_for_function(condition, arg=argument, polling=30, timeout=SOON)

    def ready(self, robot: str) -> None:
        """Wait until that robot is drawn and framed."""
        self.wait("(name) => document.documentElement.dataset.brazoReady === name", robot)

    def settle(self, lab: Lab) -> None:
        """Return when the lab has done whatever the page asked for before."""
        done = threading.Event()
        lab.channel.on("settled", done.set, free=True)
        self.page.evaluate(
            """async () => {
                const { send } = await import("/lab/server/page/channel.js");
                // A slider sends on the next frame.
                await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
                send("settled");
            }"""
        )
        assert done.wait(SOON / 1000)

    def at(self, name: str, T: np.ndarray) -> None:
        """Wait until the node is drawn at T, as near as the scene cares to send."""
        position, wxyz = T[:3, 3].tolist(), wxyz_from_matrix(T[:3, :3]).tolist()
        self.wait(
            """([name, position, wxyz]) => {
                const node = window.__viserMutable.nodeRefFromName[name];
                if (!node) return false;
                const q = node.quaternion;
                const is = [...node.position.toArray(), q.w, q.x, q.y, q.z];
                return [...position, ...wxyz].every((v, i) => Math.abs(v - is[i]) < 4e-6);
            }""",
            [name, position, wxyz],
        )

    def drawn(self, lab: Lab) -> None:
        """Wait until every body is drawn where the world has it."""
        for name, T in zip(lab.scene.names, lab.sim.world.poses(), strict=True):
            self.at(name, T)


@pytest.fixture(scope="module")
def open_page(browser) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def open_page(lab, **options) -> Opened:
        context = browser.new_context(**{"viewport": SIZE} | options)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.set_default_timeout(SOON)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on(
            "console",
            lambda m: opened.errors.append(m.text) if m.type == "error" else None,
        )
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("websocket", lambda ws: ws.on("framesent", opened.record))
        opened.page.goto(lab.url)
        opened.ready(lab.sim.cell.name)
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def opened(lab, open_page) -> Opened:
    return open_page(lab, color_scheme="light")


@pytest.fixture(autouse=True)
def at_home(lab, opened):
    if lab.sim.cell.name != "scara1":
        lab.open("robot:scara1")
    lab.do(lab.sim.player.pause)
    lab.set_q(lab.robot.world.start)
    opened.ready("scara1")
    opened.drawn(lab)


def test_work_that_is_done_leaves_the_view_and_what_failed_stays(lab, opened):
    def fail(job):
        raise BrazoError("no such thing")

    jobs = opened.page.locator(".brazo-jobs .job")
    lab.jobs.start("Good work", lambda job: None)
    bad = lab.jobs.start("Bad work", fail)
    expect(jobs.filter(has_text="Good work")).to_contain_text("done")
    expect(jobs.filter(has_text="Bad work")).to_contain_text("no such thing")
    expect(jobs.filter(has_text="Good work")).to_have_count(0, timeout=SOON)
    expect(jobs).to_have_text([re.compile("Bad work")])
    lab.jobs.cancel(bad.number)
    expect(jobs).to_have_count(0)


def test_title_bars_and_status_are_ours(lab, opened):
    page = opened.page
    assert page.title() == "brazo"
    status = page.locator(".brazo-status")
    expect(status).to_contain_text("connected")
    expect(status.locator(".selected")).to_have_text("scara1")
    expect(status.locator(".step")).to_have_text("step1ms")
    expect(status.locator(".collisions")).to_have_text("collisions0")
    expect(page.get_by_label("Cell", exact=True)).to_have_value("robot:scara1")
    expect(page.get_by_role("button", name="STOP")).to_be_visible()
    assert page.locator('link[rel="icon"]').get_attribute("href") == "/lab/server/page/arm.svg"


def test_nothing_of_viser_stands_in_the_way(opened):
    page = opened.page
    expect(page.get_by_text("Software WebGL rendering detected")).to_be_hidden()
    expect(page.get_by_title("About Viser")).to_have_count(0)
    expect(page.locator('[data-testid="floating-panel"]')).to_be_hidden()
    box = page.locator("#root canvas").last.bounding_box()
    assert box["width"] * box["height"] > 0.25 * SIZE["width"] * SIZE["height"]


def test_the_page_fetches_from_the_lab_only_and_has_nothing_to_complain_about(lab, opened):
    outside = [
        url
        for url in opened.requests
        if urlsplit(url).scheme not in ("data", "blob")
        and urlsplit(url).netloc != f"127.0.0.1:{lab._server.port}"
    ]
    assert outside == []
    assert len(opened.requests) >= 5
    assert opened.errors == []


def test_a_plot_requests_its_history_once_while_there_are_no_samples(lab, opened):
    opened.settle(lab)
    assert '["settled"]' in opened.sent
    histories = [message for message in opened.sent if "/history" in message]
    assert len(histories) <= 2 * len(set(histories)), histories


def test_edges_are_rough_where_the_processor_draws_and_smooth_at_rest(opened):
    drawn_on = "window.__viserMutable.canvas.getContext('webgl2').getContextAttributes()"
    assert opened.page.evaluate(f"{drawn_on}.antialias") is False
    shades = opened.page.evaluate(
        """async () => {
            const viewer = window.brazoViewer;
            const next = () => new Promise((done) => {
                const off = viewer.onDrawn((canvas) => {
                    const copy = new OffscreenCanvas(canvas.width, canvas.height);
                    const brush = copy.getContext("2d", { willReadFrequently: true });
                    brush.drawImage(canvas, 0, 0);
                    const { data } = brush.getImageData(0, 0, copy.width, copy.height);
                    off();
                    done(new Set(new Uint32Array(data.buffer)).size);
                });
            });
            const moving = setInterval(() => viewer.redraw(), 20);
            await next(); // may have been at rest still
            await next();
            const rough = await next();
            clearInterval(moving);
            let smooth = 0;
            for (let i = 0; i < 60 && smooth <= rough; i++) smooth = await next();
            return [rough, smooth]; // viser draws once a second
        }"""
    )
    assert shades[0] < shades[1]


def view_share(opened: Opened) -> list[float]:
    """Left, right, low and high end of robot and tool frame in the view, from -1 to 1."""
    return opened.page.evaluate(
        """() => {
            const { nodeRefFromName, camera } = window.__viserMutable;
            let [left, right, low, high] = [1, -1, 1, -1];
            for (const name in nodeRefFromName) {
                const part = /^\\/cell-[^/]+\\/\\d+-[^/]*\\/(\\d+-|tool\\/[xyz]$)/.test(name);
                if (!part || !nodeRefFromName[name]) continue;
                nodeRefFromName[name].traverse((object) => {
                    const points = object.geometry?.attributes.position;
                    for (let i = 0; points && i < points.count; i++) {
                        const p = camera.position.clone().fromBufferAttribute(points, i);
                        p.applyMatrix4(object.matrixWorld).project(camera);
                        [left, right] = [Math.min(left, p.x), Math.max(right, p.x)];
                        [low, high] = [Math.min(low, p.y), Math.max(high, p.y)];
                    }
                });
            }
            return [left, right, low, high];
        }"""
    )


def test_the_robot_fills_the_view(opened):
    left, right, low, high = view_share(opened)
    assert -1 < left < right < 1 and -1 < low < high < 1
    assert max(right - left, high - low) > 1.3  # of 2


def test_reset_view_fits_the_pose_the_robot_is_in(lab, opened):
    opened.page.get_by_role("button", name="Reset view").click()
    lab.set_q([np.pi / 2, 0.0, 0.05, 0.0, 0.0])
    opened.drawn(lab)
    opened.page.get_by_role("button", name="Reset view").click()
    deadline = time.monotonic() + SOON / 1000
    while True:  # the camera glides there
        left, right, low, high = view_share(opened)
        inside = -1 < left < right < 1 and -1 < low < high < 1
        if inside and max(right - left, high - low) > 1.3:  # of 2
            break
        assert time.monotonic() < deadline, (left, right, low, high)


def test_a_program_moves_what_the_page_shows(lab, opened):
    lab.set_q(lab.robot.arm.random_q(seed=11))
    opened.drawn(lab)
    lab.sim.step(20)
    opened.drawn(lab)


def switch(opened: Opened, title: str, refused: bool = False) -> None:
    acting.switch(opened.page.locator("#panel-view"), title, refused)


@pytest.fixture
def view(opened):
    opened.page.get_by_role("tab", name="View").click()


def test_link_frames_can_be_shown(lab, opened, view):
    there = """([name, on]) =>
        Boolean(window.__viserMutable.nodeRefFromName[`${name}/axes`]) === on"""
    switch(opened, "Link frames")
    opened.wait(there, [lab.scene.names[1], True])
    switch(opened, "Link frames")
    opened.wait(there, [lab.scene.names[1], False])


def test_links_seen_through_stand_out_from_the_sky_in_light_and_dark(lab, opened, view):
    darkness = """([name, theme]) => {
        let material;
        window.__viserMutable.nodeRefFromName[name].traverse((o) => (material ??= o.material));
        const light = material.color.getHSL({}).l;
        if (theme === "solid") return !material.transparent && light > 0.5;
        return material.opacity < 0.5 && (theme === "light" ? light < 0.5 : light > 0.5);
    }"""
    parts = lab.sim.world.drawn[1].parts
    white = next(i for i, part in enumerate(parts) if min(part.color) > 0.75)
    name = f"{lab.scene.names[1]}/{white}-{node_name(parts[white].name)}"
    page = opened.page
    switch(opened, "Link frames")
    opened.wait(darkness, [name, "light"])
    page.get_by_role("button", name="Dark").click()
    opened.wait(darkness, [name, "dark"])
    page.get_by_role("button", name="Light").click()
    opened.wait(darkness, [name, "light"])
    switch(opened, "Link frames")
    opened.wait(darkness, [name, "solid"])


def test_views_look_from_where_they_say(opened):
    def looks_along() -> str:
        return """(wanted) => {
            const camera = window.__viserMutable.camera;
            const root = window.__viserMutable.nodeRefFromName[""];
            const d = camera.getWorldDirection(camera.position.clone());
            d.applyQuaternion(root.quaternion.clone().invert());
            return wanted.every((v, i) => Math.abs(v - d.toArray()[i]) < 0.06);
        }"""

    for name, direction in {
        "Top": [0, 0, -1],
        "Front": [-1, 0, 0],
        "Side": [0, 1, 0],
        "Reset view": [-0.648, 0.648, -0.402],
    }.items():
        opened.page.locator(".brazo-bar").get_by_role("button", name=name, exact=True).click()
        opened.wait(looks_along(), direction)


def test_the_camera_projects_with_one_scale_for_both_axes(opened, golden):
    """The worked example of the GRAS paper, whose x and y have a scale each."""
    case = golden["other"]["gras_projection"]
    opened.wait("() => window.__viserMutable?.camera?.isPerspectiveCamera")
    x, y, width, height, zoom = opened.page.evaluate(
        """([x, y, z]) => {
            const { camera, canvas } = window.__viserMutable;
            const p = camera.position.clone().set(x, y, -z); // z into the screen
            p.applyMatrix4(camera.matrixWorld).project(camera);
            const [w, h] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
            return [w + w * p.x, h - h * p.y, w, h, 1 / Math.tan((camera.fov * Math.PI) / 360)];
        }""",
        case["point"],
    )
    half = np.array(case["window"]) / 2
    printed = (np.array(case["exact"]) - half) / (case["zoom"] * half)
    assert np.array(case["exact"]).astype(int).tolist() == case["pixel"]
    assert (x - width) / (zoom * height) == pytest.approx(printed[0], abs=1e-5)
    assert (y - height) / (zoom * height) == pytest.approx(printed[1], abs=1e-5)


def test_another_cell_takes_the_scene_over(lab, opened):
    page = opened.page
    hint = page.get_by_text("loading the cell")
    expect(hint).to_be_hidden()
    go_on = threading.Event()
    lab.post(lambda: go_on.wait(SOON / 1000))  # so that it takes as long as one likes to look
    page.get_by_label("Cell", exact=True).select_option("robot:panda")
    expect(hint).to_be_visible()
    go_on.set()
    opened.ready("panda")
    expect(hint).to_be_hidden()
    assert lab.sim.cell.name == "panda"
    lab.do(lab.sim.player.pause)
    opened.drawn(lab)
    drawn = page.evaluate(
        """() => {
            const nodes = window.__viserMutable.nodeRefFromName;
            return Object.keys(nodes).filter((name) => nodes[name]);
        }"""
    )
    deep = [n.split("/") for n in drawn if n.startswith("/cell-")]
    assert {f"/{path[1]}" for path in deep} == {lab.scene.root}
    numbers = {path[2].partition("-")[0] for path in deep if len(path) > 2}
    assert numbers == {str(i) for i in range(len(lab.scene.names))} | {"floor", "contacts"}
    expect(page.get_by_label("Cell", exact=True)).to_have_value("robot:panda")


def test_every_robot_is_drawn_right_whichever_was_there_before(lab, opened):
    choice = opened.page.get_by_label("Cell", exact=True)
    for name in ["puma560", "teleop-scara", "scara1", *robot_names()]:
        choice.select_option(f"robot:{name}")
        opened.ready(name)
        opened.settle(lab)
        assert lab.sim.cell.name == name
        lab.do(lab.sim.player.pause)
        opened.drawn(lab)
        assert drawn_wrong(lab, opened) == {}
    assert opened.errors == []


def drawn_wrong(lab: Lab, opened: Opened) -> dict[str, float]:
    """How far off every part is that is not drawn where the model has it; all must be drawn."""
    drawn = opened.page.evaluate(
        """() => {
            const nodes = window.__viserMutable.nodeRefFromName;
            const base = nodes[""];
            base.updateWorldMatrix(true, true);
            const toBase = base.matrixWorld.clone().invert();
            const found = {};
            for (const name in nodes) {
                const wanted = /^\\/cell-[^/]+\\/(floor$|s?\\d+-[^/]*\\/\\d+-)/.test(name);
                if (!wanted || !nodes[name]) continue;
                found[name] = toBase.clone().multiply(nodes[name].matrixWorld).toArray();
            }
            return found;
        }"""
    )
    expected = {}
    poses = lab.sim.world.poses()
    for body, T, parts in zip(lab.scene.names, poses, drawn_parts(lab.sim.world), strict=True):
        for i, part in enumerate(parts):
            expected[f"{body}/{i}-{node_name(part.name)}"] = T @ part.pose
    floor = drawn.pop(f"{lab.scene.root}/floor")
    assert drawn.keys() == expected.keys()
    off = {n: float(np.abs(np.reshape(drawn[n], (4, 4)).T - T).max()) for n, T in expected.items()}
    off["floor"] = abs(floor[14] - lab.scene.floor_height)
    return {name: error for name, error in off.items() if not error < 1e-5}


def test_a_robot_without_visuals_is_drawn_and_framed(lab, opened, tmp_path):
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/>'
        '<origin xyz="0.2 0 0.3"/><axis xyz="0 1 0"/></joint>'
    )
    links = "".join(f'<link name="l{i}"/>' for i in range(4))
    joints = "".join(joint.format(i, i + 1) for i in range(3))
    path = tmp_path / "bare.urdf"
    path.write_text(f'<robot name="bare">{links}{joints}</robot>', encoding="utf-8")
    lab.open(path)
    lab.do(lab.sim.player.pause)
    opened.ready("bare")
    opened.settle(lab)
    opened.drawn(lab)
    assert drawn_wrong(lab, opened) == {}
    left, right, low, high = view_share(opened)
    assert -1 < left < right < 1 and -1 < low < high < 1
    assert max(right - left, high - low) > 1.3  # of 2
    assert opened.errors == []


def test_light_or_dark_follows_the_user(lab, open_page):
    dark = open_page(lab, color_scheme="dark")
    page = dark.page
    scheme = "(wanted) => document.documentElement.dataset.mantineColorScheme === wanted"
    dark.wait(scheme, "dark")
    page.get_by_role("button", name="Light").click()
    dark.wait(scheme, "light")
    page.reload()
    dark.ready(lab.sim.cell.name)
    dark.wait(scheme, "light")
    assert dark.errors == []
    page.context.close()


def test_a_lab_that_goes_away_is_said_and_one_that_returns_is_taken_up(running, open_page):
    with running() as first:
        port = first._server.port
        away = open_page(first)
    expect(away.page.locator(".brazo-status")).to_contain_text("offline", timeout=SOON)
    expect(away.page.get_by_text("No connection to the lab")).to_be_visible()
    with running("robot:panda", port=port) as second:
        assert second._server.port == port
        away.ready("panda")
        expect(away.page.locator(".brazo-status")).to_contain_text("connected", timeout=SOON)
        expect(away.page.get_by_text("No connection to the lab")).to_be_hidden()
        away.page.context.close()


def test_two_pages_show_the_same_and_one_of_them_acts(lab, opened, open_page, view):
    other = open_page(lab)
    expect(opened.page.get_by_text("In control · 1 view only")).to_be_visible()
    expect(other.page.get_by_text(re.compile(r"View only · page \d+ in control"))).to_be_visible()
    other.page.get_by_role("tab", name="View").click()
    switch(other, "Link frames", refused=True)
    expect(other.page.get_by_text("View only: request control.")).to_be_visible()
    other.settle(lab)
    assert not lab.view.on["axes"]
    other.page.get_by_role("button", name="Request control").click()
    opened.page.get_by_role("button", name="Hand over").click()
    expect(other.page.get_by_text("In control · 1 view only")).to_be_visible()
    switch(other, "Link frames")
    opened.wait(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[`${name}/axes`])",
        lab.scene.names[1],
    )
    switch(other, "Link frames")
    other.settle(lab)
    other.page.context.close()
    opened.page.get_by_role("button", name="Request control").click()
    expect(opened.page.locator(".brazo-bar .control")).to_be_hidden()


def test_play_pause_step_and_the_clock(lab, opened):
    page = opened.page
    time_shown = page.locator(".brazo-status .time brazo-text")
    before = lab.sim.time
    page.locator(".brazo-bar").get_by_role("button", name="Play").click()
    expect(page.locator(".brazo-bar").get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator(".brazo-bar").get_by_role("button", name="Play")).to_be_visible()
    assert lab.sim.time > before
    at = lab.sim.time
    page.keyboard.press(".")
    opened.settle(lab)
    assert lab.sim.time == pytest.approx(at + lab.sim.dt, abs=1e-12)
    expect(time_shown).to_have_text(f"{lab.sim.time:.2f}")


def test_the_space_bar_escape_and_the_button_stop(lab, opened):
    page = opened.page
    stops = lab.channel.get("stops") or 0
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Space")
    page.get_by_role("button", name="STOP").click()
    page.keyboard.press("Space")  # a click leaves no control to the space bar
    page.keyboard.press("Escape")
    deadline = time.monotonic() + SOON / 1000
    while lab.channel.get("stops") != stops + 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def fresh(lab, open_page) -> Opened:
    """A page without stored preferences."""
    return open_page(lab)


def test_the_tour_has_three_steps_once_and_help_shows_the_keys(fresh):
    page = fresh.page
    card = page.get_by_role("note", name="Welcome")
    expect(card).to_contain_text("1. Make it move.")
    expect(page.locator(".brazo-bar .transport")).to_have_class(re.compile("brazo-pointed"))
    card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text("2. Move a robot yourself.")
    card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text("3. Save your work.")
    card.get_by_role("button", name="Got it").click()
    expect(card).to_be_hidden()
    assert page.locator(".brazo-pointed").count() == 0
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    expect(page.get_by_text("STOP all robots")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Help")).to_be_hidden()
    page.keyboard.press("?")
    page.get_by_role("button", name="Repeat the tour").click()
    expect(page.get_by_role("dialog", name="Help")).to_be_hidden()
    expect(card).to_contain_text("1. Make it move.")
    card.get_by_role("button", name="Skip").click()
    expect(card).to_be_hidden()


def test_a_phone_is_not_reported_of_keys(lab, open_page):
    page = open_page(lab, viewport={"width": 390, "height": 844}, has_touch=True).page
    card = page.get_by_role("note", name="Welcome")
    expect(card).to_contain_text("STOP stops all robots")
    assert card.locator("kbd").count() == 0
    page.context.close()


def test_a_panel_floats_and_stays_where_it_was_put(fresh):
    page = fresh.page
    page.get_by_role("tab", name="View").click()
    page.locator(".brazo-dock.right").get_by_role("button", name="Open as a window").click()
    window = page.locator(".brazo-window", has=page.locator("#panel-view"))
    expect(window).to_be_visible()
    page.reload()
    fresh.ready("scara1")
    expect(page.get_by_text("Welcome to the lab.")).to_be_hidden()
    expect(window).to_be_visible()
    window.get_by_role("button", name="Back to the dock").click()
    expect(window).to_have_count(0)
    expect(page.locator(".brazo-dock.right #panel-view")).to_be_visible()


def test_everything_has_its_place_on_every_screen(fresh):
    page = fresh.page
    for width, height in ((1366, 768), (390, 844), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.get_by_role("button", name="STOP")).to_be_in_viewport(ratio=1)
        fresh.wait("() => document.documentElement.scrollWidth <= innerWidth")
        fresh.wait(
            """() => {
                const { width, height } = document.getElementById("root").getBoundingClientRect();
                return width * height > 0.3 * innerWidth * innerHeight;
            }"""
        )
        for role in ("header.brazo-bar", "footer.brazo-status"):
            fresh.wait(
                f"() => {{ const bar = document.querySelector('{role}');"
                " return bar.scrollWidth <= bar.clientWidth; }"
            )
    page.context.close()

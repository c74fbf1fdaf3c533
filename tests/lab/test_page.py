"""The lab in a real Chromium: what a user sees and does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import brazo
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.lab.app import Lab
from brazo.lab.figure import visible_parts
from brazo.lab.scene import node_name
from brazo.model.library import robot_names

pytestmark = pytest.mark.browser

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SIZE = {"width": 720, "height": 480}
SOON = 30_000  # ms; a page drawn by a busy processor takes its time


@pytest.fixture(scope="module")
def browser(chromium_path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, headless=True, args=ARGUMENTS
        )
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page of the lab, and what it said and fetched since it was opened."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def wait(self, condition: str, argument=None) -> None:
        self.page.wait_for_function(condition, arg=argument, polling=30, timeout=SOON)

    def ready(self, robot: str) -> None:
        """Wait until that robot is drawn and framed."""
        self.wait("(name) => document.documentElement.dataset.brazoReady === name", robot)

    def settle(self, lab: Lab) -> None:
        """Return when the lab has done whatever the page asked for before."""
        done = threading.Event()
        lab.channel.on("settled", done.set)
        self.page.evaluate(
            """async () => {
                const { send } = await import("/lab/channel.js");
                // A slider sends on the next frame.
                await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
                send("settled");
            }"""
        )
        assert done.wait(SOON / 1000)

    def text(self, name: str) -> str:
        return self.page.locator(f'.brazo-panel brazo-text[name="{name}"]').inner_text()

    def node(self, name: str) -> dict[str, list[float]]:
        """Position and quaternion (wxyz) of a three.js node, in its parent."""
        return self.page.evaluate(
            """(name) => {
                const node = window.__viserMutable.nodeRefFromName[name];
                const q = node.quaternion;
                return { position: node.position.toArray(), wxyz: [q.w, q.x, q.y, q.z] };
            }""",
            name,
        )

    def at(self, name: str, T: np.ndarray) -> None:
        """Wait until the node is drawn at T, to the last bits of a float."""
        position, wxyz = T[:3, 3].tolist(), wxyz_from_matrix(T[:3, :3]).tolist()
        self.wait(
            """([name, position, wxyz]) => {
                const node = window.__viserMutable.nodeRefFromName[name];
                if (!node) return false;
                const q = node.quaternion;
                const is = [...node.position.toArray(), q.w, q.x, q.y, q.z];
                return [...position, ...wxyz].every((v, i) => Math.abs(v - is[i]) < 1e-15);
            }""",
            [name, position, wxyz],
        )


@pytest.fixture(scope="module")
def open_page(browser) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def open_page(lab, **options) -> Opened:
        context = browser.new_context(viewport=SIZE, **options)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.set_default_timeout(SOON)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on(
            "console",
            lambda m: opened.errors.append(m.text) if m.type == "error" else None,
        )
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(lab.url)
        opened.ready(lab.robot.name)
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def opened(lab, open_page) -> Opened:
    return open_page(lab, color_scheme="light")


@pytest.fixture(autouse=True)
def at_home(lab, opened):
    if lab.robot.name != "scara1":
        lab.set_robot(brazo.load("scara1"))
    lab.set_q(lab.home)
    opened.ready("scara1")
    tip = len(lab.robot.body_names) - 1
    opened.at(body_node(lab, tip), lab.robot.frames(lab.q)[tip])


def body_node(lab: Lab, i: int) -> str:
    return f"{lab._scene.root}/{i}-{node_name(lab.robot.body_names[i])}"


def nodes(lab):
    for i, T in enumerate(lab.robot.frames(lab.q)):
        yield body_node(lab, i), T
    yield f"{lab._scene.root}/tool", lab.robot.fk(lab.q)


def test_title_bars_and_status_are_ours(lab, opened):
    page = opened.page
    assert page.title() == "brazo"
    expect(page.locator(".brazo-status")).to_contain_text("connected")
    expect(page.locator(".brazo-status .robot")).to_have_text("scara1")
    x, y, z = lab.robot.fk(lab.q)[:3, 3] * 1000
    expect(page.locator(".brazo-status .tool")).to_have_text(
        f"tool x {x:.2f} y {y:.2f} z {z:.2f} mm", use_inner_text=True
    )
    expect(page.get_by_label("Robot", exact=True)).to_have_value("scara1")
    assert page.locator('link[rel="icon"]').get_attribute("href") == "/lab/arm.svg"


def test_nothing_of_viser_stands_in_the_way(opened):
    page = opened.page
    expect(page.get_by_text("Software WebGL rendering detected")).to_be_hidden()
    expect(page.get_by_title("About Viser")).to_have_count(0)
    expect(page.locator('[data-testid="floating-panel"]')).to_be_hidden()
    box = page.locator("canvas").last.bounding_box()
    assert box["width"] * box["height"] > 0.4 * SIZE["width"] * SIZE["height"]


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


def view_share(opened: Opened) -> list[float]:
    """Left, right, low and high end of the robot in the view, which goes from -1 to 1."""
    return opened.page.evaluate(
        """() => {
            const { nodeRefFromName, camera } = window.__viserMutable;
            let [left, right, low, high] = [1, -1, 1, -1];
            for (const name in nodeRefFromName) {
                const part = /^\\/robot-[^/]+\\/\\d+-[^/]*\\/\\d+-/.test(name);
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


def test_arrow_keys_on_a_slider_move_the_robot_exactly(lab, opened):
    slider = opened.page.get_by_role("slider", name="shoulder", exact=True)
    start = np.degrees(lab.q[0])
    slider.focus()
    slider.press("ArrowRight")
    slider.press("Shift+ArrowRight")
    slider.press("PageUp")
    opened.wait(
        "(value) => Math.abs(document.querySelector('brazo-slider').value - value) < 1e-9",
        start + 11.1,
    )
    opened.settle(lab)
    assert np.degrees(lab.q[0]) == pytest.approx(start + 11.1, abs=1e-12)
    for name, T in nodes(lab):
        opened.at(name, T)
    x, y, z = lab.robot.fk(lab.q)[:3, 3] * 1000
    assert [opened.text(f"tool/{n}") for n in "xyz"] == [f"{v:.2f}" for v in (x, y, z)]


def test_pulling_a_slider_with_the_mouse_moves_the_robot_and_stops_at_the_limit(lab, opened):
    page = opened.page
    slider = page.get_by_role("slider", name="elbow", exact=True)
    row = page.locator("brazo-slider", has=slider)
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    low, high = np.degrees(lab.robot.limits[1])
    thumb = box["x"] + 7 + (box["width"] - 14) * (np.degrees(lab.q[1]) - low) / (high - low)
    page.mouse.move(thumb, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], middle, steps=8)
    assert not row.evaluate("(row) => row.hasAttribute('at-limit')")
    until = slider.evaluate("(range) => Number(range.value)")
    opened.wait(
        "(value) => Math.abs(document.querySelectorAll('brazo-slider')[1].value - value) < 1e-9",
        until,
    )
    page.mouse.move(box["x"] + box["width"] + 300, middle, steps=8)
    page.mouse.up()
    expect(row).to_have_attribute("at-limit", "", timeout=SOON)
    opened.settle(lab)
    assert lab.q[1] == lab.robot.limits[1, 1]
    for name, T in nodes(lab):
        opened.at(name, T)


def test_news_from_the_lab_does_not_pull_a_slider_out_of_the_hand(lab, opened):
    slider = opened.page.get_by_role("slider", name="shoulder", exact=True)
    slider.focus()
    slider.press("PageUp")
    row = opened.page.locator("brazo-slider").first
    old, wanted = row.evaluate("(row) => [row.value - 10, row.value + 1]")
    sent = opened.page.evaluate(
        """async ([old, wanted]) => {
            const row = document.querySelector("brazo-slider");
            row.want(wanted);
            row.told(old);
            return [row.value, row.wanted];
        }""",
        [old, wanted],
    )
    assert sent == [wanted, wanted]
    opened.settle(lab)
    assert np.degrees(lab.q[0]) == pytest.approx(wanted, abs=1e-12)


def test_a_prismatic_joint_is_in_millimetres(lab, opened):
    field = opened.page.get_by_label("quill value")
    assert field.input_value() == f"{lab.q[2] * 1000:.1f}"
    field.fill("120.5")
    field.press("Enter")
    opened.settle(lab)
    assert lab.q[2] == pytest.approx(0.1205, abs=1e-15)


def test_typing_a_number_acts_on_enter_not_on_keys(lab, opened):
    field = opened.page.get_by_label("shoulder value")
    before = lab.q.copy()
    field.click()
    field.press_sequentially("-45")
    opened.settle(lab)
    assert np.array_equal(lab.q, before)
    field.press("Enter")
    opened.settle(lab)
    assert lab.q[0] == pytest.approx(np.radians(-45), abs=1e-15)
    field.press_sequentially("12")
    opened.settle(lab)
    assert lab.q[0] == pytest.approx(np.radians(-45), abs=1e-15)
    field.press("Escape")
    opened.settle(lab)
    assert lab.q[0] == pytest.approx(np.radians(-45), abs=1e-15)
    assert field.input_value() == "−45.00"
    field.fill("ninety")
    field.press("Enter")
    assert field.input_value() == "−45.00"
    expect(opened.page.locator(".brazo-status .notice")).to_contain_text("ninety")
    field.fill("pi/6")
    field.press("Enter")
    opened.settle(lab)
    assert lab.q[0] == pytest.approx(np.pi / 6, abs=1e-15)
    expect(field).to_have_value("30.00")
    field.fill("20")
    field.press("Tab")  # leaving counts, too
    opened.settle(lab)
    assert lab.q[0] == pytest.approx(np.radians(20), abs=1e-15)
    field.fill("1e9")
    field.press("Enter")
    opened.settle(lab)
    assert lab.q[0] == lab.robot.limits[0, 1]
    assert np.array_equal(lab.q[1:], before[1:])


def test_no_key_on_its_own_moves_the_robot(lab, opened):
    field = opened.page.get_by_label("shoulder value")
    seen = []
    lab.channel.on("probe", lambda: seen.append(lab.q[0]))
    field.click()
    for key in "100":
        field.press(key)
        # Sent after the key by the same page, so it arrives after whatever the key did.
        opened.page.evaluate("import('/lab/channel.js').then((c) => c.send('probe'))")
    field.press("Escape")
    opened.settle(lab)
    assert seen == [lab.home[0]] * 3


def test_a_field_being_typed_into_is_not_overwritten(lab, opened):
    field = opened.page.get_by_label("shoulder value")
    field.click()
    field.press_sequentially("3")
    q = lab.q.copy()
    q[0] += 0.3
    lab.set_q(q)
    for name, T in nodes(lab):
        opened.at(name, T)
    assert field.input_value() == "3"
    field.press("Escape")
    assert field.input_value() == f"{np.degrees(q[0]):.2f}"


def test_poses_home_and_zero(lab, opened):
    page = opened.page
    page.get_by_role("button", name="Zero").click()
    opened.settle(lab)
    low, high = lab.robot.limits.T
    assert np.array_equal(lab.q, np.clip(0, low, high))
    page.get_by_role("button", name="Home").click()
    opened.settle(lab)
    assert np.array_equal(lab.q, lab.home)
    name, q = list(lab.robot.poses.items())[-1]
    page.get_by_label("Pose", exact=True).select_option(name)
    opened.settle(lab)
    assert np.array_equal(lab.q, q)
    for node, T in nodes(lab):
        opened.at(node, T)
    expect(page.get_by_label("Pose", exact=True)).to_have_value(name)
    page.get_by_role("slider", name="shoulder", exact=True).press("ArrowLeft")
    expect(page.get_by_label("Pose", exact=True)).to_have_value("")


def test_reset_view_fits_the_pose_the_robot_is_in(lab, opened):
    opened.page.get_by_role("button", name="Reset view").click()
    reach = {"shoulder": 90.0, "elbow": 0.0}
    for joint, value in reach.items():
        field = opened.page.get_by_label(f"{joint} value")
        field.fill(str(value))
        field.press("Enter")
    opened.settle(lab)
    for name, T in nodes(lab):
        opened.at(name, T)
    opened.page.get_by_role("button", name="Reset view").click()
    deadline = time.monotonic() + SOON / 1000
    while True:  # the camera glides there
        left, right, low, high = view_share(opened)
        inside = -1 < left < right < 1 and -1 < low < high < 1
        if inside and max(right - left, high - low) > 1.3:  # of 2
            break
        assert time.monotonic() < deadline, (left, right, low, high)


def test_a_program_moves_what_the_page_shows(lab, opened):
    q = lab.robot.random_q(seed=11)
    lab.set_q(q)
    for name, T in nodes(lab):
        opened.at(name, T)
    shown = opened.page.get_by_label("wrist yaw value").input_value()
    assert shown.replace("−", "-") == f"{np.degrees(q[3]):.2f}"


def test_link_frames_can_be_shown(lab, opened):
    button = opened.page.get_by_role("button", name="Link frames")
    visible = """([name, on]) =>
        window.__viserMutable.nodeRefFromName[`${name}/axes`].visible === on"""
    button.click()
    opened.wait(visible, [body_node(lab, 1), True])
    button.click()
    opened.wait(visible, [body_node(lab, 1), False])


def test_links_seen_through_stand_out_from_the_sky_in_light_and_dark(lab, opened):
    darkness = """([name, theme]) => {
        let material;
        window.__viserMutable.nodeRefFromName[name].traverse((o) => (material ??= o.material));
        const light = material.color.getHSL({}).l;
        if (theme === "solid") return !material.transparent && light > 0.5;
        return material.opacity < 0.5 && (theme === "light" ? light < 0.5 : light > 0.5);
    }"""
    white = next(i for i, part in enumerate(lab.robot.parts[1]) if min(part.color) > 0.75)
    name = f"{body_node(lab, 1)}/{white}-{node_name(lab.robot.parts[1][white].name)}"
    page = opened.page
    page.get_by_role("button", name="Link frames").click()
    opened.wait(darkness, [name, "light"])
    page.get_by_role("button", name="Dark").click()
    opened.wait(darkness, [name, "dark"])
    page.get_by_role("button", name="Light").click()
    opened.wait(darkness, [name, "light"])
    page.get_by_role("button", name="Link frames").click()
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
        opened.page.get_by_role("button", name=name, exact=True).click()
        opened.wait(looks_along(), direction)


def test_another_robot_takes_the_scene_over(lab, opened):
    page = opened.page
    hint = page.get_by_text("drawing the robot")
    expect(hint).to_be_hidden()
    go_on = threading.Event()
    lab.post(lambda: go_on.wait(SOON / 1000))  # so that it takes as long as one likes to look
    page.get_by_label("Robot", exact=True).select_option("panda")
    expect(hint).to_be_visible()
    go_on.set()
    opened.ready("panda")
    expect(hint).to_be_hidden()
    assert lab.robot.name == "panda"
    expect(page.locator("brazo-slider")).to_have_count(7)
    for name, T in nodes(lab):
        opened.at(name, T)
    bodies = len(lab.robot.body_names)
    drawn = page.evaluate(
        """() => {
            const nodes = window.__viserMutable.nodeRefFromName;
            return Object.keys(nodes).filter((name) => nodes[name]);
        }"""
    )
    deep = [n.split("/") for n in drawn if n.startswith("/robot-")]
    assert {f"/{path[1]}" for path in deep} == {lab._scene.root}
    numbers = {path[2].partition("-")[0] for path in deep if len(path) > 2}
    assert numbers == {str(i) for i in range(bodies)} | {"tool", "floor"}
    expect(page.locator(".brazo-status .robot")).to_have_text("panda")


def test_every_robot_is_drawn_right_whichever_was_there_before(lab, opened):
    choice = opened.page.get_by_label("Robot", exact=True)
    for name in ["puma560", "teleop-scara", "scara1", *robot_names()]:
        choice.select_option(name)
        opened.ready(name)
        opened.settle(lab)
        assert lab.robot.name == name
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
                const wanted = /^\\/robot-[^/]+\\/(floor$|\\d+-[^/]*\\/\\d+-)/.test(name);
                if (!wanted || !nodes[name]) continue;
                found[name] = toBase.clone().multiply(nodes[name].matrixWorld).toArray();
            }
            return found;
        }"""
    )
    expected = {}
    for (body, T), parts in zip(nodes(lab), visible_parts(lab.robot), strict=False):
        for i, part in enumerate(parts):
            expected[f"{body}/{i}-{node_name(part.name)}"] = T @ part.pose
    floor = drawn.pop(f"{lab._scene.root}/floor")
    assert drawn.keys() == expected.keys()
    off = {n: float(np.abs(np.reshape(drawn[n], (4, 4)).T - T).max()) for n, T in expected.items()}
    off["floor"] = abs(floor[14] - lab._scene.floor_height)
    return {name: error for name, error in off.items() if not error < 1e-9}


def test_a_robot_without_visuals_is_drawn_and_framed(lab, opened, tmp_path):
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/>'
        '<origin xyz="0.2 0 0.3"/><axis xyz="0 1 0"/></joint>'
    )
    links = "".join(f'<link name="l{i}"/>' for i in range(4))
    joints = "".join(joint.format(i, i + 1) for i in range(3))
    path = tmp_path / "bare.urdf"
    path.write_text(f'<robot name="bare">{links}{joints}</robot>', encoding="utf-8")
    lab.set_robot(brazo.load(path))
    opened.ready("bare")
    opened.settle(lab)
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
    dark.ready(lab.robot.name)
    dark.wait(scheme, "light")
    assert dark.errors == []
    page.context.close()


def test_a_lab_that_goes_away_is_said_and_one_that_returns_is_taken_up(running, open_page):
    with running("scara1") as first:
        port = first._server.port
        away = open_page(first)
    expect(away.page.locator(".brazo-status")).to_contain_text("offline", timeout=SOON)
    with running("panda", port=port) as second:
        assert second._server.port == port
        away.ready("panda")
        expect(away.page.locator(".brazo-status")).to_contain_text("connected", timeout=SOON)
        expect(away.page.locator("brazo-slider")).to_have_count(7, timeout=SOON)
        away.page.context.close()


def test_two_pages_show_the_same_robot(lab, opened, open_page):
    other = open_page(lab)
    slider = other.page.get_by_role("slider", name="shoulder", exact=True)
    slider.focus()
    slider.press("PageUp")
    other.settle(lab)
    expected = lab.robot.frames(lab.q)[1]
    opened.at(body_node(lab, 1), expected)
    value = json.loads(json.dumps(np.degrees(lab.q[0])))
    opened.wait(
        "(value) => Math.abs(document.querySelector('brazo-slider').value - value) < 1e-9", value
    )
    other.page.context.close()

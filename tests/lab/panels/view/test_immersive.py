"""The scene in an emulated headset and as a stereo pair, in a real Chromium."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.lab.panels.acting import until
from tests.lab.panels.view import headset
from tests.lab.panels.view.headset import DOWN, Headset, centres, eyes, projected

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def few_frames():
    """Not here: the frames are tested."""


@pytest.fixture(scope="module")
def browser(chromium_with_devices) -> Iterator[Browser]:
    """A Chromium that can emulate the orientation of a phone."""
    with chromium_with_devices.used() as browser:
        yield browser


SIZE = {"width": 790, "height": 420}
MARKER = (0.18, 0.32, 0.9)  # m, in the cell
FORWARD = np.array([-1.0, 1.0, 0.0]) / math.sqrt(2)  # from where the oblique view looks


@pytest.fixture(scope="module")
def opened(running, browser, open_page) -> Iterator:
    with running("robot:puma560") as lab:
        lab.scene.server.scene.add_icosphere(
            "/marker", radius=0.04, color=(255, 0, 255), position=MARKER, cast_shadow=False
        )
        yield open_page(lab, "view", SIZE, script=headset.script())


@pytest.fixture
def worn(opened, late_renewals) -> Iterator[Headset]:
    """The headset with a session, and the robot at rest at its start."""
    worn, lab = Headset(opened), opened.lab
    lab.do(lambda: lab.session.place(lab.robot, lab.robot.world.start))
    lab.mover.reduced = False
    if not worn.presents:
        worn.enter()
    yield worn
    worn.rest()
    assert opened.errors == []


def test_a_browser_without_a_headset_gets_a_note(opened):
    panel = opened.panel.locator("brazo-immersive")
    button = opened.panel.get_by_role("button", name="Enter VR")
    expect(button).to_be_visible()
    expect(panel.locator(".brazo-note")).to_be_hidden()
    panel.evaluate(
        """async (node) => {
            const { isSessionSupported } = navigator.xr;
            navigator.xr.isSessionSupported = async () => false;
            await node.look();
            navigator.xr.isSessionSupported = isSessionSupported;
        }"""
    )
    expect(button).to_be_hidden()
    expect(panel.locator(".brazo-note")).to_have_text("VR: no headset found.")
    panel.evaluate("(node) => node.look()")
    expect(button).to_be_visible()


SOURCES = """async ([buttons, tracked]) => {
    const { readControllers } = await import("/lab/panels/view/xr_controllers.js");
    const pad = (down) => ({
        mapping: "xr-standard", axes: [0, 0, 0.5, -1],
        buttons: [0, 1, 2, 3, 4, 5].map((i) => ({ pressed: i === down, value: +(i === down) })),
    });
    const sides = Object.entries(buttons);
    const sources = sides.map(([handedness, down]) => ({ handedness, gamepad: pad(down) }));
    return readControllers(sources, ({ handedness }) => tracked.includes(handedness));
}"""


@pytest.mark.parametrize(
    "buttons, tracked, expected",
    [
        ({"left": None, "right": None}, ["left", "right"], ("", False, True)),
        ({"left": 0, "right": None}, ["left", "right"], ("move", False, False)),
        ({"left": 1, "right": None}, ["left", "right"], ("rotate", False, False)),
        ({"left": 1, "right": 0}, ["left", "right"], ("move", False, False)),
        ({"left": 0, "right": None}, ["right"], ("", False, False)),
        ({"left": 4, "right": None}, [], ("", True, False)),
        ({"left": 5}, ["left"], ("", True, True)),
        ({"right": 4}, ["right"], ("", True, True)),
        ({"right": 5}, ["right"], ("", True, True)),
        ({}, [], ("", False, False)),
    ],
)
def test_buttons_of_controllers(opened, buttons, tracked, expected):
    """A controller without a pose enables nothing and is not released, but its STOP counts."""
    state = opened.page.evaluate(SOURCES, [buttons, tracked])
    assert (state["enable"], state["stop"], state["released"]) == expected
    assert state["left"] == ([0.5, 1] if "left" in tracked else [0, 0])


@pytest.mark.parametrize("yaw", [0.0, 0.7, 2.5, -1.9])
def test_directions_are_those_of_the_operator(opened, yaw):
    """Forward, right, up, tilt forward (about the left), tilt right (about forward) and turn."""
    rest, up, right = [0, 0], [0, 0.5], [0.5, 0]
    sticks = [[up, rest], [right, rest], [rest, up], [rest, right]]
    move, rotate = opened.page.evaluate(
        """async ([forward, sticks]) => {
            const { deflections } = await import("/lab/panels/view/xr_controllers.js");
            const settings = { dead: 0, gain: 100, response: "linear" };
            const of = (enable) => sticks.map(([left, right]) =>
                deflections({ enable, left, right }, forward, settings));
            return [of("move"), of("rotate")];
        }""",
        [[math.cos(yaw), math.sin(yaw)], sticks],
    )
    forward = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    up = np.array([0.0, 0.0, 1.0])
    right = np.cross(forward, up)
    none = np.zeros(3)
    expected = [[forward, none], [right, none], [up, none], [none, -up]]
    assert np.array(move) == pytest.approx(0.5 * np.reshape(expected, (4, 6)), abs=6e-4)
    expected = [[none, -right], [none, forward], [none, none], [none, -up]]
    assert np.array(rotate) == pytest.approx(0.5 * np.reshape(expected, (4, 6)), abs=6e-4)


def test_both_eyes_see_the_cell_at_true_scale_from_the_floor(worn):
    """The pictures of a point differ as those of two pinhole cameras, one eye distance apart."""
    picture = worn.picture()
    height, width = picture.shape[:2]
    aspect = width / 2 / height
    focal = height / 2 / math.tan(headset.FOVY / 2)
    # three.js's camera contains the views of both eyes: it is so far behind the head.
    camera, R = worn.camera()
    head = camera - R[:, 2] * headset.IPD / (2 * aspect * math.tan(headset.FOVY / 2))
    assert head[1] == pytest.approx(headset.HEIGHT, abs=1e-4)
    assert -R[1, 2] == pytest.approx(math.sin(DOWN), abs=1e-5)
    point = worn.marker()
    assert point[1] == pytest.approx(MARKER[2], abs=1e-6)  # above the floor
    expected = [
        projected(point, eye, R, focal, width / 2, height) for eye in eyes(head, R, headset.IPD)
    ]
    shift = expected[0][0] - expected[1][0]
    assert shift == pytest.approx(focal * headset.IPD / -(R.T @ (point - head))[2], abs=1e-4)
    assert shift > 10
    until(worn.page, lambda: np.allclose(centres(worn.picture()), expected, atol=0.4))
    found = centres(worn.picture())
    assert found[0][0] - found[1][0] == pytest.approx(shift, abs=0.3)


def test_nearer_bodies_cover_farther_ones(worn):
    """A sphere behind the marker leaves it visible, one before it covers it."""
    page, lab = worn.page, worn.lab
    m = page.evaluate("() => __viserMutable.nodeRefFromName['/marker'].matrixWorld.elements")
    R = np.reshape(m, (4, 4)).T[:3, :3]  # from the cell to three.js's world
    eye = R.T @ (worn.camera()[0] - worn.marker()) + MARKER  # in the cell
    towards = (eye - MARKER) / np.linalg.norm(eye - MARKER)

    def seen() -> bool:
        return min(x for x, _ in centres(worn.picture())) > 0

    add = lab.scene.server.scene.add_icosphere
    behind = add("/behind", 0.08, (0, 200, 0), position=tuple(MARKER - 0.3 * towards))
    until(page, lambda: page.evaluate("() => Boolean(__viserMutable.nodeRefFromName['/behind'])"))
    worn.frames(3)
    assert seen()
    behind.remove()
    before = add("/before", 0.08, (0, 200, 0), position=tuple(MARKER + 0.3 * towards))
    until(page, lambda: max(x for x, _ in centres(worn.picture())) < 0)
    before.remove()
    until(page, seen)


def test_a_stick_with_the_trigger_moves_the_tool_as_the_operator_faces(worn):
    lab = worn.lab
    pendant = worn.page.locator("#panel-pendant")
    expect(pendant.get_by_role("radio", name="Joint")).to_be_checked()  # which means nothing here
    before = lab.robot.arm.fk(lab.robot.reference.q)[:3, 3]
    worn.hand("left", stick=(0, 0.9))
    worn.stays()  # the trigger is up
    worn.hand("right", "trigger", 1.0)

    def moved() -> np.ndarray:
        return lab.robot.arm.fk(lab.robot.reference.q)[:3, 3] - before

    until(worn.page, lambda: np.linalg.norm(moved()) > 0.03)
    worn.hand("right", "trigger", 0.0)
    until(worn.page, lambda: not lab.sim.moving)
    direction = moved() / np.linalg.norm(moved())
    assert direction == pytest.approx(FORWARD, abs=2e-3)
    worn.hand("left", stick=(0, 0))
    rotation = lab.robot.arm.fk(lab.robot.reference.q)[:3, :3]
    worn.hand("left", "squeeze", 1.0)
    worn.hand("right", stick=(-0.9, 0))  # to the left: counter-clockwise about z

    def turned() -> np.ndarray:
        return lab.robot.arm.fk(lab.robot.reference.q)[:3, :3] @ rotation.T

    until(worn.page, lambda: np.trace(turned()) < 1 + 2 * math.cos(0.05))
    axis = np.array([turned()[2, 1], turned()[0, 2], turned()[1, 0]])
    axis -= np.array([turned()[1, 2], turned()[2, 0], turned()[0, 1]])
    assert axis / np.linalg.norm(axis) == pytest.approx([0, 0, 1], abs=2e-3)


@pytest.mark.parametrize("side, button", [("left", "y-button"), ("right", "a-button")])
def test_a_button_of_each_controller_stops(worn, side, button):
    stops = worn.lab.channel.get("stops") or 0
    worn.moves()
    worn.hand(side, button, 1.0)
    until(worn.page, lambda: (worn.lab.channel.get("stops") or 0) == stops + 1)
    worn.stays()


@pytest.mark.parametrize("how", ["visibility", "controller"])
def test_what_interrupts_the_operator_releases_the_jog(worn, how):
    worn.moves()
    interrupted, restored = {
        "visibility": (
            "() => headset.updateVisibilityState('visible-blurred')",
            "() => headset.updateVisibilityState('visible')",
        ),
        "controller": (
            "() => { headset.controllers.right.connected = false; }",
            "() => { headset.controllers.right.connected = true; }",
        ),
    }[how]
    worn.page.evaluate(interrupted)
    until(worn.page, lambda: not worn.keys.switch.held)
    worn.page.evaluate(restored)
    worn.stays()  # the trigger is still down, which means nothing


def test_the_end_of_a_session_stops_and_restores_the_page(worn):
    lab, page = worn.lab, worn.page
    stops = lab.channel.get("stops") or 0
    before = page.evaluate("() => window.brazoViewer.camera()")
    worn.moves()
    page.evaluate("() => headset.activeSession.end()")
    until(page, lambda: (lab.channel.get("stops") or 0) == stops + 1 and not lab.sim.moving)
    expect(worn.opened.panel.get_by_role("button", name="Enter VR")).to_be_enabled()
    assert page.evaluate("() => window.brazoViewer.camera()") == before

    def position() -> bool:
        camera, _ = worn.camera()
        return np.allclose(camera, before["eye"], atol=1e-3)

    until(page, position)
    size = page.evaluate("() => [window.__viserMutable.camera.fov, brazoViewer.canvas.clientWidth]")
    assert size[0] == pytest.approx(lab.channel.get("view/fov"))
    page.evaluate("() => brazoViewer.frames()")
    page.evaluate("() => brazoViewer.redraw()")
    page.wait_for_function("() => brazoViewer.frames() > 0")


@pytest.fixture
def stereo(opened) -> Iterator[Headset]:
    """The page as a stereo pair, without a headset."""
    page = opened.page
    page.evaluate("() => headset.activeSession?.end()")
    lens = "() => [window.__viserMutable.camera.fov, window.__viserMutable.camera.aspect]"
    page.wait_for_function("() => window.__viserMutable.camera.fov < 50")
    opened.lens = page.evaluate(lens)
    opened.panel.get_by_role("button", name="Stereo view").click()
    page.wait_for_function("() => document.documentElement.hasAttribute('data-brazo-stereo')")
    yield Headset(opened)
    if page.locator(".brazo-stereo").is_visible():
        page.keyboard.press("Escape")
    expect(page.locator(".brazo-stereo")).to_be_hidden()
    assert opened.errors == []


def moved_head(stereo, fov: float) -> tuple[np.ndarray, np.ndarray]:
    """Head (3,) and camera rotation: near enough to see of the target what the page showed."""
    eye, R = stereo.camera()
    target = np.array(stereo.page.evaluate("() => window.brazoViewer.camera().target"))
    (fov_page, aspect), half = stereo.opened.lens, SIZE["width"] / 2 / SIZE["height"]
    height = math.tan(math.radians(fov_page) / 2)  # of what is seen, by distance
    nearest = max(height, height * aspect / half) / math.tan(math.radians(fov) / 2)
    return target + nearest * (eye - target), R


def pair(page) -> np.ndarray:
    """Screenshot of the whole page, (height, width, 3)."""
    image = Image.open(io.BytesIO(page.screenshot()))
    return np.asarray(image.convert("RGB"), int)


def expected_pair(shape, point, head, R, ipd: float, fov: float) -> list[np.ndarray]:
    height, width = shape[:2]
    focal = height / 2 / math.tan(math.radians(fov) / 2)
    return [projected(point, eye, R, focal, width / 2, height) for eye in eyes(head, R, ipd)]


def test_the_stereo_pair_has_the_parallax_of_two_eyes(stereo):
    """A point at depth z is shifted by f d / z between the pictures, as between pinhole cameras."""
    page, point = stereo.page, stereo.marker()
    head, R = moved_head(stereo, 60)
    shape = pair(page).shape
    assert shape[:2] == (SIZE["height"], SIZE["width"])
    expected = expected_pair(shape, point, head, R, 0.064, 60)
    until(page, lambda: np.allclose(centres(pair(page)), expected, atol=0.5))
    shift = expected[0][0] - expected[1][0]
    focal = shape[0] / 2 / math.tan(math.radians(30))
    assert shift == pytest.approx(focal * 0.064 / -(R.T @ (point - head))[2], abs=1e-4)
    found = centres(pair(page))
    assert found[0][0] - found[1][0] == pytest.approx(shift, abs=0.3)


def test_the_stereo_pair_turns_with_the_phone(stereo):
    """The heading at first is the page's; the phone is held upright, then turned 8 degrees left."""
    page, point = stereo.page, stereo.marker()
    head, R = moved_head(stereo, 60)
    turn = page.context.new_cdp_session(page)

    def held(alpha: float, beta: float) -> None:
        angles = {"alpha": alpha, "beta": beta, "gamma": 0}
        turn.send("DeviceOrientation.setDeviceOrientationOverride", angles)

    def facing(yaw: float, pitch: float) -> np.ndarray:
        back = np.array([R[0, 2], 0, R[2, 2]])
        start = math.atan2(back[0], back[2])
        (c, s), (d, e) = ((math.cos(v), math.sin(v)) for v in (start + yaw, pitch))
        about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        return about_y @ np.array([[1, 0, 0], [0, d, -e], [0, e, d]])

    def shows(yaw: float, pitch: float) -> bool:
        expected = expected_pair(pair(page).shape, point, head, facing(yaw, pitch), 0.064, 60)
        return np.allclose(centres(pair(page)), expected, atol=0.5)

    held(30, 75)
    until(page, lambda: shows(0, math.radians(-15)))
    held(38, 70)
    until(page, lambda: shows(math.radians(8), math.radians(-20)))
    turn.send("DeviceOrientation.clearDeviceOrientationOverride")
    turn.detach()


def test_a_tap_or_escape_ends_the_stereo_pair_and_a_drag_turns_the_camera(stereo):
    page, lab = stereo.page, stereo.lab
    stops = lab.channel.get("stops") or 0
    before = stereo.camera()[0]
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(340, 200, steps=4)
    page.mouse.up()
    until(page, lambda: np.linalg.norm(stereo.camera()[0] - before) > 0.1)
    expect(page.locator(".brazo-stereo")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".brazo-stereo")).to_be_hidden()
    opened_tab = page.get_by_role("tab", name="Pendant")
    expect(opened_tab).to_have_attribute("aria-selected", "true")
    stereo.opened.panel.get_by_role("button", name="Stereo view").click()
    expect(page.locator(".brazo-stereo")).to_be_visible()
    tab = page.locator("[role=tab][aria-selected=false]").first.bounding_box() or {}
    page.mouse.click(tab["x"] + tab["width"] / 2, tab["y"] + tab["height"] / 2)
    expect(page.locator(".brazo-stereo")).to_be_hidden()
    assert not page.evaluate("() => document.documentElement.hasAttribute('data-brazo-stereo')")
    expect(opened_tab).to_have_attribute("aria-selected", "true")  # the tap is not for the page
    stereo.opened.settle()
    assert (lab.channel.get("stops") or 0) == stops  # Escape closed something

"""The drawing tools of the trajectory panel on the RV-2AJ, in a real Chromium."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from browsing import ARGUMENTS, NOT_FOUND, chromium_path
from playwright.sync_api import expect, sync_playwright

from tests.trajectory.marker_videos import WIDTH, circle, pictures, write_video

pytestmark = pytest.mark.browser
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="40mm" height="40mm" viewBox="0 0 40 40">
<circle cx="20" cy="20" r="10"/><path d="M5 5 h30 v30 h-30 z"/></svg>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A Chromium with a camera that films a green disc on a circle, a turn in 2 s."""
    film = tmp_path_factory.mktemp("camera") / "circle.y4m"
    write_video(film, pictures(circle(60)))
    camera = ("--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}")
    path = chromium_path(devices=True) or pytest.fail(NOT_FOUND)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, headless=True, args=[*ARGUMENTS, *camera]
        )
        yield browser
        browser.close()


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


def run_through(lab, opened) -> None:
    """Run the trajectory to its end, four times as fast."""
    lab.do(lambda: setattr(lab.sim.player, "speed", 4.0))
    lab.do(lab.sim.player.play)
    opened.button("Run trajectory").click()
    opened.settle()
    until(lambda: lab.panels["trajectory"]._playing is None)
    lab.do(lab.sim.player.pause)


def test_a_text_is_typed_and_drawn_by_the_tool_itself(rv2aj, opened):
    choose(opened, "text")
    field = opened.panel.get_by_label("Text", exact=True)
    field.fill("Li")
    field.press("Enter")
    opened.panel.get_by_label("Time", exact=True).fill("3")
    opened.panel.get_by_label("Time", exact=True).press("Enter")
    expect(opened.button("Run trajectory")).to_be_enabled()
    plan = planned(rv2aj)
    assert len(plan.pen_down) == 4  # two of L, i and its dot
    assert len(plan.approach)
    run_through(rv2aj, opened)
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
    expect(opened.button("Run trajectory")).to_be_enabled()
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


def find_disc(opened) -> tuple[float, float]:
    """Where the green disc is in the picture of the camera, from 0 to 1, of a paused video."""
    return opened.panel.locator("brazo-marker-camera video").evaluate(
        """(video) => {
            video.pause();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
            const context = canvas.getContext("2d");
            context.drawImage(video, 0, 0);
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            let [x, y, n] = [0, 0, 0];
            for (let k = 0; k < data.length; k += 4) {
                if (data[k + 1] < data[k] + 50 || data[k + 1] < data[k + 2] + 50) continue;
                x += (k / 4) % canvas.width;
                y += Math.floor(k / 4 / canvas.width);
                n += 1;
            }
            return [(x / n + 0.5) / canvas.width, (y / n + 0.5) / canvas.height];
        }"""
    )


def test_a_marker_before_the_camera_is_drawn(rv2aj, opened):
    choose(opened, "drawing")
    camera = opened.panel.locator("brazo-marker-camera")
    start = camera.get_by_role("button", name="Camera…")
    # As in a page from another machine, without https.
    none = (
        "Object.defineProperty(navigator, 'mediaDevices', { value: undefined, configurable: true })"
    )
    opened.page.evaluate(f"() => {{ {none} }}")
    start.click()
    expect(camera.get_by_role("status")).to_contain_text("by https or through an SSH tunnel")
    opened.page.evaluate("() => { delete navigator.mediaDevices }")
    start.click()  # the browser has nobody to ask
    expect(camera.get_by_role("status")).to_contain_text("denied access to the camera: allow it")
    opened.page.context.grant_permissions(["camera"])
    start.click()
    expect(camera.get_by_role("status")).to_contain_text("Click the marker in the picture")
    video = camera.locator("video")
    video.scroll_into_view_if_needed()
    x, y = find_disc(opened)
    box = video.bounding_box()
    # The picture of a camera that looks at the user is shown as in a mirror.
    opened.page.mouse.click(box["x"] + (1.0 - x) * box["width"], box["y"] + y * box["height"])
    color = camera.get_by_label("Marker colour").input_value()
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    assert green > 2 * max(red, blue)
    video.evaluate("(video) => video.play()")
    opened.button("Record").click()
    stop = camera.get_by_role("button", name=re.compile("^Stop"))
    expect(stop).to_contain_text(re.compile(r"\(([3-9]|\d\d) s\)"))  # more than a turn
    stop.click()
    curve = rv2aj.panels["trajectory"].draft.curve
    until(lambda: curve.strokes)
    points = np.concatenate(curve.strokes)
    # To a pixel: the film and the clip keep colours at half the resolution.
    assert np.abs(np.hypot(*points.T) - 0.25).max() < 1.0 / WIDTH
    assert np.ptp(points, axis=0).min() > 0.4  # of 0.5: a busy machine misses pictures
    (x0, y0), (x1, y1) = points[:-1].T, points[1:].T
    assert (x0 * y1 - x1 * y0).sum() < 0.0  # clockwise: mirrored
    expect(opened.button("Run trajectory")).to_be_enabled()
    assert len(planned(rv2aj).pen_down) == len(curve.strokes)
    run_through(rv2aj, opened)
    trace = rv2aj.panels["trajectory"]._trace
    drawn = trace.xyz[trace.down] - curve.start[:3, 3]
    assert np.abs(drawn[:, 2]).max() < 1e-6
    radius = np.hypot(drawn[:, 0], drawn[:, 1]) / curve.size("width")
    assert np.abs(radius - 0.25).max() < 0.02  # splines between the points
    # A camera in the background is switched off.
    assert video.evaluate("(video) => video.srcObject.active")
    opened.page.locator("[role=tab][aria-controls=panel-pendant]").click()
    opened.wait("() => !document.querySelector('brazo-marker-camera').stream")
    opened.show()
    expect(start).to_be_visible()


def test_a_marker_in_a_video_file_is_drawn_again_with_another_colour(rv2aj, opened, tmp_path):
    choose(opened, "drawing")
    path = write_video(tmp_path / "a.webm", pictures(circle(30)), "-deadline", "realtime")
    camera = opened.panel.locator("brazo-marker-camera")
    with opened.page.expect_file_chooser() as chooser:
        camera.get_by_role("button", name="Video file…").click()
    chooser.value.set_files(path)
    expect(camera.get_by_role("status")).to_contain_text("then track it")
    camera.get_by_label("Marker colour").fill("#2020e0")
    opened.button("Track marker").click()
    failed = opened.page.get_by_text("a.webm: no marker of colour #2020e0 in 30 frames")
    expect(failed).to_be_visible()
    curve = rv2aj.panels["trajectory"].draft.curve
    before = curve.strokes
    picture = camera.get_by_role("button", name="Enter for the colour at the centre")
    picture.press("Enter")
    expect(camera.get_by_label("Marker colour")).not_to_have_value("#2020e0")  # what is behind it
    camera.get_by_label("Marker colour").fill("#20c030")
    opened.button("Track marker").press("Enter")
    until(lambda: curve.strokes is not before)
    assert curve.strokes[0][0] == pytest.approx((0.25, 0.0), abs=0.01)
    opened.button("Close").click()
    expect(camera.get_by_role("button", name="Camera…")).to_be_visible()
    assert opened.errors == []


def test_an_infeasible_curve_is_marked_and_shifted_to_where_it_is_feasible(rv2aj, opened):
    choose(opened, "circle")
    radius = opened.panel.get_by_label("Radius", exact=True)
    radius.fill("100")
    radius.press("Enter")
    opened.panel.get_by_label("Time", exact=True).fill("8")
    opened.panel.get_by_label("Time", exact=True).press("Enter")
    why = opened.panel.get_by_text(re.compile("^t = .* s, tool at .* m: "))
    expect(why).to_be_visible()
    expect(opened.button("Run trajectory")).to_be_disabled()
    opened.wait(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
        f"{rv2aj.scene.root}/path/points",
    )
    before = rv2aj.panels["trajectory"].draft.curve.start[:3, 3].copy()
    opened.button("Shift to feasible").click()
    expect(opened.button("Run trajectory")).to_be_enabled()
    moved = rv2aj.panels["trajectory"].draft.curve.start[:3, 3] - before
    assert 1e-3 < np.linalg.norm(moved) < 0.2
    assert opened.errors == []

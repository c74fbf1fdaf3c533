"""The view as a video: filmed in the page, saved as a file that plays and can be wound."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import brazo
from brazo.lab.app.replay import RecordingReplay
from brazo.trajectory import quintic
from tests.lab.panels.acting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def few_frames():
    """Not here: the frames are tested."""


# What a player makes of the file: its length and size, and a few of its pictures in little.
PLAYED = """async (file) => {
    const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
    const video = document.createElement("video");
    const next = (name) => new Promise((done, fail) => {
        video.addEventListener(name, done, { once: true });
        video.addEventListener("error", () => fail(video.error.message), { once: true });
    });
    const ready = next("loadeddata");
    video.muted = true;
    video.src = URL.createObjectURL(new Blob([bytes], { type: "video/webm" }));
    await ready;
    const small = new OffscreenCanvas(48, 32).getContext("2d", { willReadFrequently: true });
    const pictures = [];
    for (const share of [0, 0.99, 0.4]) { // back, too
        const there = next("seeked");
        video.currentTime = share * video.duration;
        await there;
        let data = [];
        while (!data[3]) { // nothing is drawn before the picture is decoded
            await new Promise((next) => setTimeout(next, 30));
            small.clearRect(0, 0, 48, 32);
            small.drawImage(video, 0, 0, 48, 32);
            data = [...small.getImageData(0, 0, 48, 32).data];
        }
        pictures.push(data);
    }
    const { duration, videoWidth, videoHeight } = video;
    return { duration, size: [videoWidth, videoHeight], pictures };
}"""


@pytest.fixture(scope="module")
def opened(lab, open_page):
    lab.do(lab.sim.player.pause)
    return open_page(lab, "data")


def test_the_view_is_filmed_and_plays(lab, opened, tmp_path):
    page = opened.page
    opened.button("Record video").click()
    stop = opened.button("Stop and save")
    film = opened.panel.locator("brazo-film")
    expect(film).to_contain_text(re.compile(r"\d:\d\d, \d+\.\d MB"))
    robot = lab.robot
    tip = lab.scene.names[[one.name for one in lab.sim.world.drawn].index("scara1/link 3")]
    where = """(name) => {
        const node = window.__viserMutable.nodeRefFromName[name];
        return node.getWorldPosition(node.position.clone()).toArray();
    }"""
    before = np.array(page.evaluate(where, tip))
    q = robot.reference.q
    turn = np.zeros(robot.n)
    turn[0] = 1.2
    lab.do(lambda: robot.move(quintic(q, q + turn, 1.5)))
    lab.do(lab.sim.player.play)
    until(page, lambda: not robot.moving)
    lab.do(lab.sim.player.pause)
    until(page, lambda: np.linalg.norm(np.array(page.evaluate(where, tip)) - before) > 0.2)
    filmed = seconds(film.inner_text())
    until(page, lambda: seconds(film.inner_text()) >= max(3, filmed + 2))  # at rest, too
    with page.expect_download() as download:
        stop.click()
    expect(opened.button("Record video")).to_be_enabled()
    assert download.value.suggested_filename == "scara1-film.webm"
    path = tmp_path / "film.webm"
    download.value.save_as(path)
    played = page.evaluate(PLAYED, base64.b64encode(path.read_bytes()).decode())
    seen = page.evaluate("() => [brazoViewer.canvas.clientWidth, brazoViewer.canvas.clientHeight]")
    assert played["size"] == [2 * ((side + 1) // 2) for side in seen]
    assert 3.0 < played["duration"] < 60.0
    first, last, between = (np.array(p).reshape(-1, 4)[:, :3] for p in played["pictures"])
    assert np.ptp(first, axis=0).min() > 60  # something is seen
    assert np.abs(first - last).max() > 40  # and has moved
    assert between.shape == first.shape
    assert opened.errors == []


def seconds(reported: str) -> int:
    """How long a film is, from what is said of it: `1:05, 2.3 MB`."""
    found = re.search(r"(\d+):(\d\d),", reported)
    assert found is not None, reported
    return 60 * int(found[1]) + int(found[2])


def test_a_recording_is_filmed_picture_by_picture(running, open_page, tmp_path):
    sim = brazo.Simulation("cooperative")
    robot = sim.robots["scara1"]
    turn = np.zeros(robot.n)
    turn[0] = 1.2
    robot.move(quintic(robot.reference.q, robot.reference.q + turn, 0.4))
    sim.recording.start(tmp_path / "run.parquet")
    sim.step(450)
    sim.recording.stop()
    with running(RecordingReplay(tmp_path / "run.parquet")) as lab:
        lab.do(lab.sim.player.pause)
        opened = open_page(lab, "data")
        for button in ("Record video", "Record replay"):  # words in one line, all to be read
            expect(opened.button(button)).to_be_visible()
            assert opened.button(button).evaluate(
                "(it) => it.scrollWidth <= it.clientWidth && it.scrollHeight <= it.clientHeight"
            )
        with opened.page.expect_download(timeout=120_000) as download:
            opened.button("Record replay").click()
            expect(opened.panel.locator("brazo-film")).to_contain_text("%")
        expect(opened.button("Record replay")).to_be_visible()
        download.value.save_as(tmp_path / "film.webm")
        content = (tmp_path / "film.webm").read_bytes()
        played = opened.page.evaluate(PLAYED, base64.b64encode(content).decode())
        assert opened.errors == []
    length = 0.449  # s, from the first row to the last
    assert played["duration"] == pytest.approx(length + 1 / 30, abs=2e-3)
    times, keys = pictures(content)
    assert times == [min(round(1000 * k / 30), 449) for k in range(15)] and keys[0]
    first, last, between = (np.array(p).reshape(-1, 4)[:, :3] for p in played["pictures"])
    assert np.abs(first - last).max() > 40 and np.abs(between - last).max() > 20


def pictures(content: bytes) -> tuple[list[int], list[bool]]:
    """Times (ms) of the pictures in a WebM file and which of them stand for themselves."""
    times, keys = [], []

    def read(at: int, end: int, cluster: int) -> None:
        while at < end:
            size = 9 - content[at].bit_length()
            name, at = content[at : at + size].hex(), at + size
            size = 9 - content[at].bit_length()
            length = int.from_bytes(content[at : at + size]) & ((1 << 7 * size) - 1)
            at += size
            if name in ("18538067", "1f43b675"):  # segment, cluster
                read(at, at + length, 0)
            elif name == "e7":
                cluster = int.from_bytes(content[at : at + length])
            elif name == "a3":
                after = int.from_bytes(content[at + 1 : at + 3], signed=True)
                times.append(cluster + after)
                keys.append(bool(content[at + 3] & 0x80))
            at += length

    read(0, len(content), 0)
    return times, keys


def test_a_film_goes_on_when_the_panel_is_drawn_again(lab, opened):
    opened.button("Record video").click()
    lab.do(lab.panels["data"].refresh)
    opened.settle()
    stop = opened.button("Stop and save")
    expect(stop).to_be_visible()
    with opened.page.expect_download():
        stop.click()
    expect(opened.button("Record video")).to_be_visible()
    assert opened.errors == []


def test_a_browser_without_an_encoder_is_reported_so(opened):
    opened.page.evaluate("() => { window.kept = VideoEncoder; window.VideoEncoder = undefined; }")
    try:
        opened.button("Record video").click()
        expect(opened.page.locator(".brazo-notices")).to_contain_text("cannot encode video")
        expect(opened.button("Record video")).to_be_visible()
    finally:
        opened.page.evaluate("() => { window.VideoEncoder = window.kept; }")

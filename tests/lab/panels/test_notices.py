"""Notices are placed over the scene, where they hide no button of a panel."""

from __future__ import annotations

import threading
import time

import pytest

pytestmark = pytest.mark.browser
BOXES = """() => {
    const box = (node) => { const b = node.getBoundingClientRect();
        return [b.left, b.right, b.top, b.bottom]; };
    return { scene: box(document.getElementById("root")),
        notices: [...document.querySelectorAll(".brazo-notices .notice")].map(box),
        jobs: [...document.querySelectorAll(".brazo-jobs .job")].map(box) };
}"""


@pytest.mark.parametrize(
    "size", [{"width": 400, "height": 760}, {"width": 1000, "height": 600}], ids=["phone", "window"]
)
def test_notices_and_jobs_are_over_the_scene(lab, open_page, size):
    opened = open_page(lab, "view", size)
    lab.do(lambda: lab.say("a sentence as long as those that explain a mistake in a file " * 3))
    job = lab.jobs.start(
        "Plan", lambda job: [job.tell(0.5) or time.sleep(0.01) for _ in range(10_000)]
    )
    opened.page.locator(".brazo-notices .notice").wait_for()
    opened.page.locator(".brazo-jobs .job").wait_for()
    boxes = opened.page.evaluate(BOXES)
    lab.jobs.cancel(job.number)
    left, right, top, bottom = boxes["scene"]
    for one in boxes["notices"] + boxes["jobs"]:
        assert left <= one[0] and one[1] <= right and top <= one[2] and one[3] <= bottom
    assert opened.errors == []
    opened.page.close()


def test_job_without_cancel_has_no_button_until_it_ends(lab, open_page):
    opened, go = open_page(lab, "view"), threading.Event()
    for cancellable in (True, False):
        go.clear()
        job = lab.jobs.start("Compile", lambda _: go.wait(20), cancellable=cancellable)
        node = opened.page.locator(f'.brazo-jobs .job.running[data-job="{job.number}"]')
        node.wait_for()
        assert node.locator("button").is_visible() == cancellable
        go.set()
        opened.page.locator(f'.job.done[data-job="{job.number}"] button').wait_for()
    assert opened.errors == []
    opened.page.close()


CRANE = """name: crane
parameters: {H: %s, L1: %s, reach: %s}
joints:
  - {name: slew, d: H, alpha: 90deg, limits: [-170deg, 170deg]}
  - {name: boom, offset: 90deg, alpha: 90deg, limits: [-20deg, 40deg]}
  - {name: telescope, type: prismatic, offset: L1, limits: [0, reach]}
"""
SEEN = """() => {  // whether the arm is between the clipping planes
    const { camera, cameraControl: { distance } } = window.__viserMutable;
    return camera.near < 0.1 * distance && 2 * distance < camera.far;
}"""


def test_robot_without_units_is_framed_and_its_warnings_stay_visible(running, open_page, tmp_path):
    (tmp_path / "mm.yaml").write_text(CRANE % (600, 450, 300))
    (tmp_path / "m.yaml").write_text(CRANE % (0.6, 0.45, 0.3))
    with running(tmp_path / "mm.yaml") as lab:
        opened = open_page(lab, "view")
        notice = opened.page.locator(".brazo-notices .notice.warn")
        notice.wait_for()
        assert "mm.yaml:2: parameters.H: 600 without a unit" in notice.inner_text()
        assert "2 more under Robots and cells, Warnings" in notice.inner_text()
        opened.ready()
        assert opened.page.evaluate(SEEN)
        lab.open(tmp_path / "m.yaml")
        notice.wait_for(state="detached")
        opened.wait("() => window.__viserMutable.camera.far === 1000")
        opened.ready()
        assert opened.page.evaluate(SEEN)
        assert opened.errors == []
        opened.page.close()


def test_escape_closes_notices(lab, open_page):
    opened = open_page(lab, "pendant")
    assert opened.page.locator(".brazo-jobs .job").count() == 0  # ended before this page connected
    notices = opened.page.locator(".brazo-notices .notice.error")
    lab.do(lambda: lab.say("out of reach", "error"))
    notices.wait_for()
    opened.page.keyboard.press("Escape")
    notices.wait_for(state="detached")
    # A field takes the key only while something is being typed into it.
    field = opened.panel.locator("brazo-slider input.field").first
    lab.do(lambda: lab.say("out of reach", "error"))
    notices.wait_for()
    field.fill("7")
    field.press("Escape")
    assert notices.count() == 1
    field.focus()
    field.press("Escape")
    notices.wait_for(state="detached")
    assert opened.errors == []
    opened.page.close()

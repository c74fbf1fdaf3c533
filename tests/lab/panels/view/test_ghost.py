"""The reference robot in a real Chromium: seen where it is elsewhere, not where it is the robot."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from brazo.body.stick_figure import visible_parts
from tests.lab.panels.acting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(running, open_page):
    with running("robot:puma560") as lab:
        lab.sim.player.pause()
        yield open_page(lab, "pendant", {"width": 1000, "height": 560})


@pytest.mark.parametrize(("away", "seen"), [(0.0, False), (3e-4, False), (0.5, True)])
def test_the_reference_robot_is_seen_where_it_differs(opened, away, seen):
    lab, page = opened.lab, opened.page
    with lab.sim.lock:
        robot = lab.robot
        robot.world.set_state(robot.reference.q + away)
        lab.sim.world.forward()
    lab.do(lab.display.frame)

    def share() -> float:
        """Share of the pixels of the scene that are the ghost's blue."""
        scene = page.locator("#root").bounding_box()
        assert scene is not None
        picture = Image.open(io.BytesIO(page.screenshot(clip=scene))).convert("RGB")
        red, _, blue = np.moveaxis(np.asarray(picture, int), -1, 0)
        return float((blue - red > 35).mean())

    def shown() -> bool:
        return page.evaluate(
            "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
            f"{lab.scene.root}/desired-0/1",
        )

    lab.do(lambda: lab.view.show("desired", False))
    until(page, lambda: not shown())
    page.wait_for_timeout(500)  # the last picture, of what rests
    without = share()
    lab.do(lambda: lab.view.show("desired", True))
    lab.do(lab.display.frame)
    until(page, shown)
    if seen:
        until(page, lambda: share() > without + 0.02)
    else:
        page.wait_for_timeout(1500)  # it would be drawn by then
        assert share() < without + 0.002
    lab.do(lambda: lab.view.show("desired", False))
    assert opened.errors == []


# What is drawn of the ghost: kind of a second drawing, order, whether it writes colour and depth.
TWINS = """(root) => {
    const meshes = new Set();
    for (const [name, node] of Object.entries(window.__viserMutable.nodeRefFromName))
        if (name.startsWith(`${root}/desired-0/`)) node?.traverse((o) => o.isMesh && meshes.add(o));
    return [...meshes].map(({ brazoTwin, renderOrder, material }) =>
        [brazoTwin ?? "", renderOrder, material.colorWrite, material.depthWrite]);
}"""


def test_only_the_nearest_surface_of_the_reference_robot_is_coloured(opened):
    lab, page = opened.lab, opened.page
    lab.do(lambda: lab.view.show("desired", True))
    parts = sum(map(len, visible_parts(lab.robot.arm.model, lab.robot.arm.parts)))

    def complete() -> bool:
        """Whether every part has a depth drawing and a colour drawing, after all depths."""
        drawn = page.evaluate(TWINS, lab.scene.root)
        depth = [one for one in drawn if one == ["depth", 10, False, True]]
        color = [one for one in drawn if one == ["", 11, True, False]]
        return len(depth) == len(color) == parts and len(drawn) == 2 * parts

    until(page, complete)
    lab.do(lambda: lab.view.show("desired", False))
    assert opened.errors == []

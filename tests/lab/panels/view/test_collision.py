"""A collision made and seen through the page: red solids, dots, a count in the status bar."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.lab.panels.acting import show, switch, typed, until

pytestmark = pytest.mark.browser
# The colours of what a node draws, and whether it is shown at all.
SEEN = """(name) => {
    const node = window.__viserMutable.nodeRefFromName[name];
    let shown = Boolean(node), colors = [];
    for (let n = node; n; n = n.parent) shown = shown && n.visible;
    node?.traverse((o) => { if (o.material?.color) colors.push(o.material.color.getHexString()); });
    return { shown, colors };
}"""
RED, GREEN = "e03131", "2f9e44"


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


@pytest.fixture(scope="module")
def page_of_lab(lab, open_page):
    return open_page(lab, "pendant")


@pytest.fixture
def opened(lab, page_of_lab):
    """The pendant of scara2 in a cell as it begins."""
    lab.open("cooperative")
    page_of_lab.ready()
    page_of_lab.show()
    page_of_lab.panel.get_by_label("Robot", exact=True).select_option("scara2")
    page_of_lab.settle()
    return page_of_lab


def test_fingers_pressed_on_the_platform_are_shown(lab, opened):
    page, panel = opened.page, opened.panel
    switch(show(page, "View"), "Collision geometry")
    opened.show()
    owners = {geom: label.name for geom, label in enumerate(lab.sim.world.labels)}
    boxes = lab.view.overlays["boxes"]
    until(page, lambda: hasattr(boxes, "_solids"))
    lab.do(lambda: None)  # what makes them is done
    solids = boxes._solids
    opened.wait(
        "(name) => Boolean(window.__viserMutable.nodeRefFromName[name])",
        next(iter(solids.values())).name,
    )
    expect(page.locator(".collisions")).not_to_have_class("some")

    typed(panel.get_by_label("shoulder value"), "-60")  # away from the bars
    opened.settle()
    until(page, lambda: not lab.robot.moving)
    typed(panel.get_by_label("quill value"), "200")  # mm: farther than the platform
    expect(page.locator(".collisions.some")).to_be_visible()
    expect(panel.locator(".pendant-why")).to_have_text(
        re.compile("^finger (left|right) touches platform: move the robot back$")
    )
    marks = f"{lab.scene.root}/contacts"
    opened.wait(f"(name) => ({SEEN})(name).shown", marks)
    hit = next(s.name for g, s in solids.items() if owners[g] == "scara2/finger left")
    free = next(s.name for g, s in solids.items() if owners[g] == "scara1/first segment")
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [hit, RED])
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [free, GREEN])

    typed(panel.get_by_label("quill value"), "20")  # and up again
    expect(page.locator(".collisions.some")).to_have_count(0)
    expect(panel.locator(".pendant-why")).to_have_text("")
    opened.wait(f"([name, color]) => ({SEEN})(name).colors.includes(color)", [hit, GREEN])
    opened.wait(f"(name) => !({SEEN})(name).shown", marks)
    assert opened.errors == []


def above_the_platform(lab, opened) -> None:
    """Lower the gripper of scara2 beside the bars, to 7 mm above the platform."""
    for joint, value in (("shoulder", "-60"), ("quill", "180")):
        typed(opened.panel.get_by_label(f"{joint} value"), value)
        opened.settle()
        until(opened.page, lambda: not lab.robot.moving)


def test_jog_ends_at_first_contact_and_resumes_with_a_new_press(lab, opened, late_renewals):
    page, panel = opened.page, opened.panel
    above_the_platform(lab, opened)
    typed(panel.get_by_label("Speed override value"), "20")
    quill = lab.robot.arm.joint_names.index("quill")
    down, up = opened.button("quill plus"), opened.button("quill minus")

    down.hover()
    page.mouse.down()
    expect(page.locator(".brazo-notices")).to_contain_text(
        re.compile(
            "Stopped: finger (left|right) touches platform: move the robot back, or press again"
        )
    )
    until(page, lambda: not lab.robot.moving)
    at = lab.robot.reference.q[quill]
    then, forces = lab.sim.time + 0.5, [0.0]

    def passed():
        with lab.sim.lock:
            touching = lab.sim.world.contacts().of("scara2")
            forces.extend(float(np.linalg.norm(c.force)) for c in touching)
            return lab.sim.time > then

    until(page, passed)
    assert lab.robot.reference.q[quill] == at  # though the button is still down
    assert at < 0.19  # m; it touches at 0.187, its joint would continue to 0.2
    assert max(forces) < 20.0  # N
    page.mouse.up()

    down.hover()
    page.mouse.down()  # it may be meant
    until(page, lambda: lab.robot.reference.q[quill] > 0.1995)
    page.mouse.up()
    until(page, lambda: not lab.robot.moving)
    up.hover()
    page.mouse.down()
    until(page, lambda: lab.robot.q[quill] < at - 0.02)  # and back, although it still touches
    page.mouse.up()
    expect(page.locator(".collisions.some")).to_have_count(0)
    assert opened.errors == []


def test_robot_without_contact_response_jogs_through(lab, opened, late_renewals):
    page = opened.page
    lab.robot.contact_response = False
    above_the_platform(lab, opened)
    quill = lab.robot.arm.joint_names.index("quill")
    opened.button("quill plus").hover()
    page.mouse.down()
    until(page, lambda: lab.robot.q[quill] > 0.1995)
    page.mouse.up()
    expect(page.locator(".collisions.some")).to_be_visible()


# Joint values with the arms of the two robots in each other.
ENTANGLED = {
    "scara1": [-2.221, -1.042, 0.072, -1.551, -0.062],
    "scara2": [0.179, 0.612, 1.61, 0.062, 0.348],
}
# Where points of the cell are on the page.
PROJECT = """([name, points]) => {
    const { nodeRefFromName, camera, canvas } = window.__viserMutable;
    const node = nodeRefFromName[name];
    node.updateWorldMatrix(true, false);
    const box = canvas.getBoundingClientRect();
    return points.map((point) => {
        const p = camera.position.clone().set(...point);
        p.applyMatrix4(node.matrixWorld).project(camera);
        return [box.x + ((p.x + 1) / 2) * box.width, box.y + ((1 - p.y) / 2) * box.height];
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contacts_between_robots_are_drawn_on_top(lab, open_page, scheme):
    lab.open("cooperative")
    sim = lab.sim
    sim.player.pause()
    with sim.lock:
        for name, q in ENTANGLED.items():
            sim.robots[name].world.set_state(q)
        sim.world.forward()
        contacts = [c for c in sim.world.contacts().of("scara1") if c.touching]
    assert contacts and {c.kind for c in contacts} == {"robot-robot"}
    opened = open_page(lab, "pendant", {"width": 1000, "height": 560}, color_scheme=scheme)
    page = opened.page
    at = page.evaluate(
        PROJECT, [f"{lab.scene.root}/contacts", [c.point.tolist() for c in contacts]]
    )

    def red() -> list[bool]:
        picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), int)
        here = [picture[round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2] for x, y in at]
        return [(near[..., 0] - near[..., 1:].max(axis=-1) > 120).all() for near in here]

    lab.do(lambda: lab.view.show("contacts", False))
    until(page, lambda: not any(red()))  # the bodies hide the points
    lab.do(lambda: lab.view.show("contacts", True))
    lab.do(lab.display.frame)
    until(page, lambda: all(red()))
    assert opened.errors == []
    page.close()

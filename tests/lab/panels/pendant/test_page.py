"""The teach pendant in a real Chromium, through the page alone."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.lab.panels.acting import switch

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def few_updates():
    """Not here: a browser test at the full rate."""


@pytest.fixture(scope="module", autouse=True)
def few_frames():
    """Not here either."""


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:puma560") as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    opened = open_page(lab, "pendant", {"width": 1000, "height": 620})
    opened.panel.locator("details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    return opened


@pytest.fixture(autouse=True)
def at_start(lab, opened):
    lab.sim.player.play()
    lab.sim.player.speed = 1.0
    lab.do(lambda: lab.session.place(lab.robot, lab.robot.world.start))
    opened.panel.get_by_role("radio", name="Joint").click()
    opened.panel.get_by_role("radio", name="Hold").click()
    # The first row into view, for tests that use the mouse at its place.
    opened.panel.evaluate(
        "(node) => { for (; node; node = node.parentElement) node.scrollTop = 0; }"
    )
    opened.settle()


def rest(lab) -> None:
    """Wait until the robot has arrived, in quick motion."""
    lab.sim.player.speed = 4.0
    deadline = time.monotonic() + 40
    while lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    end = lab.sim.time + 0.5
    while lab.sim.time < end:
        time.sleep(0.01)
    lab.sim.player.speed = 1.0


def test_a_joint_moves_while_its_button_is_held_and_rests_when_it_is_let_go(
    lab, opened, late_renewals
):
    plus = opened.button("waist plus")
    box = plus.bounding_box()
    opened.page.mouse.move(box["x"] + 10, box["y"] + 10)
    before = lab.robot.q[0]
    opened.page.mouse.down()
    deadline = time.monotonic() + 20
    while lab.robot.q[0] < before + 0.1:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    opened.page.mouse.up()
    rest(lab)
    at = lab.robot.reference.q
    assert at[0] > before + 0.1 and np.array_equal(at[1:], lab.robot.world.start[1:])
    time.sleep(0.2)
    assert np.array_equal(lab.robot.reference.q, at)


@pytest.mark.parametrize("end", ["blur", "hidden"])
def test_leaving_the_window_ends_a_jog(lab, opened, end, late_renewals):
    box = opened.button("waist minus").bounding_box()
    opened.page.mouse.move(box["x"] + 10, box["y"] + 10)
    opened.page.mouse.down()
    deadline = time.monotonic() + 20
    while not lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    happens = {
        "blur": "() => window.dispatchEvent(new Event('blur'))",
        "hidden": """() => {
            Object.defineProperty(document, 'hidden', { value: true, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
            delete document.hidden;
        }""",
    }
    opened.page.evaluate(happens[end])
    rest(lab)  # though the mouse is still down
    opened.page.mouse.up()


def test_a_click_is_one_step(lab, opened):
    opened.panel.get_by_role("radio", name="10", exact=True).click()
    start = lab.robot.reference.q
    opened.button("elbow plus").click()
    opened.button("elbow plus").click()
    opened.button("flange minus").click()
    opened.settle()
    rest(lab)
    moved = np.degrees(lab.robot.reference.q - start)
    assert moved == pytest.approx([0, 0, 20, 0, 0, -10], abs=1e-5)


def test_what_is_typed_waits_for_enter_and_is_never_overwritten(lab, opened):
    field = opened.panel.get_by_label("waist value")
    before = lab.robot.reference.q
    field.click()
    field.press_sequentially("45")
    opened.settle()
    assert np.array_equal(lab.robot.reference.q, before)  # not 4, not 45
    elbow = opened.panel.get_by_label("elbow value")
    elbow.fill("-150")
    q = before.copy()
    q[0] += 0.2  # news of the joint must not take the typed number away
    lab.set_q(q)
    opened.settle()
    time.sleep(0.2)
    assert field.input_value() == "45" and elbow.input_value() == "-150"
    opened.button("Move joint (MoveJ)").click()
    opened.settle()
    rest(lab)
    assert np.degrees(lab.robot.q[[0, 2]]) == pytest.approx([45, -150], abs=1e-4)
    expect(field).to_have_value("45.00")
    field.click()
    field.press_sequentially("12")
    field.press("Escape")
    expect(field).to_have_value("45.00")
    field.fill("pi/6")
    field.press("Enter")
    opened.settle()
    rest(lab)
    assert np.degrees(lab.robot.q[0]) == pytest.approx(30, abs=1e-4)


def test_a_target_beyond_the_limits_explains_itself_and_stays_to_be_mended(lab, opened):
    field = opened.panel.get_by_label("waist value")
    field.fill("999")
    field.press("Enter")
    expect(opened.page.locator(".brazo-notices")).to_contain_text("its limits are −160.00")
    assert field.input_value() == "999" and not lab.sim.moving
    field.press("Escape")


def test_a_track_is_pulled(lab, opened):
    track = opened.panel.get_by_role("slider", name="waist", exact=True)
    box = track.bounding_box()
    middle = box["y"] + box["height"] / 2
    opened.page.mouse.move(box["x"] + box["width"] / 2, middle)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=6)
    opened.page.mouse.up()
    opened.settle()
    rest(lab)
    asked = track.evaluate("(track) => Number(track.value)")
    assert asked == pytest.approx(32, abs=6)
    assert np.degrees(lab.robot.q[0]) == pytest.approx(asked, abs=0.01)


def test_the_puma_goes_to_a_pose_typed_in_the_base_frame(lab, opened):
    opened.panel.get_by_role("radio", name="Base").click()
    expect(opened.panel.get_by_label("X value")).to_be_visible()
    T = lab.robot.arm.fk(lab.robot.world.start + [0.2, 0.1, 0.1, 0.2, 0.1, 0.1])
    for name, value in zip("XYZ", 1000 * T[:3, 3], strict=True):
        opened.panel.get_by_label(f"{name} value").fill(f"{value:.6f}")
    opened.button("Move linear (MoveL)").click()
    opened.settle()
    rest(lab)
    assert lab.robot.arm.fk(lab.robot.q)[:3, 3] == pytest.approx(T[:3, 3], abs=1e-6)


def test_jogging_in_the_tool_frame(lab, opened, late_renewals):
    opened.panel.get_by_role("radio", name="Tool").click()
    opened.settle()
    T = lab.robot.arm.fk(lab.robot.reference.q)
    box = opened.button("Z minus").bounding_box()
    opened.page.mouse.move(box["x"] + 10, box["y"] + 10)
    opened.page.mouse.down()
    deadline = time.monotonic() + 30

    def way() -> np.ndarray:
        return T[:3, :3].T @ (lab.robot.arm.fk(lab.robot.reference.q)[:3, 3] - T[:3, 3])

    while way()[2] > -0.03:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    opened.page.mouse.up()
    rest(lab)
    assert np.abs(way()[:2]).max() < 1e-6


def test_keys_jog_when_they_are_reported_to(lab, opened):
    opened.page.keyboard.press("q")
    opened.settle()
    assert not lab.sim.moving
    opened.panel.locator("brazo-keys label").click()
    before = lab.robot.reference.q[0]
    opened.page.keyboard.down("q")
    deadline = time.monotonic() + 20
    while lab.robot.reference.q[0] < before + 0.05:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    opened.page.keyboard.up("q")
    rest(lab)
    opened.panel.locator("brazo-keys label").click()


def test_three_points_are_taught_and_played(lab, opened):
    for degrees in (10, 20, 30):
        field = opened.panel.get_by_label("waist value")
        field.fill(str(degrees))
        field.press("Enter")
        opened.settle()
        rest(lab)
        opened.button("Teach").click()
    table = opened.panel.get_by_role("table", name="Taught points")
    expect(table.locator("tbody tr")).to_have_count(3)
    seen = []

    def look(sim) -> bool:  # in every step, so that nothing is missed
        at = np.degrees(lab.robot.reference.q[0])
        near = [d for d in (10, 20, 30) if abs(at - d) < 0.01]
        if near and near != seen[-1:] and (near[0] == 10 or 10 in seen):
            seen.extend(near)
        return True

    lab.sim.tasks.add(SimpleNamespace(tick=look))
    opened.button("Run through points").click()
    lab.sim.player.speed = 4.0
    deadline = time.monotonic() + 60
    while 30 not in seen:
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)
    assert seen == [10, 20, 30]
    name = table.get_by_label("Point 1", exact=True)
    name.fill("over the <b>box</b>")
    name.press("Enter")
    expect(name).to_have_value("over the <b>box</b>")
    for left in (2, 1, 0):
        table.get_by_role("button", name="✕").first.click()
        expect(table.locator("tbody tr")).to_have_count(left)
    expect(opened.panel.get_by_text("No points taught yet.")).to_be_visible()


def test_the_tool_is_dragged_and_what_is_out_of_reach_is_said_not_jumped_to(lab, opened):
    switch(opened.panel, "Drag the tool in the scene")
    opened.settle()
    name = f"{lab.scene.root}/gizmo"
    opened.wait("(name) => Boolean(window.__viserMutable.nodeRefFromName[name])", name)
    start = lab.robot.tool()

    def drag(by) -> None:
        # What viser's page sends when its arrows are pulled, on this page's own line.
        opened.page.evaluate(
            """([name, position, wxyz]) => {
                const send = window.__viserMutable.sendMessage;
                send({ type: "TransformControlsDragStartMessage", name, owner: "" });
                send({ type: "TransformControlsUpdateMessage", name, position, wxyz, owner: "" });
            }""",
            [name, (start[:3, 3] + by).tolist(), quaternion(start).tolist()],
        )

    q = lab.robot.reference.q
    drag([-0.05, 0.04, 0.03])
    deadline = time.monotonic() + 20
    while np.array_equal(lab.robot.reference.q, q):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    rest(lab)
    assert lab.robot.tool()[:3, 3] == pytest.approx(start[:3, 3] + [-0.05, 0.04, 0.03], abs=1e-5)
    assert lab.robot.tool()[:3, :3] == pytest.approx(start[:3, :3], abs=1e-5)
    drag([3.0, 0.0, 0.0])
    expect(opened.panel.locator(".pendant-why")).to_contain_text("cannot reach")
    assert not lab.sim.moving
    opened.page.evaluate(
        """(name) => window.__viserMutable.sendMessage(
            { type: "TransformControlsDragEndMessage", name, owner: "" })""",
        name,
    )
    expect(opened.panel.locator(".pendant-why")).to_have_text("")
    switch(opened.panel, "Drag the tool in the scene")
    opened.settle()


def quaternion(T: np.ndarray) -> np.ndarray:
    from brazo.kinematics.orientation import wxyz_from_matrix

    return wxyz_from_matrix(T[:3, :3])


def test_a_clicked_link_marks_its_joint(lab, opened):
    """By a real click on the robot in the scene."""
    drawn = [one.name for one in lab.sim.world.drawn]
    i = drawn.index("puma560/link 1")
    place = """(name) => {
            const { nodeRefFromName, camera, canvas } = window.__viserMutable;
            let mesh;
            nodeRefFromName[name].traverse((o) => (mesh ??= o.isMesh ? o : undefined));
            mesh.geometry.computeBoundingBox();
            const p = mesh.geometry.boundingBox.getCenter(camera.position.clone());
            p.applyMatrix4(mesh.matrixWorld).project(camera);
            const box = canvas.getBoundingClientRect();
            return [box.x + ((p.x + 1) / 2) * box.width, box.y + ((1 - p.y) / 2) * box.height];
        }"""
    opened.page.get_by_role("button", name="Reset view").click()
    deadline = time.monotonic() + 60
    while lab.selection.joint is None:
        assert time.monotonic() < deadline
        # Where it is drawn now: the view may still be on its way.
        opened.page.mouse.click(*opened.page.evaluate(place, lab.scene.names[i]))
        # A second click takes the first one back, so give it time to arrive.
        patience = time.monotonic() + 3
        while lab.selection.joint is None and time.monotonic() < patience:
            opened.page.wait_for_timeout(50)
    marked = opened.panel.locator("brazo-axis[selected]")
    expect(marked).to_have_attribute("label", lab.robot.arm.joint_names[lab.selection.joint])
    lab.do(lambda: lab.session.select("puma560"))


def test_nothing_of_the_pendant_is_wider_than_its_column(lab, opened):
    opened.panel.get_by_role("radio", name="Base").click()
    opened.button("Rz plus").wait_for()
    for _ in range(2):
        opened.button("Teach").click()
    opened.panel.locator(".brazo-table tbody tr").nth(1).wait_for()
    too_wide = opened.panel.evaluate(
        """(panel) => {
            const right = panel.querySelector(".pendant-modes").getBoundingClientRect().right;
            return [...panel.querySelectorAll("button, td")]
                .filter((node) => node.getBoundingClientRect().right > right + 0.5)
                .map((node) => node.textContent);
        }"""
    )
    assert too_wide == []
    two_lines = opened.panel.locator(".brazo-segments button").evaluate_all(
        "(all) => all.filter((one) => one.scrollHeight > one.clientHeight + 1).length"
    )
    assert two_lines == 0


def test_nothing_went_wrong_in_the_page(opened):
    assert opened.errors == []

"""The teach pendant without a browser: what it shows and what it lets a page do."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import brazo
from brazo.lab.panels.pendant.layout import Layout
from brazo.operate.hold_to_run import TIMEOUT, HoldToRun
from brazo.trajectory import limits_of


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:puma560") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        settings = [["mode", "joint"], ["step", "hold"], ["units", "deg"], ["reduced", True]]
        lab.open("robot:puma560")  # without a question about the points of the test before
        page.send(*([f"pendant/{n}", v] for n, v in settings))
        page.send(["pendant/override", 100], ["panels-shown", ["pendant"]])
        yield page


def rest(lab, seconds: float = 20.0) -> None:
    """Wait until no robot moves and residual motion has decayed."""
    lab.sim.player.speed = 4.0
    deadline = time.monotonic() + seconds
    while lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    end = lab.sim.time + 0.5
    while lab.sim.time < end:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    lab.sim.player.speed = 1.0


def shown(lab) -> dict:
    found: dict = {}
    lab.do(lambda: found.update(lab.panels["pendant"].values()))
    return found


# ---- targets ---------------------------------------------------------------------------------


def test_typed_joint_targets_are_reached_together(lab, page):
    goal = lab.robot.q
    goal[0], goal[2] = math.radians(30), math.pi / 4
    page.send(["pendant/move", [["q0", 30], ["q2", "pi/4"]], "joint"])
    assert lab.sim.moving
    rest(lab)
    assert lab.robot.q == pytest.approx(goal, abs=1e-6)
    assert shown(lab)["q/0"] == pytest.approx(30.0, abs=1e-4)
    assert shown(lab)["moved"] > 0


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([["q0", 300]], "limits are"),
        ([["q0", "ninety"]], "ninety"),
        ([["q0", "5cm"]], "length"),
        ([], "type a value in a field first"),
    ],
)
def test_invalid_target_is_reported(lab, page, targets, words):
    before, moved = lab.robot.q, shown(lab)["moved"]
    page.send(["pendant/move", targets, "joint"])
    assert words in page.reported["notice"]["text"]
    assert not lab.sim.moving and lab.robot.q == pytest.approx(before, abs=1e-6)
    assert shown(lab)["moved"] == moved  # so what was typed stays to be mended


def test_targets_of_a_wrong_shape_change_nothing(lab, page):
    for targets in ([["q0"]], [[1, 2]], ["q0"], [["q0", True]], [["q0", [1]]], [["nonsense", 1]]):
        page.send(["pendant/move", targets, "joint"])
        assert not lab.sim.moving


@pytest.mark.parametrize("how", ["joint", "line"])
def test_the_tool_goes_to_a_typed_pose(lab, page, how):
    arm = brazo.load("puma560")
    q = arm.poses["nominal"] + [0.3, 0.2, 0.1, 0.2, 0.1, -0.3]
    page.send(["pendant/move", [[f"q{i}", math.degrees(v)] for i, v in enumerate(q)], "joint"])
    rest(lab)
    T = arm.fk(q).copy()
    T[:3, 3] += [0.05, -0.04, -0.08]
    R = Rotation.from_matrix(T[:3, :3]) * Rotation.from_euler("z", 20, degrees=True)
    # Unimation's O-A-T is Z-Y-Z turned by a quarter: zyz(O - 90, A + 90, T).
    zyz = R.as_euler("ZYZ", degrees=True)
    oat = [zyz[0] + 90, zyz[1] - 90, zyz[2]]
    targets = [[n, 1000 * v] for n, v in zip("xyz", T[:3, 3], strict=True)]
    targets += [[f"a{i}", v] for i, v in enumerate(oat)]
    page.send(["pendant/mode", "base"], ["pendant/angles", "oat"])
    page.send(["pendant/move", targets, how])
    assert lab.sim.moving, page.reported.get("notice")
    rest(lab)
    reached = lab.robot.arm.fk(lab.robot.q)
    assert reached[:3, 3] == pytest.approx(T[:3, 3], abs=1e-6)
    assert reached[:3, :3] == pytest.approx(R.as_matrix(), abs=1e-6)
    values = shown(lab)
    assert [values[n] for n in "xyz"] == pytest.approx(1000 * T[:3, 3], abs=1e-3)
    again = Rotation.from_euler(
        "ZYZ", np.add([values[f"angle/{i}"] for i in range(3)], [-90, 90, 0]), degrees=True
    )
    assert (again.inv() * R).magnitude() < 1e-6
    page.send(["pendant/mode", "joint"])


def test_a_pose_out_of_reach_says_why(lab, page):
    page.send(["pendant/mode", "base"], ["pendant/move", [["x", 5000]], "joint"])
    assert "cannot reach" in page.reported["notice"]["text"]
    assert not lab.sim.moving
    page.send(["pendant/mode", "joint"])


def test_typed_motion_in_the_tool_frame_is_relative(lab, page):
    T = lab.robot.arm.fk(lab.robot.reference.q)
    page.send(["pendant/mode", "tool"], ["pendant/move", [["z", -50], ["x", "2cm"]], "line"])
    rest(lab)
    moved = lab.robot.arm.fk(lab.robot.q)
    assert T[:3, :3].T @ (moved[:3, 3] - T[:3, 3]) == pytest.approx([0.02, 0, -0.05], abs=1e-6)
    assert moved[:3, :3] == pytest.approx(T[:3, :3], abs=1e-6)
    page.send(["pendant/mode", "joint"])


def test_radians_and_metres_on_request(lab, page):
    page.send(["pendant/units", "si"], ["pendant/move", [["q1", 0.9]], "joint"])
    rest(lab)
    assert lab.robot.q[1] == pytest.approx(0.9, abs=1e-6)
    assert shown(lab)["q/1"] == pytest.approx(0.9, abs=1e-6)
    assert 'unit="rad"' in lab.panels["pendant"].html()
    page.send(["pendant/units", "deg"])
    assert shown(lab)["q/1"] == pytest.approx(math.degrees(0.9), abs=1e-4)


# ---- jogging ---------------------------------------------------------------------------------


def hold(page, axis: int, sign: int, seconds: float) -> None:
    """Keep a button down until its jog has run for so many seconds of the simulation."""
    sim, keys = page.lab.sim, page.lab.panels["pendant"].keys
    page.ws.send(json.dumps(["pendant/jog", axis, sign, True]))
    late = time.monotonic() + 5
    while (keys.jog is None or not keys.switch.held) and time.monotonic() < late:
        time.sleep(0.01)  # a loaded machine begins late
        page.ws.send(json.dumps(["pendant/jog", axis, sign, False]))
    end, late = sim.time + seconds, time.monotonic() + 20
    while sim.time < end and time.monotonic() < late:
        time.sleep(0.03)
        page.ws.send(json.dumps(["pendant/jog", axis, sign, False]))


def test_joint_moves_until_the_button_is_released(lab, page, late_renewals):
    page.send(["pendant/step", "hold"])
    start = lab.robot.q
    hold(page, 0, -1, 0.6)
    assert lab.robot.reference.qd[0] < 0
    page.send(["pendant/jog-end"])
    rest(lab)
    moved = lab.robot.q - start
    assert moved[0] < -0.05
    assert np.abs(moved[1:]).max() < 1e-3


def test_without_renewals_a_jog_ends_by_itself(lab, page, late_renewals, monkeypatch):
    hold(page, 1, -1, 0.3)
    assert lab.sim.moving
    last = time.monotonic()
    monkeypatch.setattr(HoldToRun, "timeout", TIMEOUT)
    while lab.sim.moving:  # the page sent nothing more
        assert time.monotonic() < last + 3
        time.sleep(0.005)
    assert time.monotonic() - last > 0.5 * TIMEOUT
    page.send(["pendant/jog-end"])


def test_disconnected_page_ends_its_jog(lab, page, line, late_renewals):
    page.close()
    with line(lab) as other:
        late = time.monotonic() + 10
        while not lab.channel.driving.drives(other.key):  # until the other page has left
            assert time.monotonic() < late
            time.sleep(0.01)
        hold(other, 1, 1, 0.3)
        assert lab.sim.moving
    last = time.monotonic()
    while lab.sim.moving:
        assert time.monotonic() < last + 3
        time.sleep(0.005)


def renew(page, axis: int, sign: int, condition) -> None:
    """Keep the button that is down so until something is true."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        page.ws.send(json.dumps(["pendant/jog", axis, sign, False]))
        time.sleep(0.03)


def test_a_press_right_after_a_release_counts_though_the_lab_is_busy(lab, page, late_renewals):
    page.send(["pendant/step", "hold"])
    keys = lab.panels["pendant"].keys
    page.ws.send(json.dumps(["pendant/jog", 0, 1, True]))
    renew(page, 0, 1, lambda: keys.jog is not None)
    first, busy = keys.jog, threading.Event()
    lab.post(lambda: busy.wait(10))
    page.ws.send(json.dumps(["pendant/jog-end"]))
    page.ws.send(json.dumps(["pendant/jog", 0, 1, True]))
    renew(page, 0, 1, lambda: not first.held and keys.switch.held)
    busy.set()
    renew(page, 0, 1, lambda: keys.jog not in (None, first))
    page.send(["pendant/jog-end"])


def test_tap_released_before_the_jog_exists_causes_no_motion(lab, page, monkeypatch):
    page.send(["pendant/step", "hold"])
    pendant, jog, made = lab.panels["pendant"], lab.mover.jog, []

    def tapped(*arguments):
        made.append(jog(*arguments))
        pendant._jog_end()  # as the network's thread may just then
        return made[-1]

    monkeypatch.setattr(lab.mover, "jog", tapped)
    page.send(["pendant/jog", 0, 1, True])
    assert len(made) == 1 and made[0] is not None and not made[0].held
    lab.do(lambda: None)
    assert pendant.keys.jog is None


def test_contact_is_allowed_only_after_a_new_press(running, line, late_renewals):
    with running("cooperative") as lab, line(lab) as page:
        page.send(["pendant/robot", "scara2"], ["pendant/step", "hold"], ["pendant/override", 20])
        keys, quill = lab.panels["pendant"].keys, 3
        q = lab.robot.q
        q[[0, quill]] = np.radians(-60.0), 0.18

        def press() -> float:
            """Down until it stops by itself; where it then is."""
            before = keys._last
            page.ws.send(json.dumps(["pendant/jog", quill, 1, True]))
            renew(page, quill, 1, lambda: keys._last is not before)  # under way
            end = lambda: keys._last[2] or lab.robot.reference.q[quill] > 0.1999  # noqa: E731
            renew(page, quill, 1, end)
            page.send(["pendant/jog-end"])
            rest(lab)
            return lab.robot.reference.q[quill]

        lab.set_q(q, "scara2")
        assert 0.186 < press() < 0.195  # contact at 0.187; the joint limit is 0.2
        assert press() > 0.1999
        lab.set_q(q, "scara2")
        assert 0.186 < press() < 0.195
        lab.set_q(q, "scara2")  # it has been moved away
        assert 0.186 < press() < 0.195


def test_stop_ends_a_jog_though_the_button_stays_down(lab, page, late_renewals):
    page.ws.send(json.dumps(["pendant/jog", 0, 1, True]))
    for i in range(16):
        time.sleep(0.05)
        page.ws.send(json.dumps(["pendant/jog", 0, 1, False]))
        if i == 6:
            assert lab.sim.moving
            page.ws.send('["stop"]')
    assert not lab.sim.moving
    page.send(["pendant/jog-end"])


@pytest.mark.parametrize(
    ("mode", "axis", "why"),
    [
        ("joint", 3, r"joint 4 \(J4\) is at its upper limit, 90.00°"),
        ("base", 0, r"joint 4 \(J4\) is at its upper limit, 90.00°"),
        ("base", 3, "the arm cannot turn its tool about this axis: it has 5 degrees of freedom"),
    ],
)
def test_a_jog_that_cannot_move_names_the_limit_until_the_robot_moves(
    running, line, mode, axis, why, late_renewals
):
    with running("robot:rv2aj") as lab, line(lab) as page:
        lab.set_q(np.radians([0.0, 10.0, 80.0, 90.0, 0.0]))
        page.send(["pendant/mode", mode], ["pendant/step", "hold"])
        before = lab.robot.reference.q
        page.ws.send(json.dumps(["pendant/jog", axis, 1, True]))
        renew(page, axis, 1, lambda: re.fullmatch(why, shown(lab)["why"]))
        page.send(["pendant/jog-end"])
        rest(lab)
        assert np.abs(lab.robot.reference.q - before).max() < 1e-6
        assert re.fullmatch(why, shown(lab)["why"])  # the button is up
        page.send(["pendant/mode", "joint"])
        hold(page, 0, 1, 0.2)
        page.send(["pendant/jog-end"])
        rest(lab)
        assert shown(lab)["why"] == ""


def test_a_step_at_a_limit_names_it(running, line):
    with running("robot:rv2aj") as lab, line(lab) as page:
        lab.set_q(np.radians([0.0, 10.0, 80.0, 90.0, 0.0]))
        page.send(["pendant/step", "1"], ["pendant/jog", 3, 1, True])
        page.until_said("joint 4 (J4) is at its upper limit, 90.00°")
        page.send(["pendant/jog", 3, -1, True])
        rest(lab)
        assert np.degrees(lab.robot.reference.q[3]) == pytest.approx(89.0)


@pytest.mark.parametrize(("mode", "axis"), [("base", 2), ("tool", 0), ("base", 5), ("tool", 4)])
def test_the_tool_is_jogged_along_and_about_its_axes(lab, page, mode, axis, late_renewals):
    page.send(["pendant/move", [["q0", 10], ["q3", 20], ["q4", 35]], "joint"])
    rest(lab)
    page.send(["pendant/mode", mode])
    T = lab.robot.arm.fk(lab.robot.reference.q)
    hold(page, axis, -1, 0.5)
    page.send(["pendant/jog-end"])
    rest(lab)
    moved = lab.robot.arm.fk(lab.robot.reference.q)
    R = np.eye(3) if mode == "base" else T[:3, :3]
    way = R.T @ (moved[:3, 3] - T[:3, 3])
    turn = R.T @ Rotation.from_matrix(moved[:3, :3] @ T[:3, :3].T).as_rotvec()
    along = np.concatenate([way, turn])
    assert along[axis] < -0.02, shown(lab)["why"]
    along[axis] = 0.0
    assert np.abs(along).max() < 1e-6
    page.send(["pendant/mode", "joint"])


def test_a_step_is_exact_and_clicks_add_up(lab, page):
    page.send(["pendant/step", "1"])
    start = lab.robot.reference.q
    for _ in range(3):
        page.send(["pendant/jog", 3, 1, True], ["pendant/jog-end"])
    rest(lab)
    moved = lab.robot.reference.q - start
    assert moved[3] == pytest.approx(math.radians(3), abs=1e-7)
    moved[3] = 0.0
    assert not moved.any()
    page.send(["pendant/step", "hold"])


def test_a_clicked_link_moves_its_joint_by_a_step(lab, page):
    drawn = [one.name for one in lab.sim.world.drawn].index("puma560/link 3")
    page.send(["pendant/clicks", True], ["pendant/step", "10"])
    start = lab.robot.reference.q
    lab.do(lambda: lab.display.clicked(drawn))
    lab.do(lambda: lab.display.clicked(drawn))
    rest(lab)
    assert np.degrees(lab.robot.reference.q - start) == pytest.approx([0, 0, 20, 0, 0, 0], abs=1e-5)
    assert lab.selection.joint == 2
    lab.do(lambda: lab.display.clicked(drawn, shift=True))
    rest(lab)
    assert np.degrees(lab.robot.reference.q - start)[2] == pytest.approx(10, abs=1e-5)
    page.send(["pendant/clicks", False])
    lab.do(lambda: lab.display.clicked(drawn))
    assert not lab.sim.moving and lab.selection.joint is None


def test_the_override_slows_and_the_reduced_mode_keeps_250_mm_a_second(lab, page):
    arm, dt = lab.robot.arm, lab.sim.dt
    for reduced in (True, False):
        page.send(["pendant/reduced", reduced])
        lab.sim.player.pause()
        sign = 1 if reduced else -1
        lab.sim.player._playing = True  # so that a motion may begin while the test makes the steps
        page.send(["pendant/move", [["q0", sign * 60], ["q1", 70], ["q2", -120]], "joint"])
        lab.sim.player._playing = False
        xyz, qd = [], []
        while lab.sim.moving:
            lab.sim.step()
            xyz.append(arm.fk(lab.robot.reference.q)[:3, 3])
            qd.append(lab.robot.reference.qd)
        speed = np.linalg.norm(np.diff(xyz, axis=0), axis=1) / dt
        assert (speed.max() < 0.2501) == reduced
        assert speed.max() > (0.2 if reduced else 0.4)
        assert (np.abs(qd).max(axis=0) <= limits_of(arm).speed * (1 + 1e-9)).all()
        lab.sim.player.play()
    page.send(["pendant/reduced", True], ["pendant/override", 0])
    assert "override" in page.reported["notice"]["text"]


def test_a_paused_simulation_says_so_instead_of_moving(lab, page):
    page.send(["pause"], ["pendant/jog", 0, 1, True])
    assert "paused" in page.reported["notice"]["text"]
    page.send(["pendant/jog-end"], ["play"])
    assert not lab.sim.moving


def test_view_only_page_cannot_jog(lab, page, line):
    with line(lab) as watcher:
        before = lab.robot.reference.q
        hold(watcher, 0, 1, 0.3)
        watcher.send(["pendant/jog-end"], ["pendant/move", [["q0", 1]], "joint"])
        assert not lab.sim.moving and np.array_equal(lab.robot.reference.q, before)


def test_view_only_pages_do_not_affect_the_jog(lab, page, line, late_renewals):
    page.ws.send(json.dumps(["pendant/jog", 0, 1, True]))

    def renewed(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            page.ws.send(json.dumps(["pendant/jog", 0, 1, False]))
            time.sleep(0.03)

    renewed(0.4)
    held = lab.panels["pendant"].keys.jog
    assert held is not None and held.held
    with line(lab) as watcher:  # comes,
        renewed(0.1)
        watcher.ws.send('["control/ask"]')  # asks,
        watcher.ws.send('["pendant/jog", 0, -1, true]')  # clicks
        watcher.ws.send('["pendant/jog-end"]')
        renewed(0.2)
    renewed(0.2)  # and goes
    assert lab.panels["pendant"].keys.jog is held and held.held and lab.sim.moving
    with line(lab) as other:
        other.ws.send('["control/ask"]')
        other.until("control/asking", other.reported["me/number"])
        page.ws.send('["control/hand-over"]')  # but a page that hands over control releases the key
        other.until("control/driver", other.reported["me/number"])
        lab.do(lambda: None)
        assert not held.held
        other.ws.send('["control/hand-over"]')
        other.until("control/driver", page.reported["me/number"])


# ---- points, poses, gripper --------------------------------------------------------------------


def test_points_are_taught_named_played_and_deleted(lab, page):
    arm = lab.robot.arm
    goals = [
        arm.poses["nominal"] + 0.1 * np.array(d)
        for d in ([1, 0, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0], [-1, 1, 0, 1, 0, 0])
    ]
    for q in goals:
        page.send(["pendant/move", [[f"q{i}", math.degrees(v)] for i, v in enumerate(q)], "joint"])
        rest(lab)
        page.send(["pendant/teach"])
    assert page.reported["notice"]["text"] == "P3 taught"
    rows = shown(lab)["points"]
    page.send(["pendant/point-set", rows[2]["id"]])
    assert page.reported["notice"]["text"] == "P3 updated"
    assert [row["name"] for row in rows] == ["P1", "P2", "P3"]
    page.send(
        ["pendant/point-name", rows[1]["id"], "  over  the bar "],
        ["pendant/point-name", rows[2]["id"], "P1"],
    )
    assert [row["name"] for row in shown(lab)["points"]] == ["P1", "over the bar", "P1 2"]
    page.send(["pendant/point-go", rows[0]["id"]])
    rest(lab)
    assert lab.robot.q == pytest.approx(goals[0], abs=1e-5)
    page.send(["pendant/point-line", rows[2]["id"]])
    rest(lab)
    assert lab.robot.q == pytest.approx(goals[2], abs=1e-5)
    reached, lab.sim.player.speed = [], 4.0

    def look(sim) -> bool:  # in every step, so that nothing is missed
        q = lab.robot.reference.q
        near = [i for i, goal in enumerate(goals) if np.abs(goal - q).max() < 1e-3]
        if near and near != reached[-1:]:
            reached.extend(near)
        return True

    lab.sim.tasks.add(SimpleNamespace(tick=look))
    page.send(["pendant/play"])
    deadline = time.monotonic() + 60
    while shown(lab)["touring"] or lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert reached[-3:] == [0, 1, 2]
    lab.do(lab.session.edited)  # as after an edit
    assert len(shown(lab)["points"]) == 3
    page.send(["pendant/point-delete", rows[1]["id"]], ["pendant/point-go", rows[1]["id"]])
    assert "no longer exists" in page.reported["notice"]["text"]
    assert len(shown(lab)["points"]) == 2


def test_a_robot_without_points_has_nothing_to_play(lab, page):
    page.send(["pendant/play"])
    assert "teach points first" in page.reported["notice"]["text"]


def test_the_gripper_opens_and_closes(running, line):
    with running("robot:scara1") as lab, line(lab) as page:
        gripper = lab.robot.world.gripper
        low, high = gripper.description.opening
        page.send(["pendant/grip"])
        lab.do(lambda: lab.clock.step(1000))
        assert gripper.opening == pytest.approx(low, abs=1e-3)
        page.send(["play"], ["pendant/opening", 1000 * high / 2])
        lab.do(lambda: lab.clock.step(1000))
        assert gripper.opening == pytest.approx(high / 2, abs=1e-3)
        page.send(["pendant/opening", 5000])
        assert "opening" in page.reported["notice"]["text"]
        page.send(["pendant/release"])
        assert gripper.command == ("opening", high)


@pytest.mark.parametrize("name", ["delta", "rv2aj", "panda", "scara2"])
def test_every_kind_of_robot_can_be_jogged_in_every_mode(running, line, name, late_renewals):
    with running(f"robot:{name}") as lab, line(lab) as page:
        for mode in ("joint", "world", "base", "tool"):
            page.send(["pendant/mode", mode])
            assert lab.panels["pendant"].html()
            start = lab.robot.reference.q
            moved = 0.0
            for sign in (1, -1):  # a limit may prevent one direction
                hold(page, 2, sign, 0.25)
                page.send(["pendant/jog-end"])
                rest(lab)
                moved = max(moved, np.abs(lab.robot.reference.q - start).max())
            assert np.isfinite(lab.robot.q).all()
            assert moved > 0 or shown(lab)["why"]
            page.send(["pendant/pose", next(iter(lab.robot.arm.poses))])
            rest(lab)


def test_stop_does_not_cancel_what_was_taught(lab, page):
    before, stops = len(lab.points.of(lab.robot.name)), lab.channel.stops
    busy, begun = threading.Event(), threading.Event()
    lab.post(lambda: (begun.set(), busy.wait(20)))
    assert begun.wait(10)
    page.ws.send(json.dumps(["pendant/teach"]))
    page.ws.send(json.dumps(["stop"]))
    deadline = time.monotonic() + 10
    while lab.channel.stops == stops and time.monotonic() < deadline:
        time.sleep(0.01)
    busy.set()
    page.send()
    assert lab.channel.stops > stops
    assert len(lab.points.of(lab.robot.name)) == before + 1


# ---- texts -------------------------------------------------------------------------------------


def test_rows_are_in_degrees_and_millimetres_between_the_limits(lab):
    scara = brazo.Simulation("cooperative").robots["scara1"]
    html = Layout(scara, ["scara1"], "joint", "oat", False).html()
    rows = re.findall(r"<brazo-axis[^>]*>", html)
    assert len(rows) == scara.n
    for i, row in enumerate(rows):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', row))
        prismatic = scara.arm.joint_kinds[i] == "prismatic"
        scale = 1000.0 if prismatic else 180.0 / math.pi
        ends = float(attributes["min"]), float(attributes["max"])
        assert ends == pytest.approx(scara.arm.limits[i] * scale, rel=1e-15)
        assert attributes["unit"] == ("mm" if prismatic else "°")


def test_names_from_files_cannot_become_markup(lab, monkeypatch):
    evil = '"><img src=x onerror=alert(1)>'
    robot = lab.robot

    class Named:
        def __getattr__(self, name):
            return {"joint_names": (evil,) * robot.n, "poses": {evil: robot.q}}.get(
                name, getattr(robot.arm, name)
            )

    class Other:
        arm, world, n, name = Named(), robot.world, robot.n, evil

    for mode in ("joint", "world", "base", "tool"):
        html = Layout(Other(), [evil, "b"], mode, "oat", False).html()
        assert "<img" not in html and "&lt;img" in html

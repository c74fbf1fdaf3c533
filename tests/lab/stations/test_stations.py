"""Pages of teleoperation without a browser: displayed state, and STOP."""

from __future__ import annotations

import os
import struct
import time
from dataclasses import replace

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell
from brazo.lab.stations import FollowerLab, MasterLab
from brazo.lab.stations.arrow import arrow
from brazo.lab.stations.follower import directions_in_words
from brazo.lab.stations.status import Watch
from brazo.model.transforms import translate
from brazo.simulation import Simulation
from brazo.teleop import FollowerLink, LinkRules, MasterLink, Rules
from brazo.teleop.devices import Joystick, PageHandle, parse_script
from brazo.teleop.mapping.base import DIRECTIONS, IncrementMap
from brazo.teleop.proxy import FaultProxy
from brazo.teleop.stations import (
    CoupledMap,
    FollowerStation,
    MasterStation,
    ReflectingFollower,
    ReflectingMaster,
    scheme_named,
)
from brazo.teleop.stations.scene_name import is_scene_name, scene_name
from brazo.world import load_cell

PATIENT = Rules(degrade=5.0, recover=4.0, stale=10.0, late=30.0)
LINK = LinkRules(silence=10.0, stalled=10.0)


def until(condition, what: str, patience: float = 60.0) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"after {patience:g} s still not: {what}"
        time.sleep(0.01)


def test_link_is_dead_only_after_a_connection():
    watch = Watch()
    assert watch.judge(None, 0.1, 0.5) == "waiting" and watch.gone == 0.0
    assert watch.judge(0.05, 0.1, 0.5) == "up"
    assert watch.judge(0.31, 0.1, 0.5) == "late"
    assert watch.judge(0.6, 0.1, 0.5) == "dead"
    assert watch.judge(None, 0.1, 0.5) == "dead" and watch.gone >= 0.0
    assert watch.judge(0.0, 0.1, 0.5) == "up" and watch.gone == 0.0


def test_directions_are_described_by_axes():
    assert directions_in_words(DIRECTIONS) == "Y, −Z, −X"
    assert directions_in_words(np.eye(3)) == "X, Y, Z"
    c = np.sqrt(0.5)
    assert directions_in_words(np.array([[c, -c, 0], [c, c, 0], [0, 0, 1]])) == (
        "rotated, rotated, Z"
    )


@pytest.mark.parametrize("force", [[3.0, 0, 0], [0, 0, -40.0], [1.0, 2.0, 3.0]])
def test_an_arrow_points_along_its_force(force):
    at, force = np.array([0.1, 0.2, 0.3]), np.array(force)
    lines = arrow(at, force, 1.0)
    assert lines.shape == (5, 2, 3) and np.isfinite(lines).all()
    way = lines[0, 1] - lines[0, 0]
    assert np.cross(way, force) == pytest.approx(np.zeros(3), abs=1e-12) and way @ force > 0.0
    assert np.linalg.norm(way) < 0.6
    assert lines[1:, 0] == pytest.approx(np.tile(lines[0, 1], (4, 1)))


@pytest.fixture(scope="module")
def labs():
    """Two Deltas, coupled by waves, each with its lab."""
    cell = load_cell("teleop-wall")
    follower_robot = next(one for one in cell.robots if one.name == "follower")
    there = Simulation(replace(cell, robots=(follower_robot,)))
    here = Simulation(as_cell("robot:delta"))
    follower = ReflectingFollower(
        there,
        FollowerLink(rules=LINK),
        mapping=CoupledMap(IncrementMap(np.eye(3))),
        scheme=scheme_named("waves"),
        rules=PATIENT,
    )
    follower_lab = FollowerLab(follower, port=0)
    with MasterLink(follower.link.url, rules=LINK) as link:
        hand = PageHandle(deadman=60.0)
        master = ReflectingMaster(link, hand, here, scheme=scheme_named("waves"), valid=9.0)
        master_lab = MasterLab(master, port=0)
        yield master_lab, follower_lab, hand
        master_lab.stop()
    follower_lab.stop()
    there.player.close()
    here.player.close()


def values(lab, panel: str) -> dict:
    """What a panel shows now."""
    found: dict = {}

    def read() -> None:
        with lab.sim.lock:
            found.update(lab.panels[panel].values())

    lab.do(read)
    return found


def test_both_pages_show_forces_and_energies(labs):
    master_lab, follower_lab, hand = labs
    safety = follower_lab.station.follower.safety
    until(lambda: master_lab.station.link.connected and safety._released, "a released switch")
    hand.press(True)
    until(lambda: follower_lab.station.coupled, "coupled")
    hand.point(np.array([0.0, 0.0, -0.07]))
    until(lambda: values(follower_lab, "link")["force/2"] > 0.5, "contact")
    until(lambda: values(master_lab, "link")["force/2"] > 0.5, "contact, told")
    until(lambda: master_lab.felt()[2] > 0.1, "felt")
    reported = values(master_lab, "link")
    assert reported["energy/2"] == pytest.approx(reported["energy/0"] + reported["energy/1"])
    for name in ("energy/0", "energy/1", "energy/2"):
        assert name in values(follower_lab, "link")
    assert values(follower_lab, "follower")["scale"] == "1"
    assert master_lab.status().state == "ENGAGED" == follower_lab.status().state


def test_stop_on_the_master_page_releases_the_switch(labs):
    master_lab, follower_lab, hand = labs
    assert hand.run
    master_lab.stop_motion()
    until(lambda: follower_lab.status().state == "IDLE", "idle")
    assert not hand.run
    hand.press(False)  # still held, but not pressed again
    time.sleep(0.1)
    assert follower_lab.status().state == "IDLE"


@pytest.mark.parametrize(
    "device",
    [
        "script",
        pytest.param(
            "joystick",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no device files here"),
        ),
    ],
)
def test_stop_on_the_masters_page_acts_for_every_device(device, tmp_path):
    sim = Simulation(as_cell("robot:delta"))
    follower = FollowerStation(sim, FollowerLink(rules=LINK), rules=PATIENT).start()
    safety = follower.follower.safety
    if device == "script":
        chosen = parse_script("{again: true, steps: [{at: 0s, engage: true}, {at: 60s, grip: 0}]}")
        press = lambda *buttons: None  # noqa: E731
    else:
        os.mkfifo(tmp_path / "js0")
        reader = os.open(tmp_path / "js0", os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(tmp_path / "js0", os.O_WRONLY)
        chosen = Joystick(tmp_path / "js0")

        def press(*buttons: int) -> None:
            for button in (0, 1):
                os.write(writer, struct.pack("IhBB", 0, button in buttons, 1, button))

    with MasterLink(follower.link.url, rules=LINK) as link:
        lab = MasterLab(
            MasterStation(link, chosen, brazo.load("delta"), rate=50, valid=9.0), port=0
        )
        stops = lambda: lab.channel.get("stops") or 0  # noqa: E731
        try:
            # A script continues by itself, perhaps between two polls.
            until(lambda: safety._released or safety.moving, "a released switch")
            press(0, 1)
            until(lambda: safety.moving, "engaged")
            lab.stop_motion()
            until(lambda: not safety.moving, "let go")
            lab.do(lambda: None)
            assert (safety.state.name, stops()) == ("IDLE", 1)
            time.sleep(0.7)  # longer than a script waits before it engages again
            assert not safety.moving and not lab.station.hand.run
            words = {"script": "start the script again", "joystick": "press button 1"}[device]
            assert words in values(lab, "master")["why"]
            lab.stop_motion()  # nothing is held any more: no sign as if something were
            lab.do(lambda: None)
            assert stops() == 1
            if device == "joystick":
                press()
                until(lambda: lab.station._latch._seen_up, "let go")
                press(0, 1)
                until(lambda: safety.moving, "engaged again")
        finally:
            lab.stop()
            follower.close()
            sim.player.close()
            if device == "joystick":
                os.close(reader)
                os.close(writer)


def test_a_coupled_robot_is_moved_by_its_master_alone(labs):
    _, follower_lab, _ = labs
    with pytest.raises(BrazoError, match="force-controlled"):
        follower_lab.do(lambda: follower_lab.panels["follower"]._home())


def test_changed_axis_mapping_stays_right_handed(labs):
    master_lab, follower_lab, _ = labs
    mapping = follower_lab.station.mapping
    for axis, way, words in (
        ("x", "+y", "Y, X, −Z"),
        ("y", "-z", "Y, −Z, −X"),
        ("x", "-y", "−Y, −Z, X"),
        ("x", "+x", "X, −Z, Y"),
        ("y", "+y", "X, Y, Z"),
    ):
        master_lab.do(lambda a=axis, w=way: master_lab.panels["master"]._set_axis(a, w))
        until(
            lambda w=words: (
                directions_in_words(mapping.increments.directions) == w
                and directions_in_words(master_lab.directions) == w
            ),
            f"{axis} to {way}: {words}",
        )
        assert np.linalg.det(mapping.increments.directions) == pytest.approx(1.0)


def test_master_without_follower_shows_no_follower_state():
    delta = brazo.load("delta")
    sim = Simulation(as_cell("robot:delta"))
    follower = FollowerStation(sim, FollowerLink(rules=LINK), rules=PATIENT).start()
    with MasterLink(follower.link.url, rules=LINK) as link:
        lab = MasterLab(MasterStation(link, PageHandle(), delta, rate=50), port=0)
        try:
            until(lambda: lab.status().state == "IDLE", "the follower's state")
            assert values(lab, "master")["tool/z"] != "–"
            follower.close()
            until(lambda: lab.status().link == "dead", "dead")
            state = lab.status()
            assert state.state == "" and state.wrench is None and "has not answered" in state.about
            assert values(lab, "master")["tool/z"] == "–" == values(lab, "link")["heard"]
            assert values(lab, "link")["force/2"] is None
        finally:
            lab.stop()
    sim.player.close()


def test_both_event_lists_show_link_loss_and_recovery():
    sim = Simulation(as_cell("robot:delta"))
    follower = FollowerLab(FollowerStation(sim, FollowerLink(rules=LINK), rules=PATIENT), port=0)
    link = follower.station.link
    busy = "'first' controls this follower; retrying"

    def happened(lab) -> list[str]:
        return [row["text"] for row in values(lab, "link")["history"]][::-1]

    try:
        for came in ("connected", "reconnected"):
            with MasterLink(link.url, name="first", rules=LINK):
                until(lambda c=came: f"'first' {c}" in happened(follower), came)
                with MasterLink(link.url, rules=LINK) as other:
                    second = MasterLab(
                        MasterStation(other, PageHandle(), brazo.load("delta"), rate=50), port=0
                    )
                    try:
                        until(lambda s=second: busy in happened(s), "busy")
                        assert second.status().about == busy
                        assert happened(second).count(busy) == 1
                    finally:
                        second.stop()
            until(lambda: happened(follower)[-1] == "link to 'first' lost", "lost")
        history = follower.status().history
        assert [t for t, _ in history] == sorted(t for t, _ in history)
        assert history[-1][0] <= follower.time()
        assert float(follower.channel.get("station/time")) <= follower.time() + 0.05
    finally:
        follower.stop()
        sim.player.close()


def test_command_rate_uses_the_wall_clock(labs, monkeypatch):
    """A simulation may be slower than it; the commands are not."""
    panel = labs[1].panels["link"]
    panel._counted = (100.0, 1000, 0.0)
    monkeypatch.setattr(labs[1], "time", lambda: 102.0)
    assert panel._rate(1500) == 250.0


def test_a_drag_ends_on_the_masters_page_when_another_page_drives(labs):
    lab, _, hand = labs
    panel = lab.panels["master"]
    gizmo = panel._gizmo
    assert gizmo.resend in lab.channel._undoers  # a watcher's pull is undone

    def dragged() -> None:
        gizmo._taken, gizmo.dragging = gizmo._now(), True
        panel._drag(lab.robot, lab.robot.q)

    lab.do(dragged)
    assert hand._dragging

    def another_drives() -> None:
        gizmo._taken = (gizmo._taken[0], gizmo._taken[1] + 1)

    lab.do(another_drives)
    until(lambda: not gizmo.dragging and not hand._dragging, "let go")


def test_replaced_master_shows_the_new_master():
    sim = Simulation(as_cell("robot:delta"))
    quick = LinkRules(silence=1.0, stalled=10.0)
    follower = FollowerStation(sim, FollowerLink(rules=quick), rules=PATIENT).start()
    delta = brazo.load("delta")
    try:
        with (
            FaultProxy(f"127.0.0.1:{follower.link.port}") as proxy,
            MasterLink(f"127.0.0.1:{proxy.port}", name="first", rules=quick) as link,
        ):
            lab = MasterLab(MasterStation(link, PageHandle(), delta, rate=50), port=0)
            panel = lab.panels["master"]
            try:
                until(lambda: lab.status().state == "IDLE", "the follower's state")
                proxy.set(half_open=True)
                until(lambda: lab.status().link == "dead", "dead")
                assert "has not answered" in lab.status().about
                with pytest.raises(BrazoError, match=r"no link: cannot change .* scale"):
                    lab.do(lambda: panel._ask("scale", 2.0))
                until(lambda: follower.link.master == "", "a free seat")
                with MasterLink(follower.link.url, name="second", rules=LINK) as other:
                    other.wait(30.0)
                    proxy.set()
                    until(lambda: "'second' controls" in lab.status().about, "who has it")
                    assert lab.status().link == "dead"
            finally:
                lab.stop()
    finally:
        follower.close()
        sim.player.close()


def test_diverged_simulation_is_not_a_healthy_follower():
    sim = Simulation(as_cell("robot:delta"))
    station = FollowerStation(sim, FollowerLink(rules=LINK), rules=PATIENT)
    lab = FollowerLab(station, port=0)
    try:
        until(lambda: lab.status().state == "IDLE", "idle")

        class Broken:
            def tick(self, _sim):
                raise BrazoError("broken on purpose")

        sim.tasks.add(Broken())
        until(lambda: sim.player.error is not None, "broken")
        state = lab.status()
        assert state.link == "dead" and state.state == "" and "broken on purpose" in state.about
        assert state.stopped and state.cause == ""
        until(
            lambda: (lab.channel.get("station/now") or {}).get("link") == "dead", "said on the page"
        )
    finally:
        lab.stop()
        sim.player.close()


def test_stop_on_the_follower_page_works_without_a_master_and_is_logged():
    sim = Simulation(as_cell("robot:teleop-scara"))
    station = FollowerStation(sim, FollowerLink(rules=LINK), rules=PATIENT)
    lab = FollowerLab(station, port=0)
    try:
        goal = station.target_by_hand()
        goal[0] += 1.0
        lab.do(lambda: lab.panels["follower"]._move(0, goal[0]))
        until(lambda: station.moving, "moved by hand")
        lab.stop_motion()
        until(lambda: not station.moving, "at rest")
        assert abs(sim.robots["teleop-scara"].reference.q[0] - goal[0]) > 0.1
        assert lab.status().state == "HOLD" and "stopped at the follower" in lab.status().cause
        lab.stop_motion()
        reported = [text for _, text in lab.status().history]
        assert reported[-2:] == [
            "IDLE → HOLD, stopped at the follower: on the page",
            "stopped at the follower, already in HOLD: on the page",
        ]
        lab.do(lambda: lab.panels["follower"]._move(0, goal[0]))  # the page can still move it
        until(lambda: station.moving, "moved by hand again")
    finally:
        lab.stop()
        sim.player.close()


def test_the_follower_is_drawn_beside_the_master_as_it_reports(labs):
    """The follower's cell is not a shipped one here: it is given to the view."""
    master, follower, _ = labs
    view = master.panels["master"].follower
    until(lambda: view.problem or view.visible, "answered")
    assert "cell is unknown" in view.problem and not view.visible
    master.do(lambda: view.load(follower.sim.cell, "follower"))
    until(lambda: view.visible and master.scene.parts_beside, "drawn")
    beside = f"{master.scene.root}/beside-follower"
    names = [n for n in nodes(master) if n.startswith(f"{beside}/")]
    arm = follower.session.robot.arm
    assert sum(len(parts) for parts in arm.parts) <= len(names)
    assert master.scene.part_count > view._copy.part_count > 0
    assert "°" in values(master, "master")["joints"]


def nodes(lab) -> list[str]:
    """Names of the nodes that a new page would be sent."""
    kept = lab._server.viser._websock_server._broadcast_buffer.message_from_id
    return [message.name for message in list(kept.values()) if hasattr(message, "name")]


@pytest.mark.parametrize(
    ("source", "name"),
    [("cooperative", "cell:cooperative"), ("robot:teleop-scara", "robot:teleop-scara")],
)
def test_shipped_cells_are_named_to_the_master(source, name):
    cell = as_cell(source)
    assert scene_name(cell) == name and is_scene_name(name)


def test_a_shipped_cell_that_was_edited_has_no_name():
    cell = as_cell("cooperative")
    moved = replace(cell.robots[0], base=translate(x=0.1))
    assert scene_name(replace(cell, robots=(moved, *cell.robots[1:]))) == ""


@pytest.mark.parametrize("name", ["", "robot:../puma560", "/etc/passwd", "cell:nothing", None, 3])
def test_other_names_from_a_follower_are_refused(name):
    assert not is_scene_name(name)

"""What is drawn over a cell, and when."""

from __future__ import annotations

import re

import numpy as np
import pytest

import brazo
from brazo.lab.scene.overlays.collision import FREE, HIT
from brazo.lab.scene.overlays.contacts import held_together, marks
from brazo.lab.scene.overlays.workspace import colored, reached
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.operate.contacts import held_up, struck
from brazo.trajectory import quintic
from brazo.world import World

SELF_COLLISION = [-0.34, 3.9, 0.12, 1.11, -1.07, 1.74]  # of the Puma: the hand in the base


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        lab.sim.player.pause()
        yield lab


def show(lab, which: str, on: bool) -> None:
    lab.do(lambda: lab.view.show(which, on))


def nodes(lab, kind: str) -> set[str]:
    handles = lab._server.viser.scene._handle_from_node_name
    return {name for name in handles if name.startswith(f"{lab.scene.root}/") and kind in name}


@pytest.mark.parametrize(
    ("which", "kind"),
    [
        ("boxes", "/solid-"),
        ("contacts", "/contacts"),
        ("desired", "/desired-"),
        ("axes", "/axes"),
        ("trace", "/trace-"),
        ("workspace", "/workspace-"),
        ("com", "/com"),
        ("labels", "/label"),
    ],
)
def test_an_overlay_is_there_while_it_is_on_and_with_the_next_cell(lab, which, kind):
    was = lab.view.on[which]
    show(lab, which, False)
    assert not nodes(lab, kind)
    show(lab, which, True)
    assert nodes(lab, kind)
    lab.do(lab.display.frame)
    lab.do(lab.session.edited)
    assert nodes(lab, kind)
    show(lab, which, False)
    assert not nodes(lab, kind)
    show(lab, which, was)


def test_a_page_may_switch_only_what_there_is(lab, line):
    with line(lab) as page:
        page.send(["view/show", "everything", True])
        assert "no overlay 'everything'" in page.reported["notice"]["text"]
        page.send(["view/show", "floor", False])
        assert not lab.scene.floor_visible
        page.send(["view/show", "floor", True])


def test_collision_solids_are_those_of_the_engine(lab):
    show(lab, "boxes", True)
    model = lab.sim.world.mj_model
    drawn = {int(name.rpartition("-")[2]) for name in nodes(lab, "/solid-")}
    labels = lab.sim.world.labels
    ground = {g for g in range(model.ngeom) if labels[g].owner in ("floor", "platform")}
    assert drawn == set(range(model.ngeom)) - ground
    handles = lab._server.viser.scene._handle_from_node_name
    data = lab.sim.world.mj_data
    for name in nodes(lab, "/solid-"):
        geom = int(name.rpartition("-")[2])
        if name.count("/") == 2:  # one that stands still is placed in the world
            assert handles[name].position == pytest.approx(data.geom_xpos[geom], abs=1e-12)
    show(lab, "boxes", False)


@pytest.fixture
def pressed(lab):
    """A moment in which the gripper of scara2 is pressed into the floor of the cell."""
    robot = lab.sim.robots["scara2"]
    sim = lab.sim
    with sim.lock:
        q = robot.world.start.copy()
        q[3] = robot.arm.limits[3, 1]
        robot.world.set_state(q)
        sim.world.forward()
        snapshot = SceneSnapshot.of(sim)
        if not snapshot.collisions():  # lower the base until it touches
            tool = robot.tool()[2, 3]
            base = robot.base.copy()
            base[2, 3] -= tool + 0.01
            sim.edit("scara2", base=base)
            sim.robots["scara2"].world.set_state(q)
            sim.world.forward()
            snapshot = SceneSnapshot.of(sim)
    yield snapshot
    lab.open("cooperative")
    lab.sim.player.pause()


def test_what_touches_turns_red_is_marked_and_counted(lab, pressed):
    assert pressed.collisions() >= 1
    show(lab, "boxes", True)
    overlay = lab.view.overlays["boxes"]
    lab.do(lambda: overlay.update(pressed))
    red = {geom for geom, solid in overlay._solids.items() if tuple(solid.color) == HIT}
    contacts = pressed.contacts
    bad = (contacts.depth >= 0) & (contacts.kind < 4)
    assert red == set(contacts.geoms[bad].ravel().tolist()) & overlay._solids.keys() != set()
    assert {tuple(s.color) for s in overlay._solids.values()} == {HIT, FREE}
    dots, arrows = marks(contacts, lab.scene.size)
    assert len(dots) == int(bad.sum()) and len(arrows) == 3 * len(dots)
    assert dots.mean(axis=1) == pytest.approx(contacts.point[bad], abs=1e-9)
    show(lab, "boxes", False)


def test_an_arm_that_touches_itself_is_reported_so():
    world = World("solo-puma560")
    (robot,) = world.robots.values()
    assert struck(world.contacts(), robot.name) == ""
    robot.set_state(SELF_COLLISION)
    world.forward()
    words = struck(world.contacts(), robot.name)
    assert words == "wrist touches the robot's own base: move the robot back"


def test_a_robot_that_presses_on_a_body_is_reported_how_far_it_is_from_its_way():
    sim = brazo.Simulation("cooperative")
    robot = sim.robots["scara2"]
    there = robot.reference.q.copy()
    assert held_up(sim.world.contacts(), robot) == ""
    there[3] = 0.2  # the quill, down on a bar
    robot.move(quintic(robot.reference.q, there, 1.5))
    sim.step(2000)
    words = held_up(sim.world.contacts(), robot)
    assert re.fullmatch(r"[a-z ]+ touches bar \d: quill is \d\d mm from its target", words)


def test_arrows_point_where_the_force_does(lab, pressed):
    contacts = pressed.contacts
    bad = np.flatnonzero((contacts.depth >= 0) & (contacts.kind < 4))
    _, arrows = marks(contacts, 1.0)
    shafts = arrows[: len(bad)]
    force = contacts.force[bad]
    along = shafts[:, 1] - shafts[:, 0]
    strong = np.linalg.norm(force, axis=1) > 1.0
    cosine = (along * force).sum(axis=1) / np.maximum(
        np.linalg.norm(along, axis=1) * np.linalg.norm(force, axis=1), 1e-12
    )
    assert strong.any() and (cosine[strong] > 1 - 1e-9).all()


def test_robots_are_green_but_for_their_bases_while_they_hold_one_bar(lab, monkeypatch):
    overlay = lab.view.overlays["hand-over"]
    drawn = [one.name for one in lab.sim.world.drawn]
    together = {"bar 2": {"scara1", "scara2"}}
    monkeypatch.setattr(f"{held_together.__module__}.held_together", lambda contacts: together)
    lab.do(lambda: overlay.update(SceneSnapshot.of(lab.sim)))
    marked = {drawn[i] for i in lab.scene.colors._marked}
    assert "bar 2" in marked and "bar 1" not in marked
    robots = {name for name in drawn if "/" in name}
    assert marked - {"bar 2"} == robots - {"scara1/base", "scara2/base"}
    red = lab.scene.colors._sent[drawn.index("bar 2")][0]
    green = lab.scene.colors._sent[drawn.index("scara1/link 2")][0]
    assert red[0] > 2 * max(red[1:]) and green[1] > 1.5 * max(green[0], green[2])
    together.clear()
    lab.do(lambda: overlay.update(SceneSnapshot.of(lab.sim)))
    assert lab.scene.colors._sent == lab.scene.colors._own


@pytest.mark.parametrize("name", ["scara1", "delta", "panda"])
def test_the_workspace_is_made_of_places_the_arm_reaches(name):
    arm = brazo.load(name)
    places, quality = reached(arm, 400)
    assert len(places) == len(quality) > 200
    assert np.array_equal(places, reached(arm, 400)[0])
    best = colored(quality)[int(quality.argmax())]
    assert best.tolist() == [253, 231, 37]  # the best is yellow
    q = arm.random_q(400, seed=0)
    own = np.asarray(arm.fk(q))[:, :3, 3]
    assert np.abs(places[:, None] - own[None]).sum(axis=2).min(axis=1).max() == 0.0


def test_no_one_holds_together_what_only_lies_there(lab):
    assert held_together(SceneSnapshot.of(lab.sim).contacts) == {}


def test_the_desired_robot_stands_where_the_reference_is(lab):
    show(lab, "desired", True)
    robot = lab.sim.robots["scara1"]
    q = robot.world.start + [0.5, 0.2, 0.02, 0.1, 0.1]
    snapshot = SceneSnapshot.of(lab.sim)
    snapshot.references["scara1"] = q
    overlay = lab.view.overlays["desired"]
    sent = {}

    def draw() -> None:  # and look, before the lab's next picture shows the true reference again
        overlay.update(snapshot)
        kept = lab._server.viser._websock_server._broadcast_buffer.message_from_id
        for message in list(kept.values()):
            if hasattr(message, "name") and hasattr(message, "position"):
                sent[message.name] = message.position

    lab.do(draw)
    for i, T in enumerate(robot.base @ robot.arm.frames(q)):
        place = sent[f"{lab.scene.root}/desired-0/{i}"]
        assert place == pytest.approx(T[:3, 3], abs=1e-12)
    show(lab, "desired", False)


def test_the_trace_is_the_way_of_the_tool_and_ends_with_a_reset(lab):
    show(lab, "trace", True)
    overlay = lab.view.overlays["trace"]
    path = []

    def go(k: int) -> None:  # in one go: no picture of the lab's own in between
        lab.set_q(lab.sim.robots["scara1"].world.start + [0.1 * k, 0, 0, 0, 0], "scara1")
        lab.sim.step()
        overlay.update(SceneSnapshot.of(lab.sim))
        path.append(lab.sim.robots["scara1"].tool()[:3, 3])

    for k in range(5):
        lab.do(lambda k=k: go(k))
    points = np.array(overlay._traces[0]._points)[-5:]
    assert points == pytest.approx(np.array(path), abs=1e-9)
    lab.sim.reset()
    snapshot = SceneSnapshot.of(lab.sim)
    lab.do(lambda: overlay.update(snapshot))
    assert len(overlay._traces[0]._points) == 1
    show(lab, "trace", False)

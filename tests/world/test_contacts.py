"""Contacts are classified, reported with forces, and enter the analytic model as J^T F."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import brazo
from brazo.model.transforms import pose, translate
from brazo.world import World, cell_names, parse_cell
from tests.world.control import run
from tests.world.scenes import both_holding, cell

PAIR = """\
floor: none
gravity: [0, 0, 0]
contact: {warning: 20mm}
fixtures: [{name: wall, box: [0.2, 2, 2], xyz: [5, 0, 0]}]
bodies:
  - {name: ball, sphere: 0.05, mass: 1, xyz: [0, 0, 2]}
  - {name: cube, box: [0.1, 0.1, 0.1], mass: 1, xyz: [0, 0, 3]}
robots:
  - {name: left, robot: scara2, start: [0, 0, 0, 0.1, 0]}
  - {name: right, robot: scara2, base: {xyz: [0, 9, 0]}, start: [0, 0, 0, 0.1, 0]}
"""


@pytest.fixture
def world() -> World:
    return World(cell(PAIR))


def kinds(world: World) -> set[tuple[str, str, str]]:
    world.forward()
    return {(c.first, c.second, c.kind) for c in world.contacts() if c.touching}


def test_every_class_of_contact_is_reported(world):
    assert kinds(world) == set()
    beside = world.robots["left"].tool()
    world.place("ball", translate(*beside[:3, 3]) @ translate(z=-0.045))
    assert kinds(world) == {
        ("left/finger left", "ball", "robot-object"),
        ("left/finger right", "ball", "robot-object"),
    }
    world.place("cube", translate(*beside[:3, 3]) @ translate(z=-0.14))
    assert ("ball", "cube", "object-object") in kinds(world)
    world.place("ball", translate(4.87))
    assert kinds(world) == {("ball", "wall", "object-fixture")}
    world.edit("left", base=translate(4.28))  # its hand reaches into the wall
    found = kinds(world)
    assert found and {kind for _, _, kind in found - {("ball", "wall", "object-fixture")}} == {
        "robot-fixture"
    }
    world.edit("left", base=translate(0, 9.1))
    assert "robot-robot" in {kind for _, _, kind in kinds(world)}
    world.edit("left", base=np.eye(4))
    world.robots["left"].set_state([0, np.radians(139), np.radians(139), 0.1, 0])
    # Fully folded, the hand is inside the arm.
    assert {kind for _, _, kind in kinds(world)} == {"self", "object-fixture"}


def test_warning_zone_lists_near_pairs_without_forces(world):
    robot = world.robots["left"]
    top = robot.tool()[:3, 3] + [0, 0, -0.018 - 0.05]  # the ball's top at the finger tips
    for gap, listed in ((0.019, True), (0.021, False)):
        world.place("ball", translate(*(top - [0, 0.045, gap])))
        near = world.contacts().of("ball")
        assert bool(near) == listed
        for contact in near:
            assert not contact.touching and not contact.force.any()
            assert contact.depth == pytest.approx(-gap, abs=1e-9)
            assert contact.normal == pytest.approx([0, 0, -1], abs=1e-6)  # from robot to ball
    world.place("ball", translate(*(top - [0, 0.045, 0.01])))
    world.step(10)
    assert not world.velocity("ball").any()


def test_two_robots_warn_at_the_same_distance_as_a_robot_and_a_body(world):
    world.edit("left", base=translate(0, 9 - 0.30))
    for c in world.contacts():
        assert c.depth >= -0.02


def test_a_ball_on_a_table_presses_with_its_weight():
    world = World(cell(
        "floor: {friction: 0.4}\nbodies: [{name: ball, sphere: 5cm, mass: 2, xyz: [0, 0, 5cm]}]\n"
    ))  # fmt: skip
    world.step(1000)
    (contact,) = world.contacts()
    assert (contact.first, contact.second, contact.kind) == ("ball", "floor", "object-fixture")
    assert contact.force == pytest.approx([0, 0, -2 * 9.81], abs=1e-6)  # on the floor
    assert contact.normal == pytest.approx([0, 0, -1])
    assert contact.point == pytest.approx([0, 0, 0], abs=1e-4)


# ---- forces into the analytic model --------------------------------------------------------


@pytest.fixture(scope="module")
def held() -> World:
    world, *hands = both_holding(0.3)
    run(world, 0.05, *hands)
    return world


def test_contact_forces_of_both_robots_balance_the_weight(held):
    """Newton's second law for the bar, and on the whole the pads carry its weight."""
    contacts = held.contacts()
    on_bar = [c for c in contacts if c.second == "bar 1" and c.kind == "robot-object"]
    assert len(on_bar) >= 16
    force = np.sum([c.force for c in on_bar], axis=0)
    at = int(held.mj_model.joint("bar 1").dofadr[0])
    acceleration = held.mj_data.qacc[at : at + 3]
    assert force == pytest.approx(0.4 * (acceleration + [0, 0, 9.81]), abs=1e-10)
    assert force[2] == pytest.approx(0.4 * 9.81, abs=0.01)


def test_torques_of_contacts_are_those_of_the_engines_constraint_rows(held):
    m, d = held.mj_model, held.mj_data
    rows = np.flatnonzero(
        np.isin(
            d.efc_type,
            [int(mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC),
             int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)],
        )
    )  # fmt: skip
    J = np.array(d.efc_J).reshape(-1, m.nv)
    wanted = J[rows].T @ d.efc_force[rows]
    assert len(rows) > 48 and np.abs(wanted).max() > 10
    assert np.abs(held.compiled.wrenches.on_joints(held.contacts()) - wanted).max() < 1e-10
    for robot in held.robots.values():
        dofs = [int(m.joint(f"{robot.name}/{name}").dofadr[0]) for name in robot.joint_names]
        assert np.abs(robot.external_torque() - wanted[dofs]).max() < 1e-10
        assert np.abs(robot.external_torque()).max() > 0.1


def test_wrenches_on_links_are_the_engines(held):
    """Its external forces are kept about the centre of mass of the robot's whole tree."""
    m, d = held.mj_model, held.mj_data
    mujoco.mj_rnePostConstraint(m, d)
    for robot in held.robots.values():
        found = robot.contact_wrenches()
        wanted = np.zeros_like(found)
        fingers = robot.gripper.finger_ids
        for row, body in enumerate(robot.body_ids):
            for b in (body, *fingers) if body == robot.tip_id else (body,):
                torque, force = d.cfrc_ext[b, :3], d.cfrc_ext[b, 3:]
                root = d.subtree_com[m.body_rootid[b]]
                wanted[row, :3] += force
                wanted[row, 3:] += torque + np.cross(root - d.xpos[body], force)
        assert np.abs(found - wanted).max() < 1e-10
        assert np.abs(found[-1]).max() > 1.0 and not found[:-2].any()


def test_the_analytic_model_with_the_contact_forces_moves_as_the_engine(held):
    """M qdd + C qd + G = tau + J^T F with brazo's own dynamics, in the middle of a grasp."""
    for name, given in zip(held.robots, held.cell.robots, strict=True):
        robot = held.robots[name]
        arm = brazo.load(name).with_parameters(**given.source.edits.parameters)
        held.forward()
        tau = robot.drive_torque + robot.external_torque()
        gravity = given.base[:3, :3].T @ held.cell.gravity
        qdd = arm.forward_dynamics(robot.q, robot.qd, tau, gravity=gravity)
        assert np.abs(qdd - robot.qdd).max() < 1e-8
        assert np.abs(qdd - arm.forward_dynamics(robot.q, robot.qd, robot.drive_torque)).max() > 1


def test_delta_torques_come_through_its_loops():
    """A weight on the platform acts on the arms as J^T F of the closed form."""
    world = World(cell(
        "floor: none\nrobots: [{name: delta, robot: delta, start: low}]\n"
        "bodies: [{name: weight, box: [0.02, 0.02, 0.05], mass: 3, xyz: [0, 0, 5]}]\n"
    ))  # fmt: skip
    robot = world.robots["delta"]
    top = world.pose("delta/platform")[:3, 3] + [0, 0, 0.0097]
    world.place("weight", translate(*(top + [0, 0, 0.0247])))
    world.forward()
    force = -np.sum([c.force for c in world.contacts().of("delta")], axis=0)
    J = brazo.load("delta").jacobian(robot.q)[:3]
    assert force[2] < -1
    assert robot.external_torque() == pytest.approx(J.T @ force, abs=1e-9)
    platform = robot.contact_wrenches()[-1]
    assert platform[:3] == pytest.approx(force, abs=1e-12)


# ---- events --------------------------------------------------------------------------------


def falling() -> World:
    return World(cell(
        "floor: {friction: 0.4}\ncontact: {warning: 30mm}\n"
        "robots:\n"
        "  - {name: arm, robot: scara2, base: {xyz: [0, 0, -0.05]}, start: [0, 0, 0, 0.1, 0]}\n"
        "bodies: [{name: ball, sphere: 2cm, mass: 0.1, xyz: [0.6, 0.045, 0.16]}]\n"
    ))  # fmt: skip


def test_subscribers_receive_warning_begin_and_end():
    world = falling()
    robot = world.robots["arm"]
    hold = np.array(robot.q)
    heard = []
    subscription = world.on_contact(heard.append, kinds=["robot-object"])
    ball = world.robots["arm"].tool()[:3, 3] + [0, -0.045, -0.018 - 0.02 - 0.045]
    world.place("ball", translate(*ball), [0, 0, 1.5, 0, 0, 0])  # up against a finger tip
    for _ in range(200):
        robot.set_state(hold)  # the arm stays
        world.step()
    phases = [e.phase for e in heard if e.contact.first == "arm/finger left"]
    assert phases[:3] == ["warning", "begin", "end"]
    warning, begin = heard[0], next(e for e in heard if e.phase == "begin")
    assert warning.time < begin.time
    assert begin.contact.second == "ball" and begin.contact.depth >= 0
    assert begin.contact.normal == pytest.approx([0, 0, -1], abs=1e-6)
    assert all(e.contact.kind == "robot-object" for e in heard)
    subscription.cancel()
    subscription.cancel()
    count = len(heard)
    world.place("ball", translate(*ball), [0, 0, 1.5, 0, 0, 0])
    world.step(100)
    assert len(heard) == count


def test_existing_contacts_cause_no_event():
    world = World("cooperative")
    world.step(50)
    heard = []
    world.on_contact(heard.append)
    world.step(50)
    assert heard == []
    world.reset()
    world.step(50)
    assert heard == []


# ---- contact response ----------------------------------------------------------------------


def push_through(feedback: bool) -> tuple[World, np.ndarray]:
    """A rotating arm touches a fixed post."""
    switch = "on" if feedback else "off"
    world = World(cell(
        "floor: none\n"
        f"robots: [{{name: arm, robot: scara2, start: zero, contact_response: {switch}}}]\n"
        "fixtures: [{name: post, cylinder: [3cm, 2], xyz: [0.16, 0.12, 0.4]}]\n"
    ))  # fmt: skip
    robot = world.robots["arm"]
    robot.torque[0] = 4.0
    world.step(1500)
    return world, np.array(robot.q)


def test_without_contact_response_the_robot_passes_through_and_reports_it():
    world, stopped = push_through(True)
    assert stopped[0] < np.radians(40)
    world, through = push_through(False)
    assert through[0] > np.radians(100)
    free = World(cell(
        "floor: none\nrobots: [{name: arm, robot: scara2, start: zero, contact_response: off}]\n"
    ))  # fmt: skip
    free.robots["arm"].torque[0] = 4.0
    free.step(1500)
    assert np.array_equal(free.robots["arm"].q, through)  # to the bit
    angle = np.arctan2(0.12, 0.16)
    world.robots["arm"].set_state([angle, 0, 0, 0, 0])
    contacts = [c for c in world.contacts() if c.touching]
    assert contacts and {c.kind for c in contacts} == {"robot-fixture"}
    assert not any(c.force.any() for c in contacts)
    assert not world.robots["arm"].external_torque().any()


def test_contact_response_may_be_switched_while_running():
    world, stopped = push_through(True)
    robot = world.robots["arm"]
    robot.contact_response = False
    world.step(1000)
    assert robot.q[0] > stopped[0] + 0.5
    robot.contact_response = True
    assert robot.contact_response
    robot.set_state(stopped)
    robot.torque[0] = 4.0
    world.step(1000)
    assert robot.q[0] == pytest.approx(stopped[0], abs=1e-2)


def test_robot_without_contact_response_does_not_move_objects():
    world = World(cell(
        "floor: {friction: 0.4}\n"
        "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0], contact_response: off}]\n"
        "bodies: [{name: box, box: [0.1, 0.1, 0.5], mass: 1, xyz: [0.3, 0.2, 0.25]}]\n"
    ))  # fmt: skip
    world.step(200)
    before = world.pose("box")
    heard = []
    world.on_contact(heard.append, kinds=["robot-object"])
    for angle in np.linspace(0, 1.5, 300):
        world.robots["arm"].set_state([angle, 0, 0, 0.1, 0])
        world.step()
    assert {"begin", "end"} <= {e.phase for e in heard}
    assert np.abs(world.pose("box") - before).max() < 1e-6


def test_parts_of_one_body_do_not_collide():
    """Neighbouring links, fingers and palms overlap by design; a cell at rest reports none."""
    world = World(cell(
        "floor: none\nrobots:\n" + "".join(
            f"  - {{name: r{i}, robot: {name}, base: {{xyz: [{3 * i}, 0, 0]}}}}\n"
            for i, name in enumerate(["scara1", "scara2", "puma560", "panda", "delta"])
        )
    ))  # fmt: skip
    assert not any(c.touching for c in world.contacts())
    assert not world.findings or all("are ignored" not in str(f) for f in world.findings)


def test_parts_that_overlap_in_every_pose_are_found_and_left_out(tmp_path):
    file = tmp_path / "knot.yaml"
    joints = "".join(
        "  - {d: 0.05, a: 0.05, mass: 1, inertia: [1, 1, 1], limits: [-170deg, 170deg],\n"
        "     parts: [{name: ball, sphere: 0.3}]}\n"
        for _ in range(4)
    )
    file.write_text(f"name: knot\njoints:\n{joints}", encoding="utf-8")
    world = World(cell(f"floor: none\nrobots: [{{name: knot, robot: {file}}}]\n"))
    world.step(50)
    assert len(world.contacts()) == 0
    texts = [str(f) for f in world.findings]
    assert any("'knot/link 1' and 'knot/link 4' touch in the start pose" in t for t in texts)


def test_edit_leaves_no_overlap_warnings():
    world = World("cooperative")
    assert not world.findings
    world.edit("scara1", base=pose((0.4, 0, 0), (0, 0, 0)))
    world.step(5)
    assert not world.findings


# ---- overlapping elements ------------------------------------------------------------------


INSIDE = """\
name: test
robots:
  - {name: left, robot: scara2}
  - name: right
    robot: scara2
    base: {xyz: [0.25, 0, 0], rpy: [0, 0, 180deg]}
fixtures: [{name: table, box: [20cm, 20cm, 10cm], xyz: [2, 0, 5cm]}]
bodies:
  - {name: low, box: [4cm, 4cm, 4cm], mass: 0.3, xyz: [2, 0, 9cm]}
  - {name: flush, box: [4cm, 4cm, 4cm], mass: 0.3, xyz: [2, 6cm, 12cm]}
"""


def test_initial_overlap_is_a_warning_with_its_line():
    world = World(parse_cell(INSIDE, Path("cell.yaml")))
    found = {str(finding) for finding in world.findings}
    # 4 cm high, its middle 1 cm below the table's top: 3 cm deep.
    assert "cell.yaml:9: bodies[0]: 'low' starts 30 mm inside 'table'" in found
    (robots,) = [one for one in world.overlaps() if one.first.startswith("right/")]
    assert robots.second.startswith("left/") and robots.depth > 0.001
    assert str(robots).startswith("cell.yaml:4: robots[1]: 'right' (")
    assert not any("flush" in text for text in found)


@pytest.mark.parametrize("name", cell_names())
def test_shipped_cells_start_without_overlaps(name):
    assert World(name).overlaps() == ()

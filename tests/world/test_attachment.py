"""Grippers and tools on the flange of any robot, and the inertia of free bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import trimesh

import brazo
from brazo.errors import BrazoError
from brazo.formats.load import Fixed, Source
from brazo.model.shapes import Mesh
from brazo.model.transforms import pose, translate
from brazo.robot import Robot
from brazo.world import World, parse_cell
from brazo.world.attachment import AttachedGripper, AttachedTool
from brazo.world.cell import BinShape
from brazo.world.cell_writer import save_cell
from brazo.world.robot_source import Edits, RobotSource
from brazo.world.solid_inertia import hull_inertia, solid_inertia

ARMS = ("puma560", "ur5e", "rv2aj", "iiwa14", "stanford", "teleop-scara")


@pytest.mark.parametrize("name", ARMS)
def test_an_attachment_is_a_payload_and_another_tool_frame(name):
    gripper = AttachedGripper(mass=0.7, mount=pose((0.01, 0.02, 0.03), (0.1, 0.2, 0.3)))
    model = RobotSource.load(name).attached(gripper).model
    bare = brazo.load(name)
    T = gripper.mount @ translate(z=gripper.length)
    q = np.random.default_rng(1).uniform(-1, 1, (8, bare.n))
    built = Robot(Source(model, Fixed(model)))
    assert np.abs(built.fk(q) - bare.fk(q) @ T).max() < 1e-14
    if not bare.has_dynamics:  # without masses the gripper adds none
        return
    load = gripper.inertia
    R, p = gripper.mount[:3, :3], gripper.mount[:3, 3]
    heavy = bare.with_payload(load.mass, R @ load.com + p, R @ load.tensor @ R.T)
    assert np.abs(built.mass_matrix(q) - heavy.mass_matrix(q)).max() < 1e-13


@pytest.mark.parametrize("name", [name.replace("rv2aj", "rv2aj-maker") for name in ARMS])
def test_by_default_the_gripper_begins_where_the_drawn_arm_ends(name):
    source = RobotSource.load(name).attached(AttachedGripper())
    tree = source.model.require_tree()
    parts = {part.name: part for part in tree.bodies[tree.tip].parts}
    palm, bolts = parts["gripper"], parts["tool flange bolts"]
    back = palm.pose @ translate(z=-AttachedGripper().palm[2] / 2)
    assert np.abs(back[:3, 3] - bolts.pose[:3, 3]).max() < 1e-12  # the bolts are on the face
    outwards = back[:3, 2] @ (bolts.pose[:3, 3] - parts["tool flange"].pose[:3, 3])
    assert outwards > 0.0
    assert np.abs(tree.tool - back @ translate(z=AttachedGripper().length)).max() < 1e-12


def test_on_a_robot_whose_body_is_given_the_gripper_begins_at_the_tool_frame():
    source = RobotSource.load("rv2aj").attached(AttachedGripper())
    bare = brazo.load("rv2aj").model
    T = bare.tool @ translate(z=AttachedGripper().length)
    assert np.abs(source.model.tool - T).max() < 1e-12


@pytest.mark.parametrize("name", ["puma560", "ur5e", "rv2aj"])
def test_closed_form_inverse_kinematics_reaches_the_fingers(name):
    text = f"name: c\nrobots: [{{name: a, robot: {name}, gripper: two-finger}}]\n"
    sim = brazo.Simulation(parse_cell(text))
    arm = sim.robots["a"].arm
    q = arm.poses.get("ready", sim.robots["a"].q) + 0.2
    found = arm.ik(arm.fk(q), q0=q)
    assert found.success and np.abs(arm.fk(found.q) - arm.fk(q)).max() < 1e-9
    sim.robots["a"].grip()
    sim.step(300)
    assert np.abs(sim.robots["a"].q - sim.robots["a"].reference.q).max() < 1e-3
    assert sim.world.robots["a"].gripper.opening < 0.03  # type: ignore[union-attr]


def test_dimensions_and_gripper_are_edited_one_after_the_other():
    source = RobotSource.load("puma560").attached(AttachedGripper())
    longer = source.edited(Edits({"A2": 0.5})).edited(Edits(opening=(0.0, 0.1)))
    assert longer.model.parameters["A2"] == 0.5
    assert longer.model.gripper.opening == (0.0, 0.1)  # type: ignore[union-attr]
    assert longer.bare.gripper is None and longer.is_its_file
    assert longer.attached(None).model.gripper is None
    tool = longer.attached(AttachedTool(length=0.2))
    assert tool.model.gripper is None and tool.model.parameters["A2"] == 0.5
    with pytest.raises(BrazoError, match="0 <= closed < open"):
        source.edited(Edits(opening=(0.1, 0.0)))


def test_a_hull_has_the_inertia_that_trimesh_computes():
    points = np.random.default_rng(3).normal(size=(40, 3)) + (0.3, -0.2, 0.5)
    hull = trimesh.convex.convex_hull(points)
    hull.density = 2.0 / hull.volume
    found = hull_inertia(points, 2.0)
    assert found.com == pytest.approx(hull.center_mass, abs=1e-12)
    assert np.abs(found.tensor - hull.moment_inertia).max() < 1e-11
    with pytest.raises(BrazoError, match="flat"):
        hull_inertia(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]]), 1.0)


def test_a_bin_has_the_inertia_that_mujoco_computes():
    shape = BinShape((0.3, 0.2, 0.1), 0.006)
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="bin")
    body.add_freejoint()
    for part in shape.parts((0, 0, 0)):
        size, at = np.array(part.shape.size) / 2, part.pose[:3, 3]  # type: ignore[union-attr]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=at, density=1000.0)
    model = spec.compile()
    found = solid_inertia(shape, float(model.body_mass[1]))
    assert found.com == pytest.approx(model.body_ipos[1], abs=1e-12)
    assert np.linalg.eigvalsh(found.tensor)[::-1] == pytest.approx(model.body_inertia[1], rel=1e-9)


def test_a_mesh_is_a_fixture_or_falls_as_a_body_and_is_saved_with_the_cell(tmp_path):
    stl = tmp_path / "from" / "block.stl"
    stl.parent.mkdir()
    trimesh.creation.box((80, 60, 40)).export(stl)
    text = "name: c\n"
    text += "bodies: [{name: block, mesh: block.stl, scale: 1e-3, mass: 1, xyz: [0, 0, 0.1]}]\n"
    text += "fixtures: [{name: step, mesh: block.stl, scale: 0.002}]\n"
    cell = parse_cell(text, stl.parent / "c.yaml")
    world = World(cell)
    world.step(600)
    assert world.pose("block")[2, 3] == pytest.approx(0.06, abs=2e-4)  # 40 mm and half of 40 mm
    (tmp_path / "to").mkdir()
    (path,) = save_cell(cell, tmp_path / "to" / "c.yaml")
    assert (tmp_path / "to" / "block.stl").exists()
    again = brazo.load_cell(path)
    shape = again.bodies[0].shape
    assert isinstance(shape, Mesh) and shape.path == tmp_path / "to" / "block.stl"

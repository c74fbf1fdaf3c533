"""Shipped bodies are those that their scripts make, on the joint axes of the robot files."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import puma560_assembly
import pytest
import rv2aj_assembly
import ur5e_assembly
from assembly import folder_of
from manifold3d import Manifold, Mesh
from scipy.spatial import ConvexHull

import brazo
from brazo.body.binary_stl import read_binary_stl
from brazo.body.mesh_inertia import open_edges, solid_inertia
from brazo.body.solids import triangles
from brazo.world import Cell, CellRobot, World
from brazo.world.robot_source import RobotSource

SCRIPTS = {"puma560": puma560_assembly, "rv2aj": rv2aj_assembly, "ur5e": ur5e_assembly}
ROBOTS = (*SCRIPTS, "srm1")
SAME = {"puma560-drives": "puma560", "srm1-printed": "srm1"}  # robots with the body of another
FLANGES = {"puma560": 0.07598558, "srm1": 0.0, "ur5e": 0.0}  # face in the last frame (m)
# Links two joints apart that meet when an arm folds, as those of the real UR5e do.
FOLDS = {"ur5e": {(1, 3), (2, 4)}}
# m³ that two links may share: rounding, and at the limits of the RV-2AJ edges of its cheeks.
SHARED = {"rv2aj": 2.5e-6}
ROUNDING = 1e-9


def solids(arm: brazo.Robot) -> list[Manifold]:
    """Each body of a robot as one solid, in its own frame."""
    found = []
    for parts in arm.parts:
        whole = Manifold()
        for part in parts:
            vertices, faces = triangles(part.shape)
            placed = vertices @ part.pose[:3, :3].T + part.pose[:3, 3]
            solid = Manifold(Mesh(placed.astype(np.float32), faces.astype(np.uint32)))
            assert solid.volume() > 0, part.name
            whole = whole + solid
        found.append(whole)
    return found


@pytest.mark.parametrize(("name", "script"), SCRIPTS.items())
def test_the_shipped_meshes_are_those_of_the_script(name: str, script: ModuleType, tmp_path):
    folder, files = folder_of(name), script.files()
    assert {path.name for path in folder.iterdir()} == files.keys()
    for file, data in files.items():
        assert len(data) < 500_000
        if not file.endswith(".stl"):
            continue
        (tmp_path / file).write_bytes(data)
        new, kept = (read_binary_stl(where / file, 10**5) for where in (tmp_path, folder))
        assert open_edges(*kept) == 0
        one, other = solid_inertia(*new, 1.0), solid_inertia(*kept, 1.0)
        assert one.mass == pytest.approx(other.mass, rel=1e-6)
        np.testing.assert_allclose(one.com, other.com, atol=1e-7)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_shipped_mesh_is_used(name):
    shapes = [part.shape for parts in brazo.load(name).parts for part in parts]
    used = {path.name for shape in shapes for path in (shape.path, *shape.pieces)}
    assert used == {path.name for path in folder_of(name).glob("*.stl")}


@pytest.mark.parametrize("name", ROBOTS)
def test_collision_pieces_contain_their_part(name):
    for part in (part for parts in brazo.load(name).parts for part in parts if part.collides):
        points, _ = triangles(part.shape)
        inside = np.zeros(len(points), bool)
        for piece in part.shape.colliding:
            planes = ConvexHull(triangles(piece)[0]).equations
            inside |= (points @ planes[:, :3].T + planes[:, 3] < 1e-5).all(axis=1)
        assert inside.all(), f"{part.name}: {points[~inside][:3]}"


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_axes_pass_through_the_links_that_they_connect_also_after_edits(name):
    arm = brazo.load(name)
    edits = [{}, *({one: 1.4 * value} for one, value in arm.parameters.items())]
    for edit in edits:
        edited = arm.with_parameters(**edit)
        bodies, frames = solids(edited), edited.frames(np.zeros(arm.n))
        for k, link in enumerate(edited.model.bodies[1:], start=1):
            joint = frames[k - 1] @ link.joint.before
            axis = Manifold.cylinder(4.0, 0.001, circular_segments=8, center=True)
            axis = axis.transform(joint[:3])
            for i in (k - 1, k):
                crossed = bodies[i].transform(frames[i][:3]) ^ axis
                assert crossed.volume() > 1e-9, (edit, link.joint.name, i)


@pytest.mark.parametrize("name", ROBOTS)
def test_links_do_not_intersect_within_the_joint_limits(name):
    arm = brazo.load(name)
    bodies, n = solids(arm), arm.n
    most = SHARED.get(name, ROUNDING)

    def shared(q: np.ndarray, i: int, j: int) -> float:
        frames = arm.frames(q)
        T = np.linalg.solve(frames[i], frames[j])
        return (bodies[i] ^ bodies[j].transform(T[:3])).volume()

    for k in range(n):
        for own in np.linspace(*arm.limits[k], 9):
            q = np.zeros(n)
            q[k] = own
            assert shared(q, k, k + 1) < most, (k, q)
            if k + 1 < n and (k, k + 2) not in FOLDS.get(name, ()):
                for following in np.linspace(*arm.limits[k + 1], 7):
                    q[k + 1] = following
                    assert shared(q, k, k + 2) < most, (k, q)


@pytest.mark.parametrize(("name", "other"), SAME.items())
def test_a_variant_of_a_robot_has_the_same_body(name, other):
    def parts(robot: str) -> list:
        return [
            (part.name, part.shape.path, part.shape.scale, part.pose.tolist(), part.color)
            for body in brazo.load(robot).parts
            for part in body
        ]

    assert parts(name) == parts(other)


@pytest.mark.parametrize("name", ROBOTS)
def test_no_links_touch_at_the_named_poses(name):
    source = RobotSource.load(name)
    for pose, q in source.model.poses.items():
        world = World(Cell(name="alone", robots=(CellRobot(name, source, start=q),)))
        assert not [one for one in world.findings if "touch" in one.message], pose


@pytest.mark.parametrize(("name", "face"), FLANGES.items())
def test_the_base_stands_on_the_floor_and_the_flange_ends_the_arm(name, face):
    arm = brazo.load(name)
    assert solids(arm)[0].bounding_box()[2] == pytest.approx(0.0, abs=1e-6)
    (flange,) = (part for part in arm.parts[-1] if part.name == "tool flange")
    points, _ = triangles(flange.shape)
    top = (points @ flange.pose[:3, :3].T + flange.pose[:3, 3])[:, 2].max()
    assert top == pytest.approx(face, abs=1e-6)

"""URDF round trip: frames, inertias, limits and visuals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.body.meshes import load_triangles
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.formats.load import load_source
from brazo.formats.urdf.reader import read_urdf
from brazo.formats.urdf.writer import export_urdf, write_urdf
from brazo.model.description import Friction, frozen
from brazo.model.motion import body_poses
from brazo.model.shapes import Beam, Box, Cylinder, Mesh
from brazo.model.transforms import pose, rpy_of
from tests.formats.foreign import NAMES, foreign
from tests.formats.urdf.sample import SAMPLE

SHIPPED = [name for name in robot_names() if name != "delta"]


def again(model, tmp_path, tip=None):
    path = tmp_path / "again.urdf"
    path.write_text(write_urdf(model), encoding="utf-8")
    return read_urdf(path, tip=tip)


def poses_by_name(model, q):
    """Every frame by its URDF name, at coordinates given by joint name."""
    values = np.array([q[joint.name.replace(" ", "_")] for joint in model.coordinates])
    poses = body_poses(model, values)
    found = {body.name: poses[i] for i, body in enumerate(model.bodies)}
    found |= {name: poses[i] @ T for name, (i, T) in model.named_frames.items()}
    return {name.replace(" ", "_"): T for name, T in found.items()}


def assert_same_frames(model, other):
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = {j.name.replace(" ", "_"): rng.uniform(-2, 2) for j in model.coordinates}
        a, b = poses_by_name(model, q), poses_by_name(other, q)
        assert max(np.abs(a[name] - b[name]).max() for name in a) <= 1e-14


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots_round_trip(name, tmp_path):
    model = load_source(name).model
    other = again(model, tmp_path, "tool" if not np.array_equal(model.tool, np.eye(4)) else None)
    assert_same_frames(model, other)
    q = np.linspace(0.1, 0.5, model.n)
    tool = body_poses(model, q)[model.tip] @ model.tool
    assert np.abs(body_poses(other, q)[other.tip] @ other.tool - tool).max() <= 1e-14
    for joint, back in zip(model.joints, other.joints, strict=True):
        assert joint.limits == back.limits
        assert joint.friction.viscous == back.friction.viscous
        assert joint.drive.max_torque == back.drive.max_torque
    assert len(model.missing_inertia) == len(other.missing_inertia)


@pytest.mark.parametrize("name", NAMES)
def test_foreign_robots_round_trip(name, tmp_path):
    model = foreign(name)
    other = again(model, tmp_path)
    assert_same_frames(model, other)
    assert [b.name for b in other.bodies] == [b.name for b in model.bodies]
    for body, back in zip(model.bodies, other.bodies, strict=True):
        assert (body.inertia is None) == (back.inertia is None)
        if body.inertia is not None and back.inertia is not None:
            assert body.inertia.mass == back.inertia.mass
            assert np.array_equal(body.inertia.com, back.inertia.com)
            assert np.array_equal(body.inertia.tensor, back.inertia.tensor)
        assert len(body.parts) == len(back.parts)


def test_mimics_limits_and_friction_round_trip(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)
    other = again(model, tmp_path)
    assert_same_frames(model, other)
    for joint, back in zip(model.joints, other.joints, strict=True):
        assert (joint.coordinate, joint.multiplier, joint.offset) == (
            *(back.coordinate, back.multiplier, back.offset),
        )
        assert (joint.limits, joint.friction, joint.drive) == (
            *(back.limits, back.friction, back.drive),
        )
    assert other.tip == model.tip


def test_inertia_stays_with_the_body_when_its_frame_lies_off_the_axis(tmp_path):
    """A standard D-H link gets a separate link for the axis; the mass must move the same way."""
    from tests import oracles

    model = load_source("puma560").model
    other = again(model, tmp_path)
    assert "link_2_axis" in other.named_frames
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1, 1, (3, 6))
        a = oracles.pinocchio(model).inverse_dynamics(q, qd, qdd)
        b = oracles.pinocchio(other).inverse_dynamics(q, qd, qdd)
        armature = np.array([j.drive.armature for j in model.joints])  # URDF has no element for it
        assert np.abs(a - b - armature * qdd).max() < 1e-13


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=3))
def test_rpy_gives_back_the_rotation(angles):
    R = pose((0, 0, 0), angles)[:3, :3]
    assert np.abs(pose((0, 0, 0), rpy_of(R))[:3, :3] - R).max() < 1e-15


@given(
    st.floats(-3, 3),
    st.sampled_from([-math.pi / 2, math.pi / 2]),
    st.sampled_from([0.0, 1e-17, 1e-12, 1e-9, 1e-8, 1e-5]),
    st.floats(-3, 3),
)
def test_rpy_is_exact_at_gimbal_lock(roll, pitch, off, yaw):
    R = pose((0, 0, 0), (roll, pitch + off, yaw))[:3, :3]
    assert np.abs(pose((0, 0, 0), rpy_of(R))[:3, :3] - R).max() < 1e-15


def test_meshes_are_written_beside_the_file(tmp_path):
    model = load_source("scara1").model
    path = tmp_path / "out" / "arm.urdf"
    export_urdf(model, path)
    other = read_urdf(path)
    assert other.findings == ()
    files = list((tmp_path / "out" / "arm_meshes").iterdir())
    assert files
    assert all(file.suffix == ".stl" for file in files)
    shown = sum(len(body.parts) for body in model.bodies)
    assert sum(len(body.parts) for body in other.bodies) == shown
    assert {p.name for p in path.parent.iterdir()} == {"arm.urdf", "arm_meshes"}


def test_a_written_mesh_has_the_shape_of_the_part(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)
    beam = replace(model.bodies[0].parts[0], shape=Beam(0.3, (0.1, 0.05), (0.06, 0.04)))
    tetra = Mesh(
        vertices=frozen([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        faces=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        scale=(0.1, 0.1, -0.1),
    )
    parts = (
        beam,
        replace(beam, shape=tetra, name="tetra"),
        replace(beam, shape=Box((1, 1, 1), 0.1)),
    )
    model = replace(model, bodies=(replace(model.bodies[0], parts=parts), *model.bodies[1:]))
    export_urdf(model, tmp_path / "out.urdf")
    shapes = [part.shape for part in read_urdf(tmp_path / "out.urdf").bodies[0].parts]
    assert all(isinstance(shape, Mesh) for shape in shapes)
    sizes = [np.ptp(load_triangles(shape.path)[0], axis=0) for shape in shapes]
    assert np.allclose(sizes, [(0.1, 0.05, 0.3), (0.1, 0.1, 0.1), (1, 1, 1)], rtol=1e-6)


def test_text_without_meshes_omits_parts_with_a_note():
    text = write_urdf(load_source("scara1").model)
    assert "needs a mesh file" in text
    assert "<mesh" not in text


def test_data_unsupported_by_urdf_is_returned_as_notes(tmp_path):
    model = load_source("puma560-drives").model
    notes = export_urdf(model, tmp_path / "puma.urdf")
    assert any("motor inertia" in note for note in notes)
    assert any("smaller of the two Coulomb friction values" in note for note in notes)
    assert any("poses" in note for note in notes)


def test_delta_is_rejected_with_an_alternative():
    with pytest.raises(BrazoError, match=r"closed loops: URDF does not support them; .*--mjcf"):
        write_urdf(load_source("delta").model)


def test_one_sided_limits_round_trip(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE.replace('lower="-2.5"', 'lower="-1e10"'))
    model = read_urdf(source)
    assert model.joints[0].limits == (-math.inf, 2.5)
    assert again(model, tmp_path).joints[0].limits == (-math.inf, 2.5)


def test_names_are_unique_and_escaped(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)
    bodies = [
        replace(body, name=name)
        for body, name in zip(
            model.bodies, ["a & <b>", "c d", "c_d", "--", "\x01", "é"], strict=True
        )
    ]
    model = replace(model, bodies=tuple(bodies), named_frames={}, name='"quoted"')
    other = again(model, tmp_path)
    assert [body.name for body in other.bodies] == ["a_&_<b>", "c_d", "c_d_2", "--", "_", "é"]


def test_unwritable_path_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BrazoError, match="cannot be"):
        export_urdf(load_source("scara1").model, tmp_path / "file" / "arm.urdf")


def test_cylinders_and_friction_by_direction(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)
    joint = replace(model.bodies[1].joint, friction=Friction(0.0, (0.3, 0.2)))
    body = replace(model.bodies[1], joint=joint)
    model = replace(model, bodies=(model.bodies[0], body, *model.bodies[2:]))
    other = again(model, tmp_path)
    assert other.joints[0].friction.coulomb == (0.3, 0.3)
    assert other.bodies[1].parts[0].shape == Cylinder(0.03, 0.2)

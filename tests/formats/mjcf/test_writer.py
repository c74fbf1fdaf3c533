"""MJCF out: MuJoCo takes it, moves it alike, and reading it gives the robot back."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import brazo
from brazo.body.meshes import mesh_triangles
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.formats.load import load_source
from brazo.formats.mjcf.compile import mujoco_model
from brazo.formats.mjcf.inertias import acceptable, mujoco_accepts
from brazo.formats.mjcf.quaternion import quat_of, rotation_of
from brazo.formats.mjcf.reader import read_mjcf
from brazo.formats.mjcf.writer import export_mjcf, write_mjcf
from brazo.formats.urdf.reader import read_urdf
from brazo.formats.urdf.writer import export_urdf
from brazo.model.description import Inertia, TreeModel, frozen
from brazo.model.motion import body_poses
from tests import oracles
from tests.formats.foreign import NAMES, foreign
from tests.formats.mjcf.test_reader import ARM
from tests.formats.urdf.sample import SAMPLE

SHIPPED = [name for name in robot_names() if name != "delta"]


def again(model, tmp_path):
    path = tmp_path / "again.xml"
    path.write_text(write_mjcf(model), encoding="utf-8")
    return read_mjcf(path)


def assert_same(model, other):
    assert [j.name for j in model.coordinates] == [j.name for j in other.coordinates]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = rng.uniform(-2, 2, model.n)
        a, b = body_poses(model, q), body_poses(other, q)
        for i, body in enumerate(model.bodies):
            k, T = other.named_frames[body.name]
            assert np.abs(a[i] - b[k] @ T).max() <= 1e-14
        for name, (i, T) in model.named_frames.items():
            k, U = other.named_frames[name]
            assert np.abs(a[i] @ T - b[k] @ U).max() <= 1e-14
        tool = a[model.tip] @ model.tool
        assert np.abs(b[other.tip] @ other.tool - tool).max() <= 1e-14
    assert other.missing_inertia == model.missing_inertia
    for body in model.bodies[1:]:
        back = other.bodies[other.named_frames[body.name][0]]
        if body.inertia is not None and back.inertia is not None:
            scale = max(np.abs(body.inertia.tensor).max(), 1e-9)
            assert body.inertia.mass == back.inertia.mass
            assert np.array_equal(body.inertia.com, back.inertia.com)
            assert np.abs(body.inertia.tensor - back.inertia.tensor).max() <= 1e-14 * scale


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots_round_trip(name, tmp_path):
    model = load_source(name).model
    other = again(model, tmp_path)
    assert_same(model, other)
    for joint, back in zip(model.joints, other.joints, strict=True):
        assert (joint.limits, joint.drive.max_torque) == (back.limits, back.drive.max_torque)
        assert joint.friction.viscous == back.friction.viscous
        assert back.friction.coulomb == (max(joint.friction.coulomb),) * 2
        assert joint.drive.armature == back.drive.armature
    assert set(model.poses) == set(other.poses)
    for name in model.poses:
        assert np.array_equal(model.poses[name], other.poses[name])
    assert np.array_equal(model.gravity, other.gravity)


@pytest.mark.parametrize("name", NAMES)
def test_foreign_robots_round_trip(name, tmp_path):
    model = foreign(name)
    assert_same(model, again(model, tmp_path))


def test_mimic_joints_round_trip(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)
    other = again(model, tmp_path)
    assert_same(model, other)
    assert [(j.coordinate, j.multiplier, j.offset) for j in model.joints] == [
        (j.coordinate, j.multiplier, j.offset) for j in other.joints
    ]


def test_several_joints_on_a_body_round_trip(tmp_path):
    source = tmp_path / "arm.xml"
    source.write_text(ARM)
    model = read_mjcf(source)
    text = write_mjcf(model)
    assert "MuJoCo rejects" not in text
    compiled = mujoco.MjModel.from_xml_string(text)
    assert compiled.body("wrist").jntnum[0] == 3
    other = again(model, tmp_path)
    assert [body.name for body in other.bodies] == [body.name for body in model.bodies]
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-2, 2, model.n)
        for body in ("upper", "wrist", "finger1", "finger2"):
            (i, _), (k, _) = model.named_frames[body], other.named_frames[body]
            difference = body_poses(model, q)[i] - body_poses(other, q)[k]
            assert np.abs(difference).max() < 1e-14


@pytest.mark.parametrize("name", ["puma560", "scara1", "panda"])
def test_the_file_moves_in_mujoco_as_the_robot_does(name, tmp_path):
    """Exact dynamics wherever MuJoCo accepts the inertias."""
    model = load_source(name).model
    notes = export_mjcf(model, tmp_path / "arm.xml")
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    data = mujoco.MjData(compiled)
    q = np.linspace(-0.3, 0.4, model.n)
    data.qpos[: model.n] = q
    mujoco.mj_kinematics(compiled, data)
    poses = body_poses(model, q)
    for i, body in enumerate(model.bodies):
        assert np.abs(data.body(body.name).xpos - poses[i, :3, 3]).max() < 1e-14
    assert np.abs(data.site("tool").xpos - (poses[model.tip] @ model.tool)[:3, 3]).max() < 1e-14
    if not any("MuJoCo rejects" in note for note in notes):
        compiled.dof_damping[:] = 0
        compiled.dof_frictionloss[:] = 0
        compiled.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data.qvel[:] = qd = np.linspace(1, -1, model.n)
        data.qacc[:] = qdd = np.linspace(-2, 3, model.n)
        mujoco.mj_inverse(compiled, data)
        tau = oracles.pinocchio(model).inverse_dynamics(q, qd, qdd)
        assert np.abs(data.qfrc_inverse - tau).max() < 1e-12


TREES_WITH_MASS = [
    name
    for name in robot_names()
    if isinstance(model := load_source(name).model, TreeModel) and not model.missing_inertia
]


@pytest.mark.parametrize("name", TREES_WITH_MASS)
def test_the_file_has_the_robots_gravity_torques_and_the_stated_mass_matrix(name, tmp_path):
    robot = brazo.load(name)
    model = robot.model
    notes = export_mjcf(model, tmp_path / "arm.xml")
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    data = mujoco.MjData(compiled)
    changed = [note.split("'")[1] for note in notes if "MuJoCo rejects" in note]
    for q in robot.random_q(5, seed=1):
        data.qpos[:] = [
            joint.multiplier * q[joint.coordinate] + joint.offset for joint in model.joints
        ]
        mujoco.mj_forward(compiled, data)
        from_q = np.zeros((compiled.nv, model.n))  # joints that mimic share a coordinate
        for k, joint in enumerate(model.joints):
            from_q[k, joint.coordinate] = joint.multiplier
        assert np.abs(from_q.T @ data.qfrc_bias - robot.gravity(q)).max() < 1e-11
        M = np.zeros((compiled.nv, compiled.nv))
        mujoco.mj_fullM(compiled, data, M)
        # Only the tensors that the notes name differ: M grows by Jᵀ ΔI J of these bodies.
        growth = np.zeros((model.n, model.n))
        for body in changed:
            R = data.body(body).ximat.reshape(3, 3)
            written = R @ np.diag(compiled.body(body).inertia) @ R.T
            frame = robot.frame(q, body)[:3, :3]
            given = next(b.inertia.tensor for b in model.bodies if b.name == body)
            J = robot.jacobian(q, link=body)[3:]
            growth += J.T @ (written - frame @ given @ frame.T) @ J
        assert np.linalg.eigvalsh(growth)[0] > -1e-12
        assert np.abs(from_q.T @ M @ from_q - robot.mass_matrix(q) - growth).max() < 1e-11


def test_an_impossible_inertia_keeps_mass_and_centre_and_the_note_states_the_change(tmp_path):
    puma = load_source("puma560").model
    notes = export_mjcf(puma, tmp_path / "puma.xml")
    marked = [note for note in notes if "MuJoCo rejects" in note]
    assert len(marked) == 2
    assert "'link 1'" in marked[0]
    assert "0, 0, 0.35 -> 0.175, 0.175, 0.35 kg m²" in marked[0]
    assert "0.0125, 0.066, 0.086 -> 0.01625, 0.06975, 0.086 kg m²" in marked[1]
    assert all(note in (tmp_path / "puma.xml").read_text() for note in marked)
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "puma.xml"))
    for body in puma.bodies[1:]:
        assert abs(compiled.body(body.name).mass[0] - body.inertia.mass) <= 1e-14
        assert np.abs(compiled.body(body.name).ipos - body.inertia.com).max() < 1e-15
    back = read_mjcf(tmp_path / "puma.xml")
    for body, other in zip(puma.bodies[1:], back.bodies[1:], strict=True):
        assert np.abs(body.inertia.tensor - other.inertia.tensor).max() < 1e-16


@pytest.mark.parametrize(
    ("mass", "moments"),
    [(0.0, (0, 0, 0)), (1.0, (0, 0, 0)), (1.0, (-0.1, 0.2, 0.3)), (1.0, (0.1, 0.2, 5.0))],
)
def test_the_smallest_change_is_accepted_and_lowers_no_moment(mass, moments):
    R = rotation_of(np.array([0.5, 0.5, -0.5, 0.5]))
    given = Inertia(mass, frozen([0.1, 0, 0]), frozen(R @ np.diag(moments) @ R.T))
    written = acceptable(given)
    assert mujoco_accepts(written)
    assert abs(written.mass - mass) <= 1e-14
    added = np.linalg.eigvalsh(written.tensor - given.tensor)
    assert added[0] > -1e-14
    assert added[2] <= max(0.1, moments[2] / 2) + 1e-13


def test_unknown_inertia_gets_a_marked_placeholder(tmp_path):
    pegasus = load_source("pegasus").model
    notes = export_mjcf(pegasus, tmp_path / "pegasus.xml")
    assert sum("is not known: a placeholder" in note for note in notes) == 5
    assert read_mjcf(tmp_path / "pegasus.xml").missing_inertia == pegasus.missing_inertia


@pytest.mark.parametrize("name", ["puma560", "srm1-printed", "puma560-drives"])
def test_the_compiled_model_has_the_exact_inertias(name):
    model = load_source(name).model
    rng = np.random.default_rng(3)
    mj, pin = oracles.mujoco(model), oracles.pinocchio(model)
    for _ in range(10):
        q, qd, qdd = rng.uniform(-2, 2, (3, model.n))
        assert np.abs(mj.mass_matrix(q) - pin.mass_matrix(q)).max() < 5e-14
        a, b = mj.inverse_dynamics(q, qd, qdd), pin.inverse_dynamics(q, qd, qdd)
        assert np.abs(a - b).max() < 1e-12


def test_a_robot_without_inertia_has_no_dynamics():
    with pytest.raises(
        BrazoError, match="has no dynamics, because the inertia is missing for link 1, "
    ):
        mujoco_model(load_source("pegasus").model)


@pytest.mark.parametrize("name", ["scara1", "panda", "rv2aj"])
def test_visuals_round_trip(name, tmp_path):
    model = load_source(name).model
    export_mjcf(model, tmp_path / "arm.xml")
    other = read_mjcf(tmp_path / "arm.xml")
    assert [len(body.parts) for body in other.bodies] == [len(body.parts) for body in model.bodies]
    for body, back in zip(model.bodies, other.bodies, strict=True):
        for part, copy in zip(body.parts, back.parts, strict=True):
            assert part.collides == copy.collides
            assert np.allclose(part.color, copy.color, atol=1e-6)


@pytest.mark.parametrize("ending", ["xml", "urdf"])
def test_convex_pieces_collide_in_mujoco(ending, tmp_path):
    model = load_source("rv2aj").model
    path = tmp_path / f"arm.{ending}"
    (export_mjcf if ending == "xml" else export_urdf)(model, path)
    if ending == "urdf":  # MuJoCo would merge links that are fixed
        options = '<mujoco><compiler fusestatic="false" strippath="false"/></mujoco>'
        path.write_text(path.read_text().replace("<link ", f"{options}<link ", 1))
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = q = np.linspace(-0.3, 0.4, model.n)
    mujoco.mj_kinematics(m, data)
    poses = body_poses(model, q)
    for i, body in enumerate(model.bodies):
        name = body.name.replace(" ", "_") if ending == "urdf" else body.name
        index = data.body(name).id
        assert np.abs(data.xpos[index] - poses[i, :3, 3]).max() < 1e-14
        geoms = [g for g in range(m.ngeom) if m.geom_bodyid[g] == index and m.geom_contype[g]]
        pieces = [
            (part, piece) for part in body.parts if part.collides for piece in part.shape.colliding
        ]
        assert len(geoms) == len(pieces)
        for g, (part, piece) in zip(geoms, pieces, strict=True):
            # The corners in the world, which MuJoCo keeps in the principal axes of each mesh.
            first, count = m.mesh_vertadr[m.geom_dataid[g]], m.mesh_vertnum[m.geom_dataid[g]]
            there = m.mesh_vert[first : first + count] @ data.geom_xmat[g].reshape(3, 3).T
            T = poses[i] @ part.pose
            here = mesh_triangles(piece)[0] @ T[:3, :3].T + T[:3, 3]
            for end in (np.min, np.max):
                found = end(there + data.geom_xpos[g], axis=0)
                np.testing.assert_allclose(found, end(here, axis=0), atol=1e-6)


def test_parts_that_need_files_are_omitted_with_a_note():
    text = write_mjcf(load_source("scara1").model)
    assert "needs a mesh file and is left out" in text
    mujoco.MjModel.from_xml_string(text)


def test_too_large_mesh_is_omitted_with_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr("brazo.formats.mjcf.xml._MAX_STL_TRIANGLES", 10)
    notes = export_mjcf(load_source("scara1").model, tmp_path / "arm.xml")
    assert any("triangles; at most 10" in note for note in notes)
    mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))


def test_inertia_of_flat_plates_is_kept_and_invalid_inertia_is_changed(tmp_path):
    source = tmp_path / "sample.urdf"
    source.write_text(SAMPLE)
    model = read_urdf(source)

    def with_tensor(tensor):
        inertia = Inertia(1.0, frozen([0, 0, 0]), frozen(tensor))
        body = replace(model.bodies[1], inertia=inertia)
        return replace(model, bodies=(model.bodies[0], body, *model.bodies[2:]))

    R = rotation_of(quat_of(np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]))
    plate = with_tensor(R @ np.diag([0.1, 0.2, 0.3]) @ R.T)
    assert "MuJoCo rejects" not in write_mjcf(plate)
    assert_same(plate, again(plate, tmp_path))
    assert "MuJoCo rejects" in write_mjcf(with_tensor(np.diag([0.1, 0.2, 0.31])))


def test_quaternions_round_trip():
    rng = np.random.default_rng(0)
    turns = [np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    for k in range(200):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R = turns[k % 4] if k < 4 else Q * np.sign(np.linalg.det(Q))
        assert np.abs(rotation_of(quat_of(R)) - R).max() < 1e-15

"""MJCF reader: the frames equal those of MuJoCo."""

from __future__ import annotations

import math
import time

import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brazo
from brazo.errors import BrazoError
from brazo.formats.mjcf.reader import read_mjcf
from brazo.formats.mjcf.writer import export_mjcf
from brazo.model.motion import body_poses
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from tests import oracles
from tests.formats.urdf.sample import SAMPLE
from tests.fuzzing import spoil_xml

ARM = """
<mujoco model="arm">
  <compiler angle="degree" eulerseq="xyz"/>
  <default><joint damping="0.5"/><default class="big"><joint armature="0.2"/></default></default>
  <option gravity="0 1 -9"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 0.2" euler="10 20 30">
      <geom name="plinth" type="box" size="0.1 0.1 0.05" rgba="1 0 0 1"/>
      <body name="upper" pos="0.1 0 0.1" euler="0 90 0">
        <inertial pos="0 0 0.1" mass="2" fullinertia="0.02 0.03 0.025 0.001 0 0"/>
        <joint name="pan" class="big" axis="0 0 1" pos="0.02 0.03 0" range="-90 90" ref="30"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/>
        <body name="bracket" pos="0 0 0.3" quat="1 1 0 0">
          <geom type="cylinder" size="0.02 0.05" group="2" contype="0" conaffinity="0"/>
          <geom type="sphere" size="0.05" group="3"/>
          <body name="wrist" pos="0 0.1 0">
            <joint name="w1" axis="1 0 0" pos="0 0.01 0" ref="-20"/>
            <joint name="w2" axis="0 1 0"/>
            <joint name="w3" type="slide" axis="1 1 0" range="0 0.1" ref="0.02"
                   frictionloss="3" actuatorfrcrange="-7 7"/>
            <inertial pos="0.01 0 0" mass="0.5" diaginertia="0.002 0.003 0.004"/>
            <site name="attachment" pos="0 0 0.05" euler="0 0 45"/>
            <body name="finger1" pos="0.03 0 0">
              <joint name="f1" type="slide" axis="1 0 0" ref="0.01"/>
              <geom type="box" size="0.01 0.01 0.02" mass="0.1"/>
            </body>
            <body name="finger2" pos="-0.03 0 0">
              <joint name="f2" type="slide" axis="1 0 0" ref="0.03"/>
              <geom type="ellipsoid" size="0.01 0.02 0.03" mass="0.1"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="f2" joint2="f1" polycoef="0.002 -2 0 0 0"/></equality>
  <actuator>
    <motor joint="pan" gear="10" ctrlrange="-4 4"/>
    <position joint="w1" kp="100" forcerange="-5 5"/>
  </actuator>
  <keyframe><key name="home" qpos="0.1 0.2 0.3 0.04 0.02 0.01"/></keyframe>
</mujoco>
"""


@pytest.fixture
def read(tmp_path):
    def read(text: str = ARM, *replacements: tuple[str, str], **options):
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "robot.xml"
        path.write_text(text, encoding="utf-8")
        return read_mjcf(path, **options)

    return read


def said(model):
    return [str(finding) for finding in model.findings]


def test_frames_are_those_of_mujoco_at_the_same_qpos(read, tmp_path):
    model = read()
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(other)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform(-2, 2, model.n)
        for joint in model.joints:
            address = other.joint(joint.name).qposadr[0]
            data.qpos[address] = joint.multiplier * q[joint.coordinate] + joint.offset
        mujoco.mj_kinematics(other, data)
        poses = body_poses(model, q)
        for name, (i, T) in model.named_frames.items():
            if "/" in name or name == "world":
                continue
            item = data.site(name) if name == "attachment" else data.body(name)
            found = poses[i] @ T
            assert np.abs(found[:3, 3] - item.xpos).max() < 1e-14
            assert np.abs(found[:3, :3] - item.xmat.reshape(3, 3)).max() < 1e-14


def test_bodies_joints_and_the_massless_ones_between(read):
    model = read()
    names = ["world", "upper", "wrist/w1", "wrist/w2", "wrist", "finger1", "finger2"]
    assert [body.name for body in model.bodies] == names
    assert [joint.name for joint in model.coordinates] == ["pan", "w1", "w2", "w3", "f1"]
    for body in model.bodies[2:4]:
        assert body.inertia is not None
        assert body.inertia.mass == 0.0
        assert not body.inertia.tensor.any()
    assert model.missing_inertia == ()


def test_dynamics_equal_those_of_the_file(read, tmp_path):
    """Inertia, armature and several joints a body, against MuJoCo on the file itself."""
    text = ARM.replace(
        '<equality><joint joint1="f2" joint2="f1" polycoef="0.002 -2 0 0 0"/>', "<equality>"
    )
    model = read(text)
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    other.dof_damping[:] = 0
    other.dof_frictionloss[:] = 0
    other.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(other)
    rng = np.random.default_rng(1)
    for _ in range(10):
        data.qpos[:], data.qvel[:], data.qacc[:] = x = rng.uniform(-1, 1, (3, model.n))
        mujoco.mj_inverse(other, data)
        for oracle in (oracles.pinocchio(model), oracles.mujoco(model)):
            assert np.abs(oracle.inverse_dynamics(*x) - data.qfrc_inverse).max() < 1e-13


def test_joint_properties_are_read(read):
    model = read()
    pan, w1, _, w3, f1, f2 = model.joints
    assert np.allclose(pan.limits, (-math.pi / 2, math.pi / 2), atol=1e-15)
    assert w1.limits == (-math.inf, math.inf)
    assert (pan.friction.viscous, pan.drive.armature) == (0.5, 0.2)
    assert (pan.drive.max_torque, w1.drive.max_torque, w3.drive.max_torque) == (40.0, 5.0, 7.0)
    assert w3.friction.coulomb == (3.0, 3.0)
    assert f2.coordinate == f1.coordinate
    # q2 - 0.03 = 0.002 - 2 (q1 - 0.01)
    assert (f2.multiplier, f2.offset) == (-2.0, pytest.approx(0.052, abs=1e-16))
    assert np.array_equal(model.poses["home"], [0.1, 0.2, 0.3, 0.04, 0.02])
    assert np.array_equal(model.gravity, [0, 1, -9])


def test_geoms_become_parts(read):
    model = read()
    base, upper = model.bodies[0].parts, model.bodies[1].parts
    assert [(p.name, p.shape, p.color) for p in base] == [
        ("plinth", Box((0.2, 0.2, 0.1)), (1.0, 0.0, 0.0))
    ]
    assert isinstance(upper[0].shape, Capsule)
    assert upper[0].shape.length == pytest.approx(0.3)
    # The drawn cylinder hides a colliding ball.
    assert (upper[1].shape, upper[1].collides) == (Cylinder(0.02, 0.1), True)
    assert not any(isinstance(part.shape, Sphere) for part in upper)
    ellipsoid = model.bodies[-1].parts[0].shape
    assert isinstance(ellipsoid, Mesh)
    assert np.allclose(np.ptp(ellipsoid.vertices, axis=0), [0.02, 0.04, 0.06], rtol=1e-2)


def test_omitted_elements_are_reported(read):
    text = "\n".join(said(read()))
    assert "floor: a plane is not supported as a part of a robot" in text
    assert "finger1, finger2: no inertial is given; MuJoCo computed it from the geoms" in text


def test_the_tip_is_the_site_on_the_hand_not_a_finger(read):
    model = read()
    assert model.bodies[model.tip].name == "wrist"
    assert model.named_frames["attachment"][1] is model.tool
    assert read(tip="finger2").bodies[6].name == "finger2"
    with pytest.raises(BrazoError, match=r"robot.xml: tip: no link is named 'hand'; .*attachment"):
        read(tip="hand")


def test_a_free_root_is_read_as_fixed(read):
    base = '<body name="base" pos="0 0 0.2" euler="10 20 30">'
    home = '<key name="home" qpos="0.1 0.2 0.3 0.04 0.02 0.01"/>'
    model = read(ARM, (base, base + "<freejoint/>"), (home, ""))
    assert any("base: has a free joint: read as fixed" in text for text in said(model))
    assert model.n == 5


def test_lost_properties_of_a_ball_joint_are_reported(read):
    text = """<mujoco><worldbody><body><joint name="h" type="ball" damping="0.5" {}/>
      <geom size="0.1" mass="2"/></body></worldbody>
      <actuator><motor joint="h" gear="0 0 2 0 0 0" {}/></actuator></mujoco>"""
    assert any(line.endswith("at y = ±90°") for line in said(read(text.format("", ""))))
    full = text.format(
        'armature="0.1" frictionloss="0.2" stiffness="3" range="0 60"', 'forcerange="-1 1"'
    )
    wanted = "left out: range, spring, armature, dry friction, torque limit"
    assert any(line.endswith(wanted) for line in said(read(full)))


def test_a_ball_joint_is_three_rotations(read):
    """Frames and mass matrix of MuJoCo, whose ball joint has a quaternion and body velocities."""
    text = (
        '<mujoco><worldbody><body name="hip" pos="0.1 0 1"><joint name="h" type="ball" '
        'pos="0 0.1 0.2"/><geom type="box" size="0.1 0.2 0.3" mass="2"/><body name="knee" '
        'pos="0 0 -0.4"><joint name="k" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" '
        'mass="1"/></body></body></worldbody><keyframe><key name="bent" '
        'qpos="0.8 0.2 -0.4 0.4 0.3"/></keyframe></mujoco>'
    )
    model = read(text)
    assert model.joint_names == ("h x", "h y", "h z", "k")
    assert any("h: a ball joint: read as rotations" in line for line in said(model))
    compiled = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)
    mujoco.mj_resetDataKeyframe(compiled, data, 0)
    mujoco.mj_forward(compiled, data)
    arm, q = brazo.loads(text), model.poses["bent"]
    for body in ("hip", "knee"):
        T = arm.frame(q, body)
        assert np.abs(T[:3, 3] - data.body(body).xpos).max() < 1e-14
        assert np.abs(T[:3, :3].ravel() - data.body(body).xmat).max() < 1e-14
    # MuJoCo's velocity is ω in body axes: ω = W(q) q̇.
    W = np.eye(4)
    W[:3, :3] = arm.frame(q, "hip")[:3, :3].T @ arm.jacobian(q, link="hip")[3:, :3]
    M = np.zeros((4, 4))
    mujoco.mj_fullM(compiled, data, M)
    assert np.abs(arm.mass_matrix(q) - W.T @ M @ W).max() < 1e-13


@pytest.mark.parametrize(
    ("equality", "said_of_it", "n"),
    [
        ('<joint joint1="f2" polycoef="0.01 0 0 0 0"/>', "holds joint 'f2' at 0.04", 5),
        ('<joint joint1="f2" joint2="f1" polycoef="0 1 2 0 0"/>', "nonlinearly", 6),
        ('<connect body1="finger1" body2="finger2" anchor="0 0 0"/>', "loop", 6),
        ('<joint joint1="f2" joint2="f1" active="false"/>', "", 6),
    ],
)
def test_other_equalities(read, equality, said_of_it, n):
    model = read(ARM, ('<joint joint1="f2" joint2="f1" polycoef="0.002 -2 0 0 0"/>', equality))
    assert model.n == n
    assert not said_of_it or any(said_of_it in text for text in said(model))


def test_springs_and_tendons_are_reported(read):
    text = ARM.replace('name="w2"', 'name="w2" stiffness="3"').replace(
        "<equality>",
        '<tendon><fixed><joint joint="f1" coef="1"/></fixed></tendon><equality>',
    )
    findings = "\n".join(said(read(text)))
    assert "w2: its spring (stiffness 3) is ignored" in findings
    assert "tendons (1) are ignored" in findings


def test_only_connect_and_weld_are_reported_as_loops(read):
    tendons = "".join(f'<fixed name="t{k}"><joint joint="f{k}" coef="1"/></fixed>' for k in (1, 2))
    text = ARM.replace(
        "<equality>",
        f'<tendon>{tendons}</tendon><equality><tendon name="pair" tendon1="t1" tendon2="t2"/>',
    )
    findings = "\n".join(said(read(text)))
    assert "pair: constrains tendons" in findings and "loop" not in findings
    soft = """<body name="cloth" pos="0 0 3"><flexcomp name="sheet" type="grid" dim="2"
      count="3 3 1" spacing=".1 .1 .1" mass="1"><edge equality="true"/></flexcomp></body>
    </worldbody>"""
    text = ARM.replace("</worldbody>", soft).replace(' damping="0.5"', "")
    findings = "\n".join(said(read(text)))
    assert "constrains a soft body" in findings and "loop" not in findings


def test_gravity_compensation_is_reported(read):
    text = ARM.replace('<body name="wrist"', '<body gravcomp="1" name="wrist"')
    assert "wrist: gravity compensation (gravcomp) is ignored" in "\n".join(said(read(text)))
    assert "gravcomp" not in "\n".join(said(read(ARM)))


def test_a_missing_mesh_or_texture_is_reported_and_the_robot_loads(read):
    asset = (
        '<asset><mesh name="m" file="gone.stl"/><mesh file="lost.stl"/>'
        '<texture name="t" type="2d" file="gone.png"/><material name="c" texture="t"/></asset>'
    )
    geoms = '<geom type="mesh" mesh="m" material="c"/><geom type="mesh" mesh="lost"/>'
    text = f"""<mujoco>{asset}<worldbody>
      <body name="a"><joint name="j"/><inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>{geoms}
        <body name="b"><joint name="k"/>{geoms}<geom name="ball" size="0.1"/></body>
      </body></worldbody></mujoco>"""
    model = read(text)
    findings = "\n".join(said(model))
    for file in ("gone.stl", "lost.stl", "gone.png"):
        assert f"{file}: no such file: its geometry or texture is ignored" in findings
    assert "b: the inertia is unknown, because it depends on a missing mesh" in findings
    assert model.bodies[1].inertia.mass == 2.0
    assert model.missing_inertia == ("b",)
    assert [[part.name for part in body.parts] for body in model.bodies] == [[], [], ["ball"]]


def test_only_the_bodies_of_a_missing_mesh_lose_their_inertia(read, tmp_path):
    (tmp_path / "there.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    asset = '<asset><mesh name="m" file="x/there.obj"/><mesh file="x/gone.obj"/></asset>'
    text = f"""<mujoco><compiler strippath="true"/>{asset}<worldbody>
      <body><joint/><geom type="mesh" mesh="gone"/>
        <body><joint/><geom size="0.1" mass="3"/><geom type="mesh" mesh="m" mass="0"/></body>
      </body></worldbody></mujoco>"""
    model = read(text)
    findings = "\n".join(said(model))
    assert "body 1: the inertia is unknown" in findings and "there.obj" not in findings
    assert model.missing_inertia == ("body 1",)
    assert model.bodies[2].inertia.mass == pytest.approx(3.0)


def test_a_urdf_in_an_xml_is_read_as_urdf(read):
    assert read(SAMPLE).name == "sample"


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "MuJoCo cannot compile"),
        ("<mujoco><worldbody><bdy/></worldbody></mujoco>", "MuJoCo cannot compile"),
        ("<mujoco><include file='none.xml'/></mujoco>", "MuJoCo cannot compile"),
        ("<mujoco/>", r"\.xml: has no moving joint"),
        (
            "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>",
            r"\.xml: has no moving joint",
        ),
        ("<sdf/>", "starts with <sdf>; MJCF starts with <mujoco>"),
        ("<!DOCTYPE m [<!ENTITY a 'b'>]><mujoco/>", "declares entities"),
        ("nothing", "broken XML"),
    ],
)
def test_bad_files_are_refused(read, text, said_of_it):
    with pytest.raises(BrazoError, match=said_of_it):
        read(text)


@pytest.mark.parametrize("number", ["nan", "inf", "1e300"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('pos="0.02 0.03 0"', 'pos="0.02 {} 0"'),
        ('ref="30"', 'ref="{}"'),
        ('pos="0 0 0.05"', 'pos="0 0 {}"'),
    ],
)
def test_nonfinite_numbers_accepted_by_mujoco_are_rejected(read, old, new, number):
    with pytest.raises(BrazoError, match=r"not finite|MuJoCo cannot compile"):
        read(ARM, (old, new.format(number)))


def test_mujocos_warnings_become_findings_not_files(read, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    model = read(ARM, ('rgba="1 0 0 1"', 'rgba="1 0 nan 1"'))
    assert any("MuJoCo warns: XML contains a 'NaN'" in text for text in said(model))
    assert [path.name for path in tmp_path.iterdir()] == ["robot.xml"]
    assert capfd.readouterr() == ("", "")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_corrupted_file_is_read_or_rejected(seed, tmp_path):
    path = tmp_path / "robot.xml"
    path.write_bytes(spoil_xml(np.random.default_rng(seed), ARM.encode()))
    try:
        model = read_mjcf(path)
    except BrazoError as error:
        assert str(path) in str(error)
        return
    assert np.isfinite(body_poses(model, np.full(model.n, 0.3))).all()


def test_includes_meshes_and_defaults_are_resolved_by_mujoco(tmp_path):
    from brazo.body.meshes import stl_bytes

    vertices = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    (tmp_path / "part.stl").write_bytes(stl_bytes(vertices, faces))
    (tmp_path / "inner.xml").write_text(
        '<mujocoinclude><body name="a"><joint/><geom type="mesh" mesh="part" pos="1 2 3" mass="1"/>'
        "</body></mujocoinclude>"
    )
    (tmp_path / "robot.xml").write_text(
        '<mujoco><asset><mesh name="part" file="part.stl" scale="1 1 0.5"/></asset>'
        '<worldbody><include file="inner.xml"/></worldbody></mujoco>'
    )
    part = read_mjcf(tmp_path / "robot.xml").bodies[1].parts[0]
    assert isinstance(part.shape, Mesh)
    placed = part.shape.vertices @ part.pose[:3, :3].T + part.pose[:3, 3]
    expected = vertices * (1, 1, 0.5) + (1, 2, 3)
    order = [int(np.argmin(np.linalg.norm(placed - point, axis=1))) for point in expected]
    assert np.abs(placed[order] - expected).max() < 1e-6


BODY = '<body><joint/><geom size="1"/></body>'
HUGE = {
    "replicate": f'<worldbody><replicate count="20000000">{BODY}</replicate></worldbody>',
    "replicates in one another": "<worldbody>"
    + '<replicate count="100">' * 5
    + BODY
    + "</replicate>" * 5
    + "</worldbody>",
    "height field": '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>',
    "texture": '<asset><texture name="t" type="2d" builtin="flat" width="200000" height="200000"/>'
    "</asset>",
    "sky": '<asset><texture type="skybox" builtin="flat" width="20000"/></asset>',
    "soft body": '<worldbody><flexcomp name="f" type="grid" count="1000 1000 1000" dim="3"'
    ' spacing=".1 .1 .1"/></worldbody>',
    "cable": '<worldbody><composite type="cable" curve="s" count="100000000 1 1" size="1"/>'
    "</worldbody>",
    "built-in mesh": '<asset><mesh name="m" builtin="supersphere" params="100000 1 1"/></asset>',
    "user data": '<size nuserdata="2000000000"/>',
    "keyframes": '<size nkey="2000000000"/>',
    "user fields": '<size nuser_body="2000000000"/>',
    "numbers": '<custom><numeric name="n" size="2000000000"/></custom>',
    "sensor": '<sensor><user dim="2000000000"/></sensor>',
}


@pytest.mark.parametrize("name", HUGE)
def test_too_large_model_is_rejected_before_compilation(tmp_path, name):
    path = tmp_path / "huge.xml"
    path.write_text(f"<mujoco>{HUGE[name]}<worldbody>{BODY}</worldbody></mujoco>")
    begin = time.process_time()
    with pytest.raises(BrazoError, match=r"huge.xml: (declares|its height fields).* at most"):
        read_mjcf(path)
    assert time.process_time() - begin < 1.0


def test_size_limit_counts_includes_and_attached_models(tmp_path):
    (tmp_path / "inner.xml").write_text(
        f'<mujocoinclude><replicate count="4000">{BODY}</replicate></mujocoinclude>'
    )
    path = tmp_path / "outer.xml"
    path.write_text('<mujoco><worldbody><include file="inner.xml"/></worldbody></mujoco>')
    with pytest.raises(BrazoError, match=r"outer.xml: declares 16.* elements"):
        read_mjcf(path)

    for i in range(30):  # each holds the next one twice
        attached = "".join(f'<attach model="m" body="b" prefix="{p}"/>' for p in "lr")
        (tmp_path / f"m{i}.xml").write_text(
            f'<mujoco><worldbody><body name="b">{attached}</body></worldbody>'
            f'<asset><model name="m" file="m{i + 1}.xml"/></asset></mujoco>'
        )
    (tmp_path / "m30.xml").write_text(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
    with pytest.raises(BrazoError, match=r"m0.xml: declares"):
        read_mjcf(tmp_path / "m0.xml")

    (tmp_path / "self.xml").write_text('<mujoco><include file="self.xml"/></mujoco>')
    with pytest.raises(BrazoError, match="includes or attaches itself"):
        read_mjcf(tmp_path / "self.xml")


def test_common_robot_scene_is_below_the_size_limit(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        "<mujoco><asset>"
        '<texture type="skybox" builtin="gradient" width="512" height="3072"/>'
        '<texture name="t" type="2d" builtin="checker" width="300" height="300"/>'
        '<hfield name="h" nrow="200" ncol="200" size="1 1 1 1"/></asset>'
        f'<worldbody><replicate count="20" offset="1 0 0">{BODY}</replicate></worldbody></mujoco>'
    )
    assert read_mjcf(path).n == 20


def test_mujoco_memory_error_is_reported(tmp_path):
    path = tmp_path / "greedy.xml"
    path.write_text(f'<mujoco><size memory="900000G"/><worldbody>{BODY}</worldbody></mujoco>')
    with pytest.raises(BrazoError, match=r"greedy.xml: MuJoCo cannot compile"):
        read_mjcf(path)


def test_one_sided_limit_round_trips(tmp_path):
    path = tmp_path / "half.xml"
    path.write_text(
        '<mujoco><compiler angle="radian"/><worldbody><body><joint range="-3 1e9"/>'
        '<geom size="1"/><body><joint type="slide" range="-1e10 0.5"/><geom size="1"/></body>'
        "</body></worldbody></mujoco>"
    )
    model = read_mjcf(path)
    limits = [joint.limits for joint in model.joints]
    assert limits == [(-3.0, math.inf), (-math.inf, 0.5)]
    export_mjcf(model, tmp_path / "again.xml")
    assert [joint.limits for joint in read_mjcf(tmp_path / "again.xml").joints] == limits

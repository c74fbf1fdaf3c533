"""How each element of a URDF is read, and error messages."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.urdf.reader import read_urdf
from brazo.model.motion import body_poses, motion
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh
from brazo.model.transforms import pose, rot_z, translate
from tests import oracles
from tests.formats.urdf.sample import SAMPLE


@pytest.fixture
def read(tmp_path):
    def read(text: str = SAMPLE, *replacements: tuple[str, str], **options):
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        return read_urdf(path, **options)

    return read


def joint_of(model, name):
    return next(joint for joint in model.joints if joint.name == name)


def test_moving_joints_make_bodies_and_fixed_ones_merge(read):
    model = read()
    assert [body.name for body in model.bodies] == [
        *("base_link", "upper", "slide", "hand", "left_finger", "right_finger")
    ]
    assert [body.parent for body in model.bodies] == [-1, 0, 1, 2, 3, 3]
    assert (model.n, model.is_serial, model.missing_inertia) == (4, False, ())
    assert [joint.name for joint in model.coordinates] == ["pan", "lift", "spin", "left"]


def test_merged_links_keep_their_frames_and_their_mass(read):
    model = read()
    body, T = model.named_frames["bracket"]
    assert body == 1
    assert np.allclose(T, translate(x=0.2) @ rot_z(math.pi / 2), atol=1e-16)
    inertia = model.bodies[1].inertia
    assert inertia.mass == 2.5
    assert np.allclose(
        inertia.com, (2.0 * np.array([0.1, 0, 0.05]) + 0.5 * np.array([0.2, 0, 0])) / 2.5
    )
    alone = read(SAMPLE, ('<mass value="0.5"/>', '<mass value="0"/>')).bodies[1].inertia
    R = pose((0, 0, 0), (0.1, 0.2, 0.3))[:3, :3]
    I = np.array([[0.02, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.025]])
    assert np.allclose(alone.tensor, R @ I @ R.T + 0.001 * np.eye(3), atol=1e-16)


def test_dynamics_equal_with_and_without_the_fixed_joint(read):
    """The two links merged weigh like the two links moving as one."""
    welded = read()
    loose = read(
        SAMPLE,
        ('name="weld" type="fixed"', 'name="weld" type="revolute"'),
        ('<parent link="upper"/><child link="bracket"/>',
         '<parent link="upper"/><child link="bracket"/><axis xyz="0 0 1"/>'
         '<limit lower="-1" upper="1" effort="1" velocity="1"/>'),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1, 1, (3, welded.n))
        still = [np.insert(x, 1, 0.0) for x in (q, qd, qdd)]
        tau = oracles.pinocchio(loose).inverse_dynamics(*still)
        merged = oracles.pinocchio(welded).inverse_dynamics(q, qd, qdd)
        assert np.abs(np.delete(tau, 1) - merged).max() < 1e-13


def test_limits_effort_speed_and_friction(read):
    model = read()
    pan, spin = joint_of(model, "pan"), joint_of(model, "spin")
    assert pan.limits == (-2.5, 2.5)
    assert (pan.drive.max_torque, pan.drive.max_speed) == (40.0, 3.0)
    assert (pan.friction.viscous, pan.friction.coulomb) == (0.2, (0.1, 0.1))
    assert spin.limits == (-math.inf, math.inf)
    assert spin.drive.max_torque == math.inf


def test_axes_are_unit_vectors_and_x_by_default(read):
    model = read(SAMPLE, ('<axis xyz="0 0 1"/>', ""))
    assert np.array_equal(joint_of(model, "pan").axis, [1, 0, 0])
    assert np.allclose(joint_of(model, "lift").axis, np.array([0, 1, 1]) / math.sqrt(2))


def test_mimics_share_a_coordinate_and_chains_multiply_out(read):
    model = read()
    right = joint_of(model, "right")
    assert (right.coordinate, right.multiplier, right.offset) == (3, -1.0, 0.005)
    follow = '<mimic joint="right" multiplier="3" offset="1"/>'
    chained = read(SAMPLE, ('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/>' + follow))
    spin = joint_of(chained, "spin")
    assert spin.coordinate == joint_of(chained, "left").coordinate
    assert (spin.multiplier, spin.offset) == (-3.0, 1.015)
    assert chained.n == 3


def test_a_joint_that_mimics_a_fixed_one_is_fixed(read):
    model = read(SAMPLE, ('joint="left" multiplier', 'joint="weld" multiplier'))
    body, T = model.named_frames["right_finger"]
    assert model.bodies[body].name == "hand"
    assert np.allclose(T, translate(x=0.1, y=-0.01) @ motion("prismatic", (0, 1, 0), 0.005))
    assert any("read as fixed" in finding.message for finding in model.findings)


def test_a_chain_of_mimics_of_a_fixed_joint_is_fixed(read):
    """The values along the chain are 0, then 0.005, then 3 · 0.005 + 1."""
    follow = '<mimic joint="right" multiplier="3" offset="1"/>'
    model = read(
        SAMPLE,
        ('joint="left" multiplier', 'joint="weld" multiplier'),
        ('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/>' + follow),
    )
    assert model.n == read(SAMPLE).n - 1 and "spin" not in model.joint_names
    body, T = model.named_frames["hand"]
    assert model.bodies[body].name == "slide"
    assert np.allclose(T, pose((0, 0, 0), (1.015, 0, 0)))
    noted = [f.message for f in model.findings if "read as fixed" in f.message]
    assert any("mimics the fixed joint 'right'" in text for text in noted)


def test_visuals_and_colours(read):
    model = read()
    base, upper = model.bodies[0].parts, model.bodies[1].parts
    assert base[0].shape == Box((0.2, 0.2, 0.1))
    assert (base[0].color, base[0].collides) == ((1.0, 0.5, 0.1), False)
    assert [part.name for part in upper] == ["tube", "bracket"]
    assert upper[0].shape == Cylinder(0.03, 0.2)
    assert (upper[0].color, upper[0].collides) == ((0.4, 0.4, 0.4), True)
    assert upper[1].shape == Capsule(0.02, 0.05)
    assert np.allclose(upper[1].pose, model.named_frames["bracket"][1])


def test_the_tip_is_the_named_end_not_a_finger(read):
    model = read()
    assert model.tip == 3
    assert np.array_equal(model.tool, model.named_frames["tcp"][1])
    assert read(tip="left_finger").tip == 4


def test_link_and_joint_order_does_not_matter(read):
    from brazo.etree import etree

    root = etree.fromstring(SAMPLE.encode())
    root[:] = list(root)[::-1]
    model, turned = read(), read(etree.tostring(root, encoding="unicode"))
    q = dict(zip([j.name for j in model.coordinates], (0.3, 0.1, -2.0, 0.02), strict=True))
    a = body_poses(model, np.array([q[j.name] for j in model.coordinates]))
    b = body_poses(turned, np.array([q[j.name] for j in turned.coordinates]))
    for link, (i, T) in model.named_frames.items():
        k, U = turned.named_frames[link]
        assert np.abs(a[i] @ T - b[k] @ U).max() < 1e-15


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('rpy="0 0 0.3"', 'rpy="0 0.3"', r'urdf:8: joint name="pan" origin: rpy="0 0.3": 3 nu'),
        ('xyz="0 0 0.1"', 'xyz="0 0 O.1"', r":8: joint .*'O.1' is not a number"),
        ('xyz="0 0 0.1"', 'xyz="0 0 nan"', "'nan' is not a number"),
        ('xyz="0 0 0.1"', 'xyz="0 0 1_0"', "'1_0' is not a number"),
        ('<mass value="2.0"/>', '<mass value="two"/>', "mass: value: 'two' is not a number"),
        ('type="continuous"', 'type="screw"', "'screw' is not supported; supported: revolute,"),
        ('type="continuous"', 'type="ball"', 'joint name="spin": type \'ball\' is not supported'),
        ('<axis xyz="1 0 0"/>', '<axis xyz="0 0 0"/>', "axis has no length"),
        ('<parent link="slide"/>', '<parent link="sled"/>', "no link is named 'sled'; links: base"),
        ('<parent link="slide"/>', "", 'joint name="spin": has no parent link'),
        ('<child link="hand"/>', '<child link="upper"/>', "is already the child of joint 'pan'"),
        ('<parent link="base_link"/>', '<parent link="hand"/>', "closed loop|no parent"),
        ('<link name="tcp"/>', '<link name="tcp"/><link name="lost"/>', "2 links have no parent"),
        ('<link name="tcp"/>', '<link name="tcp"/><link name="tcp"/>', "link with this name"),
        ('name="left" type', 'name="lift" type', "second joint with this name"),
        ('<link name="tcp"/>', "<link/>", "has no name"),
        ('joint="left" multiplier', 'joint="lefty" multiplier', "mimics 'lefty', which is not"),
        ('joint="left" multiplier', 'joint="right" multiplier', "mimics itself"),
        ('<robot name="sample">', '<sdf name="sample">', "broken XML"),
    ],
)  # fmt: skip
def test_errors_have_location_and_allowed_values(read, old, new, said):
    with pytest.raises(BrazoError, match=said):
        read(SAMPLE, (old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<mass value="2.0"/>', '<mass value="-2"/>', 'name="upper" inertial: mass -2 kg is neg'),
        ('<mass value="2.0"/>', '<mass value="0"/>', "mass is zero but the tensor is not"),
        ('<mass value="2.0"/>', '<mass value="900"/>', "900 kg is more than 500 kg"),
        ('<mass value="2.0"/>', "", "mass is missing"),
        ('izz="0.025"', 'izz="0.9"', "triangle inequality is violated"),
        ('ixx="0.02"', 'ixx="-0.02"', "not positive"),
        ('xyz="0.1 0 0.05"', 'xyz="7 0 0"', "centre of mass is 7 m"),
        ('ixx="0.0005" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0005"',
         'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"', "radius of gyration"),
        ('lower="-2.5" upper="2.5"', 'lower="2.5" upper="-2.5"', "above upper"),
        ('lower="-2.5" upper="2.5"', 'lower="1" upper="1"', "cannot move"),
        ('lower="-2.5" upper="2.5"', "", "read as unlimited"),
        ('effort="40"', 'effort="0"', "effort is zero"),
        ('damping="0.2"', 'damping="-1"', "negative"),
        ('xyz="0 0 0.1"', 'xyz="0,0,0.1"', "commas"),
        ('radius="0.03"', 'radius="0"', "zero or less"),
        ('<sphere radius="0.1"/>', '<blob radius="0.1"/>', ""),
        ('<box size="0.2 0.2 0.1"/>', '<cone size="0.2"/>', "unknown shape"),
        ('<box size="0.2 0.2 0.1"/>', '<mesh filename="package://no/a.stl"/>', "not found"),
        ('<box size="0.2 0.2 0.1"/>', '<mesh filename="https://x.org/a.stl"/>', "not found"),
        ('rgba="1 0.5 0.1 1"', 'rgba="255 128 0 1"', "from 0 to 1"),
        ('<mass value="1"/>', '<mass value="1"/><mass value="2"/>', "the first one is used"),
    ],
)  # fmt: skip
def test_oddities_are_reported_and_the_robot_loads(read, old, new, said):
    model = read(SAMPLE, (old, new))
    assert len(model.bodies) == 6
    assert not said or any(said in str(finding) for finding in model.findings)


def test_a_clean_file_has_no_findings(read):
    assert read().findings == ()


def test_values_that_break_a_rule_are_kept_as_given(read):
    model = read(SAMPLE, ('<mass value="1"/>', '<mass value="-1"/>'), ('ixx="0.002"', 'ixx="9"'))
    assert model.bodies[2].inertia.mass == -1.0
    assert model.bodies[2].inertia.tensor[0, 0] == 9.0


def test_a_floating_base_is_read_as_fixed(read):
    text = SAMPLE.replace(
        '<link name="base_link">',
        '<link name="world"/><joint name="float" type="floating"><origin xyz="0 0 1"/>'
        '<parent link="world"/><child link="base_link"/></joint><link name="base_link">',
    )
    model = read(text)
    assert model.bodies[0].name == "world"
    assert np.array_equal(model.named_frames["base_link"][1], translate(z=1.0))
    assert any("floating" in str(finding) for finding in model.findings)


def test_mesh_paths_are_resolved_but_not_opened(read, tmp_path):
    mesh = tmp_path / "Part.STL"
    mesh.write_bytes(b"not a mesh at all")
    box = '<box size="0.2 0.2 0.1"/>'
    model = read(SAMPLE, (box, '<mesh filename="part.stl" scale="0.001 0.001 -0.001"/>'))
    shape = model.bodies[0].parts[0].shape
    assert isinstance(shape, Mesh)
    assert (shape.path, shape.scale) == (mesh, (0.001, 0.001, -0.001))


def test_long_chain_is_read(read):
    links = "".join(f'<link name="l{i}"/>' for i in range(1500))
    joints = "".join(
        f'<joint name="j{i}" type="continuous">'
        f'<parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(1499)
    )
    model = read(f"<robot>{joints}{links}</robot>")
    assert (model.name, model.n, model.is_serial) == ("robot", 1499, True)


COMPOSED = """<robot name="m"><link name="base"/><link name="cart"><inertial><mass value="2"/>
<origin xyz="0.1 0 0.2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><link name="arm"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="drive" type="{kind}"><parent link="base"/><child link="cart"/>
<origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/></joint>
<joint name="turn" type="revolute"><parent link="cart"/><child link="arm"/><origin xyz="0.3 0 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint></robot>"""


def test_a_planar_joint_is_two_slides_and_a_rotation(tmp_path):
    """Frames and torques of Pinocchio's own planar joint, whose velocity is in the moved frame."""
    pinocchio: Any = import_module("pinocchio")

    text = COMPOSED.format(kind="planar")
    arm = brazo.loads(text)
    assert arm.joint_names == ("drive/x", "drive/y", "drive/theta", "turn")
    assert "read as the joints x, y, theta" in str(arm.findings[0])
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    rng = np.random.default_rng(1)
    for q in rng.uniform(-1.5, 1.5, (5, 4)):
        configuration = np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2]), q[3]])
        pinocchio.framesForwardKinematics(model, data, configuration)
        for link in ("cart", "arm"):
            wanted = data.oMf[model.getFrameId(link)].homogeneous
            assert np.abs(arm.frame(q, link) - wanted).max() < 1e-14
        forces = pinocchio.computeGeneralizedGravity(model, data, configuration)
        R = np.array([[np.cos(q[2]), -np.sin(q[2])], [np.sin(q[2]), np.cos(q[2])]])
        wanted = [*(R @ forces[:2]), *forces[2:]]
        assert arm.gravity(q) == pytest.approx(wanted, abs=1e-12)


def test_spaces_around_the_type_of_a_joint_do_not_count():
    arm = brazo.loads(COMPOSED.format(kind=" planar "))
    assert arm.joint_names == ("drive/x", "drive/y", "drive/theta", "turn")


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_lost_properties_of_multi_axis_joints_are_reported(read, kind):
    text = COMPOSED.format(kind=kind).replace('"base"', '"root"').replace("</robot>", "")
    text = text.replace('parent link="root"', 'parent link="base"')
    text += """<link name="base"/><joint name="f" type="continuous"><parent link="root"/>
      <child link="base"/></joint></robot>"""
    plain = next(str(f) for f in read(text).findings if f"a {kind} joint" in str(f))
    assert plain.endswith("without limits")
    more = """<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="2"/>
      <dynamics damping="3" friction="1"/><mimic joint="turn"/></joint>"""
    model = read(text.replace('<axis xyz="0 0 1"/></joint>', more))
    noted = next(str(f) for f in model.findings if f"a {kind} joint" in str(f))
    assert noted.endswith("without limits; left out: <limit>, <dynamics>, <mimic>")


def test_a_floating_joint_inside_the_robot_is_six_joints():
    text = COMPOSED.format(kind="floating").replace(
        '<link name="base"/>',
        '<link name="root"/><link name="base"/><joint name="f" type="fixed">'
        '<parent link="root"/><child link="base"/></joint>',
    )
    arm = brazo.loads(text)
    assert arm.joint_names[:6] == tuple(f"drive/{x}" for x in ("x", "y", "z", "rx", "ry", "rz"))
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0])
    here = pose((0, 0, 0.1), (0.1, 0.2, 0.3))
    turned = (
        pose((0, 0, 0), (0.4, 0, 0)) @ pose((0, 0, 0), (0, 0.5, 0)) @ pose((0, 0, 0), (0, 0, 0.6))
    )
    assert np.abs(arm.frame(q, "cart") - here @ pose(q[:3]) @ turned).max() < 1e-15

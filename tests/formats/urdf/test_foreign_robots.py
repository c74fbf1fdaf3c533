"""Every robot of the rtb-data package: it loads, and its link poses agree with yourdfpy."""

from __future__ import annotations

import io

import numpy as np
import pytest
import yourdfpy

from brazo.errors import BrazoError
from brazo.etree import etree
from brazo.formats.urdf.normalise import read_document
from brazo.formats.urdf.reader import read_urdf
from brazo.model.motion import body_poses
from tests.formats.foreign import NAMES, ROBOTS, ROOT, foreign, path_of

# Bodies without inertia, by the names of their links; the files give no more.
WITHOUT_INERTIA = {
    "kr10r1100sixx.xacro": 6,
    "kr150_2.xacro": 6,
    "kr3r540.xacro": 6,
    "kr6r700sixx.xacro": 6,
    "kr6r900sixx.xacro": 6,
    "irb140.urdf": 6,
    "irb140.xacro": 6,
    "irb140QT.urdf": 6,
    "lbr_iiwa_14_r820.urdf": 7,
    "lbr_iiwa_14_r820.xacro": 7,
    "puma560_robot.urdf": 6,
    "puma560_robot.urdf.xacro": 6,
    "ridgeback.urdf.xacro": 2,
    "dual_panda_example.urdf.xacro": 18,
    "frankieOmni_arm.urdf.xacro": 10,
    "frankieOmni_arm_hand.urdf.xacro": 12,
    "frankie_arm.urdf.xacro": 9,
    "frankie_arm_hand.urdf.xacro": 11,
    "hand.urdf.xacro": 2,
    "panda_arm.urdf.xacro": 7,
    "panda_arm_hand.urdf.xacro": 9,
    "pxxls.urdf.xacro": 2,
    "vxxmd.urdf.xacro": 2,
    "vxxms.urdf.xacro": 2,
    "wxxmd.urdf.xacro": 2,
    "wxxms.urdf.xacro": 2,
}
IMPLAUSIBLE = {
    "xarm6.xacro": {"link2": "triangle inequality", "link3": "triangle inequality"},
    "kr210l150.urdf": {"link_1": "mass 1385.5 kg", "link_2": "mass 958.62", "link_3": "mass 710"},
    "al5d_robot.urdf": {f"link{i}": "point mass" for i in (1, 2, 3, 4)},
    "kr120r2500pro.urdf": {"link_1, link_2": "exactly the same inertial"},
    "kr120r2500pro.xacro": {"link_1, link_2": "exactly the same inertial"},
    "kr16_2.urdf": {"link_1, link_2": "exactly the same inertial"},
    "kr16_2.xacro": {"link_1, link_2": "exactly the same inertial"},
}


@pytest.mark.parametrize("name", NAMES)
def test_link_poses_agree_with_yourdfpy(name):
    model = foreign(name)
    plain = etree.tostring(read_document(path_of(name)).root)
    other = yourdfpy.URDF.load(io.BytesIO(plain), build_scene_graph=True, load_meshes=False)
    names = [joint.name for joint in model.coordinates]
    assert sorted(names) == sorted(other.actuated_joint_names)
    assert set(model.named_frames) == set(other.link_map)
    rng = np.random.default_rng(NAMES.index(name))
    for _ in range(5):
        q = rng.uniform(-np.pi, np.pi, model.n)
        other.update_cfg(dict(zip(names, q, strict=True)))
        poses = body_poses(model, q)
        for link, (body, T) in model.named_frames.items():
            expected = other.get_transform(link)
            assert np.abs(poses[body] @ T - expected).max() <= 1e-13, link


@pytest.mark.parametrize("name", NAMES)
def test_missing_inertia_is_reported_by_name(name):
    model = foreign(name)
    assert len(model.missing_inertia) == WITHOUT_INERTIA.get(name, 0)
    said = [str(f) for f in model.findings if "mass is unknown" in f.message]
    assert len(said) == len(model.missing_inertia)
    for link in model.missing_inertia:
        assert any(f'link name="{link}"' in text for text in said)


@pytest.mark.parametrize("name", NAMES)
def test_implausible_inertia_is_reported_and_kept(name):
    model = foreign(name)
    words = ("triangle", "point mass", "more than", "exactly the same", "negative", "not positive")
    said = [str(f) for f in model.findings if any(word in f.message for word in words)]
    expected = IMPLAUSIBLE.get(name, {})
    for link, rule in expected.items():
        assert any(link in text and rule in text for text in said), (link, said)
    assert bool(said) == bool(expected)


@pytest.mark.parametrize("name", NAMES)
def test_all_meshes_are_read(name):
    model = foreign(name)
    assert not [f for f in model.findings if "not found; the part" in f.message]
    shown = [body for body in model.bodies if body.parts]
    assert len(shown) >= len(model.bodies) - 3


def test_other_files_are_rejected_with_a_reason():
    reasons = {
        "only macros": 0,
        "not an XML file": 0,
        "broken XML": 0,
        "package 'lms1xx'": 0,
        "name 'deg' is not defined": 0,
    }
    known = {ROOT / path for path in ROBOTS}
    for path in sorted([*ROOT.rglob("*.urdf"), *ROOT.rglob("*.xacro")]):
        if path in known:
            continue
        with pytest.raises(BrazoError) as caught:
            read_urdf(path)
        assert str(path) in str(caught.value)
        (reason,) = [reason for reason in reasons if reason in str(caught.value)]
        reasons[reason] += 1
    assert sum(reasons.values()) == 25
    assert reasons["package 'lms1xx'"] == 2
    assert reasons["name 'deg' is not defined"] == 1
    assert reasons["only macros"] == 21


@pytest.mark.parametrize(
    ("name", "tip"),
    [
        ("kr5_arc.xacro", "tool0"),
        ("panda_arm.urdf.xacro", "panda_link8"),
        ("panda_arm_hand.urdf.xacro", "panda_hand"),
        ("vx300s.urdf.xacro", "/ee_gripper_link"),
        ("dual_panda_example.urdf.xacro", "panda_1_hand"),
        ("xarm6.xacro", "link_eef"),
    ],
)
def test_tip_is_the_expected_link(name, tip):
    model = foreign(name)
    assert model.named_frames[tip][0] == model.tip
    assert model.named_frames[tip][1] is model.tool


def test_another_tip_may_be_named():
    model = read_urdf(path_of("dual_panda_example.urdf.xacro"), tip="panda_2_leftfinger")
    assert model.bodies[model.tip].name == "panda_2_leftfinger"
    with pytest.raises(BrazoError, match=r"tip: no link is named 'hand'; .*panda_2_hand"):
        read_urdf(path_of("dual_panda_example.urdf.xacro"), tip="hand")


def test_renamed_package_is_found_and_reported():
    model = foreign("kr10r1100sixx.xacro")
    assert any("'kuka_kr10_support'" in f.message for f in model.findings)


def test_fingers_share_a_coordinate():
    model = foreign("vx300s.urdf.xacro")
    left, right = (
        next(j for j in model.joints if j.name == name) for name in ("left_finger", "right_finger")
    )
    assert left.coordinate == right.coordinate
    assert (right.multiplier, right.offset) == (-1.0, 0.0)
    assert model.n == len(model.joints) - 1

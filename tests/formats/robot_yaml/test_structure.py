"""Edits of the joints of a robot file: kind and number."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.structure import (
    with_joint_added,
    with_joint_kind,
    with_last_joint_removed,
)
from brazo.formats.robot_yaml.writer import robot_yaml


def arm_of(file: RobotFile) -> brazo.Robot:
    """The robot of the text, so that the text is checked, too."""
    return brazo.loads(robot_yaml(file.root))


@pytest.fixture(scope="module")
def scara():
    return RobotFile.read(brazo.load("scara1").model.path)


@pytest.mark.parametrize("joint", range(5))
def test_another_kind_of_joint_keeps_the_frames_at_zero(scara, joint):
    zero = np.zeros(5)
    old = arm_of(scara)
    kind = "revolute" if old.joint_kinds[joint] == "prismatic" else "prismatic"
    file = with_joint_kind(scara, joint, kind)
    new = arm_of(file)
    assert new.joint_kinds[joint] == kind
    assert np.abs(new.frames(zero) - old.frames(zero)).max() < 1e-15
    q = zero.copy()
    q[joint] = 0.1
    T = np.linalg.inv(old.frames(zero)[joint]) @ new.frames(q)[joint + 1]
    still = np.linalg.inv(old.frames(zero)[joint]) @ old.frames(zero)[joint + 1]
    move = T @ np.linalg.inv(still)  # along or about the joint's axis
    angle, way = (0.1, 0.0) if kind == "revolute" else (0.0, 0.1)
    c, s = np.cos(angle), np.sin(angle)
    wanted = [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, way], [0, 0, 0, 1]]
    assert np.abs(move - wanted).max() < 1e-15
    again = arm_of(with_joint_kind(file, joint, old.joint_kinds[joint]))
    assert np.array_equal(again.frames(zero), old.frames(zero))
    assert with_joint_kind(file, joint, kind) is file


def test_expressions_of_parameters_stay(scara):
    text = robot_yaml(with_joint_kind(scara, 0, "prismatic").root)
    assert "offset: L_base" in text and "d: L_base" not in text


def test_joints_are_added_and_removed_with_their_part_of_the_poses(scara):
    old, longer = arm_of(scara), arm_of(with_joint_added(with_joint_added(scara)))
    assert longer.joint_names == (*old.joint_names, "joint 6", "joint 7")
    assert longer.mass_matrix(np.zeros(7)).shape == (7, 7)
    assert all(np.array_equal(longer.poses[name][:5], q) for name, q in old.poses.items())
    back = arm_of(with_last_joint_removed(with_joint_added(scara)))
    q = old.poses["home"]
    assert np.array_equal(back.fk(q), old.fk(q))
    assert np.array_equal(back.mass_matrix(q), old.mass_matrix(q))
    file = scara
    for _ in range(4):
        file = with_last_joint_removed(file)
    assert arm_of(file).n == 1
    with pytest.raises(BrazoError, match="at least one joint"):
        with_last_joint_removed(file)


def test_robots_without_a_table_of_joints_are_refused():
    file = RobotFile.read(brazo.load("delta").model.path)
    with pytest.raises(BrazoError, match="not a serial arm"):
        with_joint_added(file)

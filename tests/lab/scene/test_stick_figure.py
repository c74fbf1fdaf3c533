"""Stick figures of bodies without visuals."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.body.solids import mesh
from brazo.body.stick_figure import visible_parts
from brazo.formats.library import robot_names

URDF = """<robot name="stick">
  <link name="base"/><link name="a">{visual}</link><link name="b"/><link name="c"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
    <origin xyz="0.4 0 0" rpy="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="j3" type="prismatic"><parent link="b"/><child link="c"/>
    <origin xyz="0.3 0 0"/><axis xyz="1 0 0"/><limit lower="0" upper="0.2" effort="1" velocity="1"/>
  </joint>
</robot>"""
BOX = "<visual><geometry><box size='0.1 0.1 0.1'/></geometry></visual>"


@pytest.fixture
def stick(tmp_path):
    def stick(visual: str = "") -> brazo.Robot:
        path = tmp_path / "stick.urdf"
        path.write_text(URDF.format(visual=visual), encoding="utf-8")
        return brazo.load(path)

    return stick


def cloud(robot, q) -> np.ndarray:
    """Every corner (k, 3) of what is drawn at q, in the base frame."""
    points = []
    for T, parts in zip(robot.frames(q), visible_parts(robot.model, robot.parts), strict=True):
        for part in parts:
            T_part = T @ part.pose
            points.append(mesh(part.shape).vertices @ T_part[:3, :3].T + T_part[:3, 3])
    return np.concatenate(points)


def test_a_robot_without_visuals_is_drawn_along_its_joints(stick):
    robot = stick()
    for q in ([0.0, 0.0, 0.0], [0.7, -1.0, 0.15]):
        points = cloud(robot, q)
        for T in robot.frames(q):  # a solid of the reach's hundredth is about every joint
            assert np.linalg.norm(points - T[:3, 3], axis=1).min() < 0.06
        size = np.linalg.norm(np.ptp(points, axis=0))
        assert 0.4 < size < 1.6


def test_the_mark_of_a_joint_lies_along_its_axis(stick):
    robot = stick()
    q = np.array([0.4, -0.6, 0.1])
    for i, joint in enumerate(robot.model.joints, start=1):
        mark = next(
            part for part in visible_parts(robot.model, robot.parts)[i] if part.name == "joint"
        )
        T = robot.frames(q)[i] @ mark.pose
        # The joint's column of the Jacobian is an independent value of its axis.
        column = robot.jacobian(q, link=robot.body_names[i])[:, i - 1]
        axis = column[:3] if joint.kind == "prismatic" else column[3:]
        assert T[:3, 2] == pytest.approx(axis, abs=1e-12)


def test_a_slide_stays_in_its_joint_at_both_stops(stick):
    robot = stick()
    (slide,) = [part for part in visible_parts(robot.model, robot.parts)[3] if part.name == "slide"]
    where = robot.frames([0.0, 0.0, 0.0])[3][:3, 3]
    for travel in (0.0, 0.2):
        T = robot.frames([0.0, 0.0, travel])[3] @ slide.pose
        along = T[:3, 2] @ (where - T[:3, 3])
        assert abs(along) == pytest.approx(slide.shape.length / 2, abs=1e-12)


def test_bodies_with_visuals_keep_them_and_only_them(stick):
    robot = stick(BOX)
    shown = visible_parts(robot.model, robot.parts)
    assert shown[1] is robot.parts[1] and len(shown[1]) == 1
    assert all(shown)
    for name in robot_names():
        whole = brazo.load(name)
        assert visible_parts(whole.model, whole.parts) is whole.parts


def test_robot_with_coincident_joints_is_visible(tmp_path):
    path = tmp_path / "wrist.urdf"
    path.write_text(
        "<robot name='wrist'><link name='a'/><link name='b'/><joint name='j' type='continuous'>"
        "<parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint></robot>",
        encoding="utf-8",
    )
    robot = brazo.load(path)
    assert [len(parts) for parts in visible_parts(robot.model, robot.parts)] == [0, 1]


@pytest.mark.parametrize("visual", ["", BOX])
def test_the_lab_draws_it_with_a_floor_of_its_size(lab, stick, visual):
    robot = stick(visual)
    lab.set_robot(robot)
    assert (
        lab.channel.get("view/parts") == sum(map(len, visible_parts(robot.model, robot.parts))) > 3
    )
    assert 0.4 < lab.scene.size < 1.6
    assert -0.2 < lab.scene.floor_height <= 0.05

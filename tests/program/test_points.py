"""Named points in program files and steps."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.operate.points import Point, Points
from brazo.program import Program, parse_program
from brazo.program.point_file import points_yaml, read_points
from brazo.program.steps import MoveJoints, MoveTo
from brazo.program.validate import validate
from brazo.simulation import Simulation

BODY = """name: task
points:
  rv2aj:
    - {name: rest, q: [10deg, -20deg, 100deg, 5deg, 0]}
    - {name: below, q: [10deg, -10deg, 100deg, 0, 0]}
    - {name: above, in: world, xyz: [250mm, 0, 300mm], rpy: [180deg, 0, 0]}
robots:
  rv2aj:
"""


@pytest.fixture(scope="module")
def sim():
    from brazo.lab.app.opening import as_cell

    return Simulation(as_cell("robot:rv2aj"))


def steps(sim, *lines: str):
    text = BODY + "".join(f"    - {line}\n" for line in lines)
    return validate(parse_program(text), sim)["rv2aj"]


def test_points_become_values_and_keep_their_names(sim):
    arm = sim.robots["rv2aj"].arm
    joint, pose, line, pose_line = steps(
        sim, "move_joints: rest", "move_joints: above", "line: below", "line: {to: above}"
    )
    assert isinstance(joint, MoveJoints) and joint.point == "rest"
    assert joint.to == pytest.approx(np.radians([10, -20, 100, 5, 0]), abs=1e-15)
    assert isinstance(pose, MoveTo) and pose.target.frame == "world" == pose_line.target.frame
    assert pose.target.xyz == (0.25, 0.0, 0.3)
    T = arm.fk(np.radians([10.0, -10.0, 100.0, 0.0, 0.0]))
    assert line.target.frame == "base" and line.target.xyz == pytest.approx(T[:3, 3], abs=1e-15)
    assert matrix_from_rpy(line.target.rpy) == pytest.approx(T[:3, :3], abs=1e-15)


def test_a_joint_motion_of_the_tool_to_joint_values_is_exact(sim):
    (step,) = steps(sim, "move_to: {to: rest, speed: 0.3}")
    assert isinstance(step, MoveJoints) and step.speed.fraction == 0.3


def test_a_point_with_the_name_of_a_pose_is_used_instead_of_it(sim):
    name = next(iter(sim.robots["rv2aj"].arm.poses))
    text = f"name: a\npoints: {{rv2aj: [{{name: {name}, q: [0.1, 0, 1, 0, 0]}}]}}\n"
    text += f"robots: {{rv2aj: [{{move_joints: {name}}}]}}\n"
    (step,) = validate(parse_program(text), sim)["rv2aj"]
    assert step.to == (0.1, 0.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("move_joints: rset", "no point or pose 'rset'; did you mean 'rest'?"),
        ("line: {to: nowhere}", "no point 'nowhere'; available: rest, below, above"),
        ("line: {to: rest, xyz: [0, 0, 0]}", "is not allowed with 'to', which names a point"),
    ],
)
def test_unknown_name_is_rejected_with_the_known_ones(sim, line, wanted):
    with pytest.raises(BrazoError) as error:
        steps(sim, line)
    assert wanted in str(error.value)


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ("[{name: a}]", "point 'a' needs joint values or a pose: give 'q', or 'xyz' and 'rpy'"),
        ("[{q: [0]}]", "name"),
        ("[{name: a, xyz: [0, 0, 0]}]", "rpy"),
        ("[{name: a, q: [0], in: base}]", "is allowed only with 'xyz'"),
        ("[{name: a, q: [0]}, {name: a, q: [1]}]", "two points named 'a'"),
        ("[{name: a, q: [1kg]}]", "a joint value must be an angle or a length"),
    ],
)
def test_invalid_points_are_rejected(points, wanted):
    with pytest.raises(BrazoError, match=":2: points") as error:
        parse_program(f"name: a\npoints: {{arm: {points}}}\nrobots: {{arm: []}}\n", "a.yaml")
    assert wanted in str(error.value)


def test_a_program_with_points_is_written_and_read_again():
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = matrix_from_rpy([0.1, -0.4, 2.0]), (0.1, 0.2, 1 / 3)
    taught = Points()
    taught.teach(np.array([1 / 3, -2.0]))
    taught.teach(np.array([0.5, 0.25]), "on: #1", T, "bar 1")
    program = Program("all", points={"arm": list(taught)})
    program.robot("arm").move_joints("P1").add(MoveJoints(to="on: #1"))
    again = parse_program(program.to_yaml())
    assert again == program
    first, second = again.points["arm"]
    assert (first.name, second.name, second.frame) == ("P1", "on: #1", "bar 1")
    assert first.q.tolist() == [1 / 3, -2.0] and first.T is None
    assert np.abs(second.T - T).max() < 1e-15


def test_points_alone_are_written_and_read_again():
    lists = {"a b": [Point(4, "x", np.array([0.1, 7e-19]))], "none": []}
    again = read_points(parse_document(points_yaml(lists)))
    assert list(again) == ["a b"] and again["a b"][0].q.tolist() == [0.1, 7e-19]


def test_order_of_points_and_return_to_an_earlier_state():
    points = Points()
    for _ in range(4):
        points.teach(np.zeros(2))
    before = points.state
    points.move(3, -2)
    assert [one.name for one in points] == ["P3", "P1", "P2", "P4"]
    points.move(3, 99)
    points.rename(1, "  on   top ")
    points.delete(2)
    assert [one.name for one in points] == ["on top", "P4", "P3"]
    points.restore(before)
    assert points.state == before
    assert points.teach(np.zeros(2)).name == "P5"

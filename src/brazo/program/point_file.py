"""Points as YAML: in a program file, and in the point file of a project.

    scara2:
      - {name: rest, q: [0, 45deg, 45deg, 5cm, 0]}
      - {name: above, in: bar 1, xyz: [-10cm, 0, 8cm], rpy: [180deg, 0, 0]}

A point has joint values `q`, or a pose of the tool: `xyz` and `rpy` in the frame `in` (`world`,
`base`, or a body, fixture, chute, frame or robot of the cell; by default `base`).  A point with a
pose may also have `q`: the joint values of the robot when the point was taught.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.operate.points import LONGEST_NAME, MOST, Point
from brazo.program.flow import flow, plain_text

PointLists = Mapping[str, Sequence[Point]]  # by robot


def read_points(field: Field) -> dict[str, list[Point]]:
    """Read the points of each robot; return them by robot name."""
    if field.is_null:
        return {}
    return {robot: _robot_points(block) for robot, block in field.mapping().items()}


def points_yaml(points: PointLists) -> str:
    """Return the points as YAML for `read_points`, one point per line, in SI units and radians."""
    lines = []
    for robot, some in points.items():
        if some:
            lines.append(f"{plain_text(robot)}:")
            lines += [f"  - {flow(_plain(point))}" for point in some]
    return "".join(f"{line}\n" for line in lines)


def _robot_points(block: Field) -> list[Point]:
    found: list[Point] = []
    for item in [] if block.is_null else block.items(MOST):
        given = item.mapping(("name", "q", "xyz", "rpy", "in"), required=("name",))
        name = given["name"].identifier()
        if len(name) > LONGEST_NAME:
            given["name"].fail(f"the name is longer than {LONGEST_NAME} characters")
        if any(one.name == name for one in found):
            given["name"].fail(f"there are two points named '{name}'; names must be unique")
        q = _joint_values(given["q"]) if "q" in given else None
        for key in ("rpy", "in"):
            if key in given and "xyz" not in given:
                given[key].fail("is allowed only with 'xyz'")
        T = None
        if "xyz" in given:
            T = np.eye(4)
            T[:3, 3] = given["xyz"].numbers(3, units.LENGTH)
            if "rpy" not in given:
                item.missing("rpy", "the orientation of the tool")
            T[:3, :3] = matrix_from_rpy(given["rpy"].numbers(3, units.ANGLE))
        frame = given["in"].identifier() if "in" in given else "base"
        try:
            found.append(Point(len(found) + 1, name, q, T, frame))
        except BrazoError as error:
            item.fail(f"{error}: give 'q', or 'xyz' and 'rpy'")
    return found


def _joint_values(field: Field) -> np.ndarray:
    values = []
    for item in field.items(100):
        quantity = item.quantity()
        if quantity.dimension not in (None, units.ANGLE, units.LENGTH):
            name = units.dimension_name(quantity.dimension)
            item.fail(f"a joint value must be an angle or a length, not {name}")
        values.append(quantity.value)
    return np.array(values)


def _plain(point: Point) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": point.name}
    if point.T is not None:
        if point.frame != "base":
            plain["in"] = point.frame
        plain["xyz"] = point.T[:3, 3].tolist()
        plain["rpy"] = rpy_from_matrix(point.T[:3, :3]).tolist()
    if point.q is not None:
        plain["q"] = point.q.tolist()
    return plain

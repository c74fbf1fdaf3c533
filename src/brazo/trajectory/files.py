"""Conversion of trajectories to JSON data, and reading of via-point files (YAML).

`to_dict` returns JSON-compatible data in SI units, with name and unit of each joint.  `from_dict`
restores the same trajectory.

An example of a via-point file:

    curve: cubic            # or quintic; line: straight tool motion between points
    rule: average           # for points without velocity: average, monotone, smooth
    orientation: full       # constraint on tool orientations: full, nearest, free
    points:
      - {t: 0, q: [0, 45deg, 45deg, 5cm, 0]}
      - {t: 1.5s, q: [30deg, 45deg, 45deg, 10cm, 0], qd: [0.2, 0, 0, 0, 0]}
      - {t: 3s, xyz: [0.3, 0.2, 0.25], rpy: [180deg, 0, 0]}

A point is given by joint values `q`, or by the tool pose: `xyz` with `rpy` or `wxyz`, or `xyz`
alone with free orientation.  For cubics and quintics, joint velocities `qd` are optional; for
quintics, joint accelerations `qdd` too.  Numbers without a unit are in rad, m and s.  In `qd`,
`90deg` means 90°/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from brazo.errors import BrazoError, at
from brazo.formats.document import Field, parse_document, read_document
from brazo.kinematics.options import Orientation
from brazo.kinematics.orientation import matrix_from_rpy, matrix_from_wxyz
from brazo.trajectory.base import Trajectory
from brazo.trajectory.follow import ORIENTATIONS
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.via_list import THROUGH, Through, ViaList, ViaPoint
from brazo.trajectory.via_points import RULES, Rule
from brazo.units import ANGLE, ANGULAR_SPEED, LENGTH, NUMBER, SPEED, TIME

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
FORMAT = "brazo trajectory 1"
_UNITS = {"revolute": "rad", "prismatic": "m"}


def to_dict(trajectory: Trajectory, robot: Robot) -> dict[str, Any]:
    """Convert a piecewise polynomial trajectory to JSON-compatible data."""
    if not isinstance(trajectory, Piecewise):
        raise BrazoError(
            "only piecewise polynomial trajectories can be converted; sample this trajectory and "
            "pass the samples "
            "to quintic_via_points(t, q, qd, qdd)"
        )
    if trajectory.n != robot.n:
        raise BrazoError(
            f"the trajectory moves {trajectory.n} joints; '{robot.name}' has {robot.n}"
        )
    return {
        "format": FORMAT,
        "robot": robot.name,
        "joints": [
            {"name": name, "unit": _UNITS[kind]}
            for name, kind in zip(robot.joint_names, robot.joint_kinds, strict=True)
        ],
        "time_unit": "s",
        "breaks": trajectory.breaks.tolist(),
        # pieces, powers of the time since the start of the piece, joints
        "coefficients": trajectory.coefficients.tolist(),
    }


def from_dict(data: Mapping[str, Any], robot: Robot | None = None) -> Piecewise:
    """Create a trajectory from data of `to_dict`; joints and units must match `robot`, if given."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise BrazoError(f"not a trajectory: 'format' must be '{FORMAT}'")
    missing = [name for name in ("joints", "breaks", "coefficients") if name not in data]
    if missing:
        raise BrazoError(f"trajectory: field '{missing[0]}' is missing")
    if data.get("time_unit", "s") != "s":
        raise BrazoError(f"trajectory: time_unit is '{data['time_unit']}'; only 's' is supported")
    found = Piecewise(data["breaks"], data["coefficients"])
    joints = data["joints"]
    if not isinstance(joints, list) or len(joints) != found.n:
        raise BrazoError(
            f"trajectory: joints must be a list of {found.n} entries with name and unit"
        )
    if robot is not None:
        own = [
            {"name": name, "unit": _UNITS[kind]}
            for name, kind in zip(robot.joint_names, robot.joint_kinds, strict=True)
        ]
        for i, (given, wanted) in enumerate(zip(joints, own, strict=False)):
            if given != wanted:
                raise BrazoError(
                    f"trajectory: joint {i + 1} is {given}; in robot '{robot.name}' it is {wanted}"
                )
        if len(own) != len(joints):
            raise BrazoError(
                f"the trajectory moves {len(joints)} joints; robot '{robot.name}' has {len(own)}"
            )
    return found


def read_via_points(path: str | Path, robot: Robot) -> Piecewise:
    """Read a via-point file as a trajectory; errors name `file:line: field`."""
    return read_via_list(path, robot).trajectory(robot)


def parse_via_points(text: str, robot: Robot, path: str | Path | None = None) -> Piecewise:
    """Read the text of a via-point file as a trajectory; error messages name the file `path`."""
    return parse_via_list(text, robot, path).trajectory(robot)


def read_via_list(path: str | Path, robot: Robot) -> ViaList:
    """Read the points of a via-point file, without interpolation."""
    return _read(read_document(Path(path)), robot)


def parse_via_list(text: str | bytes, robot: Robot, path: str | Path | None = None) -> ViaList:
    """Read the points in the text of a via-point file; error messages name the file `path`."""
    return _read(parse_document(text, None if path is None else Path(path)), robot)


def _read(root: Field, robot: Robot) -> ViaList:
    fields = root.mapping(("curve", "rule", "orientation", "points", "about"))
    curve = cast(Through, fields["curve"].choice(*THROUGH) if "curve" in fields else "cubic")
    rule = cast(Rule, fields["rule"].choice(*RULES) if "rule" in fields else "average")
    orientation = cast(
        Orientation,
        fields["orientation"].choice(*ORIENTATIONS) if "orientation" in fields else "full",
    )
    if "points" not in fields:
        root.missing("points", "a list of {t: …, q: […]}")
    given = list(fields["points"].items(at_most=5000))
    if len(given) < 2:
        fields["points"].fail(f"{len(given)} points; expected at least 2")
    allowed = ["t", "q", "xyz", "rpy", "wxyz"]
    if curve != "line":
        allowed += ["qd", "qdd"] if curve == "quintic" else ["qd"]
    points: list[ViaPoint] = []
    for item in given:
        point = _point(item, tuple(allowed), robot)
        if points and point.t <= points[-1].t:
            item.mapping()["t"].fail(
                f"{point.t:g} s is not later than the previous point, {points[-1].t:g} s"
            )
        points.append(point)
    return ViaList(tuple(points), curve, rule, orientation)


def _point(item: Field, allowed: tuple[str, ...], robot: Robot) -> ViaPoint:
    given = item.mapping(allowed)
    if "t" not in given:
        item.missing("t", "the time in seconds")
    if ("q" in given) == ("xyz" in given):
        item.fail("a point has either 'q' (joint values) or 'xyz' (tool position)")
    t = given["t"].number(TIME)
    qd, qdd = _rates(given.get("qd"), robot), _rates(given.get("qdd"), robot)
    if "q" in given:
        for name in ("rpy", "wxyz"):
            if name in given:
                given[name].fail(
                    "is allowed only with 'xyz'; 'q' already determines the orientation"
                )
        return ViaPoint(t, np.array(_numbers(given["q"], robot)), qd=qd, qdd=qdd)
    field = given["xyz"]
    place = at(field.path, field.line, field.name)
    return ViaPoint(t, T=_pose(given), qd=qd, qdd=qdd, place=place)


def _pose(given: dict[str, Field]) -> Array:
    """Read a tool pose (4, 4), or a position (3,) if no orientation is given."""
    xyz = np.array(given["xyz"].numbers(3, LENGTH))
    if "rpy" in given and "wxyz" in given:
        given["wxyz"].fail("the orientation is already given by 'rpy'")
    if "rpy" not in given and "wxyz" not in given:
        return xyz
    T = np.eye(4)
    T[:3, 3] = xyz
    if "rpy" in given:
        T[:3, :3] = matrix_from_rpy(given["rpy"].numbers(3, ANGLE))
    else:
        wxyz = given["wxyz"].numbers(4, NUMBER)
        if not any(wxyz):
            given["wxyz"].fail(
                "a quaternion of length 0 is not a rotation; the identity is 1 0 0 0"
            )
        T[:3, :3] = matrix_from_wxyz(wxyz)
    return T


def _numbers(field: Field, robot: Robot) -> list[float]:
    """Read one number per joint; units must match the joint types."""
    items = list(field.items()) if field.is_list else []
    if len(items) != robot.n:
        field.fail(
            f"expected a list of {robot.n} numbers, one per joint: {', '.join(robot.joint_names)}"
        )
    return [
        item.number(ANGLE if kind == "revolute" else LENGTH)
        for item, kind in zip(items, robot.joint_kinds, strict=True)
    ]


def _rates(field: Field | None, robot: Robot) -> Array | None:
    """Read joint velocities or accelerations, one per joint; None if the field is missing or null.

    A value without a unit is in rad/s or m/s (rad/s² or m/s²); `90deg` means 90°/s (90°/s²).
    """
    if field is None or field.is_null:
        return None
    items = list(field.items()) if field.is_list else []
    if len(items) != robot.n:
        field.fail(
            f"expected a list of {robot.n} numbers, one per joint: {', '.join(robot.joint_names)}"
        )
    dimensions = {"revolute": (ANGLE, ANGULAR_SPEED), "prismatic": (LENGTH, SPEED)}
    return np.array(
        [item.number(*dimensions[k]) for item, k in zip(items, robot.joint_kinds, strict=True)]
    )

"""Trajectories as plain data with units, and via points from a YAML file.

`to_dict` gives what JSON or YAML can hold, every number in SI, every joint with its name and unit;
`from_dict` reads it back to the last bit.

A file of via points:

    curve: cubic            # or quintic
    rule: average           # where a point has no speed: average, monotone, smooth
    points:
      - {t: 0, q: [0, 45deg, 45deg, 5cm, 0]}
      - {t: 1.5s, q: [30deg, 45deg, 45deg, 10cm, 0], qd: [0.2, 0, 0, 0, 0]}
      - {t: 3s, xyz: [0.3, 0.2, 0.25], rpy: [180deg, 0, 0]}

A point is given by joint values `q`, or by the tool: `xyz` with `rpy` or `wxyz`, or `xyz` alone,
which leaves the orientation free.  `qd` and, for a quintic, `qdd` are optional.  Angles may be
written in degrees; a speed is per second of what its joint has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from brazo.errors import BrazoError, at
from brazo.kinematics.orientation import matrix_from_rpy, matrix_from_wxyz
from brazo.model.document import Field, parse_document, read_document
from brazo.trajectory.base import Trajectory
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.via_points import RULES, Rule, cubic_via_points, quintic_via_points
from brazo.trajectory.via_poses import solve_poses
from brazo.units import ANGLE, ANGULAR_SPEED, LENGTH, NUMBER, SPEED, TIME

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
FORMAT = "brazo trajectory 1"
_UNITS = {"revolute": "rad", "prismatic": "m"}


def to_dict(trajectory: Trajectory, robot: Robot) -> dict[str, Any]:
    """A trajectory of polynomials as plain data."""
    if not isinstance(trajectory, Piecewise):
        raise BrazoError(
            "only trajectories of polynomials are written; sample this one and pass the table "
            "through quintic_via_points(t, q, qd, qdd)"
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
        # pieces, powers of the time since the piece began, joints
        "coefficients": trajectory.coefficients.tolist(),
    }


def from_dict(data: Mapping[str, Any], robot: Robot | None = None) -> Piecewise:
    """The trajectory `to_dict` wrote; with a robot, joints and units must be its own."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise BrazoError(f"not a trajectory: 'format' must be '{FORMAT}'")
    missing = [name for name in ("joints", "breaks", "coefficients") if name not in data]
    if missing:
        raise BrazoError(f"trajectory: field '{missing[0]}' is missing")
    if data.get("time_unit", "s") != "s":
        raise BrazoError(f"trajectory: time_unit is '{data['time_unit']}'; only 's' is read")
    found = Piecewise(data["breaks"], data["coefficients"])
    joints = data["joints"]
    if not isinstance(joints, list) or len(joints) != found.n:
        raise BrazoError(f"trajectory: joints must be a list of {found.n}, a name and unit each")
    if robot is not None:
        own = [
            {"name": name, "unit": _UNITS[kind]}
            for name, kind in zip(robot.joint_names, robot.joint_kinds, strict=True)
        ]
        for i, (given, wanted) in enumerate(zip(joints, own, strict=False)):
            if given != wanted:
                raise BrazoError(
                    f"trajectory: joint {i + 1} is {given}; '{robot.name}' has {wanted} there"
                )
        if len(own) != len(joints):
            raise BrazoError(f"trajectory: {len(joints)} joints; '{robot.name}' has {len(own)}")
    return found


def read_via_points(path: str | Path, robot: Robot) -> Piecewise:
    """The trajectory of a via-point file; every complaint says `file:line: field`."""
    return _read(read_document(Path(path)), robot)


def parse_via_points(text: str, robot: Robot, path: str | Path | None = None) -> Piecewise:
    """The same from text; `path` is what messages name."""
    return _read(parse_document(text, None if path is None else Path(path)), robot)


def _read(root: Field, robot: Robot) -> Piecewise:
    fields = root.mapping(("curve", "rule", "points", "about"))
    curve = fields["curve"].choice("cubic", "quintic") if "curve" in fields else "cubic"
    rule = cast(Rule, fields["rule"].choice(*RULES) if "rule" in fields else "average")
    if "points" not in fields:
        root.fail("field 'points' is missing: a list of {t: …, q: […]}")
    points = list(fields["points"].items(at_most=5000))
    if len(points) < 2:
        fields["points"].fail(f"{len(points)} points; wanted at least two")
    t: list[float] = []
    q: list[Array] = []
    speeds: list[Any] = []
    bends: list[Any] = []
    allowed = ("t", "q", "xyz", "rpy", "wxyz", "qd", *(("qdd",) if curve == "quintic" else ()))
    for point in points:
        given = point.mapping(allowed)
        if "t" not in given:
            point.fail("field 't' is missing: the time in seconds")
        t.append(given["t"].number(TIME))
        if len(t) > 1 and t[-1] <= t[-2]:
            given["t"].fail(f"{t[-1]:g} s is not later than the point before, {t[-2]:g} s")
        q.append(_joints(given, point, robot, q[-1] if q else None))
        speeds.append(_rates(given.get("qd"), robot))
        bends.append(_rates(given.get("qdd"), robot))
    if curve == "cubic":
        return cubic_via_points(t, np.stack(q), speeds, rule)
    return quintic_via_points(t, np.stack(q), speeds, bends, rule)


def _joints(given: dict[str, Field], point: Field, robot: Robot, before: Array | None) -> Array:
    """The joint values of one point."""
    if ("q" in given) == ("xyz" in given):
        point.fail("a point has either 'q', the joint values, or 'xyz', where the tool is")
    if "q" in given:
        for name in ("rpy", "wxyz"):
            if name in given:
                given[name].fail("goes with 'xyz'; 'q' already says how the tool is turned")
        return np.array(_numbers(given["q"], robot))
    xyz = np.array(given["xyz"].numbers(3, LENGTH))
    if "rpy" in given and "wxyz" in given:
        given["wxyz"].fail("the orientation is already given by 'rpy'")
    target: Array = xyz
    if "rpy" in given or "wxyz" in given:
        target = np.eye(4)
        target[:3, 3] = xyz
        if "rpy" in given:
            target[:3, :3] = matrix_from_rpy(given["rpy"].numbers(3, ANGLE))
        else:
            wxyz = given["wxyz"].numbers(4, NUMBER)
            if not any(wxyz):
                given["wxyz"].fail("a quaternion of length 0 is no rotation; give 1 0 0 0")
            target[:3, :3] = matrix_from_wxyz(wxyz)
    field = given["xyz"]
    name = at(field.path, field.line, field.name)
    return solve_poses(robot, np.zeros(1), [target], before, names=[name])[0]


def _numbers(field: Field, robot: Robot) -> list[float]:
    """One number for each joint, angles and lengths each where they belong."""
    items = list(field.items()) if field.is_list else []
    if len(items) != robot.n:
        field.fail(f"wanted a list of {robot.n} numbers: {', '.join(robot.joint_names)}")
    return [
        item.number(ANGLE if kind == "revolute" else LENGTH)
        for item, kind in zip(items, robot.joint_kinds, strict=True)
    ]


def _rates(field: Field | None, robot: Robot) -> list[float] | None:
    """Derivatives of the joints: a plain number is rad or m, and `90deg` is 90° per second."""
    if field is None or field.is_null:
        return None
    items = list(field.items()) if field.is_list else []
    if len(items) != robot.n:
        field.fail(f"wanted a list of {robot.n} numbers: {', '.join(robot.joint_names)}")
    dimensions = {"revolute": (ANGLE, ANGULAR_SPEED), "prismatic": (LENGTH, SPEED)}
    return [
        item.number(*dimensions[kind]) for item, kind in zip(items, robot.joint_kinds, strict=True)
    ]

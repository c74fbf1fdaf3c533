"""Points in steps: the name of a point is replaced by its joint values or its pose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from brazo.kinematics.orientation import rpy_from_matrix
from brazo.operate.mover import reach
from brazo.operate.points import Point
from brazo.program import steps as s
from brazo.program.frames import frame_pose, to_base
from brazo.robot import Robot
from brazo.simulation import SimRobot, Simulation

Array = np.ndarray


def named(points: Iterable[Point]) -> dict[str, Point]:
    """Return the points by name."""
    return {point.name: point for point in points}


def resolved(step: s.Step, points: Mapping[str, Point], arm: Robot) -> s.Step:
    """Return a motion step with the name of its point replaced by the values of the point.

    `MoveJoints` to a point with a pose becomes `MoveTo`.  `MoveTo` to a point with joint values
    becomes `MoveJoints`.  If the step is a `Line`, or if it moves a held body to the point, the
    joint values are converted to a pose instead.
    Steps that do not refer to a point are returned unchanged.
    """
    if isinstance(step, s.MoveJoints) and isinstance(step.to, str) and step.to in points:
        point, speed, tolerance = points[step.to], step.speed, step.tolerance
        if point.T is None:
            return replace(step, to=tuple(_values(point)), point=point.name)
        turn: s.Orientation = "full" if arm.mobility >= 6 else "nearest"
        return s.MoveTo(
            target=_pose_target(point, None),
            speed=speed,
            tolerance=tolerance,
            plan=step.plan,
            orientation=turn,
            place=step.place,
        )
    if isinstance(step, s.MoveTo | s.Line) and step.target.point in points:
        point, of = points[step.target.point], step.target.of
        if point.T is not None:
            return replace(step, target=_pose_target(point, of))
        if len(_values(point)) != arm.n:
            # `MoveJoints` reports the number of joint values.
            return s.MoveJoints(to=tuple(_values(point)), point=point.name, place=step.place)
        if isinstance(step, s.MoveTo) and of is None:
            return s.MoveJoints(
                to=tuple(_values(point)),
                point=point.name,
                speed=step.speed,
                tolerance=step.tolerance,
                plan=step.plan,
                place=step.place,
            )
        T = arm.fk(np.array(point.q))
        target = _pose_target(Point(point.number, point.name, T=T, frame="base"), of)
        turn = "full" if arm.mobility >= 6 or step.orientation != "full" else "nearest"
        return replace(step, target=target, orientation=turn)
    return step


def joint_target(sim: Simulation, robot: SimRobot, point: Point) -> Array:
    """Return the joint values (n,) of a point.

    If the point is a pose in a frame, the current pose of the frame is used.  The result is the IK
    solution nearest to the joint values at which the pose was taught.  If these values are not
    known, it is the solution nearest to the reference of the robot.  Raises `BrazoError` if the
    pose is out of reach.
    """
    if point.T is None:
        return np.array(point.q)
    near = robot.reference.q
    if point.q is not None and len(point.q) == robot.n:
        near = np.array(point.q)
    return reach(robot.arm, base_pose(sim, robot, point), near)


def base_pose(sim: Simulation, robot: SimRobot, point: Point) -> Array:
    """Return the pose (4, 4) of a point in the robot's base frame.

    If the point is a pose in another frame, the current pose of that frame is used.
    """
    if point.T is None:
        return robot.arm.fk(np.array(point.q))
    return to_base(robot, frame_pose(sim, robot, point.frame) @ point.T)


def _values(point: Point) -> list[float]:
    return np.asarray(point.q, dtype=float).tolist()


def _pose_target(point: Point, of: str | None) -> s.Target:
    assert point.T is not None
    xyz = cast(s.Triple, tuple(point.T[:3, 3].tolist()))
    rpy = cast(s.Triple, tuple(rpy_from_matrix(point.T[:3, :3]).tolist()))
    return s.Target(xyz, rpy, point.frame, of=of, point=point.name)

"""Frames and targets when a step starts: names resolved to poses in the world.

Motions are planned from the robot's reference pose, not from its measured pose: the motion then
starts without a jump, and a small steady-state error, such as sag under an unknown load, cancels in
motions of a body in the gripper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.program.steps import Target
from brazo.simulation import SimRobot, Simulation

Array = np.ndarray
_EYE = np.eye(4)


def frame_names(sim: Simulation) -> list[str]:
    """Names of all frames a target may be given in."""
    cell = sim.cell
    things = [*cell.bodies, *cell.fixtures, *cell.chutes, *cell.frames, *cell.robots]
    return ["world", "base", "tool", *(thing.name for thing in things)]


def reference_tool(robot: SimRobot) -> Array:
    """Reference pose (4, 4) of the tool in the world."""
    return robot.base @ robot.arm.fk(np.ascontiguousarray(robot.reference.q))


@dataclass(frozen=True, slots=True, eq=False)
class FrameErrors:
    """Errors with which robots know the frames of a cell, by name: transforms (4, 4).

    The error of a body moves the pose that all robots assume for it, in world axes about its
    origin.  The error of a robot's base moves the pose that this robot assumes for everything not
    fixed to itself, in world axes about the base: the effect of a wrong calibration of the base.
    """

    bodies: Mapping[str, Array] = field(default_factory=dict)
    bases: Mapping[str, Array] = field(default_factory=dict)

    def apply(self, robot: SimRobot, name: str, T: Array) -> Array:
        """Pose (4, 4) that a robot assumes for a frame whose true pose is T."""
        found = T
        if name in self.bodies:
            found = _moved_about(self.bodies[name], found, T[:3, 3])
        if robot.name in self.bases and name not in ("base", "tool", robot.name):
            found = _moved_about(self.bases[robot.name], found, robot.base[:3, 3])
        return found


def _moved_about(error: Array, T: Array, point: Array) -> Array:
    moved = error.copy()
    moved[:3, 3] += point - error[:3, :3] @ point
    return moved @ T


def frame_pose(sim: Simulation, robot: SimRobot, name: str) -> Array:
    """Current pose (4, 4) of a frame in the world."""
    if name == "world":
        return np.eye(4)
    if name == "base":
        return robot.base
    if name == "tool":
        return reference_tool(robot)
    if name in sim.robots:
        return sim.robots[name].base
    for fixed in (*sim.cell.chutes, *sim.cell.frames):
        if fixed.name == name:
            return fixed.pose
    return sim.world.pose(name)


def in_hand(sim: Simulation, robot: SimRobot, body: str) -> Array:
    """T_tool_body (4, 4): pose of a held body relative to the reference pose of the tool."""
    return np.linalg.inv(reference_tool(robot)) @ sim.world.pose(body)


def target_pose(
    sim: Simulation,
    robot: SimRobot,
    target: Target,
    held: str | None,
    errors: FrameErrors | None = None,
) -> Array:
    """Target pose (4, 4) of the tool in the world.

    `held` is the body in the gripper; a target `of` a body requires that body to be held.
    """
    T_frame = frame_pose(sim, robot, target.frame)
    if errors is not None:
        T_frame = errors.apply(robot, target.frame, T_frame)
    if target.of is None:
        return tool_at(target, T_frame, reference_tool(robot))
    require_held(target.of, held)
    return tool_at(target, T_frame, reference_tool(robot), in_hand(sim, robot, target.of))


def require_held(body: str, held: str | None) -> None:
    """Raise an error if the gripper does not hold the body that a target is for."""
    if held != body:
        what = f"'{held}'" if held else "nothing"
        raise BrazoError(f"the target is for '{body}', but the gripper holds {what}")


def tool_at(target: Target, T_frame: Array, T_tool: Array, T_tool_body: Array = _EYE) -> Array:
    """Pose (4, 4) of the tool in the world at a target given in the frame `T_frame`.

    `T_tool` is the current pose of the tool, `T_tool_body` the pose in the hand of the body that
    moves to the target.
    """
    now = T_tool @ T_tool_body
    wanted = now.copy()
    if target.rpy is not None:
        wanted[:3, :3] = T_frame[:3, :3] @ matrix_from_rpy(target.rpy)
    if target.xyz is not None:
        wanted[:3, 3] = T_frame[:3, :3] @ np.array(target.xyz) + T_frame[:3, 3]
    if target.by is not None:
        wanted[:3, 3] = now[:3, 3] + T_frame[:3, :3] @ np.array(target.by)
    return wanted @ np.linalg.inv(T_tool_body)


def to_base(robot: SimRobot, T: Array) -> Array:
    """The pose T (4, 4), given in the world, in the robot's base frame."""
    return np.linalg.inv(robot.base) @ T


def position_text(p: Any) -> str:
    """A point (m) as text for messages."""
    x, y, z = (float(value) for value in p)
    return f"({x:.3f}, {y:.3f}, {z:.3f}) m"

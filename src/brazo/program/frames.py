"""Frames and targets when a step starts: names resolved to poses in the world.

Motions are planned from the robot's reference pose, not from its measured pose: the motion then
starts without a jump, and a small steady-state error, such as sag under an unknown load, cancels in
motions of a body in the gripper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.program.steps import Target
from brazo.simulation import SimRobot, Simulation

Array = np.ndarray


def frame_names(sim: Simulation) -> list[str]:
    """Names of all frames a target may be given in."""
    cell = sim.cell
    things = [*cell.bodies, *cell.fixtures, *cell.chutes, *cell.robots]
    return ["world", "base", "tool", *(thing.name for thing in things)]


def reference_tool(robot: SimRobot) -> Array:
    """Reference pose (4, 4) of the tool in the world."""
    return robot.base @ robot.arm.fk(np.ascontiguousarray(robot.reference.q))


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
    for chute in sim.cell.chutes:
        if chute.name == name:
            return chute.pose
    return sim.world.pose(name)


def in_hand(sim: Simulation, robot: SimRobot, body: str) -> Array:
    """T_tool_body (4, 4): pose of a held body relative to the reference pose of the tool."""
    return np.linalg.inv(reference_tool(robot)) @ sim.world.pose(body)


def target_pose(sim: Simulation, robot: SimRobot, target: Target, held: str | None) -> Array:
    """Target pose (4, 4) of the tool in the world.

    `held` is the body in the gripper; a target `of` a body requires that body to be held.
    """
    T_frame = frame_pose(sim, robot, target.frame)
    now = reference_tool(robot)
    T_tool_body = np.eye(4)
    if target.of is not None:
        if held != target.of:
            what = f"'{held}'" if held else "nothing"
            raise BrazoError(f"the target is for '{target.of}', but the gripper holds {what}")
        T_tool_body = in_hand(sim, robot, target.of)
        now = now @ T_tool_body
    wanted = now.copy()
    if target.rpy is not None:
        wanted[:3, :3] = T_frame[:3, :3] @ matrix_from_rpy(target.rpy)
    if target.xyz is not None:
        wanted[:3, 3] = T_frame[:3, :3] @ np.array(target.xyz) + T_frame[:3, 3]
    if target.by is not None:
        wanted[:3, 3] = now[:3, 3] + T_frame[:3, :3] @ np.array(target.by)
    return wanted @ np.linalg.inv(T_tool_body)


def to_base(robot: SimRobot, T: Array) -> Array:
    """A pose in the world expressed in the robot's base frame."""
    return np.linalg.inv(robot.base) @ T


def position_text(p: Any) -> str:
    """A point (m) as text for messages."""
    x, y, z = (float(value) for value in p)
    return f"({x:.3f}, {y:.3f}, {z:.3f}) m"

"""Frames and targets at the moment a step starts: names to poses in the world.

A robot plans from where it is *asked* to be (its reference), not from where it is: then a motion
begins without a jump, and a small lasting error of the arm, a droop under an unknown load, cancels
out of what it does with a body in its clamp.
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
    """Every frame a target may be given in."""
    cell = sim.cell
    things = [*cell.bodies, *cell.fixtures, *cell.chutes, *cell.robots]
    return ["world", "base", "tool", *(thing.name for thing in things)]


def asked_tool(robot: SimRobot) -> Array:
    """Where the tool is asked to be (4, 4), in the world."""
    return robot.base @ robot.arm.fk(np.ascontiguousarray(robot.reference.q))


def frame_pose(sim: Simulation, robot: SimRobot, name: str) -> Array:
    """The pose (4, 4) of a frame in the world, now."""
    if name == "world":
        return np.eye(4)
    if name == "base":
        return robot.base
    if name == "tool":
        return asked_tool(robot)
    if name in sim.robots:
        return sim.robots[name].base
    for chute in sim.cell.chutes:
        if chute.name == name:
            return chute.pose
    return sim.world.pose(name)


def in_hand(sim: Simulation, robot: SimRobot, body: str) -> Array:
    """T_tool_body (4, 4): how a body lies in the hand, seen from where the tool is asked to be."""
    return np.linalg.inv(asked_tool(robot)) @ sim.world.pose(body)


def target_pose(sim: Simulation, robot: SimRobot, target: Target, held: str | None) -> Array:
    """Where the tool has to go (4, 4), in the world.

    `held` is what the clamp holds: a target `of` a body needs it there.
    """
    T_frame = frame_pose(sim, robot, target.frame)
    now = asked_tool(robot)
    T_tool_body = np.eye(4)
    if target.of is not None:
        if held != target.of:
            what = f"'{held}'" if held else "nothing"
            raise BrazoError(f"'{target.of}' should go there, but the clamp holds {what}")
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
    """A pose in the world, seen from the robot's base."""
    return np.linalg.inv(robot.base) @ T


def position_text(p: Any) -> str:
    """A point for people to read."""
    x, y, z = (float(value) for value in p)
    return f"({x:.3f}, {y:.3f}, {z:.3f}) m"

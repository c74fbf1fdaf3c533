"""Frames and targets of a step at its start: names are resolved to poses in the world.

Motions are planned from the robot's reference pose, not from its measured pose, so that they start
without a jump.  The pose of a body in the gripper is taken relative to the reference pose of the
tool.  A small steady-state error, such as sag under an unknown load, therefore cancels when the
body is moved to a target.
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
    """Return the names of all frames in which a target may be given."""
    cell = sim.cell
    things = [*cell.bodies, *cell.fixtures, *cell.chutes, *cell.frames, *cell.robots]
    return ["world", "base", "tool", *(thing.name for thing in things)]


def reference_tool(robot: SimRobot) -> Array:
    """Return the pose (4, 4) of the tool in the world at the reference joint values."""
    return robot.base @ robot.arm.fk(np.ascontiguousarray(robot.reference.q))


@dataclass(frozen=True, slots=True, eq=False)
class FrameErrors:
    """Errors in the poses that robots assume for bodies and for their bases.

    Both fields map names to transforms (4, 4).  `bodies` are errors in the poses of bodies; all
    robots assume the same wrong pose.  The transform is applied in world axes about the origin of
    the body.  `bases` are errors in the base calibration of robots; such a robot assumes wrong
    poses for everything except its own base and tool.  The transform is applied in world axes
    about the base.
    """

    bodies: Mapping[str, Array] = field(default_factory=dict)
    bases: Mapping[str, Array] = field(default_factory=dict)

    def apply(self, robot: SimRobot, name: str, T: Array) -> Array:
        """Return the pose (4, 4) that a robot assumes for the frame `name` with the true pose T."""
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
    """Return the current pose (4, 4) of a frame in the world.

    `robot` is the robot whose frames are called `base` and `tool`.
    """
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
    """Return T_tool_body (4, 4): pose of a held body relative to the tool's reference pose."""
    return np.linalg.inv(reference_tool(robot)) @ sim.world.pose(body)


def target_pose(
    sim: Simulation,
    robot: SimRobot,
    target: Target,
    held: str | None,
    errors: FrameErrors | None = None,
) -> Array:
    """Return the target pose (4, 4) of the tool in the world.

    `held` is the body in the gripper, or None.  If `target.of` is given, it must be the held body;
    otherwise a `BrazoError` is raised.  `errors` are the frame errors to apply.
    """
    T_frame = frame_pose(sim, robot, target.frame)
    if errors is not None:
        T_frame = errors.apply(robot, target.frame, T_frame)
    if target.of is None:
        return tool_at(target, T_frame, reference_tool(robot))
    require_held(target.of, held)
    return tool_at(target, T_frame, reference_tool(robot), in_hand(sim, robot, target.of))


def require_held(body: str, held: str | None) -> None:
    """Raise `BrazoError` if `body`, which is to be moved, is not the body `held` by the gripper."""
    if held != body:
        what = f"'{held}'" if held else "nothing"
        raise BrazoError(f"the target is for '{body}', but the gripper holds {what}")


def tool_at(target: Target, T_frame: Array, T_tool: Array, T_tool_body: Array = _EYE) -> Array:
    """Return the pose (4, 4) of the tool in the world when a target is reached.

    `T_frame` and `T_tool` are the current poses of the target's frame and of the tool in the world.
    If a held body moves to the target, `T_tool_body` is its pose in the tool frame.
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
    """Convert a pose T (4, 4) from the world frame to the base frame of a robot."""
    return np.linalg.inv(robot.base) @ T


def position_text(p: Any) -> str:
    """Return a point (3,) in m as text for messages."""
    x, y, z = (float(value) for value in p)
    return f"({x:.3f}, {y:.3f}, {z:.3f}) m"

"""`ReplayWorld`: sets the state of a world from the rows of a recording.

The positions of joints, grippers and free bodies are set, and the joint velocities if they were
recorded; nothing is simulated.  A recording of a single robot may omit the name of the robot in its
signal names (`q.shoulder`).
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.world import World

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


class ReplayWorld:
    """Sets the state of a world to recorded values; `names` are the required signals."""

    def __init__(self, world: World, signals: Container[str], path: Path) -> None:
        self._world = world
        self.names: list[str] = []
        self._robots: list[tuple[Any, slice, slice | None]] = []
        self._grippers: list[tuple[Any, int]] = []
        self._bodies: list[tuple[int, slice]] = []
        for name, robot in world.robots.items():
            prefix = f"{name}." if f"{name}.q.{robot.joint_names[0]}" in signals else ""
            wanted = [f"{prefix}q.{joint}" for joint in robot.joint_names]
            if missing := [one for one in wanted if one not in signals]:
                raise BrazoError(
                    f"{path}: the recording has no signal '{missing[0]}', so robot '{name}' cannot "
                    "be drawn: signals were removed, or another robot was recorded; specify the "
                    "cell of the recorded run"
                )
            speeds = [f"{prefix}qd.{joint}" for joint in robot.joint_names]
            rated = all(one in signals for one in speeds)
            q = self._take(wanted)
            self._robots.append((robot, q, self._take(speeds) if rated else None))
            opening = f"{prefix}gripper.opening"
            if opening not in signals:  # recordings of earlier versions
                opening = f"{prefix}clamp.opening"
            if robot.gripper is not None and opening in signals:
                self._grippers.append((robot.gripper, self._take([opening]).start))
        for body in world.cell.bodies:
            wanted = [f"{body.name}.{axis}" for axis in POSE]
            if all(one in signals for one in wanted):
                at = int(world.mj_model.joint(body.name).qposadr[0])
                self._bodies.append((at, self._take(wanted)))

    def place(self, values: np.ndarray) -> None:
        """Set joints, grippers and free bodies to the values of one row of the recording.

        `values` are the values of the signals `names`, in this order.  Derived quantities in the
        engine, such as the poses of links and the contacts, are not updated.
        """
        data = self._world.mj_data
        for robot, q, qd in self._robots:
            if qd is None:
                robot.put(data.qpos, values[q])
            else:
                robot.guide(values[q], values[qd])
        for gripper, column in self._grippers:
            gripper.place(values[column])
        for at, columns in self._bodies:
            data.qpos[at : at + 7] = values[columns]

    def _take(self, names: list[str]) -> slice:
        start = len(self.names)
        self.names += names
        return slice(start, len(self.names))

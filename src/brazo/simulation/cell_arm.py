"""Conversion of a robot of a cell to a `brazo.Robot`.

The result includes the edits made in the cell.  Its gravity vector is that of the cell, expressed
in the axes of the robot's base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from brazo.formats.load import Source
from brazo.model.actuators import DriveKind, with_drives
from brazo.model.description import Array, Model, frozen
from brazo.robot import Robot
from brazo.world import CellRobot
from brazo.world.robot_source import RobotSource
from brazo.world.tcp import with_tcp


def arm_of(given: CellRobot, gravity: Array) -> Robot:
    """Return a robot of a cell as a `brazo.Robot`; `gravity` (3,) is in world axes, m/s²."""
    pose = next((one.pose for one in given.tcps if one.name == given.tcp), None)
    pull = frozen(given.base[:3, :3].T @ gravity)
    heavy = InGravity(given.source, pull, pose, given.drives)
    return Robot(Source(heavy.pulled(given.source.model), heavy))


@dataclass(frozen=True, eq=False)
class InGravity:
    """Callable that rebuilds the model of a cell's robot with other parameter values.

    The gravity, tool centre point (TCP) and drives of the robot in the cell are kept.
    """

    source: RobotSource
    gravity: Array
    tcp: Array | None = None  # (4, 4) in the last link; None for the robot's own tool frame
    drives: DriveKind | None = None  # None: as in the robot file

    def __call__(self, values: Mapping[str, float]) -> Model:
        return self.pulled(self.source.rebuild(values))

    def pulled(self, model: Model) -> Model:
        """Return `model` with `gravity`, `tcp` and `drives` of this object."""
        if self.drives is not None:
            model = with_drives(model, self.drives)
        if self.tcp is not None:
            model = with_tcp(model, self.tcp)
        if np.array_equal(model.gravity, self.gravity):
            return model
        return replace(model, gravity=self.gravity)

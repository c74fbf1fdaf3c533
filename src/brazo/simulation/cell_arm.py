"""`brazo.Robot` for a robot of a cell, with the cell's edits and gravity in base axes."""

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
    """Return a robot of a cell as `brazo.Robot`, with its edits and gravity in base axes."""
    pose = next((one.pose for one in given.tcps if one.name == given.tcp), None)
    pull = frozen(given.base[:3, :3].T @ gravity)
    heavy = InGravity(given.source, pull, pose, given.drives)
    return Robot(Source(heavy.pulled(given.source.model), heavy))


@dataclass(frozen=True, eq=False)
class InGravity:
    """Function that rebuilds a cell's robot with other parameters, in its gravity with its TCP."""

    source: RobotSource
    gravity: Array
    tcp: Array | None = None  # (4, 4) in the last link; None for the robot's own tool frame
    drives: DriveKind | None = None  # None: as in the robot file

    def __call__(self, values: Mapping[str, float]) -> Model:
        return self.pulled(self.source.rebuild(values))

    def pulled(self, model: Model) -> Model:
        """Return the model with this gravity, tool centre point and kind of drives."""
        if self.drives is not None:
            model = with_drives(model, self.drives)
        if self.tcp is not None:
            model = with_tcp(model, self.tcp)
        if np.array_equal(model.gravity, self.gravity):
            return model
        return replace(model, gravity=self.gravity)

"""A robot of a cell as a `brazo.Robot`: with the cell's edits, and gravity in its base's axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from brazo.formats.load import Source
from brazo.model.description import Array, Model, frozen
from brazo.robot import Robot
from brazo.world import CellRobot
from brazo.world.robot_source import RobotSource


def arm_of(given: CellRobot, gravity: Array) -> Robot:
    """A robot of a cell as `brazo.Robot`: with the cell's edits, and gravity in its base's axes."""
    heavy = InGravity(given.source, frozen(given.base[:3, :3].T @ gravity))
    return Robot(Source(heavy.pulled(given.source.model), heavy))


@dataclass(frozen=True, eq=False)
class InGravity:
    """The `rebuild` of a cell's robot, with gravity (3,) in its base's axes."""

    source: RobotSource
    gravity: Array

    def __call__(self, values: Mapping[str, float]) -> Model:
        return self.pulled(self.source.rebuild(values))

    def pulled(self, model: Model) -> Model:
        """The model in this gravity."""
        if np.array_equal(model.gravity, self.gravity):
            return model
        return replace(model, gravity=self.gravity)

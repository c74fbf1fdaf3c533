"""`brazo.Robot` for a robot of a cell, with the cell's edits and gravity in base axes."""

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
    """Return a robot of a cell as `brazo.Robot`, with its edits and gravity in base axes."""
    heavy = InGravity(given.source, frozen(given.base[:3, :3].T @ gravity))
    return Robot(Source(heavy.pulled(given.source.model), heavy))


@dataclass(frozen=True, eq=False)
class InGravity:
    """The `rebuild` function of a cell's robot, with gravity (3,) in base axes."""

    source: RobotSource
    gravity: Array

    def __call__(self, values: Mapping[str, float]) -> Model:
        return self.pulled(self.source.rebuild(values))

    def pulled(self, model: Model) -> Model:
        """Return the model with this gravity."""
        if np.array_equal(model.gravity, self.gravity):
            return model
        return replace(model, gravity=self.gravity)

"""Overlay of reference robots (ghosts): transparent blue robots at their reference positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.scene.overlays.base import Overlay
from brazo.lab.scene.robot_copy import RobotCopy
from brazo.lab.server import hooks

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import SceneSnapshot

BLUE = (51, 133, 255)
OPACITY = 0.3


class DesiredRobots(Overlay):
    """Overlay with transparent copies of the robots at their reference positions."""

    id, title = "desired", "Reference robot (ghost)"
    hint = "Robots at their reference positions, in blue."

    def build(self, sim: Shown) -> None:
        self._robots = []
        for k, (name, robot) in enumerate(sim.robots.items()):
            node = f"{self.scene.root}/desired-{k}"
            copy = RobotCopy(self.scene, node, robot.arm, BLUE, OPACITY)
            self.handles.append(copy)
            self._robots.append((name, np.array(robot.base), copy))

    def update(self, snapshot: SceneSnapshot) -> None:
        moves: list[hooks.Pose] = []
        for name, base, copy in self._robots:
            moves += copy.moves(base, snapshot.references[name])
        if moves:
            hooks.move(self.scene.server, moves)

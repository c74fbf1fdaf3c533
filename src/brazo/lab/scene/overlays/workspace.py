"""Workspace: point cloud of tool positions at random joint positions within the limits.

The colour of a point is the manipulability of its joint position, from dark blue (0) to yellow (the
largest of the robot).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.scene.overlays.base import Overlay

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.robot import Robot

POINTS = 6000
# Every quarter of the scale of `viridis`.
SCALE = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]])


class WorkspaceCloud(Overlay):
    """Point clouds of the positions that the tools can reach."""

    id, title = "workspace", "Workspace"
    hint = "Positions the tools reach within the joint limits, coloured by manipulability."

    def build(self, sim: Shown) -> None:
        scene = self.scene.server.scene
        for k, (_, robot) in enumerate(sim.robots.items()):
            places, quality = reached(robot.arm)
            points = places @ robot.base[:3, :3].T + robot.base[:3, 3]
            handle = scene.add_point_cloud(
                f"{self.scene.root}/workspace-{k}",
                points.astype(np.float32),
                colored(quality),
                point_size=0.0025 * self.scene.size,
                point_shape="circle",
            )
            self.handles.append(handle)


def reached(arm: Robot, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Tool positions (k, 3), m, in the base frame, and manipulability (k,); k <= `points`.

    Deterministic: the joint positions are drawn with a fixed seed.
    """
    q = arm.random_q(points, seed=0)
    places = np.asarray(arm.fk(q))[:, :3, 3]
    good = np.isfinite(places).all(axis=1)
    return places[good], arm.dexterity(q[good], "linear").manipulability


def colored(values: np.ndarray) -> np.ndarray:
    """Colours (k, 3) of values (k,) from 0 to their maximum."""
    share = values / max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    stops = np.linspace(0.0, 1.0, len(SCALE))
    return np.stack([np.interp(share, stops, SCALE[:, i]) for i in range(3)], 1).astype(np.uint8)

"""Overlay of the workspace: a point cloud of the tool positions at random joint positions.

The joint positions are within the limits.  The colour of a point shows the manipulability, from
dark purple (0) to yellow (the maximum of the robot).
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
    """Overlay with a point cloud of the positions that each tool can reach."""

    id, title = "workspace", "Workspace"
    hint = "Positions that each tool can reach, coloured by manipulability."

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
    """Sample tool positions (k, 3), in m in the base frame, and their manipulability (k,).

    The joint positions are random with a fixed seed, so the result is always the same.  k is at
    most `points`, because positions that are not finite are omitted.
    """
    q = arm.random_q(points, seed=0)
    places = np.asarray(arm.fk(q))[:, :3, 3]
    good = np.isfinite(places).all(axis=1)
    return places[good], arm.dexterity(q[good], "linear").manipulability


def colored(values: np.ndarray) -> np.ndarray:
    """Map values (k,) to RGB colours (k, 3); the scale ranges from 0 to the maximum value."""
    share = values / max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    stops = np.linspace(0.0, 1.0, len(SCALE))
    return np.stack([np.interp(share, stops, SCALE[:, i]) for i in range(3)], 1).astype(np.uint8)

"""Workspace: point cloud of tool positions at random joint positions within the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.scene.overlays.base import Overlay

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.robot import Robot

POINTS = 6000
COLORS = ((255, 146, 43), (51, 154, 240), (81, 207, 102), (204, 93, 232))


class WorkspaceCloud(Overlay):
    """Point clouds of the positions that the tools can reach."""

    id, title = "workspace", "Workspace"
    hint = "Positions the tools reach within the joint limits."

    def build(self, sim: Shown) -> None:
        scene = self.scene.server.scene
        for k, (_, robot) in enumerate(sim.robots.items()):
            points = reached(robot.arm) @ robot.base[:3, :3].T + robot.base[:3, 3]
            handle = scene.add_point_cloud(
                f"{self.scene.root}/workspace-{k}",
                points.astype(np.float32),
                COLORS[k % len(COLORS)],
                point_size=0.0025 * self.scene.size,
                point_shape="circle",
            )
            self.handles.append(handle)


def reached(arm: Robot, points: int = POINTS) -> np.ndarray:
    """Tool positions (k, 3), m, in the base frame; k <= `points`.

    Deterministic: the joint positions are drawn with a fixed seed.
    """
    q = arm.random_q(points, seed=0)
    places = np.asarray(arm.fk(q))[:, :3, 3]
    return places[np.isfinite(places).all(axis=1)]

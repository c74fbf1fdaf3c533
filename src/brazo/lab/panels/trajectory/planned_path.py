"""Planned tool path in the scene: a line with its waypoints, red where a limit is violated."""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.lab.panels.trajectory.draft import PlannedMotion
from brazo.lab.scene.scene import Scene

FINE, PAST, POINT = (20, 60, 255), (255, 0, 0), (255, 146, 43)
POINT_SIZE = 0.005  # size over the size of the cell


class PlannedPath:
    """Path of one plan in the scene.  Use on the lab's thread only."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._handles: list[Any] = []
        self._root = ""

    def show(self, plan: PlannedMotion, base: np.ndarray) -> None:
        """Draw the plan of a robot with base pose `base` (4, 4) in the world."""
        self.remove()
        self._root = self._scene.root
        scene, name = self._scene.server.scene, f"{self._scene.root}/path"
        path = _placed(base, plan.path)
        past = plan.past[:-1] | plan.past[1:]
        colors = np.where(past[:, None, None], np.array(PAST), np.array(FINE)).astype(np.uint8)
        self._handles = [
            scene.add_line_segments(
                f"{name}/line",
                np.stack([path[:-1], path[1:]], axis=1).astype(np.float32),
                np.broadcast_to(colors, (len(path) - 1, 2, 3)),
                thickness=3.5,
                thickness_units="screen",
            ),
        ]
        marks = [(plan.points, POINT)]
        if plan.violations:
            marks.append((np.array([one.place for one in plan.violations]), PAST))
        points = np.concatenate([_placed(base, some) for some, _ in marks])
        shades = np.concatenate([np.tile(color, (len(some), 1)) for some, color in marks])
        self._handles.append(
            scene.add_point_cloud(
                f"{name}/points",
                points.astype(np.float32),
                shades.astype(np.uint8),
                point_size=POINT_SIZE * self._scene.size,
                point_shape="circle",
                precision="float32",
            )
        )

    def remove(self) -> None:
        """Remove the path; one drawn in a previous cell was removed with that cell."""
        if self._root == self._scene.root:
            for handle in self._handles:
                handle.remove()
        self._handles.clear()


def _placed(base: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ base[:3, :3].T + base[:3, 3]

"""Drawing of the planned tool path in the scene: a line with waypoints, red at limit violations.

The approach and motions with a raised pen are thin grey lines.  If the arm cannot follow the path,
the path is red from the first infeasible point on, and a label at this point shows the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.lab.panels.trajectory.draft import InfeasiblePath, PlannedMotion
from brazo.lab.scene.scene import Scene

FINE, PAST, POINT = (20, 60, 255), (255, 0, 0), (255, 146, 43)
RAISED = (140, 140, 150)
POINT_SIZE = 0.005  # size over the size of the cell


class PlannedPath:
    """Tool path of one planned motion in the scene.  Use on the lab's thread only."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._handles: list[Any] = []
        self._root = ""

    def show(self, plan: PlannedMotion, base: np.ndarray) -> None:
        """Draw the path of a planned motion.

        `base` (4, 4) is the robot's base pose in the world.
        """
        self.remove()
        self._root = self._scene.root
        scene, name = self._scene.server.scene, f"{self._scene.root}/path"
        path = _placed(base, plan.path)
        past = plan.past[:-1] | plan.past[1:]
        up = ~(plan.down[:-1] & plan.down[1:])
        colors = np.where(past[:, None], np.array(PAST), np.array(FINE))
        drawn = past | ~up
        self._line(f"{name}/line", path, colors, drawn, 3.5)
        if not drawn.all():
            self._line(f"{name}/raised", path, np.array(RAISED), ~drawn, 1.5)
        if len(plan.approach):
            approach = _placed(base, plan.approach)
            every = np.ones(len(approach) - 1, dtype=bool)
            self._line(f"{name}/approach", approach, np.array(RAISED), every, 1.5)
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

    def show_infeasible(self, found: InfeasiblePath, base: np.ndarray) -> None:
        """Draw a path that the arm cannot follow, with the reason as a label.

        `base` (4, 4) is the robot's base pose in the world.
        """
        self.remove()
        self._root = self._scene.root
        scene, name = self._scene.server.scene, f"{self._scene.root}/path"
        path, (place,) = _placed(base, found.path), _placed(base, found.place[None])
        fine = found.reached[:-1] & found.reached[1:]
        colors = np.where(fine[:, None], np.array(FINE), np.array(PAST))
        self._line(f"{name}/line", path, colors, np.ones(len(fine), dtype=bool), 3.5)
        self._handles += [
            scene.add_point_cloud(
                f"{name}/points",
                place[None].astype(np.float32),
                np.array([PAST], dtype=np.uint8),
                point_size=1.6 * POINT_SIZE * self._scene.size,
                point_shape="circle",
                precision="float32",
            ),
            scene.add_label(
                f"{name}/why", _short(found.why), position=place, anchor="bottom-center"
            ),
        ]

    def _line(
        self, name: str, path: np.ndarray, colors: np.ndarray, shown: np.ndarray, width: float
    ) -> None:
        """Draw those segments of a path (m, 3) for which `shown` (m - 1,) is true.

        `colors` are RGB (0 to 255), shape (m - 1, 3) or (3,).  `width` is in px.
        """
        if not shown.any():
            return
        colors = np.broadcast_to(colors, (len(path) - 1, 3))[shown]
        self._handles.append(
            self._scene.server.scene.add_line_segments(
                name,
                np.stack([path[:-1], path[1:]], axis=1)[shown].astype(np.float32),
                np.repeat(colors[:, None], 2, axis=1).astype(np.uint8),
                thickness=width,
                thickness_units="screen",
            )
        )

    def remove(self) -> None:
        """Remove the path from the scene."""
        if self._root == self._scene.root:
            for handle in self._handles:
                handle.remove()
        self._handles.clear()


def _short(why: str) -> str:
    """Shorten an error message to its reason, without position and advice, for the label."""
    reason = why.partition(" m: ")[2] or why
    reason = reason.removeprefix("the start of the path is not reachable: ")
    for end in (";", ":", ","):
        reason = reason.partition(end)[0]
    return reason[:60]


def _placed(base: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ base[:3, :3].T + base[:3, 3]

"""Arrow at the master's handle that shows the force reflected by the follower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.simulation.robot import SimRobot

COLOR = (232, 89, 12)
REACH = 0.6  # max length over the size of the cell: longer than the arrows of the gizmo
NEWTONS = 15.0  # force drawn at half the max length
LEAST = 0.05  # N; smaller forces are not drawn


class ForceArrow:
    """Arrow in the scene that shows a force at the tool.  Use only on the lab's thread."""

    def __init__(self) -> None:
        self._lines: Any = None
        self._drawn: np.ndarray | None = None

    def forget(self) -> None:
        """Drop the scene handle of the arrow, because the scene was rebuilt without it."""
        self._lines = self._drawn = None

    def show(self, scene: Scene, robot: SimRobot, force: np.ndarray | None) -> None:
        """Draw a force (3,), in N in the robot's base frame, as an arrow at the tool.

        None, or a force below `LEAST`, hides the arrow.
        """
        if force is None or float(np.linalg.norm(force)) < LEAST:
            if self._drawn is not None:
                self._drawn, self._lines.visible = None, False
            return
        points = arrow(robot.tool()[:3, 3], robot.base[:3, :3] @ force, scene.size)
        if self._drawn is not None and np.abs(points - self._drawn).max() < 1e-3 * scene.size:
            return
        if self._lines is None:
            self._lines = scene.server.scene.add_line_segments(
                f"{scene.root}/felt",
                points.astype(np.float32),
                COLOR,
                thickness=7.0,
                thickness_units="screen",
            )
        self._lines.points = points.astype(np.float32)
        self._lines.visible = True
        self._drawn = points


def arrow(at: np.ndarray, force: np.ndarray, size: float) -> np.ndarray:
    """Line segments (5, 2, 3), in m, of an arrow with its tip at the point `at` (3,).

    The arrow points along `force` (3,), in N.  Its length grows with the force and saturates at
    `REACH * size`, where `size` is the size of the cell (m).
    """
    strength = float(np.linalg.norm(force))
    direction = force / strength
    tip, at = at, at - REACH * size * strength / (strength + NEWTONS) * direction
    side = np.cross(direction, [0.0, 0.0, 1.0])
    if np.linalg.norm(side) < 0.1:
        side = np.cross(direction, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    back, half = 0.2 * (at - tip), 0.1 * np.linalg.norm(tip - at)
    wings = [
        tip + back + half * w
        for w in (side, -side, np.cross(direction, side), np.cross(side, direction))
    ]
    return np.array([[at, tip], *([tip, wing] for wing in wings)])

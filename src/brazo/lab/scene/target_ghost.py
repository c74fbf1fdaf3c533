"""`TargetGhost`: a transparent preview of a robot at a target or at an IK solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.scene.robot_copy import RobotCopy

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.robot import Robot

VIOLET, OPACITY = (151, 84, 203), 0.4


class TargetGhost:
    """Transparent preview of one robot at a time.  Use only on the lab's thread."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._root = ""  # root node of the cell for which it was drawn
        self._copy: RobotCopy | None = None

    @property
    def visible(self) -> bool:
        """Whether the preview is drawn."""
        return self._current() is not None and self._copy is not None and self._copy.visible

    def show(self, arm: Robot, base: np.ndarray, q: np.ndarray) -> None:
        """Draw the preview of a robot at joint positions q (n,).

        `base` (4, 4) is the pose of the robot's base in the world frame.
        """
        copy = self._current()
        if copy is None or copy.arm is not arm:
            if copy is not None:
                copy.remove()
            self._root = self._scene.root
            copy = RobotCopy(self._scene, f"{self._root}/target", arm, VIOLET, OPACITY)
            self._copy = copy
        copy.place(base, q)
        copy.visible = True

    def hide(self) -> None:
        """Hide the preview."""
        copy = self._current()
        if copy is not None:
            copy.visible = False

    def _current(self) -> RobotCopy | None:
        if self._root != self._scene.root:  # its nodes were deleted with the cell
            self._copy = None
        return self._copy

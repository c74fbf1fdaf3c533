"""`TargetGhost`: a robot at a target or an IK solution, transparent, while the user looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.lab.scene.robot_copy import RobotCopy

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.robot import Robot

VIOLET, OPACITY = (151, 84, 203), 0.4


class TargetGhost:
    """The ghost of one robot at a time.  Use on the lab's thread."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._root = ""  # root node of the cell for which it was drawn
        self._copy: RobotCopy | None = None

    @property
    def visible(self) -> bool:
        """Whether a ghost is drawn."""
        return self._current() is not None and self._copy is not None and self._copy.visible

    def show(self, arm: Robot, base: np.ndarray, q: np.ndarray) -> None:
        """Draw a robot with its base at a pose (4, 4) and joint positions q (n,)."""
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
        """Remove the ghost from view."""
        copy = self._current()
        if copy is not None:
            copy.visible = False

    def _current(self) -> RobotCopy | None:
        if self._root != self._scene.root:  # its nodes were deleted with the cell
            self._copy = None
        return self._copy

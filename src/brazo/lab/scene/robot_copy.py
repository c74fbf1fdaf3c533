"""`RobotCopy`: an additional drawing of a robot in the scene, at any joint positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.body.solids import mesh
from brazo.body.stick_figure import visible_parts
from brazo.lab.server import hooks

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.robot import Robot


class RobotCopy:
    """Drawing of a robot; its scene nodes are children of the node `name`.

    `color` is the colour of all parts; if it is None, each part has its own colour.  Use only on
    the lab's thread.
    """

    def __init__(
        self,
        scene: Scene,
        name: str,
        arm: Robot,
        color: tuple[int, int, int] | None = None,
        opacity: float | None = None,
    ) -> None:
        from brazo.lab.scene.scene import node_name, placed

        self.arm = arm
        self._server, self._placed = scene.server, placed
        draw = scene.server.scene
        self._root = draw.add_frame(name, show_axes=False)
        self._nodes: list[str] = []
        self.part_count = 0
        for i, parts in enumerate(visible_parts(arm.model, arm.parts)):
            node = f"{name}/{i}"
            draw.add_frame(node, show_axes=False)
            self._nodes.append(node)
            self.part_count += len(parts)
            for j, part in enumerate(parts):
                surface = mesh(part.shape)
                _, position, wxyz = placed([""], part.pose[None])[0]
                draw.add_mesh_simple(
                    f"{node}/{node_name(part.name)}-{j}",
                    surface.vertices,
                    surface.faces,
                    color=part.color if color is None else color,
                    opacity=opacity,
                    position=position,
                    wxyz=wxyz,
                    cast_shadow=opacity is None,
                    receive_shadow=opacity is None,
                )
        self._shown = np.full((len(self._nodes), 4, 4), np.nan)

    def place(self, base: np.ndarray, q: np.ndarray) -> None:
        """Draw the robot at joint positions q (n,).

        `base` (4, 4) is the pose of the robot's base in the world frame.
        """
        if moves := self.moves(base, q):
            hooks.move(self._server, moves)

    def moves(self, base: np.ndarray, q: np.ndarray) -> list[hooks.Pose]:
        """Return the poses of the nodes that moved since the last call, for the caller to send.

        The arguments are those of `place`, which sends the poses itself.
        """
        from brazo.lab.scene.scene import STILL

        poses = base @ self.arm.frames(q)
        changed = np.flatnonzero(~(np.abs(poses - self._shown).max(axis=(1, 2)) <= STILL))
        self._shown[changed] = poses[changed]
        return self._placed([self._nodes[i] for i in changed], poses[changed])

    @property
    def visible(self) -> bool:
        """Whether the robot is drawn."""
        return self._root.visible

    @visible.setter
    def visible(self, on: bool) -> None:
        if on != self._root.visible:
            self._root.visible = on

    def remove(self) -> None:
        """Delete the drawing."""
        self._root.remove()

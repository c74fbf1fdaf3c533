"""Base class of the gizmos in the 3D scene: holds the viser handle and the target of a drag.

viser reports a drag on its network thread.  This thread only stores the target; the target is
processed on the lab's thread.  A drag ends on STOP or when another page takes control.  The user
must then release the gizmo and grab it again.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from brazo.kinematics.orientation import matrix_from_wxyz
from brazo.lab.app.context import PanelContext
from brazo.lab.scene.scene import STILL, placed
from brazo.lab.server import hooks


class Dragging:
    """Base class of gizmos that the user drags in the scene.  Use on the lab's thread only."""

    def __init__(self, context: PanelContext) -> None:
        self._context = context
        self._handle: Any = None
        self._sent = np.full((4, 4), np.nan)  # pose of the handle on the pages
        self._lock = threading.Lock()  # guards the next two, which the network thread sets
        self._wanted: np.ndarray | None = None  # target (4, 4)
        self._taken: tuple[int, int] | None = None  # STOP count and page in control, at the grab
        self.dragging = False
        context.channel.on_refused(self.resend)

    def resend(self) -> None:
        """Send the gizmo's pose again, to undo a drag on a page that is not in control."""
        raise NotImplementedError

    def _add_handle(self, name: str, scale: float, turns: bool = True) -> None:
        scene = self._context.scene
        self._handle = scene.server.scene.add_transform_controls(
            f"{scene.root}/{name}",
            scale=scale * scene.size,
            depth_test=False,
            disable_rotations=not turns,
        )
        self._handle.on_update(self._dragged)
        self._sent[:] = np.nan

    def _remove_handle(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _place(self, T: np.ndarray) -> None:
        if self._handle is not None and not np.abs(T - self._sent).max() <= STILL:
            self._sent = np.array(T)
            hooks.move(self._context.scene.server, placed([self._handle.name], T[None]))

    async def _dragged(self, event: Any) -> None:
        """Handle a drag event of viser; called on the network thread."""
        raise NotImplementedError

    def _store(self, event: Any) -> None:
        """Store the target pose of a drag event; it replaces a target not yet processed."""
        if event.phase == "start" or self._taken is None:
            self._taken = self._now()
        T = np.eye(4)
        T[:3, :3] = matrix_from_wxyz(np.asarray(event.target.wxyz, float))
        T[:3, 3] = event.target.position
        self._wanted = T

    def _now(self) -> tuple[int, int]:
        return self._context.channel.stops, self._context.channel.driving.driver

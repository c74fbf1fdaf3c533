"""Gizmo at the selected element of the cell, which the user drags to move the element.

During a drag, the element is only drawn at the new pose (`Scene.displace`).  Its pose in the
simulation changes once, when the user releases the gizmo, so that a running simulation is
interrupted only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.context import PanelContext
from brazo.lab.panels.common.dragging import Dragging
from brazo.lab.scene.scene import placed
from brazo.lab.server import hooks
from brazo.model.transforms import invert

SCALE = 0.16  # size over the size of the cell
ANGLE = np.radians(15.0)  # step of snapped rotations
SMALL = 1e-6  # m and rad; a smaller displacement is no move


@dataclass(frozen=True, slots=True, eq=False)
class DraggedElement:
    """Element of the cell that can be dragged: its name and pose (4, 4).

    `bodies` are the indices in `world.drawn` of the objects that draw the element.
    """

    name: str
    pose: np.ndarray
    bodies: Sequence[int]


class ElementGizmo(Dragging):
    """Gizmo at the selected element of the cell.  Use on the lab's thread only.

    At the end of a drag, `moved(name, T)` is called with the new pose T (4, 4) of the element.
    """

    def __init__(self, context: PanelContext, moved: Callable[[str, np.ndarray], None]) -> None:
        super().__init__(context)
        self._moved = moved
        self.snap = 0.0  # m, step of positions; 0 does not snap
        self._root = ""
        self._held: DraggedElement | None = None

    def show(self, element: DraggedElement | None) -> None:
        """Place the gizmo at an element, or remove the gizmo if `element` is None.

        If the user is dragging the same element, the drag continues.
        """
        scene = self._context.scene
        if self._handle is not None and self._root != scene.root:
            self._handle, self._held, self.dragging = None, None, False  # drawn again without it
        if element is None or (self._held is not None and element.name != self._held.name):
            self._remove()
        if element is None or self.dragging:
            return
        self._held = element
        if self._handle is None:
            self._root = scene.root
            self._add_handle("element-gizmo", SCALE)
        self._place(element.pose)

    def resend(self) -> None:
        self._sent[:] = np.nan
        if self._held is not None and not self.dragging:
            self._place(self._held.pose)

    def cancel(self) -> None:
        """Cancel a drag; the element returns to its pose before the drag."""
        with self._lock:
            self._taken = self._wanted = None
        if self.dragging and self._held is not None:
            self._draw(self._held, self._held.pose)
        self.dragging = False
        self._context.scene.displace((), None)
        self.resend()

    def _remove(self) -> None:
        self._remove_handle()
        self._held, self.dragging = None, False
        self._context.scene.displace((), None)

    async def _dragged(self, event: Any) -> None:
        with self._lock:
            self._store(event)
        end = event.phase == "end"
        self._context.post(self._context.channel.unless_stopped(self._end if end else self._go))

    def _target(self) -> np.ndarray | None:
        """Snapped target pose (4, 4) of the drag.

        None if there is no target, or if STOP or another page ended the drag.
        """
        with self._lock:
            if self._wanted is None or self._taken != self._now():
                return None
            return self.snapped(self._wanted)

    def _go(self) -> None:
        T, held = self._target(), self._held
        if T is None or held is None:
            return
        self.dragging = True
        self._draw(held, T)

    def _end(self) -> None:
        T, held = self._target(), self._held
        with self._lock:
            self._taken = self._wanted = None
        self.dragging = False
        self._context.scene.displace((), None)
        if held is None:
            return
        self._sent[:] = np.nan
        try:
            if T is not None and np.abs(T - held.pose).max() > SMALL:
                self._moved(held.name, T)
            else:
                self._draw(held, held.pose)
        except BaseException:
            self._draw(held, held.pose)
            self._place(held.pose)
            raise

    def _draw(self, held: DraggedElement, T: np.ndarray) -> None:
        scene = self._context.scene
        if held.name in scene.frames:
            hooks.move(scene.server, placed([scene.frames[held.name]], T[None]))
        scene.displace(held.bodies, T @ invert(held.pose))

    def snapped(self, T: np.ndarray) -> np.ndarray:
        """Pose T (4, 4) with rounded position and angles; unchanged if snapping is off.

        The coordinates are rounded to multiples of `snap`; roll, pitch and yaw to multiples of 15°.
        """
        if not self.snap:
            return T
        found = np.array(T)
        found[:3, 3] = self.snap * np.round(T[:3, 3] / self.snap)
        rpy = np.array(rpy_from_matrix(T[:3, :3]))
        found[:3, :3] = matrix_from_rpy(ANGLE * np.round(rpy / ANGLE))
        return found

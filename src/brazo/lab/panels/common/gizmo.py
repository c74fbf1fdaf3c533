"""Gizmo at a robot's tool: the user drags it, and inverse kinematics moves the robot.

The arm keeps the IK branch it had at the start of the drag.  While it is not dragged, the gizmo
follows the tool.  If the target is out of reach, the robot stays at the last reachable pose, the
reason is shown, and the gizmo returns to the tool when released.  A drag ends on STOP or when
another page takes control; the user must then release the gizmo and grab it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_wxyz
from brazo.lab.app.context import PanelContext
from brazo.lab.scene.scene import STILL, placed
from brazo.lab.server import hooks
from brazo.model.transforms import invert
from brazo.operate.mover import reach
from brazo.simulation.robot import SimRobot

SCALE = 0.14  # size over the size of the cell


class Gizmo:
    """Gizmo at the tool of one robot.  Use on the lab's thread only.

    `move(robot, q)` is called with the joint positions of each new reachable target.
    """

    def __init__(self, context: PanelContext, move: Callable[[SimRobot, np.ndarray], None]) -> None:
        self._context = context
        self._move = move
        self._handle: Any = None
        self._robot: SimRobot | None = None
        self._branch: str | None = None
        self._shown = np.full((4, 4), np.nan)
        self._lock = threading.Lock()  # guards the next two, which the network thread sets
        self._wanted: np.ndarray | None = None
        self._taken: tuple[int, int] | None = None  # STOP count and page in control, at the grab
        self.dragging = False
        self.reason = ""  # why the tool cannot follow; empty if it can
        context.channel.on_refused(self.resend)

    def show(self, robot: SimRobot | None) -> None:
        """Place the gizmo at the tool of a robot; None removes it."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        self._robot, self.dragging, self.reason = robot, False, ""
        self._shown[:] = np.nan
        if robot is None:
            return
        scene = self._context.scene
        turns = robot.arm.mobility > 3
        self._handle = scene.server.scene.add_transform_controls(
            f"{scene.root}/gizmo",
            scale=SCALE * scene.size,
            depth_test=False,
            disable_rotations=not turns,
        )
        self._handle.on_update(self._dragged)
        self.follow()

    def forget(self) -> None:
        """Drop the gizmo after the scene was rebuilt without it."""
        self._handle = None
        self.show(None)

    def follow(self) -> None:
        """Move the gizmo to the tool, unless it is being dragged."""
        if self.dragging and self._taken != self._now():
            self._ended()
        if self._handle is None or self._robot is None or self.dragging:
            return
        with self._context.session.shown.lock:
            T = self._robot.tool()
        if not np.abs(T - self._shown).max() <= STILL:
            self._shown = T
            hooks.move(self._context.scene.server, placed([self._handle.name], T[None]))

    def resend(self) -> None:
        """Send the pose again, to undo a drag on a page that is not in control."""
        self._shown[:] = np.nan
        self.follow()

    # viser calls this on the network thread: only store the target and post the work.

    async def _dragged(self, event: Any) -> None:
        with self._lock:
            if event.phase == "end":
                self._taken = None
                self._context.post(self._ended)
                return
            if event.phase == "start" or self._taken is None:
                self._taken = self._now()
            T = np.eye(4)
            T[:3, :3] = matrix_from_wxyz(np.asarray(event.target.wxyz, float))
            T[:3, 3] = event.target.position
            self._wanted = T  # replaces an older target that was not processed yet
        self._context.post(self._context.channel.unless_stopped(self._go))

    def _now(self) -> tuple[int, int]:
        return self._context.channel.stops, self._context.channel.driving.driver

    def _begun(self) -> None:
        self.dragging = True
        robot = self._robot
        if robot is not None:
            # The drag keeps the current IK branch.
            q = robot.reference.q
            self._branch = robot.arm.ik(robot.arm.fk(q), q0=q).branch

    def _go(self) -> None:
        with self._lock:
            T, self._wanted, robot = self._wanted, None, self._robot
            if T is None or robot is None or self._taken not in (None, self._now()):
                return
        if not self.dragging:
            self._begun()
        try:
            wanted = invert(robot.base) @ T
            q = reach(robot.arm, wanted, robot.reference.q, self._branch)
            self._move(robot, q)
            self.reason = ""
        except BrazoError as error:
            self.reason = str(error)

    def _ended(self) -> None:
        self.dragging, self.reason = False, ""
        self.resend()

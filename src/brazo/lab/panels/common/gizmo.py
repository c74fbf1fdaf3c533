"""Gizmo at a robot's tool: the user drags it, and inverse kinematics moves the robot.

During a drag, the arm keeps its initial IK branch.  While the gizmo is not dragged, it follows the
tool.  If the target is out of reach, the robot stays at the last reachable pose, the
reason is shown, and the gizmo returns to the tool when released.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.panels.common.dragging import Dragging
from brazo.model.transforms import invert
from brazo.operate.mover import reach
from brazo.simulation.robot import SimRobot

SCALE = 0.14  # size over the size of the cell


class Gizmo(Dragging):
    """Gizmo at the tool of one robot.  Use on the lab's thread only.

    `move(robot, q)` is called with the joint positions q (n,) for each new reachable target.
    """

    def __init__(self, context: PanelContext, move: Callable[[SimRobot, np.ndarray], None]) -> None:
        super().__init__(context)
        self._move = move
        self._robot: SimRobot | None = None
        self._branch: str | None = None
        self.reason = ""  # why the tool cannot follow; empty if it can

    def show(self, robot: SimRobot | None) -> None:
        """Place the gizmo at the tool of a robot; None removes the gizmo."""
        self._remove_handle()
        self._robot, self.dragging, self.reason = robot, False, ""
        if robot is not None:
            self._add_handle("gizmo", SCALE, turns=robot.arm.mobility > 3)
            self.follow()

    def forget(self) -> None:
        """Discard the viser handle; call after the scene was rebuilt, which removed the gizmo."""
        self._handle = None
        self.show(None)

    def follow(self) -> None:
        """Move the gizmo to the tool, unless the user is dragging the gizmo.

        This method also ends a drag after STOP, or after another page has taken control.
        """
        if self.dragging and self._taken != self._now():
            self._ended()
        if self._handle is None or self._robot is None or self.dragging:
            return
        with self._context.session.shown.lock:
            T = self._robot.tool()
        self._place(T)

    def resend(self) -> None:
        self._sent[:] = np.nan
        self.follow()

    async def _dragged(self, event: Any) -> None:
        with self._lock:
            if event.phase == "end":
                self._taken = None
                self._context.post(self._ended)
                return
            self._store(event)
        self._context.post(self._context.channel.unless_stopped(self._go))

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

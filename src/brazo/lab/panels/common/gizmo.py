"""Arrows and rings at a tool, to drag it by: inverse kinematics follow, in the arm's branch.

While nobody drags, the gizmo goes along with the tool.  A place out of reach is said and not jumped
to: the robot stays at the last one it could reach, and the gizmo comes back when it is let go.
STOP ends a drag, and so does another page's taking control: it counts again when taken anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_wxyz
from brazo.lab.app.context import Context
from brazo.lab.scene.scene import STILL, placed
from brazo.lab.server import hooks
from brazo.model.transforms import invert
from brazo.operate.mover import reach
from brazo.simulation.robot import SimRobot

SCALE = 0.14  # over the size of the cell


class Gizmo:
    """The gizmo at the tool of one robot; on the lab's thread."""

    def __init__(self, context: Context, move: Callable[[SimRobot, np.ndarray], None]) -> None:
        self._context = context
        self._move = move
        self._handle: Any = None
        self._robot: SimRobot | None = None
        self._branch: str | None = None
        self._shown = np.full((4, 4), np.nan)
        self._lock = threading.Lock()  # over the next two, which the network's thread sets
        self._wanted: np.ndarray | None = None
        self._taken: tuple[int, int] | None = None  # when it was: STOPs so far, and who drove
        self.dragging = False
        self.reason = ""  # why the tool cannot follow
        context.channel.on_refused(self.resend)

    def show(self, robot: SimRobot | None) -> None:
        """Put it at the tool of a robot, or take it away."""
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
        """The cell was drawn anew, without it."""
        self._handle = None
        self.show(None)

    def follow(self) -> None:
        """Go along with the tool, unless it is being dragged."""
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
        """Say where it is although it has not moved: somebody pulled at it who may not."""
        self._shown[:] = np.nan
        self.follow()

    # viser calls this on the network's thread: it only notes and posts.

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
            self._wanted = T  # of several only the last counts
        self._context.post(self._context.channel.unless_stopped(self._go))

    def _now(self) -> tuple[int, int]:
        return self._context.channel.stops, self._context.channel.driving.driver

    def _begun(self) -> None:
        self.dragging = True
        robot = self._robot
        if robot is not None:
            # The branch the arm is in now is the one it keeps.
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

"""`ToolJog`: jog of the tool, or of the elbow of a redundant arm with the tool at rest.

The tool and the elbow never move at the same time.  To change from one to the other, the arm first
comes to rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.trajectory import CartesianJog, Limits, NullSpaceJog, Sample, ToolLimits
from brazo.trajectory.cartesian_jog import Frame

if TYPE_CHECKING:
    from brazo.robot import Robot


class ToolJog:
    """Jog of the tool, or of the elbow, of a robot that is at rest at `q0` (n,).

    `limits` are the limits of the joints, and `tool` are the speed limits of the tool.
    """

    def __init__(self, robot: Robot, limits: Limits, q0: np.ndarray, tool: ToolLimits) -> None:
        self._robot, self._limits, self._tool = robot, limits, tool
        self._jog: CartesianJog | NullSpaceJog = CartesianJog(robot, limits, q0, tool)

    @property
    def state(self) -> Sample:
        """Current joint reference."""
        return self._jog.state

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return self._jog.moving

    @property
    def reason(self) -> str:
        """Why the arm does not move as requested; empty if it moves as requested."""
        return self._jog.reason

    def run(self, velocity: np.ndarray, frame: Frame, elbow: float = 0.0) -> None:
        """Set the velocity of the tool (6,), in the axes of `frame`.

        The first three values are linear (m/s), the last three angular (rad/s).  If this velocity
        is zero, the elbow moves at the speed `elbow` (rad/s, norm of the joint velocities) instead.
        If the arm has to come to rest between tool and elbow motion, this call only brakes; `run`
        must then be called again.
        """
        swings = elbow != 0.0 and not velocity.any()
        rests = elbow == 0.0 and not velocity.any()
        if not rests and swings != isinstance(self._jog, NullSpaceJog):
            if self._jog.moving:
                self._jog.stop()
                return
            q = self._jog.state.q
            self._jog = (
                NullSpaceJog(self._robot, self._limits, q)
                if swings
                else CartesianJog(self._robot, self._limits, q, self._tool)
            )
        if isinstance(self._jog, NullSpaceJog):
            self._jog.run(elbow)
        else:
            self._jog.run(velocity, frame)

    def stop(self) -> None:
        """Bring the arm to rest within its limits."""
        self._jog.stop()

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new joint reference."""
        return self._jog.update(dt)

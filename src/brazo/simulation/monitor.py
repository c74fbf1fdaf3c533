"""Detection of a locked joint from signals: it lags behind a moving reference at zero speed.

A joint counts as locked if for `patience` seconds

    |q_ref − q| > error    and    |q̇| < still    and    |q̇_ref| > moving

with q and q̇ as measured by its encoder.  A joint with a steady-state error has a reference at
rest, and a lagging joint moves; a joint that reverses its direction is at rest only briefly and
does not lag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.simulation.robot import SimRobot

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class LockRule:
    """Thresholds for a locked joint: (revolute in rad, prismatic in m)."""

    error: tuple[float, float] = (0.01, 0.003)
    still: tuple[float, float] = (0.005, 0.001)  # per s
    moving: tuple[float, float] = (0.03, 0.006)  # per s
    patience: float = 0.03  # s


class LockMonitor:
    """Monitor of one robot; `look` is called once per step."""

    def __init__(self, robot: SimRobot, dt: float, rule: LockRule | None = None) -> None:
        rule = rule or LockRule()
        self._robot = robot
        kinds = np.array([kind == "prismatic" for kind in robot.arm.joint_kinds], int)
        self._error, self._still, self._moving = (
            np.array(pair)[kinds] for pair in (rule.error, rule.still, rule.moving)
        )
        self._patience = max(1, round(rule.patience / dt))
        self._count = np.zeros(robot.n, int)

    def look(self) -> list[int]:
        """Return the joints that are detected as locked in this step."""
        robot, motion = self._robot, self._robot.motion
        q, qd = robot.seen or (robot.world.q, robot.world.qd)
        behind = np.abs(motion.q - q) > self._error
        stands = np.abs(qd) < self._still
        asked = np.abs(motion.qd) > self._moving
        self._count = np.where(behind & stands & asked, self._count + 1, 0)
        return np.flatnonzero(self._count == self._patience).tolist()

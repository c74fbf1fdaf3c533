"""Detection of locked joints: a locked joint is at rest while its reference moves away.

A joint is considered locked if, for `patience` seconds,

    |q_ref − q| > error    and    |q̇| < still    and    |q̇_ref| > moving

with q and q̇ as measured by the encoder.  Three cases are not detected as locked: a steady-state
error (the reference is at rest), a normal lag (the joint moves), and a reversal of direction (the
joint is at rest only briefly).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.simulation.robot import SimRobot

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class LockRule:
    """Thresholds for detecting a locked joint; see the formula in the module docstring.

    Each pair contains the value for revolute joints and the value for prismatic joints.
    """

    error: tuple[float, float] = (0.01, 0.003)  # rad, m
    still: tuple[float, float] = (0.005, 0.001)  # rad/s, m/s
    moving: tuple[float, float] = (0.03, 0.006)  # rad/s, m/s
    patience: float = 0.03  # s


class LockMonitor:
    """Detector of the locked joints of one robot; call `update` once per step."""

    def __init__(self, robot: SimRobot, dt: float, rule: LockRule | None = None) -> None:
        rule = rule or LockRule()
        self._robot = robot
        kinds = np.array([kind == "prismatic" for kind in robot.arm.joint_kinds], int)
        self._error, self._still, self._moving = (
            np.array(pair)[kinds] for pair in (rule.error, rule.still, rule.moving)
        )
        self._patience = max(1, round(rule.patience / dt))
        self._count = np.zeros(robot.n, int)

    def update(self) -> list[int]:
        """Return the indices of the joints that are newly detected as locked in this step."""
        robot, motion = self._robot, self._robot.motion
        q, qd = robot.control.measured or (robot.world.q, robot.world.qd)
        lags = np.abs(motion.q - q) > self._error
        at_rest = np.abs(qd) < self._still
        reference_moves = np.abs(motion.qd) > self._moving
        self._count = np.where(lags & at_rest & reference_moves, self._count + 1, 0)
        return np.flatnonzero(self._count == self._patience).tolist()

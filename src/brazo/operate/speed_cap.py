"""`SpeedCapped`: slows down an inner motion where its tool speed would exceed a limit.

The time of the inner motion advances at the rate s ≤ 1, so that its velocity q̇ becomes s q̇:

    s = min(1, v_max / |J_v(q) q̇|)

J_v is the Jacobian of the tool point.  v_max is 98 % of the limit, because the inner motion may
accelerate within a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from brazo.trajectory import Sample

if TYPE_CHECKING:
    from brazo.robot import Robot


class LiveMotion(Protocol):
    """Protocol of a motion that is updated step by step, such as `brazo.trajectory.Jog`."""

    @property
    def state(self) -> Sample: ...
    @property
    def moving(self) -> bool: ...
    def update(self, dt: float) -> Sample: ...


def share_within(arm: Robot, q: np.ndarray, qd: np.ndarray, cap: float) -> float:
    """Return the share ≤ 1 of the joint velocities `qd` that moves the tool with at most `cap`.

    `q` (n,) and `qd` (n,) are the joint positions and velocities, `cap` is in m/s.
    """
    speed = float(np.linalg.norm(arm.jacobian(q)[:3] @ qd))
    return min(1.0, cap / speed) if speed > 0.0 else 1.0


class SpeedCapped:
    """Motion `inner` of the robot `arm`, slowed down where the tool would exceed `cap` (m/s)."""

    def __init__(self, inner: LiveMotion, arm: Robot, cap: float) -> None:
        self.inner = inner
        self._arm = arm
        self._cap = 0.98 * cap  # margin: the inner motion may accelerate within a step
        self._qd = inner.state.qd.copy()

    @property
    def moving(self) -> bool:
        """Whether the motion has not come to rest yet."""
        return self.inner.moving

    @property
    def remaining(self) -> float:
        """Time (s) until the inner motion is at rest, without the speed limit.

        NaN if the inner motion does not provide it.
        """
        return float(getattr(self.inner, "remaining", float("nan")))

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new joint reference."""
        state = self.inner.state
        share = share_within(self._arm, state.q, state.qd, self._cap)
        sample = self.inner.update(share * dt)
        qd = share * sample.qd
        qdd = (qd - self._qd) / dt if share < 1.0 else sample.qdd
        self._qd = qd
        return Sample(sample.q, qd, qdd)

"""`Tracker`: joints that follow a moving target inside every limit, and can always stop.

The target is a position and the speed with which it is passed; it is taken to move on with that
speed for at most `ahead` seconds, which bridges a late command and no more.  With e the way that is
left, a joint asks for the speed

    q̇ = q̇_target + sign(e) min(k |e|, v_stop(c |e|)),   k = min(j/a, 20/s),   c = 0.3

where v_stop(d) is the speed from which a joint stops within d at acceleration a and jerk j, so that
it does not run past a target that jumped.  `Jog` brings the joint to that speed: it keeps speed,
acceleration and jerk exactly and never takes a step behind which it could not stop inside the
joint's limits.  At a steady speed nothing lags.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brazo.trajectory.base import Sample
from brazo.trajectory.jog import Jog
from brazo.trajectory.limits import Limits
from brazo.trajectory.reading import positive, vector

Array = np.ndarray
AHEAD = 0.03  # s
GAIN = 20.0  # 1/s
SHARE = 0.3  # of the acceleration, spent on catching up; the rest is for the target's own


class Tracker:
    """Motion of joints at rest at `q0` (n,) after targets as they come."""

    def __init__(self, limits: Limits, q0: Any, ahead: float = AHEAD) -> None:
        self.limits = limits
        self.ahead = positive(ahead, "ahead")
        self._jog = Jog(limits, q0)
        self._state = self._jog.state
        a, j = limits.finite("acceleration"), limits.finite("jerk")
        self._a, self._j = a.tolist(), j.tolist()
        self._k = np.minimum(j / a, GAIN).tolist()
        self._goal: Array | None = None
        self._speed, self._most = np.zeros(limits.n), limits.speed
        self._age = 0.0

    @property
    def state(self) -> Sample:
        """Where the joints are now."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return self._jog.moving

    @property
    def goal(self) -> Array | None:
        """Where they are to go; None where there is no target."""
        return self._goal

    def target(self, q: Any, qd: Any = None, share: float = 1.0) -> None:
        """Follow to q (n,), passed with the speeds qd (or at rest), at a share of full speed."""
        n = self.limits.n
        low, high = self.limits.position.T
        goal = np.clip(vector(q, n, "target"), low, high)
        speed = np.zeros(n) if qd is None else vector(qd, n, "qd")
        self._most = min(positive(share, "share"), 1.0) * self.limits.speed
        self._goal, self._speed, self._age = goal, np.clip(speed, -self._most, self._most), 0.0

    def slow(self, share: float) -> None:
        """Keep the target, at another share of full speed, and do not look ahead of it."""
        self._most = min(positive(share, "share"), 1.0) * self.limits.speed
        self._speed = np.zeros(self.limits.n)

    def stop(self) -> None:
        """Forget the target and come to rest as quickly as the limits allow."""
        self._goal = None
        self._jog.stop()

    def update(self, dt: float) -> Sample:
        """Let dt seconds pass; the state then."""
        if self._goal is not None:
            self._jog.hold(self._asked(self._goal))
        self._age += dt
        self._state = self._jog.update(dt)
        return self._state

    def _asked(self, goal: Array) -> Array:
        # What the target has moved since; behind `ahead` it is taken to stand.
        on = self._age < self.ahead
        left = goal + self._speed * min(self._age, self.ahead) - self._state.q
        speeds = [
            math.copysign(min(k * abs(e), stopping_speed(SHARE * abs(e), a, j)), e)
            for e, k, a, j in zip(left.tolist(), self._k, self._a, self._j, strict=True)
        ]
        asked = np.array(speeds)
        return np.clip(asked + self._speed if on else asked, -self._most, self._most)


def stopping_speed(room: float, a: float, j: float) -> float:
    """The greatest speed from which a joint stops within `room`.

    A stop from v needs v √(v/j), or v/2 (v/a + a/j) where the acceleration a is reached.
    """
    v = math.cbrt(room * room * j)
    if v <= a * a / j:
        return v
    b = a * a / (2.0 * j)
    return -b + math.sqrt(b * b + 2.0 * a * room)

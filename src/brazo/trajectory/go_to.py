"""`GoTo`: jerk-limited joint motion to a target that may change at any time.

When the target changes, Ruckig plans the fastest motion from the current position, velocity and
acceleration to rest at the new target.  `update` advances along this motion.  Velocity,
acceleration and jerk therefore never exceed their limits.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.result import violations
from brazo.trajectory.base import Sample
from brazo.trajectory.jerk_limited import SHORT, RuckigPlanner, reach
from brazo.trajectory.limits import Limits
from brazo.trajectory.reading import vector

Array = np.ndarray


class GoTo:
    """Jerk-limited joint motion to a target that may change.

    All joints arrive at the same time, unless a joint would then exceed a position limit.  `limits`
    are the limits of the motion (see `limits_of`).  `q0`, `qd0` and `qdd0` (n,) are the initial
    joint positions, velocities and accelerations; by default the joints are at rest.  A joint
    that moves initially brakes until it is at rest or `target` is called.
    """

    def __init__(self, limits: Limits, q0: Any, qd0: Any = None, qdd0: Any = None) -> None:
        n = limits.n
        q = vector(q0, n, "q0")
        qd = np.zeros(n) if qd0 is None else vector(qd0, n, "qd0")
        qdd = np.zeros(n) if qdd0 is None else vector(qdd0, n, "qdd0")
        self.limits = limits
        self._together = RuckigPlanner(limits, "position", "time")
        self._apart = RuckigPlanner(limits, "position", "none")
        self._stopping = RuckigPlanner(limits, "velocity", "none")
        self._state = Sample(q, qd, qdd)
        self._plan: Any = None
        self._t = 0.0
        self.update_seconds = 0.0  # wall-clock time of the last update
        self.stop()

    @property
    def state(self) -> Sample:
        """Current joint positions, velocities and accelerations."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether the joints are still moving."""
        return self._plan is not None

    @property
    def remaining(self) -> float:
        """Time (s) until the joints are at rest."""
        return 0.0 if self._plan is None else max(self._plan.duration - self._t, 0.0)

    def target(self, q: Any) -> None:
        """Set the target to joint positions q (n,); an error if they are outside the limits."""
        goal = vector(q, self.limits.n, "target")
        past = violations(goal, self.limits.position)
        if past.any():
            i = int(np.argmax(past))
            low, high = self.limits.position[i]
            raise BrazoError(
                f"target of joint {i + 1} is {goal[i]:g}; its limits are {low:g} to {high:g} "
                "(rad or m)"
            )
        goal = np.clip(goal, *(self.limits.position + [SHORT, -SHORT]).T)
        s = self._state
        plan = self._together.plan(s.q, s.qd, s.qdd, goal)
        if not self._inside(plan):
            # A joint that waits for slower ones may exceed a limit; on its own it does not.
            plan = self._apart.plan(s.q, s.qd, s.qdd, goal)
        self._plan, self._t = plan, 0.0

    def stop(self) -> None:
        """Stop as quickly as the limits allow, each joint independently."""
        s = self._state
        if s.qd.any() or s.qdd.any():
            self._plan = self._stopping.plan(s.q, s.qd, s.qdd, np.zeros(self.limits.n))
        else:
            self._plan = None
        self._t = 0.0

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new state."""
        begin = time.perf_counter()
        dt = positive(dt, "dt")
        if self._plan is not None:
            self._t += dt
            if self._t >= self._plan.duration:
                q = np.array(self._plan.at_time(self._plan.duration)[0])
                self._state = Sample(q, np.zeros(len(q)), np.zeros(len(q)))
                self._plan = None
            else:
                self._state = Sample(*map(np.array, self._plan.at_time(self._t)))
        self.update_seconds = time.perf_counter() - begin
        return self._state

    def _inside(self, plan: Any) -> bool:
        reached = np.array(reach(plan))
        # A joint that already is outside may come back.
        low = np.minimum(self.limits.position[:, 0], self._state.q)
        high = np.maximum(self.limits.position[:, 1], self._state.q)
        return bool(((reached[:, 0] >= low - 1e-9) & (reached[:, 1] <= high + 1e-9)).all())

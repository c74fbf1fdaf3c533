"""Dormand–Prince 5(4) with dense output on a fixed grid of times (`method="dopri5"`).

Dry friction is integrated from event to event (`brazo.dynamics.stick_slip`), so steps contain no
discontinuity.  Other discontinuities, such as a torque function with a sign function, reduce the
step size to almost zero.  The mean size of every `PATIENCE` successive steps is checked, except for
the first `PATIENCE` steps of a run.  The run fails if the mean is below `FLOOR` (s).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.dynamics.stick_slip import StickSlip
from brazo.errors import BrazoError, RunFailed

__all__ = ["Dopri5"]

PATIENCE = 1_000  # steps
FLOOR = 1e-6  # s
MAX_EVENTS = 1_000  # between two samples

Rate = Callable[[float, np.ndarray], np.ndarray]


class Dopri5:
    """Integrator with adaptive steps; a call with (t, q, qd) returns q and qd at t + dt."""

    def __init__(
        self,
        arm: Any,
        rate: Rate,
        dt: float,
        rtol: float,
        atol: float,
        friction: StickSlip | None,
    ) -> None:
        if not (rtol >= 3e-14 and atol > 0.0):
            raise BrazoError(
                f"rtol {rtol:g}, atol {atol:g}: rtol must be at least 3e-14, atol greater than 0"
            )
        self._arm, self._rate, self._dt, self._friction = arm, rate, dt, friction
        self._rtol, self._atol = rtol, atol
        self._count, self._mark = 0, -math.inf  # number of steps, and the time of the last count
        self._solver: Any = None
        self._dense: Any = None  # the last step's state as a function of t, …
        self._end = -math.inf  # … valid up to here
        self._joint: int | None = None  # joint whose friction mode changes there
        self._left: np.ndarray | None = None  # the state at the last sample

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.concatenate([q, qd])
        if self._left is None or not np.array_equal(x, self._left):
            # At the start, or after the state was changed externally (a joint stop).
            if self._friction is not None:
                self._friction.settle(t, q, qd)
            self._restart(t, x)
        goal = t + self._dt
        events = 0
        while self._end < goal * (1.0 - 1e-15):
            if self._joint is not None:
                events += 1
                if events > MAX_EVENTS:
                    self._flutter()
                assert self._friction is not None
                x = self._friction.switch(self._end, self._dense(self._end))
                self._restart(self._end, x)
            self._step()
        n = len(q)
        x = self._dense(min(goal, self._end))
        self._left = x
        return x[:n], x[n:]

    def _restart(self, t: float, x: np.ndarray) -> None:
        from scipy.integrate import RK45

        self._solver = RK45(self._rate, t, x, math.inf, rtol=self._rtol, atol=self._atol)
        self._end, self._joint = t, None

    def _step(self) -> None:
        solver = self._solver
        solver.step()
        if solver.status == "failed":
            qd = np.abs(solver.y[len(solver.y) // 2 :])
            i = int(np.argmax(qd))
            raise RunFailed(
                f"dopri5 stopped at t = {solver.t:g} s: no step size meets rtol = "
                f"{self._rtol:g}; joint {i + 1} ({self._arm.joint_names[i]}) has a speed of "
                f"{qd[i]:.3g} rad/s or m/s: check the torques, or use a larger rtol"
            )
        self._dense, self._end = solver.dense_output(), solver.t
        self._count += 1
        if self._count == PATIENCE:
            if solver.t - self._mark < PATIENCE * FLOOR:
                self._give_up((solver.t - self._mark) / PATIENCE)
            self._count, self._mark = 0, solver.t
        if self._friction is not None:
            found = self._friction.event(self._dense, solver.t_old, solver.t)
            if found is not None:
                self._end, self._joint = found

    def _give_up(self, size: float) -> None:
        raise RunFailed(
            f"dopri5 stopped at t = {self._end:g} s: its last {PATIENCE} steps have a mean size "
            f"of {size:.2g} s, less than {FLOOR:g} s; the torques are discontinuous or the robot "
            "is stiff: use method rk4, a larger rtol, or a continuous torque"
        )

    def _flutter(self) -> None:
        assert self._joint is not None
        raise RunFailed(
            f"dopri5 stopped at t = {self._end:g} s: joint {self._joint + 1} "
            f"({self._arm.joint_names[self._joint]}) alternates between sticking and "
            f"slipping more than {MAX_EVENTS} times in {self._dt:g} s; use method rk4, or set a "
            "'smooth' speed for its friction"
        )

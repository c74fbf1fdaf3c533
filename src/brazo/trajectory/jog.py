"""`Jog`: jerk-limited motion of joints at commanded speeds, which stops at position limits.

The joints move until `stop`.  A pendant stops them when its enable switch is released
(`brazo.operate.HeldMotion`).

Each joint accelerates independently to the commanded speed.  A step is executed only if the joint
can still stop before its position limit after the step.  Otherwise the joint makes the fastest
motion that ends at rest 2e-8 rad or m before the limit; this margin covers the accuracy of the
planner.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.base import Sample
from brazo.trajectory.jerk_limited import SHORT, RuckigPlanner, fastest, phases_of, reach
from brazo.trajectory.limits import ASSUMED, Limits, limits_of
from brazo.trajectory.reading import vector

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray

ACCELERATION_TIME = 0.25  # s, from rest to max speed at max acceleration
JERK_TIME = 0.1  # s, from rest to max acceleration at max jerk


def jog_limits(robot: Robot) -> Limits:
    """Motion limits of a robot for jogging; limits that its file does not give are assumed.

    The assumed acceleration leads to max speed in 0.25 s, and the assumed jerk to max acceleration
    in 0.1 s.
    """
    assume = replace(ASSUMED, acceleration_time=ACCELERATION_TIME, jerk_time=JERK_TIME)
    return limits_of(robot, assume=assume)


class Jog:
    """Jogging of single joints at commanded speeds.

    The joints start at rest at `q0` (n,).  A joint that starts outside its position limits cannot
    move further outside than `q0`.
    """

    def __init__(self, limits: Limits, q0: Any) -> None:
        q = vector(q0, limits.n, "q0")
        self.limits = limits
        self._axes = [_Axis(limits, i, float(value)) for i, value in enumerate(q)]
        self.update_seconds = 0.0  # wall-clock time of the last update

    @property
    def state(self) -> Sample:
        """Current joint positions, velocities and accelerations."""
        return Sample(*np.array([axis.state for axis in self._axes]).T)

    @property
    def moving(self) -> bool:
        """Whether any joint moves."""
        return any(axis.state[1] != 0.0 or axis.state[2] != 0.0 for axis in self._axes)

    def run(self, speeds: Any, accelerations: Any = None) -> None:
        """Command the joint speeds (n,), rad/s and m/s, until `stop`.

        If the commanded speeds change continuously, give their `accelerations` (n,) too.  `speeds`
        are then the speeds at the end of the next update, and the joints follow them without lag.
        """
        wanted = vector(speeds, self.limits.n, "speeds")
        fast = np.abs(wanted) > self.limits.speed * (1.0 + 1e-12)
        if fast.any():
            i = int(np.argmax(fast))
            raise BrazoError(
                f"speed of joint {i + 1} is {wanted[i]:g}; at most {self.limits.speed[i]:g} is "
                "allowed (rad/s or m/s)"
            )
        rates = np.zeros(len(wanted)) if accelerations is None else accelerations
        rates = vector(rates, self.limits.n, "accelerations")
        for axis, speed, rate in zip(self._axes, wanted.tolist(), rates.tolist(), strict=True):
            axis.run(speed, rate)

    @property
    def limited(self) -> tuple[int, bool] | None:
        """Index of the first joint stopped by a position limit, and which limit stopped it.

        The second value is True for the upper and False for the lower limit.  None if no joint is
        stopped by a position limit.
        """
        for i, axis in enumerate(self._axes):
            if axis.limited and axis.wanted:
                return i, axis.wanted > 0.0
        return None

    def stop(self) -> None:
        """Bring every joint to rest as quickly as its limits allow."""
        for axis in self._axes:
            axis.run(0.0)

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new state."""
        begin = time.perf_counter()
        dt = positive(dt, "dt")
        for axis in self._axes:
            axis.advance(dt)
        self.update_seconds = time.perf_counter() - begin
        return self.state


class _Axis:
    """Motion of one joint: commanded speed, current plan and position limits."""

    def __init__(self, limits: Limits, i: int, q: float) -> None:
        one = Limits(*(getattr(limits, name)[[i]] for name in ("speed", "acceleration", "jerk")))
        self._to_speed = RuckigPlanner(one, "velocity", "none")
        self._to_place = RuckigPlanner(one, "position", "none")
        low, high = limits.position[i].tolist()
        self.low, self.high = min(low + SHORT, q), max(high - SHORT, q)
        self._bounded = np.isfinite([low, high]).any()
        self._speed, self._acceleration, self._jerk = (
            float(getattr(one, name)[0]) for name in ("speed", "acceleration", "jerk")
        )
        self.state = (q, 0.0, 0.0)
        self.wanted = 0.0
        self._rate = 0.0  # commanded acceleration
        self._renewed = False  # True if a command with an acceleration waits for its update
        self._plan: Any = None
        self._t = 0.0
        self.limited = False  # True if the plan ends at a position limit

    def run(self, speed: float, rate: float = 0.0) -> None:
        if rate != 0.0:
            self.wanted, self._rate, self._renewed = speed, rate, True
        elif speed != self.wanted or self._rate != 0.0:
            self.wanted, self._rate = speed, 0.0
            self._begin()

    def _begin(self, duration: float | None = None) -> None:
        q, qd, qdd = self.state
        self._plan = self._to_speed.plan([q], [qd], [qdd], [self.wanted], duration, [self._rate])
        self._t = 0.0
        self.limited = False

    def _accelerate(self, dt: float) -> None:
        """Plan a motion to the commanded speed and acceleration.

        If no new command was received since the last update, the joint reduces its acceleration to
        zero instead.
        """
        if self._renewed:
            self._renewed = False
            self._rate = self._bounded_acceleration(dt)
            self._begin(dt)
            phases = phases_of(self._plan.profiles[0][0])
            if fastest(phases, dt, self._jerk) > self._speed:
                # Speed and rate together would be reached by exceeding the limit: drop the rate.
                self._rate = 0.0
                self._begin()
        else:
            _, qd, qdd = self.state
            speed = qd + 0.5 * qdd * abs(qdd) / self._jerk
            self.run(min(max(speed, -self._speed), self._speed))

    def _bounded_acceleration(self, dt: float) -> float:
        """Return the commanded acceleration, reduced such that the speed stays within its limit.

        The speed still rises during dt (s), and after that until the acceleration is zero.
        """
        a = min(abs(self._rate), self._acceleration)
        room = self._speed - self.wanted * math.copysign(1.0, self._rate)
        # a dt + a²/2j ≤ room
        j = self._jerk
        most = j * (math.sqrt(dt * dt + 2.0 * max(room, 0.0) / j) - dt)
        return math.copysign(min(a, most), self._rate)

    def advance(self, dt: float) -> None:
        if self._rate != 0.0:
            self._accelerate(dt)
        if self._plan is None:
            return
        state = self._at(dt)
        limit = self._passed(state) if self._bounded and not self.limited else None
        if limit is not None:
            self._plan = _plan(self._to_place, self.state, limit)
            self._t = 0.0
            self.limited = True
            state = self._at(dt)
        self._t += dt
        self.state = state
        if state[1] == 0.0 and state[2] == 0.0 and self._t >= self._plan.duration:
            self._plan = None

    def _at(self, dt: float) -> tuple[float, float, float]:
        t, end = self._t + dt, self._plan.duration
        if t < end:
            q, qd, qdd = self._plan.at_time(t)
            return q[0], qd[0], qdd[0]
        speed, rate = (0.0, 0.0) if self.limited else (self.wanted, self._rate)
        h = t - end
        q = self._plan.at_time(end)[0][0] + h * (speed + 0.5 * h * rate)
        return q, speed + h * rate, rate

    def _passed(self, state: tuple[float, float, float]) -> float | None:
        """Position limit that the joint would exceed if it braked from `state`; None if none.

        `state` has the position, velocity and acceleration of the joint.
        """
        low, high = reach(_plan(self._to_speed, state, 0.0))[0]
        if high > self.high:
            return self.high
        return self.low if low < self.low else None


def _plan(planner: RuckigPlanner, state: tuple[float, float, float], target: float) -> Any:
    q, qd, qdd = state
    return planner.plan([q], [qd], [qdd], [target])

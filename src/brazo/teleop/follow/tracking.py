"""`JointTracker`: joint motion that follows a moving target within all limits.

The target is a position with velocity and acceleration.  It is extrapolated for at most `ahead`
seconds, which bridges one late command.  A joint has the acceleration limit a and the jerk limit j.
The distance from the joint position to the target is e, and v_stop(d) is the speed from which the
joint can stop within the distance d.  The joint requests the velocity

    q̇ = q̇_target + sign(e) min(k |e|, v_stop(c |e|)),   k = min(j/a, 20 s⁻¹),   c = 0.3

The term v_stop prevents overshoot when the target jumps.  If k |e| is the smaller term, the joint
also requests the acceleration q̈ = q̈_target + k (q̇_target − q̇).  `Jog` moves the joint at the
requested velocity.  It keeps the limits of velocity, acceleration and jerk exactly, and ensures
that the joint can always stop within its position limits.  There is no lag at constant velocity or
acceleration.

`TargetRates` estimates velocity and acceleration from the positions of successive commands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.trajectory.base import Sample
from brazo.trajectory.jog import Jog
from brazo.trajectory.limits import Limits
from brazo.trajectory.reading import vector

Array = np.ndarray
AHEAD = 0.03  # s
GAIN = 20.0  # 1/s
SMOOTH = 0.005  # s, time constant of the estimated rates
STILL, STARTING = 1e-7, 1e-4  # rad/s and rad/s^2, m/s and m/s^2: above rounding errors
SHARE = 0.3  # of the acceleration for catching up; the rest is for the target's own


class JointTracker:
    """Joint motion that follows a target, starting at rest at `q0` (n,).

    A target is extrapolated for at most `ahead` seconds; then it is assumed to be at rest.
    """

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
        self._rate = np.zeros(limits.n)
        self._age = 0.0

    @property
    def state(self) -> Sample:
        """Current joint reference: q, qd and qdd."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether any joint moves noticeably (above a small velocity or acceleration)."""
        now = self._state
        fast = (np.abs(now.qd) > STILL).any() or (np.abs(now.qdd) > STARTING).any()
        return bool(fast) and self._jog.moving

    @property
    def goal(self) -> Array | None:
        """Current target position (n,); None if there is no target."""
        return self._goal

    def target(self, q: Any, qd: Any = None, share: float = 1.0, qdd: Any = None) -> None:
        """Set the target position q (n,), its velocity qd and its acceleration qdd.

        qd and qdd default to 0.  `share` limits the speed to a fraction of full speed.  q and qd
        are clipped to the limits, and qdd to half the acceleration limit.
        """
        n = self.limits.n
        low, high = self.limits.position.T
        goal = np.clip(vector(q, n, "target"), low, high)
        speed = np.zeros(n) if qd is None else vector(qd, n, "qd")
        self._most = min(positive(share, "share"), 1.0) * self.limits.speed
        a = 0.5 * self.limits.acceleration
        self._rate = np.zeros(n) if qdd is None else np.clip(vector(qdd, n, "qdd"), -a, a)
        self._goal, self._speed, self._age = goal, np.clip(speed, -self._most, self._most), 0.0

    def slow(self, share: float) -> None:
        """Limit the speed to a fraction of full speed, and stop extrapolating the target."""
        self._most = min(positive(share, "share"), 1.0) * self.limits.speed
        self._speed, self._rate = np.zeros(self.limits.n), np.zeros(self.limits.n)

    def stop(self) -> None:
        """Remove the target and brake to rest as fast as the limits allow."""
        self._goal = None
        self._jog.stop()

    def update(self, dt: float) -> Sample:
        """Advance by dt seconds and return the new joint reference."""
        if self._goal is not None:
            self._jog.run(*self._asked(self._goal, dt))
        self._age += dt
        self._state = self._jog.update(dt)
        return self._state

    def _asked(self, goal: Array, dt: float) -> tuple[Array, Array]:
        """Return the velocities (n,) and accelerations (n,) to reach after dt seconds."""
        # Extrapolated target; after `ahead` it is assumed to be at rest.
        then = self._age + dt
        t = min(then, self.ahead)
        on = then < self.ahead
        speed = self._speed + t * self._rate if on else np.zeros(self.limits.n)
        rate = self._rate if on else np.zeros(self.limits.n)
        now = self._state
        q, qd, qdd = now.q, now.qd, now.qdd
        left = goal + t * (self._speed + 0.5 * t * self._rate) - (q + dt * (qd + 0.5 * dt * qdd))
        lag = speed - (qd + dt * qdd)
        asked, rates = np.empty(len(goal)), np.empty(len(goal))
        for i, e in enumerate(left.tolist()):
            k = self._k[i]
            most = stopping_speed(SHARE * abs(e), self._a[i], self._j[i])
            near = k * abs(e) <= most
            asked[i] = speed[i] + (k * e if near else math.copysign(most, e))
            rates[i] = rate[i] + k * lag[i] if near and on else 0.0
        within = np.abs(asked) < self._most
        return np.clip(asked, -self._most, self._most), np.where(within, rates, 0.0)


class TargetRates:
    """Filter that estimates velocity and acceleration from a sequence of positions.

    This is a critically damped third-order filter (g-h-k).  It predicts with constant acceleration
    and corrects by the prediction error, so there is no lag at constant acceleration.  `smooth` (s)
    is the time constant with which old positions lose their influence.
    """

    def __init__(self, q: Any, smooth: float = SMOOTH) -> None:
        self.smooth = positive(smooth, "smooth")
        self.start(q)

    def start(self, q: Any) -> None:
        """Reset the filter to rest at q (n,)."""
        self._q = np.array(q, float)
        self.speed, self.acceleration = np.zeros(len(self._q)), np.zeros(len(self._q))

    def take(self, q: Any, dt: float) -> None:
        """Update the filter with the position q (n,), dt seconds after the last position."""
        v, a = self.speed, self.acceleration
        missed = np.asarray(q, float) - (self._q + dt * (v + 0.5 * dt * a))
        fade = math.exp(-dt / self.smooth)
        self._q = np.asarray(q, float) - fade**3 * missed
        self.speed = v + dt * a + 1.5 * (1.0 - fade * fade) * (1.0 - fade) / dt * missed
        self.acceleration = a + (1.0 - fade) ** 3 / (dt * dt) * missed


def stopping_speed(room: float, a: float, j: float) -> float:
    """Return the max speed from which a joint can stop within the distance `room`.

    With the jerk limit j, a stop from the speed v needs the distance v √(v/j), or v/2 (v/a + a/j)
    if the acceleration limit a is reached.
    """
    v = math.cbrt(room * room * j)
    if v <= a * a / j:
        return v
    b = a * a / (2.0 * j)
    return -b + math.sqrt(b * b + 2.0 * a * room)

"""Motion with limited speed, acceleration and jerk (S-curves), planned by Ruckig.

Ruckig (Berscheid, Kröger 2021) finds the fastest motion between any two states.  This motion has at
most seven phases of constant jerk per joint.  Up to two more phases come first if a joint starts
outside its limits.  The phases are converted to a `Piecewise`.

Only motions between two states are planned, because Ruckig sends motions with intermediate points
to a server.

Rounding errors can make Ruckig fail at the boundary between two profile types.  An example is a
motion from rest to rest over the distance 2 a³/j², where the phase of constant acceleration
vanishes.  With limits lower by a relative 1e-6 the motion is not at this boundary, so a failed plan
is repeated with such limits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import ruckig

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.trajectory.limits import Limits
from brazo.trajectory.moves import SYNCHRONISE, Synchronise, ends, quintic
from brazo.trajectory.piecewise import Piecewise, merge

Array = np.ndarray
Interface = Literal["position", "velocity"]
Together = Literal["time", "line", "none"]
Phase = tuple[float, float, float, float, float]  # duration; q, qd, qdd at its beginning; jerk

_PLANNED = (ruckig.Result.Working, ruckig.Result.Finished)
_SYNCHRONISE = {
    "time": ruckig.Synchronization.Time,
    "line": ruckig.Synchronization.Phase,
    "none": ruckig.Synchronization.No,
}
_NAMES = ("speed", "acceleration", "jerk")
_TINY = 1e-6  # rad, m
# Factors on speed, acceleration and jerk of each attempt; never above 1, so limits are kept.
_ATTEMPTS = (
    (1.0, 1.0, 1.0),
    (1.0, 1.0, 1.0 - 1e-6),
    (1.0, 1.0 - 1e-6, 1.0),
    (1.0 - 1e-6, 1.0 - 2e-6, 1.0 - 4e-6),
)
# Ruckig is accurate to 1e-8: a target this far from a limit never exceeds it.
SHORT = 2e-8  # rad, m
MAX_DURATION = 7600.0  # s, of Ruckig
_TOO_LONG = "-101"  # Ruckig's result for it, which its Python module has no name for
_INTERFACE = {
    "position": ruckig.ControlInterface.Position,
    "velocity": ruckig.ControlInterface.Velocity,
}


def jerk_limited(q0: Any, q1: Any, limits: Limits, synchronise: Synchronise = "time") -> Piecewise:
    """Fastest motion from rest at q0 to rest at q1 (n,) within velocity, acceleration, jerk limits.

    All joints arrive at the same time.  With `synchronise="line"` they also stay on a straight line
    in joint space.
    """
    one_of(synchronise, SYNCHRONISE, "synchronise")
    q0, q1 = ends(q0, q1)
    if limits.n != len(q0):
        raise BrazoError(f"limits are for {limits.n} joints; q0 has {len(q0)}")
    D = np.abs(q1 - q0)
    if synchronise == "line" and D.any():
        # One common progress variable, limited by the most demanding joint.
        share = D[D > 0.0] / D.max()
        shared = Limits(*((limits.finite(name)[D > 0.0] / share).min() for name in _NAMES))
        profile = _move(np.zeros(1), np.array([D.max()]), shared)
        c = profile.coefficients * ((q1 - q0) / D.max())
        c[:, 0] += q0
        return Piecewise(profile.breaks, c)
    return _move(q0, q1, limits)


def _move(q0: Array, q1: Array, limits: Limits) -> Piecewise:
    D = np.abs(q1 - q0)
    if not D.any():
        return Piecewise([0.0, 0.0], q0[None, None])
    # Ruckig is accurate to 1e-8, too coarse for tiny distances; those use a quintic, whose peaks
    # are 15/8 D/T, 10/√3 D/T² and 60 D/T³.
    v, a, j = (limits.finite(name) for name in _NAMES)
    tiny = D < _TINY
    needed = [15.0 / 8.0 * D / v, np.sqrt(10.0 / math.sqrt(3.0) * D / a), np.cbrt(60.0 * D / j)]
    T = float(np.max(needed, axis=0)[tiny].max(initial=0.0))
    goal = np.where(tiny, q0, q1)
    rest = np.zeros(len(q0))
    plan = RuckigPlanner(limits, "position", "time").plan(q0, rest, rest, goal, T)
    joints = profiles(plan)
    T = max(T, max(float(breaks[-1]) for breaks, _ in joints))
    for i in np.flatnonzero(tiny).tolist():
        joints[i] = quintic(q0[i], q1[i], T).breaks, quintic(q0[i], q1[i], T).coefficients[:, :, 0]
    return merge(joints)


class RuckigPlanner:
    """Planner for jerk-limited motions of several joints; its plans are Ruckig trajectories.

    `interface` selects whether targets are positions or velocities.  `synchronise` selects whether
    all joints arrive at the same time ("time"), also stay on a straight line ("line"), or move
    independently ("none").
    """

    def __init__(self, limits: Limits, interface: Interface, synchronise: Together) -> None:
        n = limits.n
        self.n = n
        self._otg = ruckig.Ruckig(n)
        self._input = ruckig.InputParameter(n)
        self._input.control_interface = _INTERFACE[interface]
        self._input.synchronization = _SYNCHRONISE[synchronise]
        self._by_position = interface == "position"
        self.limit(limits.finite("speed"), limits.finite("acceleration"), limits.finite("jerk"))

    def limit(self, speed: Array, acceleration: Array, jerk: Array) -> None:
        """Set new limits of velocity, acceleration and jerk, each (n,)."""
        self._limits = speed, acceleration, jerk
        self._scale_limits(_ATTEMPTS[0])

    def _scale_limits(self, factors: tuple[float, float, float]) -> None:
        speed, acceleration, jerk = (
            (factor * limit).tolist() for factor, limit in zip(factors, self._limits, strict=True)
        )
        self._input.max_velocity = speed
        self._input.max_acceleration = acceleration
        self._input.max_jerk = jerk

    def plan(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        target: Any,
        duration: float | None = None,
        acceleration: Any = None,
    ) -> ruckig.Trajectory:
        """Plan a motion from the state q, qd, qdd to `target` (n,).

        `target` contains positions or velocities, as selected for this planner.  A motion to
        positions ends at rest.  The motion is as fast as the limits allow, but takes at least
        `duration` seconds.  `acceleration` (n,) is the final acceleration, 0 by default.
        """
        given = self._input
        given.target_acceleration = [0.0] * self.n if acceleration is None else list(acceleration)
        given.minimum_duration = duration or None
        given.current_position = list(q)
        given.current_velocity = list(qd)
        given.current_acceleration = list(qdd)
        if self._by_position:
            given.target_position = list(target)
        else:
            given.target_velocity = list(target)
        found = ruckig.Trajectory(self.n)
        failed = self._calculate(found)
        if failed is None:
            return found
        for factors in _ATTEMPTS[1:]:
            self._scale_limits(factors)
            if self._calculate(found) is None:
                self._scale_limits(_ATTEMPTS[0])
                return found
        self._scale_limits(_ATTEMPTS[0])
        raise BrazoError(self._why(failed))

    def _calculate(self, found: ruckig.Trajectory) -> str | None:
        """Compute the plan and write it to `found`; return None, or Ruckig's message on failure."""
        try:
            result = self._otg.calculate(self._input, found)
        except (ruckig.RuckigError, ValueError) as error:  # ValueError: a result without a name
            return str(error)
        return None if result in _PLANNED else result.name

    def _why(self, failed: str) -> str:
        """Error message with state, target and limits of the joint named in Ruckig's message."""
        if _TOO_LONG in failed:
            return (
                f"no jerk-limited motion: it would take longer than {MAX_DURATION:g} s; "
                "use a nearer target or higher limits"
            )
        given, number = self._input, re.search(r"dof:? (\d+)", failed, re.IGNORECASE)
        if number is None:
            return "no jerk-limited motion from this state to the target; change target or limits"
        i = int(number[1])
        speed, acceleration, jerk = (float(limit[i]) for limit in self._limits)
        goal = given.target_position if self._by_position else given.target_velocity
        return (
            f"joint {i + 1}: no jerk-limited motion from position "
            f"{given.current_position[i]:g}, speed {given.current_velocity[i]:g}, acceleration "
            f"{given.current_acceleration[i]:g} to {'position' if self._by_position else 'speed'} "
            f"{goal[i]:g}, acceleration {given.target_acceleration[i]:g} within the limits "
            f"{speed:g} (speed), {acceleration:g} (acceleration), {jerk:g} (jerk); SI units, "
            "radians; change the target or a limit"
        )


def reach(plan: ruckig.Trajectory) -> list[tuple[float, float]]:
    """Min and max position of each joint during a motion.

    Ruckig's own extrema are not used: if the target is a velocity, they include a target position
    that has no meaning.
    """
    found = []
    for profile in plan.profiles[0]:
        low = high = _beginning(profile)[0]
        for h, q, qd, qdd, j in phases_of(profile):
            extremes = [q + h * (qd + h * (qdd / 2.0 + h * j / 6.0))]
            # Extrema are where the velocity qd + qdd t + j t²/2 is 0.
            root = qdd * qdd - 2.0 * j * qd
            if root >= 0.0:
                s = -qdd - math.copysign(math.sqrt(root), qdd)
                for t in (s / j if j else 0.0, 2.0 * qd / s if s else 0.0):
                    if 0.0 < t < h:
                        extremes.append(q + t * (qd + t * (qdd / 2.0 + t * j / 6.0)))
            low, high = min(low, *extremes), max(high, *extremes)
        found.append((low, high))
    return found


def fastest(phases: Iterable[Phase], duration: float, jerk: float) -> float:
    """Highest speed that a joint reaches if its plan is aborted at some time up to `duration` (s).

    At that time, let v be the speed and a the acceleration of the joint.  The acceleration is then
    reduced to zero with the constant jerk j = `jerk`, and the joint reaches the speed
    v + a |a| / 2j.  During the plan, this value rises only for positive a and falls only for
    negative a.  Its extremes are therefore at the ends of the phases, or where a changes sign.
    """
    most, left = 0.0, duration
    for h, _, qd, qdd, j in phases:
        end = min(h, left)
        for t in (0.0, -qdd / j if j else 0.0, end):
            if 0.0 <= t <= end:
                v, a = qd + t * (qdd + 0.5 * t * j), qdd + t * j
                most = max(most, abs(v + 0.5 * a * abs(a) / jerk))
        left -= h
        if left <= 0.0:
            break
    return most


def profiles(plan: ruckig.Trajectory) -> list[tuple[Array, Array]]:
    """Convert a Ruckig plan to polynomials: breaks and coefficients (pieces, 4) of each joint."""
    joints: list[tuple[Array, Array]] = []
    for profile in plan.profiles[0]:
        rows, breaks = [], [0.0]
        for h, q, qd, qdd, j in phases_of(profile):
            rows.append([q, qd, qdd / 2.0, j / 6.0])
            breaks.append(breaks[-1] + h)
        if not rows:
            breaks, rows = [0.0, plan.duration], [[_beginning(profile)[0], 0.0, 0.0, 0.0]]
        joints.append((np.array(breaks), np.array(rows)))
    # End times of synchronised joints differ by rounding: use the longest.
    end = max(float(breaks[-1]) for breaks, _ in joints)
    for breaks, _ in joints:
        if abs(breaks[-1] - end) < 1e-9 * max(end, 1.0):
            breaks[-1] = end
    return joints


def _beginning(profile: Any) -> tuple[float, float, float]:
    first = profile.brake if profile.brake.duration > 0.0 else profile
    return first.p[0], first.v[0], first.a[0]


def phases_of(profile: Any) -> Iterator[Phase]:
    """Yield the phases (duration, q, qd, qdd, jerk) of a joint's profile, in order."""
    q, qd, qdd = _beginning(profile)
    for part in (profile.brake, profile, profile.accel):
        for h, j in zip(part.t, part.j, strict=True):
            if h > 0.0:
                yield h, q, qd, qdd, j
                q += h * (qd + h * (qdd / 2.0 + h * j / 6.0))
                qd += h * (qdd + h * j / 2.0)
                qdd += h * j

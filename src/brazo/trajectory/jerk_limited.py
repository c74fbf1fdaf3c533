"""Motion with limited speed, acceleration and jerk (S-curves), planned by Ruckig.

Ruckig (Berscheid, Kröger 2021) finds the shortest motion from any state to any other: at most
seven phases of constant jerk a joint, after up to two that bring a joint back inside its limits.
What it finds is taken over phase by phase, so the result is a `Piecewise` like any other.

Only moves between two states are asked of it: intermediate points would be sent to a server.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import ruckig

from brazo.errors import BrazoError
from brazo.trajectory.limits import Limits
from brazo.trajectory.moves import SYNCHRONISE, Synchronise, ends
from brazo.trajectory.piecewise import Piecewise, merge
from brazo.trajectory.reading import choice

Array = np.ndarray
Interface = Literal["position", "velocity"]
Together = Literal["time", "line", "none"]

_SYNCHRONISE = {
    "time": ruckig.Synchronization.Time,
    "line": ruckig.Synchronization.Phase,
    "none": ruckig.Synchronization.No,
}
_INTERFACE = {
    "position": ruckig.ControlInterface.Position,
    "velocity": ruckig.ControlInterface.Velocity,
}


def jerk_limited(q0: Any, q1: Any, limits: Limits, synchronise: Synchronise = "time") -> Piecewise:
    """The fastest motion from rest at q0 to rest at q1 (n,) within speed, acceleration, jerk.

    All joints arrive together; `"line"` also keeps them on a straight line in joint space.
    """
    choice(synchronise, SYNCHRONISE, "synchronise")
    q0, q1 = ends(q0, q1)
    if limits.n != len(q0):
        raise BrazoError(f"limits are for {limits.n} joints; q0 has {len(q0)}")
    if np.array_equal(q0, q1):
        return Piecewise([0.0, 0.0], q0[None, None])
    planner = Planner(limits, "position", synchronise)
    return pieces(planner.plan(q0, np.zeros(len(q0)), np.zeros(len(q0)), q1))


class Planner:
    """Ruckig with the limits of some joints; plans are its trajectories."""

    def __init__(self, limits: Limits, interface: Interface, synchronise: Together) -> None:
        n = limits.n
        self.n = n
        self._otg = ruckig.Ruckig(n)
        self._input = ruckig.InputParameter(n)
        self._input.control_interface = _INTERFACE[interface]
        self._input.synchronization = _SYNCHRONISE[synchronise]
        self._input.max_velocity = limits.finite("speed").tolist()
        self._input.max_acceleration = limits.finite("acceleration").tolist()
        self._input.max_jerk = limits.finite("jerk").tolist()
        self._by_position = interface == "position"

    def plan(self, q: Any, qd: Any, qdd: Any, target: Any) -> ruckig.Trajectory:
        """From a state to rest at the positions, or to the speeds, of `target` (n,)."""
        given = self._input
        given.current_position = list(q)
        given.current_velocity = list(qd)
        given.current_acceleration = list(qdd)
        if self._by_position:
            given.target_position = list(target)
        else:
            given.target_velocity = list(target)
            # Not aimed at, but Ruckig counts it among the extrema of the motion.
            given.target_position = list(q)
        found = ruckig.Trajectory(self.n)
        try:
            result = self._otg.calculate(given, found)
        except ruckig.RuckigError as error:
            raise BrazoError(f"no jerk-limited motion: {_first_line(error)}") from None
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise BrazoError(f"no jerk-limited motion: {result.name}; check state and limits")
        return found


def pieces(plan: ruckig.Trajectory) -> Piecewise:
    """A plan of Ruckig's as polynomials."""
    joints = []
    for profile in plan.profiles[0]:
        t, jerk = [], []
        for phases in (profile.brake, profile, profile.accel):
            t += list(phases.t)
            jerk += list(phases.j)
        t, jerk = np.array(t), np.array(jerk)
        t, jerk = t[t > 0.0], jerk[t > 0.0]
        first = profile.brake if profile.brake.duration > 0.0 else profile
        q, qd, qdd = first.p[0], first.v[0], first.a[0]
        rows = []
        for h, j in zip(t.tolist(), jerk.tolist(), strict=True):
            rows.append([q, qd, qdd / 2.0, j / 6.0])
            q += h * (qd + h * (qdd / 2.0 + h * j / 6.0))
            qd += h * (qdd + h * j / 2.0)
            qdd += h * j
        breaks = np.concatenate([[0.0], np.cumsum(t)])
        if not rows:
            breaks, rows = np.zeros(2), [[q, 0.0, 0.0, 0.0]]
        joints.append((breaks, np.array(rows)))
    # Joints planned to arrive together differ by rounding: the longest is the common end.
    end = max(breaks[-1] for breaks, _ in joints)
    for breaks, _ in joints:
        if abs(breaks[-1] - end) < 1e-9 * max(end, 1.0) and breaks[-1] > 0.0:
            breaks[-1] = end
    return merge(joints)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].removeprefix("[ruckig] ") if lines else "Ruckig gives no reason"

"""Time scaling of a trajectory: velocities scale by 1/f, accelerations by 1/f².

`scaled` multiplies the duration by a factor f.  `fastest_within` finds the min f that satisfies a
robot's limits.  Velocity and acceleration decrease with f, but torques may increase, because
inertial torque can act against gravity.  Therefore f is the smallest value above which *every*
factor satisfies the limits, so slowing the motion down further never violates them.  Static torques
do not depend on f.  If they alone exceed a drive's limit, no factor is sufficient.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.base import Sample, Trajectory
from brazo.trajectory.check import Violation, check, grid, torques
from brazo.trajectory.limits import Limits, drives_of
from brazo.trajectory.piecewise import Piecewise

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
_PACES = 400  # rates sampled between rest and the fastest


def scaled(trajectory: Trajectory, factor: float) -> Trajectory:
    """Return the trajectory with its duration multiplied by `factor` and the same start time."""
    factor = positive(factor, "factor")
    if isinstance(trajectory, Piecewise):
        start, c = trajectory.start, trajectory.coefficients
        powers = factor ** -np.arange(c.shape[1], dtype=float)
        breaks = start + factor * (trajectory.breaks - start)
        return Piecewise(breaks, c * powers[:, None])
    return _Scaled(trajectory, factor)


def fastest_within(
    trajectory: Trajectory,
    robot: Robot,
    limits: Limits | None = None,
    *,
    at_least: float = 1.0,
    dt: float | None = None,
) -> Trajectory:
    """Return the trajectory, slowed down just enough to satisfy a robot's limits.

    The limits are those of speed, acceleration and torque.  The duration is multiplied by a factor
    of at least `at_least`.  With `at_least=1`, a motion within the limits keeps its duration; a
    smaller value allows a faster motion.  `limits` and `dt` are as in `check`.  A violated position
    limit raises a `BrazoError`, because slowing down does not help.
    """
    factor = _least_factor(trajectory, robot, limits, positive(at_least, "at_least"), dt)
    past: list[Violation] = []
    for _ in range(20):
        found = scaled(trajectory, factor)
        past = check(found, robot, limits, dt)
        stuck = [v for v in past if v.kind == "position"]
        if stuck:
            raise BrazoError(f"no speed satisfies the limits: {stuck[0]}")
        if not past:
            return found
        # A peak between two grid points: slow down by its excess.
        ratio = max(v.value / v.limit for v in past)
        factor *= 1.0 + max(1.01 * (ratio - 1.0), 1e-9)
    raise BrazoError(
        f"the limits are exceeded even if the motion takes {factor:.4g} times as long: {past[0]}"
    )


class _Scaled(Trajectory):
    """The trajectory `inner` with its duration multiplied by `factor`."""

    def __init__(self, inner: Trajectory, factor: float) -> None:
        self._inner, self._factor = inner, factor

    @property
    def n(self) -> int:
        return self._inner.n

    @property
    def breaks(self) -> Array:
        start = self._inner.start
        return start + self._factor * (self._inner.breaks - start)

    def within(self, t: Array) -> Sample:
        start, f = self._inner.start, self._factor
        s = self._inner.within(np.clip(start + (t - start) / f, start, self._inner.end))
        return Sample(s.q, s.qd / f, s.qdd / f**2)


def _least_factor(
    trajectory: Trajectory, robot: Robot, limits: Limits | None, at_least: float, dt: float | None
) -> float:
    s = trajectory.sample(grid(trajectory, dt))
    drives = drives_of(robot)
    speed = np.array([d.max_speed for d in drives]) if limits is None else limits.speed
    torque = np.array([d.max_torque for d in drives]) if limits is None else limits.torque
    acceleration: Any = math.inf if limits is None else limits.acceleration
    factor = max(
        at_least,
        float((np.abs(s.qd) / speed).max()),
        math.sqrt(float((np.abs(s.qdd) / acceleration).max())),
    )
    if not (robot.has_dynamics and np.isfinite(torque).any()):
        return factor

    def load(rate: float) -> float:
        """Largest ratio of a torque to its limit if all velocities are multiplied by `rate`."""
        moving = Sample(s.q, s.qd * rate, s.qdd * rate**2)
        return float((np.abs(torques(robot, moving)) / torque).max())

    fastest = 1.0 / factor
    paces = fastest * np.linspace(0.0, 1.0, _PACES + 1)
    # Coulomb friction acts at any motion: rest is evaluated as the limit of slow motion.
    paces[0] = 1e-6 * fastest
    if load(paces[0]) > 1.0:
        i = int(
            np.argmax((np.abs(torques(robot, Sample(s.q, 0 * s.qd, 0 * s.qdd))) / torque).max(0))
        )
        unit = "N m" if robot.joint_kinds[i] == "revolute" else "N"
        raise BrazoError(
            f"no speed satisfies the limits: at any speed joint {i + 1} ({robot.joint_names[i]}) "
            f"exceeds its torque limit of {torque[i]:g} {unit}"
        )
    for low, high in pairwise(paces.tolist()):
        if load(high) > 1.0:
            for _ in range(60):
                middle = 0.5 * (low + high)
                if load(middle) > 1.0:
                    high = middle
                else:
                    low = middle
            return 1.0 / low
    return factor

"""The fastest motion along a given joint-space path within speed, acceleration and torque limits.

With the path q(s) and its derivatives q′, q″ with respect to s, a motion s(t) has

    q̇ = q′ ṡ        q̈ = q′ s̈ + q″ ṡ²        τ = M q′ s̈ + (M q″ + C(q, q′) q′) ṡ² + G

so every limit is linear in u = s̈ and x = ṡ².  On a grid of s, x changes by 2 u Δs in each
interval.  A backward pass finds, at each grid point, the largest x from which the end of the path
can be reached.  A forward pass then chooses the largest u at each point.  This is the algorithm of
Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis
(IEEE Transactions on Robotics 34(3), 2018).  The limits hold at both ends of every interval.  The
torques do not include friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.base import Sample, Trajectory
from brazo.trajectory.limits import Limits, limits_of
from brazo.trajectory.reading import table

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
_TINY = 1e-12
_SAMPLES = 400  # of a trajectory whose path is used


def time_optimal(
    path: Any, robot: Robot, limits: Limits | None = None, *, points: int = 1000
) -> Trajectory:
    """Compute the fastest motion along a path, from rest to rest.

    Parameters
    ----------
    path : joint values (m, n), interpolated by a cubic spline, or a `Trajectory`, whose timing is
        ignored.
    robot : the `Robot`, for its limits and dynamics.
    limits : speed, acceleration and torque limits; default: `limits_of(robot)`.  Jerk is unlimited.
    points : number of grid intervals.

    Returns
    -------
    `Trajectory` along the path that starts at 0 s.  At every time at least one limit is reached,
    within the accuracy of the grid.
    """
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 10:
        raise BrazoError(f"points is {points!r}; it must be an integer of at least 10")
    limits = limits_of(robot) if limits is None else limits
    if limits.n != robot.n:
        raise BrazoError(f"limits are for {limits.n} joints; '{robot.name}' has {robot.n}")
    spline = _spline(path, robot.n)
    s = np.linspace(0.0, float(spline.x[-1]), points + 1)
    q, q1, q2 = spline(s), spline(s, 1), spline(s, 2)
    if not np.isfinite(limits.speed).any() and not np.isfinite(limits.acceleration).all():
        raise BrazoError(
            "time_optimal needs a finite speed limit, or finite acceleration limits of all joints"
        )
    rows = _Rows(robot, limits, q, q1, q2)
    x, u = _profile(rows, s[1] - s[0])
    return _Timed(spline, s, x, u)


class _Rows:
    """Limits at the grid points as inequalities a u + b x ≤ c and 0 ≤ x ≤ top.

    u = s̈ and x = ṡ², as in the docstring of this module; a, b and c are (points, rows).
    """

    def __init__(self, robot: Robot, limits: Limits, q: Array, q1: Array, q2: Array) -> None:
        with np.errstate(divide="ignore"):
            self.top = ((limits.speed / np.maximum(np.abs(q1), _TINY)) ** 2).min(axis=1)
        self.top = np.minimum(self.top, 1e12)
        a, b = [q1], [q2]
        room = [np.broadcast_to(limits.acceleration, q1.shape)] * 2
        low, high = [room[0]], [room[1]]
        if np.isfinite(limits.torque).any() and robot.has_dynamics:
            M, G = robot.mass_matrix(q), robot.gravity(q)
            C = robot.coriolis(q, q1)
            a.append(np.einsum("kij,kj->ki", M, q1))
            b.append(np.einsum("kij,kj->ki", M, q2) + np.einsum("kij,kj->ki", C, q1))
            _check_weight(robot, G, limits.torque)
            low.append(limits.torque + G)
            high.append(limits.torque - G)
        A, B, low_c, high_c = (np.concatenate(part, axis=1) for part in (a, b, low, high))
        finite = np.isfinite(low_c[0])
        self.a = np.concatenate([A, -A], axis=1)[:, np.tile(finite, 2)]
        self.b = np.concatenate([B, -B], axis=1)[:, np.tile(finite, 2)]
        self.c = np.concatenate([high_c, low_c], axis=1)[:, np.tile(finite, 2)]

    def interval(self, i: int, step: float) -> tuple[Array, Array, Array]:
        """Inequalities a u + b x ≤ c at both ends of the interval from point i to i + 1.

        Return a, b and c.  u is constant in the interval, and x is the value of ṡ² at point i.
        `step` is the increase of the path parameter s in the interval.
        """
        a = np.concatenate([self.a[i], self.a[i + 1] + 2.0 * step * self.b[i + 1]])
        return (
            a,
            np.concatenate([self.b[i], self.b[i + 1]]),
            np.concatenate([self.c[i], self.c[i + 1]]),
        )


def _check_weight(robot: Robot, G: Array, torque: Array) -> None:
    """Raise an error if gravity torques G (points, n) along the path exceed the limits (n,)."""
    over = np.argwhere(np.abs(G) > torque)
    if len(over):
        k, i = over[0].tolist()
        unit = "N m" if robot.joint_kinds[i] == "revolute" else "N"
        raise BrazoError(
            f"joint {i + 1} ({robot.joint_names[i]}): its torque limit of {torque[i]:g} {unit} is "
            f"too low to hold the robot's weight at {k / (len(G) - 1):.0%} of the path, where "
            f"{abs(G[k, i]):g} {unit} are needed"
        )


def _profile(rows: _Rows, step: float) -> tuple[Array, Array]:
    """Return the fastest motion: x (points,) at the grid points, u (points − 1,) between them."""
    count = len(rows.top) - 1
    low, high = np.zeros(count + 1), np.zeros(count + 1)
    for i in range(count - 1, -1, -1):
        a, b, c = _with_next(rows, i, step, low[i + 1], high[i + 1])
        low[i], high[i] = _x_range(a, b, c, rows.top[i])
        if low[i] > high[i]:
            raise BrazoError(
                f"the limits are too low: at {i / count:.0%} of the path there is no speed at "
                "which the robot can follow the rest of the path and stop at its end; raise the "
                "limits"
            )
    if low[0] > 1e-9:
        raise BrazoError(
            "the limits are too low: the robot cannot follow the path from rest; raise the limits"
        )
    x, u = np.zeros(count + 1), np.zeros(count)
    for i in range(count):
        a, b, c = _with_next(rows, i, step, low[i + 1], high[i + 1])
        room = c - b * x[i]
        up = a > _TINY
        u[i] = (room[up] / a[up]).min()
        x[i + 1] = min(max(x[i] + 2.0 * step * u[i], low[i + 1]), high[i + 1])
        if x[i + 1] <= 0.0 and i + 1 < count:
            raise BrazoError(
                f"the limits are too low: the robot comes to rest at {i / count:.0%} of the path "
                "and cannot move on; raise the limits"
            )
    x[-1] = 0.0
    return x, np.diff(x) / (2.0 * step)


def _with_next(
    rows: _Rows, i: int, step: float, low: float, high: float
) -> tuple[Array, Array, Array]:
    """Return `rows.interval(i, step)` and the inequalities low ≤ x ≤ high at point i + 1."""
    a, b, c = rows.interval(i, step)
    return (
        np.append(a, [2.0 * step, -2.0 * step]),
        np.append(b, [1.0, -1.0]),
        np.append(c, [high, -low]),
    )


def _x_range(a: Array, b: Array, c: Array, top: float) -> tuple[float, float]:
    """Return the min and max x from 0 to `top` for which some u satisfies a u + b x ≤ c.

    If there is none, the returned min is greater than the max.
    """
    up, down = a > _TINY, a < -_TINY
    flat = ~(up | down)
    # Each upper bound of u must be at least each lower bound: a linear inequality in x.
    au, bu, cu = (v[up][:, None] for v in (a, b, c))
    ad, bd, cd = (v[down][None, :] for v in (a, b, c))
    slope = np.concatenate([(bu / au - bd / ad).ravel(), b[flat]])
    room = np.concatenate([(cu / au - cd / ad).ravel(), c[flat]])
    low, high = 0.0, top
    rising, falling = slope > _TINY, slope < -_TINY
    if rising.any():
        high = min(high, float((room[rising] / slope[rising]).min()))
    if falling.any():
        low = max(low, float((room[falling] / slope[falling]).max()))
    if (room[~(rising | falling)] < -1e-9).any():
        return 1.0, 0.0
    return low, high


class _Timed(Trajectory):
    """Trajectory along a spline, with constant s̈ between grid points."""

    def __init__(self, spline: Any, s: Array, x: Array, u: Array) -> None:
        self._spline, self._s, self._u, self._rate = spline, s, u, np.sqrt(np.maximum(x, 0.0))
        durations = 2.0 * np.diff(s) / (self._rate[:-1] + self._rate[1:])
        self._t = np.concatenate([[0.0], np.cumsum(durations)])

    @property
    def n(self) -> int:
        return self._spline.c.shape[-1]

    @property
    def breaks(self) -> Array:
        return self._t

    def within(self, t: Array) -> Sample:
        i = np.clip(np.searchsorted(self._t, t, side="right") - 1, 0, len(self._u) - 1)
        tau, u, rate = t - self._t[i], self._u[i], self._rate[i]
        s = np.clip(self._s[i] + rate * tau + 0.5 * u * tau**2, self._s[0], self._s[-1])
        speed = np.maximum(rate + u * tau, 0.0)[:, None]
        q1 = self._spline(s, 1)
        qdd = self._spline(s, 2) * speed**2 + q1 * u[:, None]
        return Sample(self._spline(s), q1 * speed, qdd)


def _spline(path: Any, n: int) -> Any:
    """Cubic spline through the points of a path, parametrised by the length of their polyline."""
    from scipy.interpolate import CubicSpline

    if isinstance(path, Trajectory):
        if path.n != n:
            raise BrazoError(f"path is a trajectory of {path.n} joints; the robot has {n}")
        path = path.sample(np.linspace(path.start, path.end, _SAMPLES + 1)).q
    points = table(path, None, n, "path")
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    keep = np.concatenate([[True], steps > 1e-9 * max(float(steps.sum()), 1e-300)])
    points = points[keep]
    if len(points) < 2:
        raise BrazoError("path has only one distinct point; expected at least two")
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return CubicSpline(lengths, points, bc_type="natural")

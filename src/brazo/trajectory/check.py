"""Check of a trajectory against a robot's limits: time, joint and amount of each violation.

Positions are compared with the position limits of the joints, velocities and torques with the
limits of the drives, and accelerations with limits given by the caller.  Limits given by the caller
replace all limits of the robot.  The motion is sampled on a grid of times that contains both sides
of every break.  The max of each peak that could exceed a limit is computed more accurately.  The
start of a violation is found by bisection.  A violation shorter than the grid step `dt` may not be
detected.

Torques are computed by inverse dynamics, including friction; for a robot without inertia they are
not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.base import Sample, Trajectory
from brazo.trajectory.limits import Limits, drives_of

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Kind = Literal["position", "speed", "acceleration", "torque"]

_POINTS = 4000  # grid points over the whole motion
_AT_LEAST = 5  # grid points in each piece
_TOLERANCE = 1e-9  # rad, m; relative for any other limit
_UNITS = {
    "position": ("rad", "m"),
    "speed": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("N m", "N"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """A violation of one limit by one joint; `str(violation)` is a sentence."""

    t: float  # s, first time of the violation
    joint: int  # index into q
    kind: Kind
    value: float  # the worst value, signed
    limit: float  # the limit, signed
    t_worst: float  # s
    name: str  # of the joint
    unit: str
    place: Array  # (3,) m, tool position at t

    def __str__(self) -> str:
        x, y, z = self.place
        return (
            f"joint {self.joint + 1} ({self.name}) exceeds its {self.kind} limit of "
            f"{self.limit:g} {self.unit} at t = {self.t:.4g} s, tool at "
            f"({x:.3f}, {y:.3f}, {z:.3f}) m; worst value {self.value:g} {self.unit} "
            f"at t = {self.t_worst:.4g} s"
        )


def check(
    trajectory: Trajectory,
    robot: Robot,
    limits: Limits | None = None,
    dt: float | None = None,
) -> list[Violation]:
    """All limit violations of a trajectory, earliest first.

    For each joint, each quantity and each of its two limits (upper and lower), there is at most one
    violation in the list.  `limits` replaces the limits of the robot file (see `limits_of`).
    Without `limits`, accelerations are not checked, because robot files have no acceleration
    limits.  Jerk is never checked.  `dt` (s) is the max step of the sampling grid; the default is
    1/4000 of the duration.
    """
    what = _checks(trajectory, robot, limits)
    if not what.columns:
        return []
    t = grid(trajectory, dt)
    excess = what.excess(t)
    t, excess = _with_tops(what.excess, t, excess)
    found = []
    for column in np.flatnonzero((excess > what.tolerance).any(axis=0)).tolist():
        first = int(np.argmax(excess[:, column] > what.tolerance[column]))
        worst = int(np.argmax(excess[:, column]))
        crossing = t[first]
        if first > 0:
            crossing = _crossing(
                what.excess, t[first - 1], crossing, column, what.tolerance[column]
            )
        kind, joint, sign = what.columns[column]
        names = _UNITS[kind]
        limit = what.limit[column]
        found.append(
            Violation(
                t=float(crossing),
                joint=joint,
                kind=kind,
                value=float(sign * excess[worst, column] + limit),
                limit=float(limit),
                t_worst=float(t[worst]),
                name=robot.joint_names[joint],
                unit=names[0] if robot.joint_kinds[joint] == "revolute" else names[1],
                place=robot.fk(trajectory.sample(float(crossing)).q)[:3, 3],
            )
        )
    found.sort(key=lambda violation: violation.t)
    return found


def assert_within(
    trajectory: Trajectory, robot: Robot, limits: Limits | None = None, dt: float | None = None
) -> None:
    """Raise a `BrazoError` if the trajectory violates a limit.

    The message gives the first violation and the number of further ones.  Arguments as in `check`.
    """
    found = check(trajectory, robot, limits, dt)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BrazoError(f"{found[0]}{more}")


def grid(trajectory: Trajectory, dt: float | None = None) -> Array:
    """Sampling times: both sides of every break, and evenly spaced times between the breaks."""
    breaks = trajectory.breaks
    length = np.diff(breaks)
    step = trajectory.duration / _POINTS if dt is None else positive(dt, "dt")
    parts = []
    for start, end, h in zip(breaks[:-1], breaks[1:], length, strict=True):
        count = max(_AT_LEAST, math.ceil(h / step) + 1) if h > 0.0 else 1
        part = np.linspace(start, end, count)
        # The last floating-point time of this piece.
        part[-1] = max(np.nextafter(end, start), start)
        parts.append(part)
    return np.unique(np.concatenate([*parts, breaks[-1:]]))


@dataclass(frozen=True, slots=True, eq=False)
class _Checks:
    """Comparison of a motion with limits: one column for each lower or upper limit of a joint."""

    columns: list[tuple[Kind, int, float]]  # kind, joint, +1 above or −1 below
    limit: Array  # (columns,) signed
    tolerance: Array  # (columns,)
    excess: Callable[[Array], Array]  # times (m,) -> (m, columns), > 0 for a violation


def _checks(trajectory: Trajectory, robot: Robot, limits: Limits | None) -> _Checks:
    n = robot.n
    if trajectory.n != n:
        raise BrazoError(f"the trajectory moves {trajectory.n} joints; '{robot.name}' has {n}")
    if limits is not None and limits.n != n:
        raise BrazoError(f"limits are for {limits.n} joints; '{robot.name}' has {n}")
    if limits is None:
        position = robot.limits
        speed = np.array([drive.max_speed for drive in drives_of(robot)])
        torque = np.array([drive.max_torque for drive in drives_of(robot)])
        acceleration = np.full(n, math.inf)
    else:
        position, speed, torque = limits.position, limits.speed, limits.torque
        acceleration = limits.acceleration
    with_torque = robot.has_dynamics and bool(np.isfinite(torque).any())
    bound: dict[Kind, tuple[Array, Array]] = {
        "position": (position[:, 0], position[:, 1]),
        "speed": (-speed, speed),
        "acceleration": (-acceleration, acceleration),
    }
    if with_torque:
        bound["torque"] = (-torque, torque)
    kinds: list[Kind] = list(bound)
    columns: list[tuple[Kind, int, float]] = []
    limit, where, signs = [], [], []
    for kind, (low, high) in bound.items():
        for side, sign in ((high, 1.0), (low, -1.0)):
            for joint in np.flatnonzero(np.isfinite(side)).tolist():
                columns.append((kind, joint, sign))
                limit.append(float(side[joint]))
                where.append(kinds.index(kind) * n + joint)
                signs.append(sign)
    limits_, signs_ = np.array(limit), np.array(signs)
    tolerance = np.array(
        [
            _TOLERANCE * (1.0 if kind == "position" else abs(value))
            for (kind, _, _), value in zip(columns, limit, strict=True)
        ]
    )

    def excess(t: Array) -> Array:
        s = trajectory.sample(t)
        parts = [s.q, s.qd, s.qdd]
        if with_torque:
            parts.append(torques(robot, s))
        values = np.concatenate(parts, axis=-1)[:, where]
        return signs_ * (values - limits_)

    return _Checks(columns, limits_, tolerance, excess)


def torques(robot: Robot, s: Sample) -> Array:
    """Joint torques (m, n) of a sampled motion, by inverse dynamics."""
    return robot.inverse_dynamics(*(np.ascontiguousarray(part) for part in (s.q, s.qd, s.qdd)))


def _with_tops(excess: Callable[[Array], Array], t: Array, values: Array) -> tuple[Array, Array]:
    """Add the times of those peaks of `excess` that may exceed 0 to the grid times `t` (m,).

    `excess(t)` returns the values (m, columns), and `values` are those at `t`.  Return all times,
    in order, and the values at these times.  Peaks are found by golden-section search.
    """
    if len(t) < 3:
        return t, values
    left, middle, right = values[:-2], values[1:-1], values[2:]
    rise = np.maximum(np.abs(middle - left), np.abs(right - middle))
    peak = (middle >= left) & (middle >= right) & (middle + rise > 0.0) & (rise > 0.0)
    rows, columns = np.nonzero(peak)
    if not len(rows):
        return t, values
    low, high = t[rows].copy(), t[rows + 2].copy()
    pick = np.arange(len(rows)), columns
    # Golden-section search in all brackets at once, down to rounding.
    share = 0.5 * (3.0 - math.sqrt(5.0))
    a, b = low + share * (high - low), high - share * (high - low)
    fa, fb = excess(a)[pick], excess(b)[pick]
    for _ in range(40):
        up = fa < fb
        low, high = np.where(up, a, low), np.where(up, high, b)
        new = np.where(up, high - share * (high - low), low + share * (high - low))
        value = excess(new)[pick]
        a, b = np.where(up, b, new), np.where(up, new, a)
        fa, fb = np.where(up, fb, value), np.where(up, value, fa)
    t = np.concatenate([t, np.where(fa > fb, a, b)])
    t = np.unique(t)
    return t, excess(t)


def _crossing(
    excess: Callable[[Array], Array], low: float, high: float, column: int, level: float
) -> float:
    """Time at which a column of `excess` starts to exceed `level`, by bisection.

    The value exceeds `level` at the time `high`, but not at the time `low`.
    """
    for _ in range(60):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if excess(np.array([middle]))[0, column] > level:
            high = middle
        else:
            low = middle
    return high

"""Does a trajectory keep a robot's limits?  Where and when it first does not, and by how much.

Positions are held against the joint limits, speeds and torques against the drives, accelerations
against what the caller allows.  The motion is looked at on a grid that has every break of the
trajectory, from both sides; around each peak of the grid that could pass a limit the very top is
searched, and the first moment past a limit is found by bisection.  A breach narrower than the
grid (see `dt`) that has no such peak is not seen.

Torques are those of inverse dynamics, friction included; a robot whose inertia is not known has
none to check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.base import Sample, Trajectory
from brazo.trajectory.limits import Limits, drives_of
from brazo.trajectory.reading import positive

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Kind = Literal["position", "speed", "acceleration", "torque"]

_POINTS = 4000  # of the grid, over the whole motion
_AT_LEAST = 5  # of the grid, in each piece
_TOLERANCE = 1e-9  # rad, m; the same share of any other limit
_UNITS = {
    "position": ("rad", "m"),
    "speed": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("N m", "N"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """One joint past one of its limits; as text a sentence."""

    t: float  # s, the first moment past the limit
    joint: int  # index into q
    kind: Kind
    value: float  # the worst, with its sign
    limit: float  # what is allowed, with the sign of the side that was passed
    t_worst: float  # s
    name: str  # of the joint
    unit: str
    place: Array  # (3,) m, where the tool is at t

    def __str__(self) -> str:
        x, y, z = self.place
        return (
            f"joint {self.joint + 1} ({self.name}) passes its {self.kind} limit of "
            f"{self.limit:g} {self.unit} at t = {self.t:.4g} s, tool at "
            f"({x:.3f}, {y:.3f}, {z:.3f}) m; at worst {self.value:g} {self.unit} "
            f"at t = {self.t_worst:.4g} s"
        )


def check(
    trajectory: Trajectory,
    robot: Robot,
    limits: Limits | None = None,
    dt: float | None = None,
) -> list[Violation]:
    """Every limit the trajectory passes, the earliest first: one entry for each
    joint, kind and side (above, below).

    `limits` replaces what the robot's file says (see `limits_of`); without it, accelerations are
    not checked, for no file limits them.  `dt` (s) is the widest step of the grid; without it the
    motion is looked at in 4000 places.
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
        moment = t[first]
        if first > 0:
            moment = _crossing(what.excess, t[first - 1], moment, column, what.tolerance[column])
        kind, joint, sign = what.columns[column]
        names = _UNITS[kind]
        limit = what.limit[column]
        found.append(
            Violation(
                t=float(moment),
                joint=joint,
                kind=kind,
                value=float(sign * excess[worst, column] + limit),
                limit=float(limit),
                t_worst=float(t[worst]),
                name=robot.joint_names[joint],
                unit=names[0] if robot.joint_kinds[joint] == "revolute" else names[1],
                place=robot.fk(trajectory.sample(float(moment)).q)[:3, 3],
            )
        )
    found.sort(key=lambda violation: violation.t)
    return found


def assert_within(
    trajectory: Trajectory, robot: Robot, limits: Limits | None = None, dt: float | None = None
) -> None:
    """Raise `BrazoError` with the first limit that is passed, and how many more are."""
    found = check(trajectory, robot, limits, dt)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BrazoError(f"{found[0]}{more}")


def grid(trajectory: Trajectory, dt: float | None = None) -> Array:
    """Times for a close look: both sides of every break, and evenly spaced ones between them."""
    breaks = trajectory.breaks
    length = np.diff(breaks)
    step = trajectory.duration / _POINTS if dt is None else positive(dt, "dt")
    parts = []
    for start, end, h in zip(breaks[:-1], breaks[1:], length, strict=True):
        count = max(_AT_LEAST, math.ceil(h / step) + 1) if h > 0.0 else 1
        part = np.linspace(start, end, count)
        # The last instant that still belongs to this piece.
        part[-1] = max(np.nextafter(end, start), start)
        parts.append(part)
    return np.unique(np.concatenate([*parts, breaks[-1:]]))


@dataclass(frozen=True, slots=True, eq=False)
class _Checks:
    """What is compared: one column for each side of each limit there is."""

    columns: list[tuple[Kind, int, float]]  # kind, joint, +1 above or −1 below
    limit: Array  # (columns,) signed
    tolerance: Array  # (columns,)
    excess: Callable[[Array], Array]  # times (m,) -> (m, columns), above 0 past a limit


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
    """The torques (m, n) a motion needs."""
    return robot.inverse_dynamics(*(np.ascontiguousarray(part) for part in (s.q, s.qd, s.qdd)))


def _with_tops(excess: Callable[[Array], Array], t: Array, values: Array) -> tuple[Array, Array]:
    """The grid with the tops of all peaks that reach, or could reach, above 0."""
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
    # Golden sections of all brackets at once, down to where rounding hides the difference.
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
    """The first moment past the limit, between a time within and a time past it."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if excess(np.array([middle]))[0, column] > level:
            high = middle
        else:
            low = middle
    return high

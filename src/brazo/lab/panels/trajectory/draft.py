"""Draft of a trajectory: a list of waypoints or a curve for one robot, and its planning.

Planning gives a `PlannedMotion` with the motion and the data of its preview: tool path, pen state,
approach to the start, and limit violations.  If the arm cannot follow a curve, the preview is an
`InfeasiblePath`.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.panels.trajectory.tool_curve import ToolCurve
from brazo.trajectory import (
    DrawingPath,
    PathInfeasible,
    Piecewise,
    ViaList,
    ViaPoint,
    Violation,
    check,
    jerk_limited,
    knots,
    limits_of,
    plan_path,
)
from brazo.trajectory.drawing_path import pen_is_down
from brazo.trajectory.limits import drives_of
from brazo.trajectory.via_list import Through

if TYPE_CHECKING:
    from brazo.kinematics.options import Orientation
    from brazo.robot import Robot
    from brazo.trajectory.via_points import Rule

Array = np.ndarray
Space = Literal["joint", "tool"]
DRAWN = 400  # samples of the path in the preview
APPROACH = 60  # samples of the approach


@dataclass(eq=False)
class Row:
    """Waypoint of a draft; `number` identifies it independently of its position in the list."""

    number: int
    t: float
    q: Array  # (n,) joint positions
    T: Array  # (4, 4) tool pose in the base frame
    qd: Array | None = None
    qdd: Array | None = None
    point: int = 0  # number of the named point that it is; 0 if it is none


@dataclass(frozen=True, slots=True, eq=False)
class DraftState:
    """Snapshot of the contents of a draft, for undo."""

    rows: tuple[Row, ...]
    curve: ToolCurve
    options: tuple[Any, ...]  # space, through, rule, orientation, curved


class Draft:
    """Editable trajectory of one robot: a list of waypoints, and a curve.

    If `curved` is True, the curve is planned, otherwise the waypoints.
    """

    def __init__(self, arm: Robot, q: Array) -> None:
        self.rows: list[Row] = []
        self.space: Space = "joint"
        self.through: Through = "cubic"
        self.rule: Rule = "average"
        # Arms with less than 6 degrees of freedom cannot reach every orientation.
        self.orientation: Orientation = "full" if arm.mobility >= 6 else "nearest"
        self.curved = False  # whether the curve is played instead of the waypoints
        self.curve = ToolCurve(arm.fk(q))
        self._numbers = count(1)
        self.revision = 0  # increases with every edit
        self._fresh = self._curve_text()
        self._saved: set[str] = set()

    @property
    def state(self) -> DraftState:
        """Snapshot of waypoints, curve and options, for undo."""
        options = (self.space, self.through, self.rule, self.orientation, self.curved)
        curve = self.curve.copy()
        return DraftState(tuple(copy(row) for row in self.rows), curve, options)

    def restore(self, state: DraftState) -> None:
        """Restore a snapshot that was taken with `state`."""
        self.revision += 1
        self.rows = [copy(row) for row in state.rows]
        self.curve = state.curve.copy()
        self.space, self.through, self.rule, self.orientation, self.curved = state.options
        used = max((row.number for row in self.rows), default=0)
        self._numbers = count(max(next(self._numbers), used + 1))

    def unsaved(self) -> tuple[bool, bool]:
        """Return two flags: whether the waypoints and whether the curve have unsaved edits."""
        points, curve = self._texts()
        return bool(self.rows) and points not in self._saved, curve not in {
            *self._saved,
            self._fresh,
        }

    def mark_saved(self) -> None:
        """Mark the waypoints, or the curve if it is selected, as saved to a file."""
        self._saved.add(self._texts()[self.curved])

    def _texts(self) -> tuple[str, str]:
        return self.via_list().to_yaml() if self.rows else "", self._curve_text()

    def _curve_text(self) -> str:
        # Rounded: a pose changes by rounding errors when it is written and read.
        place = np.round(self.curve.start[:3].ravel(), 9) + 0.0
        return f"{self.curve.text()}, start {place.tolist()}"

    @property
    def curve_is_fresh(self) -> bool:
        """Whether the curve is the same as when the draft was created."""
        return self._curve_text() == self._fresh

    def add(self, arm: Robot, q: Array, t: float | None = None) -> Row:
        """Add a waypoint at joint positions q (n,) and return it.

        `t` is its time in s (default: 1 s after the last waypoint; 0 for the first waypoint).
        """
        if t is None:
            t = self.rows[-1].t + 1.0 if self.rows else 0.0
        row = Row(next(self._numbers), t, q, arm.fk(q))
        self.rows.append(row)
        self.rows.sort(key=lambda one: one.t)
        return row

    def row(self, number: int) -> Row:
        """Return the waypoint with this number; raises `BrazoError` if it does not exist."""
        for row in self.rows:
            if row.number == number:
                return row
        raise BrazoError("this waypoint no longer exists")

    def via_list(self) -> ViaList:
        """Return the waypoints as a `ViaList`."""
        points = tuple(
            ViaPoint(row.t, row.q, qd=row.qd, qdd=row.qdd)
            if self.space == "joint"
            else ViaPoint(row.t, T=row.T, place=f"point {k + 1}, t = {row.t:g} s: ")
            for k, row in enumerate(self.rows)
        )
        return ViaList(points, self.through, self.rule, self.orientation)

    def take(self, arm: Robot, given: ViaList, q0: Array) -> None:
        """Replace the waypoints and their options by those of the list `given`.

        Selects the waypoints instead of the curve.  q0 (n,) is the initial guess of the inverse
        kinematics.
        """
        q = given.joints(arm, q0)
        self.through, self.rule, self.orientation = given.curve, given.rule, given.orientation
        self.space = "tool" if all(point.T is not None for point in given.points) else "joint"
        self.rows = [
            Row(next(self._numbers), point.t, q[k], arm.fk(q[k]), point.qd, point.qdd)
            for k, point in enumerate(given.points)
        ]
        for row, point in zip(self.rows, given.points, strict=True):
            if point.T is not None and point.T.shape == (4, 4):
                row.T = point.T
        self.curved = False

    def motion(self, arm: Robot, q0: Array) -> Piecewise:
        """Plan the motion through the waypoints, or along the curve if it is selected.

        q0 (n,) is the initial guess of the inverse kinematics at the start.
        """
        if not self.curved:
            return self.via_list().trajectory(arm, q0)
        return plan_path(arm, self.curve.path(), q0, orientation=self.orientation)

    def file(self, plan: PlannedMotion) -> str:
        """Return the text of a via-point file that reproduces a planned motion of this draft."""
        if self.curved:
            return ViaList(knots(plan.motion), "quintic").to_yaml()
        return self.via_list().to_yaml()

    def points_file(self) -> str:
        """Return the text of a via-point file with the waypoints of the draft."""
        return self.via_list().to_yaml()

    def curve_file(self, arm: Robot, q0: Array) -> str:
        """Plan the curve and return the text of a via-point file with its motion.

        If the arm cannot follow the curve, the file contains only comments: the dimensions of the
        curve and the reason.
        """
        head = f"# {self.curve.text()} (m, s); starts at {_numbers(self.curve.start[:3, 3])}\n"
        curved = copy(self)
        curved.curved = True
        try:
            return head + curved.file(plan_of(arm, curved, q0))
        except BrazoError as error:
            return head + "".join(f"# {line}\n" for line in str(error).splitlines())

    def slow(self, factor: float) -> None:
        """Multiply the duration of the trajectory by a factor; its path does not change."""
        self.curve.time *= factor if self.curved else 1.0
        if not self.curved:
            first = self.rows[0].t
            for row in self.rows:
                row.t = first + factor * (row.t - first)
                row.qd = None if row.qd is None else row.qd / factor
                row.qdd = None if row.qdd is None else row.qdd / factor**2


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMotion:
    """Planned motion of a draft, and the data of its preview."""

    motion: Piecewise
    path: Array  # (m, 3) tool positions in the base frame
    past: Array  # (m,) True where a limit is violated
    points: Array  # (k, 3) tool positions at the waypoints, or at the start of the curve
    violations: tuple[Violation, ...]
    down: Array  # (m,) True where the pen is down
    approach: Array  # (k, 3) tool positions from the present configuration to the start
    pen_down: Array | None = None  # (k, 2) s, intervals of a drawing with the pen down

    @property
    def length(self) -> float:
        """Length of the tool path (m)."""
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum())

    @property
    def stuck(self) -> bool:
        """Whether a joint position limit is violated; a slower motion cannot fix this."""
        return any(one.kind == "position" for one in self.violations)


@dataclass(frozen=True, slots=True, eq=False)
class InfeasiblePath:
    """Preview of a curve that the arm cannot follow, with the reason `why`."""

    why: str
    path: Array  # (m, 3) positions in the base frame
    reached: Array  # (m,) True where the arm can follow it
    place: Array  # (3,) first infeasible position


def infeasible_of(draft: Draft, error: PathInfeasible) -> InfeasiblePath:
    """Create the preview of a draft's curve that the arm cannot follow."""
    path = draft.curve.path()
    t = np.linspace(0.0, path.duration, DRAWN)
    points = path.pose(t)[:, :3, 3]
    return InfeasiblePath(str(error), points, t < error.t, error.position)


def plan_of(arm: Robot, draft: Draft, q0: Array) -> PlannedMotion:
    """Plan a draft from joint positions q0 (n,), and check the motion against the arm's limits.

    Raises `BrazoError` with the reason if the motion cannot be planned.
    """
    motion = draft.motion(arm, q0)
    s = motion.sample(np.linspace(motion.start, motion.end, DRAWN))
    low, high = arm.limits.T
    drives = drives_of(arm)
    past = ((s.q < low - 1e-9) | (s.q > high + 1e-9)).any(axis=1)
    past |= (np.abs(s.qd) > _most([d.max_speed for d in drives])).any(axis=1)
    if arm.has_dynamics:
        parts = (np.ascontiguousarray(part) for part in (s.q, s.qd, s.qdd))
        tau = np.abs(arm.inverse_dynamics(*parts))
        past |= (tau > _most([d.max_torque for d in drives])).any(axis=1)
    times = [row.t for row in draft.rows] if not draft.curved else [motion.start]
    points = arm.fk(np.ascontiguousarray(motion.sample(times).q))[:, :3, 3]
    curve = draft.curve.path() if draft.curved else None
    t = np.linspace(0.0, motion.duration, DRAWN)
    return PlannedMotion(
        motion,
        arm.fk(np.ascontiguousarray(s.q))[:, :3, 3],
        past,
        points,
        tuple(check(motion, arm)),
        np.ones(DRAWN, dtype=bool) if curve is None else pen_is_down(curve, t),
        _approach(arm, q0, s.q[0]),
        curve.pen_down if isinstance(curve, DrawingPath) else None,
    )


def _approach(arm: Robot, q0: Array, start: Array) -> Array:
    """Tool positions (k, 3) in the approach from joint positions q0 (n,) to `start` (n,).

    The task `Playing` commands the same approach before the trajectory.  The result is
    empty if q0 equals `start`.
    """
    if np.abs(q0 - start).max() < 1e-6:
        return np.zeros((0, 3))
    move = jerk_limited(q0, start, limits_of(arm))
    q = move.sample(np.linspace(move.start, move.end, APPROACH)).q
    return arm.fk(np.ascontiguousarray(q))[:, :3, 3]


def _numbers(values: Array) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _most(limits: list[float]) -> Array:
    return np.array(limits) * (1.0 + 1e-9)


def sentence(one: Violation) -> str:
    """Return a one-line description of a limit violation; angles are in degrees, lengths in mm."""
    scale, unit = 1.0, one.unit
    if unit.startswith("rad"):
        scale, unit = 180.0 / math.pi, "°" + unit[3:]
    elif unit == "m" or unit.startswith("m/"):
        scale, unit = 1e3, "m" + unit
    return (
        f"{one.name}: {one.kind} {_short(scale * one.value)} {unit} violates the limit of "
        f"{_short(scale * one.limit)} {unit}, first at {one.t:.2f} s"
    )


def _short(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")

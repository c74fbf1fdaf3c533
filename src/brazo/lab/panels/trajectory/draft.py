"""Draft of a trajectory: a list of waypoints or a curve for one robot, and the motion planned.

A curve is defined by its plane and dimensions.  It starts at the tool pose of the robot when the
draft was made, so that it can be played without an approach motion.  A `PlannedMotion` contains the
motion and the data of its preview: the tool path, and where and by how much it violates limits.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory import (
    Piecewise,
    ViaList,
    ViaPoint,
    Violation,
    check,
    circle,
    follow_path,
    helix,
    knots,
    lissajous,
    spiral,
    square,
)
from brazo.trajectory.limits import drives_of
from brazo.trajectory.via_list import Through

if TYPE_CHECKING:
    from brazo.kinematics.options import Orientation
    from brazo.robot import Robot
    from brazo.trajectory import CartesianPath
    from brazo.trajectory.via_points import Rule

Array = np.ndarray
Space = Literal["joint", "tool"]
DRAWN = 400  # samples of the path in the preview
CURVE_DT = 0.04  # s between the exact points of a curve
CURVE_TOLERANCE = 1e-4  # m and rad, max deviation between them
PLANES = {"xy": (0, 1, 2), "xz": (0, 2, 1), "yz": (1, 2, 0)}  # two in-plane axes, normal


@dataclass(frozen=True, slots=True)
class Size:
    """Dimension of a curve: its label, displayed unit and default value."""

    title: str
    unit: Literal["mm", "number"]
    first: float  # default, SI


CURVES: dict[str, dict[str, Size]] = {
    "circle": {"radius": Size("Radius", "mm", 0.05), "turns": Size("Turns", "number", 1.0)},
    "square": {"side": Size("Side", "mm", 0.08), "blend": Size("Round corners", "mm", 0.0)},
    "spiral": {
        "first": Size("First radius", "mm", 0.01),
        "last": Size("Last radius", "mm", 0.05),
        "turns": Size("Turns", "number", 3.0),
    },
    "helix": {
        "radius": Size("Radius", "mm", 0.04),
        "pitch": Size("Pitch", "mm", 0.01),
        "turns": Size("Turns", "number", 2.0),
    },
    "lissajous": {
        "width": Size("Width", "mm", 0.08),
        "height": Size("Height", "mm", 0.06),
        "across": Size("X frequency", "number", 1.0),
        "along": Size("Y frequency", "number", 2.0),
    },
}


@dataclass
class ToolCurve:
    """Curve of the tool, in the robot's base frame."""

    start: Array  # (4, 4) tool pose at the start
    kind: str = "circle"
    plane: str = "xy"
    time: float = 4.0  # s, duration
    sizes: dict[str, float] = field(default_factory=dict)

    def size(self, name: str) -> float:
        """Return one dimension of the curve in SI units."""
        return self.sizes.get(f"{self.kind}.{name}", CURVES[self.kind][name].first)

    def text(self) -> str:
        """Return kind, plane, dimensions and time as one line of text, in SI units."""
        sizes = ", ".join(f"{name} {self.size(name):g}" for name in CURVES[self.kind])
        return f"{self.kind}, plane {self.plane}, {sizes}, time {self.time:g}"

    def path(self) -> CartesianPath:
        """Return the path of the tool over time."""
        a, b, n = (np.eye(3)[i] for i in PLANES[self.plane])
        # The curve must turn from the first axis of the plane to the second.
        normal = n if np.cross(a, b) @ n > 0.0 else -n
        p, R, size = self.start[:3, 3], self.start[:3, :3], self.size
        plane = {"normal": normal, "start": a}
        if self.kind == "circle":
            r = size("radius")
            return circle(p - r * a, r, R, self.time, turns=size("turns"), **plane)
        if self.kind == "square":
            half, blend = 0.5 * size("side"), size("blend")
            corners = {"corners": "blend", "blend": blend} if blend > 0.0 else {}
            return square(p - half * (a + b), 2.0 * half, R, self.time, **plane, **corners)
        if self.kind == "spiral":
            radii = size("first"), size("last")
            return spiral(p - radii[0] * a, radii, size("turns"), R, self.time, **plane)
        if self.kind == "helix":
            r = size("radius")
            return helix(
                p - r * a, r, size("pitch"), size("turns"), R, self.time, axis=normal, start=a
            )
        swing = 0.5 * np.array([size("width"), size("height")])
        often = size("across"), size("along")
        return lissajous(p - swing[0] * a, swing, often, R, self.time, **plane)


@dataclass(eq=False)
class Row:
    """Waypoint of the list, with a number that identifies it when others are added or removed."""

    number: int
    t: float
    q: Array  # (n,) joint positions
    T: Array  # (4, 4) tool pose in the base frame
    qd: Array | None = None
    qdd: Array | None = None
    point: int = 0  # number of the named point that it is; 0 if it is none


@dataclass(frozen=True, slots=True, eq=False)
class DraftState:
    """Copy of the contents of a draft."""

    rows: tuple[Row, ...]
    curve: ToolCurve
    options: tuple[Any, ...]  # space, through, rule, orientation, curved


class Draft:
    """Waypoints and curve of one robot."""

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
        self.fresh = self.curve.text()
        self._saved: set[str] = set()

    @property
    def state(self) -> DraftState:
        """A copy of waypoints, curve and options, for undo."""
        options = (self.space, self.through, self.rule, self.orientation, self.curved)
        curve = replace(self.curve, sizes=dict(self.curve.sizes))
        return DraftState(tuple(copy(row) for row in self.rows), curve, options)

    def restore(self, state: DraftState) -> None:
        """Return to an earlier `state`."""
        self.rows = [copy(row) for row in state.rows]
        self.curve = replace(state.curve, sizes=dict(state.curve.sizes))
        self.space, self.through, self.rule, self.orientation, self.curved = state.options
        used = max((row.number for row in self.rows), default=0)
        self._numbers = count(max(next(self._numbers), used + 1))

    def unsaved(self) -> tuple[bool, bool]:
        """Return whether the waypoints, and the curve, were edited since they were last saved."""
        points, curve = self._texts()
        return bool(self.rows) and points not in self._saved, curve not in {
            *self._saved,
            self.fresh,
        }

    def mark_saved(self) -> None:
        """Mark the active source, waypoints or curve, as saved to a file."""
        self._saved.add(self._texts()[self.curved])

    def _texts(self) -> tuple[str, str]:
        return self.via_list().to_yaml() if self.rows else "", self.curve.text()

    def add(self, arm: Robot, q: Array, t: float | None = None) -> Row:
        """Add a waypoint at joint positions q; by default 1 s after the last one."""
        if t is None:
            t = self.rows[-1].t + 1.0 if self.rows else 0.0
        row = Row(next(self._numbers), t, q, arm.fk(q))
        self.rows.append(row)
        self.rows.sort(key=lambda one: one.t)
        return row

    def row(self, number: int) -> Row:
        """Return the waypoint with a number; raises `BrazoError` if it does not exist."""
        for row in self.rows:
            if row.number == number:
                return row
        raise BrazoError("this point no longer exists")

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
        """Replace the waypoints by those of a file; IK starts at joint positions q0."""
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
        """Plan the motion; of several IK solutions at the start, use the one closest to q0."""
        if not self.curved:
            return self.via_list().trajectory(arm, q0)
        return follow_path(
            arm,
            self.curve.path(),
            CURVE_DT,
            q0,
            orientation=self.orientation,  # type: ignore[arg-type]
            tolerance=CURVE_TOLERANCE,
        )

    def file(self, plan: PlannedMotion) -> str:
        """Return the text of a via-point file that reproduces the motion of a plan."""
        if self.curved:
            return ViaList(knots(plan.motion), "quintic").to_yaml()
        return self.via_list().to_yaml()

    def points_file(self) -> str:
        """Return the text of a via-point file with the waypoints of the list."""
        return self.via_list().to_yaml()

    def curve_file(self, arm: Robot, q0: Array) -> str:
        """Plan the curve and return the text of a via-point file with its motion.

        If the arm cannot follow the curve, the file contains only its dimensions and the reason.
        """
        head = f"# {self.curve.text()} (m, s); starts at {_numbers(self.curve.start[:3, 3])}\n"
        curved = copy(self)
        curved.curved = True
        try:
            return head + curved.file(plan_of(arm, curved, q0))
        except BrazoError as error:
            return head + "".join(f"# {line}\n" for line in str(error).splitlines())

    def slow(self, factor: float) -> None:
        """Multiply the duration by a factor; the path stays the same."""
        self.curve.time *= factor if self.curved else 1.0
        if not self.curved:
            first = self.rows[0].t
            for row in self.rows:
                row.t = first + factor * (row.t - first)
                row.qd = None if row.qd is None else row.qd / factor
                row.qdd = None if row.qdd is None else row.qdd / factor**2


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMotion:
    """Planned motion and the data of its preview."""

    motion: Piecewise
    path: Array  # (m, 3) tool positions in the base frame
    past: Array  # (m,) True where a limit is violated
    points: Array  # (k, 3) tool positions at the waypoints, or at the start of the curve
    violations: tuple[Violation, ...]

    @property
    def length(self) -> float:
        """Path length of the tool (m)."""
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum())

    @property
    def stuck(self) -> bool:
        """Whether a joint position limit is violated, which a slower motion cannot fix."""
        return any(one.kind == "position" for one in self.violations)


def plan_of(arm: Robot, draft: Draft, q0: Array) -> PlannedMotion:
    """Plan a draft and check it against the limits of the arm.

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
    return PlannedMotion(
        motion,
        arm.fk(np.ascontiguousarray(s.q))[:, :3, 3],
        past,
        points,
        tuple(check(motion, arm)),
    )


def _numbers(values: Array) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _most(limits: list[float]) -> Array:
    return np.array(limits) * (1.0 + 1e-9)


def sentence(one: Violation) -> str:
    """Return a one-line message on a limit violation, in degrees and mm."""
    scale, unit = 1.0, one.unit
    if unit.startswith("rad"):
        scale, unit = 180.0 / math.pi, "°" + unit[3:]
    elif unit == "m" or unit.startswith("m/"):
        scale, unit = 1e3, "m" + unit
    return (
        f"{one.name}: {one.kind} {_short(scale * one.value)} of {_short(scale * one.limit)} {unit}"
        f" from {one.t:.2f} s"
    )


def _short(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")

"""`ViaList`: timed via points in joint or tool space, and the motion through them.

The types of interpolation are:

    cubic, quintic   joint polynomials through the points in joint space
    line             straight tool motion between points, with a stop at each point
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.options import Orientation
from brazo.kinematics.orientation import angle_between, rpy_from_matrix
from brazo.trajectory.cartesian import sequence
from brazo.trajectory.follow import follow_path
from brazo.trajectory.paths import line
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.via_points import Rule, cubic_via_points, quintic_via_points
from brazo.trajectory.via_poses import solve_poses

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Through = Literal["cubic", "quintic", "line"]
THROUGH: tuple[Through, ...] = ("cubic", "quintic", "line")
STRAIGHT_DT = 0.02  # s, between exact points of a straight line


@dataclass(frozen=True, slots=True, eq=False)
class ViaPoint:
    """A via point at a time: joint positions `q`, or a tool pose `T` in the base frame."""

    t: float  # s
    q: Array | None = None  # (n,)
    T: Array | None = None  # (4, 4), or (3,) with free orientation
    qd: Array | None = None  # (n,); None: by the rule
    qdd: Array | None = None
    place: str = ""  # prefix of messages: the place of the point in a file


@dataclass(frozen=True, slots=True, eq=False)
class ViaList:
    """List of via points in order of time, with the type of interpolation."""

    points: tuple[ViaPoint, ...]
    curve: Through = "cubic"
    rule: Rule = "average"
    orientation: Orientation = "full"  # constraint on the orientation

    def joints(self, robot: Robot, q0: Array | None = None) -> Array:
        """Joint positions (points, n) at all points.

        For a tool pose, they are the IK solution nearest to the previous point; for the first
        point, nearest to `q0`.
        """
        found: list[Array] = []
        for k, point in enumerate(self.points):
            if point.q is not None:
                found.append(np.asarray(point.q, dtype=float))
                continue
            name = point.place or f"point {k + 1}, t = {point.t:g} s: "
            near = found[-1] if found else q0
            solved = solve_poses(
                robot, np.zeros(1), [point.T], near, orientation=self.orientation, names=[name]
            )
            found.append(solved[0])
        return np.stack(found)

    def trajectory(self, robot: Robot, q0: Array | None = None) -> Piecewise:
        """Motion through the points.

        If the first point is a tool pose, its IK solution nearest to `q0` is used.
        """
        if len(self.points) < 2:
            raise BrazoError(f"{len(self.points)} points; a motion needs at least 2")
        q = self.joints(robot, q0)
        if self.curve == "line":
            return self._straight(robot, q)
        t = [point.t for point in self.points]
        qd = [point.qd for point in self.points]
        if self.curve == "cubic":
            return cubic_via_points(t, q, qd, self.rule)
        return quintic_via_points(t, q, qd, [point.qdd for point in self.points], self.rule)

    def _straight(self, robot: Robot, q: Array) -> Piecewise:
        poses = robot.fk(q)
        for k, point in enumerate(self.points):
            if point.T is not None and point.T.shape == (4, 4):
                poses[k] = point.T
        lines = []
        for k, (one, other) in enumerate(zip(self.points, self.points[1:], strict=False)):
            if other.t <= one.t:
                raise BrazoError(
                    f"point {k + 2}: t = {other.t:g} s is not later than point {k + 1}, {one.t:g} s"
                )
            A, B = poses[k], poses[k + 1]
            if np.linalg.norm(A[:3, 3] - B[:3, 3]) + angle_between(A[:3, :3], B[:3, :3]) < 1e-9:
                raise BrazoError(f"points {k + 1} and {k + 2} are equal; remove one")
            lines.append(line(A, B, other.t - one.t))
        motion = follow_path(
            robot, sequence(*lines), STRAIGHT_DT, q[0], orientation=self.orientation
        )
        return Piecewise(motion.breaks + self.points[0].t, motion.coefficients)

    def to_yaml(self) -> str:
        """Text of a via-point file with this list; `parse_via_list` reads it."""
        lines = [f"curve: {self.curve}"]
        if self.rule != "average":
            lines.append(f"rule: {self.rule}")
        if self.orientation != "full":
            lines.append(f"orientation: {self.orientation}")
        lines.append("points:")
        for point in self.points:
            fields = [f"t: {float(point.t)!r}"]
            if point.q is not None:
                fields.append(f"q: {_numbers(point.q)}")
            elif point.T is not None and point.T.shape == (4, 4):
                fields.append(f"xyz: {_numbers(point.T[:3, 3])}")
                fields.append(f"rpy: {_numbers(rpy_from_matrix(point.T[:3, :3]))}")
            else:
                fields.append(f"xyz: {_numbers(point.T)}")
            if point.qd is not None and self.curve != "line":
                fields.append(f"qd: {_numbers(point.qd)}")
            if point.qdd is not None and self.curve == "quintic":
                fields.append(f"qdd: {_numbers(point.qdd)}")
            lines.append(f"  - {{{', '.join(fields)}}}")
        return "\n".join(lines) + "\n"


def knots(motion: Piecewise) -> tuple[ViaPoint, ...]:
    """Via points from which quintic interpolation reproduces a motion.

    The result is exact for pieces of degree up to 5 with continuous acceleration.
    """
    t = motion.breaks
    s = motion.sample(t)
    return tuple(ViaPoint(float(t[k]), s.q[k], qd=s.qd[k], qdd=s.qdd[k]) for k in range(len(t)))


def _numbers(values: Array | None) -> str:
    return "[" + ", ".join(repr(float(v)) for v in np.asarray(values)) + "]"

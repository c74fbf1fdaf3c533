"""Tool paths from recordings: a smooth path through the recorded tool poses.

The recorded joint positions are sampled every `dt` seconds and converted to tool poses.  Position
p and orientation (a quaternion u, not of unit length between the poses) are splines of degree five
through the poses, at rest at both ends, with continuous acceleration.  With the conjugate u* of u
and the vector part vec of a quaternion, the angular velocity and acceleration are

    ω = 2 vec(u̇ u*) / |u|²        α = 2 (vec(ü u*) − (u·u̇) ω) / |u|².
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_wxyz, wxyz_from_matrix
from brazo.trajectory.cartesian import CartesianPath, PathSample
from brazo.trajectory.reading import array, pose, times

if TYPE_CHECKING:
    from brazo.recording import Recording
    from brazo.robot import Robot

Array = np.ndarray
DT = 0.05  # s
MAX_POSES = 20_000
_STILL = 1e-6  # m or rad: the tool has not moved


class RecordedPath(CartesianPath):
    """Smooth path through poses (k, 4, 4) at times (k,), shifted to start at 0 s.

    The tool is at rest at both ends.
    """

    def __init__(self, t: Any, poses: Any) -> None:
        from scipy.interpolate import make_interp_spline

        self._t = times(t)
        given = array(poses, "poses")
        if given.shape != (len(self._t), 4, 4):
            raise BrazoError(f"poses have shape {given.shape}; expected ({len(self._t)}, 4, 4)")
        self._poses = np.stack([pose(T, f"poses[{k}]") for k, T in enumerate(given)])
        self._t = self._t - self._t[0]
        values = np.concatenate([self._poses[:, :3, 3], _quaternions(self._poses)], axis=1)
        rest = [(1, np.zeros(7)), (2, np.zeros(7))]
        spline: Any = make_interp_spline(self._t, values, 5, bc_type=(rest, rest))
        self._spline = [spline.derivative(k) if k else spline for k in range(3)]

    @property
    def breaks(self) -> Array:
        return self._t

    def within(self, t: Array) -> PathSample:
        (p, u), (v, u_dot), (a, u_ddot) = (
            np.split(spline(t), [3], axis=1) for spline in self._spline
        )
        T = np.zeros((len(t), 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = matrix_from_wxyz(u), p, 1.0
        scale = 2.0 / (u * u).sum(axis=1, keepdims=True)
        omega = scale * _vector_part(u_dot, u)
        stretch = (u * u_dot).sum(axis=1, keepdims=True)
        alpha = scale * (_vector_part(u_ddot, u) - stretch * omega)
        return PathSample(T, np.concatenate([v, omega], axis=1), np.concatenate([a, alpha], axis=1))

    def _placed(self, scale: float, b: Array) -> RecordedPath:
        poses = self._poses.copy()
        poses[:, :3, 3] = scale * poses[:, :3, 3] + b
        return RecordedPath(self._t, poses)


def _quaternions(poses: Array) -> Array:
    """Quaternions wxyz (k, 4) of poses (k, 4, 4).

    Of the two signs, the one nearer to the previous quaternion is used.
    """
    wxyz = wxyz_from_matrix(poses[:, :3, :3])
    flips = (wxyz[1:] * wxyz[:-1]).sum(axis=1) < 0.0
    return wxyz * np.cumprod([1.0, *np.where(flips, -1.0, 1.0)])[:, None]


def _vector_part(a: Array, b: Array) -> Array:
    """Vector parts (k, 3) of the quaternion products a b*; a and b are (k, 4), b* is conjugate."""
    return b[:, :1] * a[:, 1:] - a[:, :1] * b[:, 1:] - np.cross(a[:, 1:], b[:, 1:])


def recorded_path(
    recording: Recording,
    robot: Robot,
    name: str = "",
    start: float | None = None,
    end: float | None = None,
    dt: float = DT,
) -> RecordedPath:
    """Path of a robot's tool in a recording, from the start to the end of the robot's motion.

    `name` is the name of the robot in the recording; by default, that of the only robot with
    the joint names of `robot`.  `start` and `end` (s) select a part of the recording.  The path
    passes through the recorded poses every `dt` seconds.
    """
    dt = positive(dt, "dt")
    part = recording.between(start, end)
    prefix = _prefix(part, robot, name)
    q = np.stack([part[f"{prefix}{joint}"] for joint in robot.joint_names], axis=1)
    t = np.asarray(part.t, dtype=float)
    if len(t) < 2:
        raise BrazoError("the recording has fewer than two samples from 'start' to 'end'")
    even = np.arange(t[0], t[-1] + 0.5 * dt, dt)
    if len(even) > MAX_POSES:
        raise BrazoError(
            f"dt = {dt:g} s gives {len(even)} poses; at most {MAX_POSES} are allowed: use a "
            "larger dt or a shorter part of the recording"
        )
    sampled = np.stack([np.interp(even, t, column) for column in q.T], axis=1)
    moved = np.flatnonzero((np.abs(np.diff(sampled, axis=0)) > _STILL).any(axis=1))
    if not len(moved):
        raise BrazoError(
            f"{prefix.removesuffix('.q.') or robot.name} does not move in the recording"
        )
    first, last = int(moved[0]), int(moved[-1]) + 2
    if last - first < 6:
        raise BrazoError(
            f"the motion lasts {dt * (last - first - 1):.3g} s: too short for dt = {dt:g} s; use a "
            "smaller dt"
        )
    return RecordedPath(even[first:last], robot.fk(np.ascontiguousarray(sampled[first:last])))


def _prefix(recording: Recording, robot: Robot, name: str) -> str:
    """Prefix of the position signals of the robot's joints in a recording."""
    names = set(recording.names)
    first = robot.joint_names[0]
    if name:
        prefixes = [f"{name}.q."]
    else:
        prefixes = [one.removesuffix(first) for one in sorted(names) if one.endswith(f"q.{first}")]
    fitting = [
        one
        for one in prefixes
        if one.endswith("q.") and all(f"{one}{joint}" in names for joint in robot.joint_names)
    ]
    if len(fitting) != 1:
        there = sorted({one.partition(".q.")[0] for one in names if ".q." in one})
        what = "several robots have" if fitting else "no robot has"
        if name:
            what = f"robot '{name}' does not have"
        hint = "; give 'name'" if fitting else ""
        raise BrazoError(
            f"recording: {what} the joints of {robot.name} ({', '.join(robot.joint_names)}); "
            f"robots in the recording: {', '.join(there) or 'none'}{hint}"
        )
    return fitting[0]

"""`Tracker`: follow a stream of tool poses with the joints, in one IK branch.

    tracker = brazo.Tracker(arm, q0)
    step = tracker.step(T, dt)          # every cycle
    step.q, step.status                 # (n,), OK, LIMITED, HELD or SINGULAR

Each step moves the tool as far towards the target as dt and the speed limits of the joints allow.
The tool point moves on a straight line, and the tool rotates about a constant axis.  The joint
positions are computed by Newton's method from the previous ones (`pursue`), so the arm keeps its IK
branch.  A joint limit, a singularity or the edge of the workspace can make such a step impossible.
Then a damped least-squares step moves the tool as near to the target as possible, and the status
reports the cause.  No joint exceeds its speed or position limits, and no step increases the
distance from the target.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.kinematics.ik import read_target
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.kinematics.result import LIMIT_TOLERANCE, violations
from brazo.trajectory.follow import Orientation, onto, pose_shift
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.limits import Limits, at_limit, limits_of
from brazo.trajectory.reading import vector

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray

ON_TARGET = 1e-9  # m, rad
SINGULAR = 0.02  # smallest singular value, see `Rates.margin`
_FEW = 1e-3  # fraction of a step below which it is not taken
_NEAR = 0.1  # of the reach, and rad: a step this long is solved at once
_HALVINGS = 8
_STUCK = 1e-3  # a smaller part of the allowed joint motion is no progress
AT_EDGE = "the tool is at the edge of its reach"
NEAR_SINGULARITY = "the arm is close to a singularity"
LAGS = "a joint lags: its speed limit is reached"


class TrackingStatus(enum.Enum):
    """Status of tracking: how well the tool follows the target."""

    OK = "ok"  # the tool is at the target
    LIMITED = "limited"  # a joint's speed or position limit keeps the tool away from it
    HELD = "held"  # the target is out of reach; the arm holds the nearest configuration
    SINGULAR = "singular"  # a singularity is near: the tool may lag, the branch may change


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """Result of one step of a `Tracker`."""

    q: Array  # (n,) rad, m
    status: TrackingStatus
    reason: str  # why the status is not OK; "" otherwise
    position_error: float  # m, from the target
    orientation_error: float  # rad; 0 if the orientation is free


@dataclass(frozen=True, slots=True, eq=False)
class Pursuit:
    """Result of `pursue`: the step along a path, or the reason why no step is possible."""

    q: Array  # (n,)
    T: Array  # (4, 4) where the tool is then
    share: float  # of the path
    why: str  # "" if the step was taken

    @property
    def lags(self) -> bool:
        return self.share < 1.0


def pursue(
    motion: ToolMotion,
    limits: Limits,
    q: Array,
    T: Array,
    path: Callable[[float], Array],
    orientation: Orientation,
    dt: float,
) -> Pursuit:
    """Compute the longest step along a tool path that the speed limits allow within dt (s).

    `path(share)` returns the tool pose (4, 4) after the fraction `share` of the path.  path(0) is
    T, the pose at the joint positions q, and path(1) is the target.  No step is made if it would
    end outside a position limit or out of reach, or if a singularity is too close.
    """
    most = limits.speed * dt
    inverse = motion.inverse(q)
    shift = pose_shift(T, path(1.0))
    share = 1.0
    if np.linalg.norm(shift[:3]) > _NEAR * motion.reach or np.linalg.norm(shift[3:]) > _NEAR:
        # From a distant start, Newton's method may converge to another solution.
        share = min(1.0, 0.99 / max(float(np.max(np.abs(inverse @ shift) / most)), 1e-9))
    for _ in range(5):
        if share < _FEW:
            break
        goal = path(share)
        guess = q + inverse @ pose_shift(T, goal)
        found, gap, turn = onto(motion, guess, goal, orientation)
        if not (np.isfinite(found).all() and gap + turn < ON_TARGET):
            return Pursuit(q, T, share, AT_EDGE)
        past = violations(found, limits.position)
        if past.any():
            i = int(np.argmax(past))
            high = bool(found[i] > limits.position[i, 1])
            return Pursuit(q, T, share, at_limit(motion.robot, limits, i, high))
        excess = float(np.max(np.abs(found - q) / most))
        if excess <= 1.0 + 1e-9:
            return Pursuit(found, goal, share, "")
        share *= 0.99 / excess
    return Pursuit(q, T, share, NEAR_SINGULARITY)


class Tracker:
    """Joint motion that follows a stream of tool poses, starting at `q0` (n,).

    Parameters
    ----------
    robot
        The `Robot` to move.
    q0 : (n,)
        Initial joint positions, rad and m.
    limits
        Joint limits; by default the limits of the robot file (`limits_of`).
    orientation
        "full", "nearest" or "free", as in inverse kinematics.  The default is "full" for an arm
        with six degrees of freedom, otherwise "nearest".
    singular
        Singularity margin (smallest singular value, with lengths relative to the reach) below
        which the status is SINGULAR.
    """

    def __init__(
        self,
        robot: Robot,
        q0: Any,
        limits: Limits | None = None,
        *,
        orientation: Orientation | None = None,
        singular: float = SINGULAR,
    ) -> None:
        self.robot = robot
        self.limits = limits_of(robot) if limits is None else limits
        if self.limits.n != robot.n:
            raise BrazoError(f"limits are for {self.limits.n} joints; '{robot.name}' has {robot.n}")
        if orientation is None:
            orientation = "full" if robot.mobility == 6 else "nearest"
        one_of(orientation, ("full", "nearest", "free"), "orientation")
        self.orientation: Orientation = orientation
        self.singular = positive(singular, "singular")
        self._motion = ToolMotion(robot, turning=orientation != "free")
        self._solve: Literal["full", "nearest"] = "full" if orientation == "full" else "nearest"
        self.reset(q0)

    def reset(self, q0: Any) -> None:
        """Restart at the joint positions q0 (n,)."""
        self._q = vector(q0, self.robot.n, "q0").copy()
        self._T = self.robot.fk(self._q).copy()
        self._status = TrackingStatus.OK
        self._branch: str | None = None  # before the singularity

    @property
    def q(self) -> Array:
        """Current joint positions (n,)."""
        return self._q.copy()

    @property
    def T(self) -> Array:
        """Current tool pose (4, 4)."""
        return self._T.copy()

    @property
    def status(self) -> TrackingStatus:
        """Status of the last step."""
        return self._status

    def step(self, T: Any, dt: float) -> Tracked:
        """Move towards the target T, a pose (4, 4) or a point (3,), for dt seconds.

        For a point, the current orientation of the tool is the target orientation.
        """
        target, _ = read_target(T, "full")
        if np.shape(T) == (3,):
            target[:3, :3] = self._T[:3, :3]
        dt = positive(dt, "dt")
        before = self._q
        shift = pose_shift(self._T, target)
        if self.orientation == "free":
            shift[3:] = 0.0
        start = self._T

        def path(share: float) -> Array:
            if share == 1.0 and self.orientation != "free":
                return target
            pose = start.copy()
            pose[:3, 3] += share * shift[:3]
            pose[:3, :3] = matrix_from_rotvec(share * shift[3:]) @ pose[:3, :3]
            return pose

        found = pursue(self._motion, self.limits, before, start, path, self._solve, dt)
        q, why = found.q, found.why
        if why:
            q = self._nearer(target, dt)
        else:
            q = self._same_branch(found, dt)
            why = LAGS if found.lags else ""
        self._q = q
        self._T = self.robot.fk(q).copy()
        return self._tracked(target, before, why, dt)

    def _tracked(self, target: Array, before: Array, why: str, dt: float) -> Tracked:
        left = pose_shift(self._T, target)
        gap = float(np.linalg.norm(left[:3]))
        turn = 0.0 if self.orientation == "free" else float(np.linalg.norm(left[3:]))
        counted = turn if self._solve == "full" else 0.0
        margin = self._motion.rates(self._q, np.zeros(6), np.zeros(6)).margin
        moved = float(np.max(np.abs(self._q - before) / (self.limits.speed * dt)))
        reached = max(gap, counted) <= 10 * ON_TARGET
        blocked = why not in ("", LAGS, AT_EDGE, NEAR_SINGULARITY)  # by a joint limit
        if reached and margin >= self.singular:
            status, why = TrackingStatus.OK, ""
        elif not reached and moved <= _STUCK and not blocked:
            status = TrackingStatus.HELD
            why = f"{AT_EDGE}: {1e3 * gap:.1f} mm and {math.degrees(turn):.1f}° from the target"
        elif margin < self.singular:
            status = TrackingStatus.SINGULAR
            why = f"{NEAR_SINGULARITY}: {self._motion.singular_joints(self._q)}"
        else:
            status, why = TrackingStatus.LIMITED, why if blocked else LAGS
        why = self._watch(margin, before, why)
        self._status = status
        return Tracked(self._q.copy(), status, why, gap, turn)

    def _watch(self, margin: float, before: Array, why: str) -> str:
        """Return the reason `why`, with a note if the IK branch changed at a singularity.

        `margin` is the singularity margin, and `before` (n,) are the joint positions before the
        step.
        """
        if margin < self.singular:
            if self._branch is None:
                self._branch = self.robot.configuration(before)
            return why
        if self._branch is None:
            return why
        old, self._branch = self._branch, None
        new = self.robot.configuration(self._q)
        if new == old:
            return why
        change = f"the branch changed from {old} to {new} at a singularity"
        return f"{change}; {why}" if why else change

    def _same_branch(self, found: Pursuit, dt: float) -> Array:
        """Joint positions for the tool pose of `found`, in the branch used before the singularity.

        If they cannot be reached within dt (s), the joint positions of `found` are returned.
        """
        if not self._branch or self.orientation == "free":  # a position alone has no named branch
            return found.q
        if self.robot.configuration(found.q) == self._branch:
            return found.q
        other = self.robot.ik(found.T, self._q, self._branch, orientation=self.orientation)
        near = np.abs(other.q - self._q) <= self.limits.speed * dt
        allowed = near & ~violations(other.q, self.limits.position)
        return other.q if other.success and allowed.all() else found.q

    def _nearer(self, target: Array, dt: float) -> Array:
        """Joint positions after a damped step towards a target that cannot be followed exactly.

        If no step reduces the distance from the target, the joint positions do not change.
        """
        q, limits = self._q, self.limits
        low, high = limits.position.T
        weight = np.repeat([1.0 / self._motion.reach, float(self._solve == "full")], 3)
        error = weight * pose_shift(self._T, target)
        J = weight[:, None] * self.robot.jacobian(q)
        free = np.ones(len(q), dtype=bool)
        step = np.zeros(len(q))
        for _ in range(2 * len(q)):
            A = J[:, free]
            step = np.zeros(len(q))
            step[free] = A.T @ np.linalg.solve(A @ A.T + self.singular**2 * np.eye(6), error)
            excess = float(np.max(np.abs(step) / (limits.speed * dt)))
            step *= min(1.0, 0.999 / max(excess, 1e-9))
            # Joints at a limit that would go further are held, and the one that would pass the
            # singularity into another branch.
            out = ((q <= low + LIMIT_TOLERANCE) & (step < 0)) | (
                (q >= high - LIMIT_TOLERANCE) & (step > 0)
            )
            out &= free
            if not out.any():
                out = self._passing(q, step)
            if not out.any():
                break
            free &= ~out
        inside = (q >= low) & (q <= high)
        size = float(error @ error)
        for _ in range(_HALVINGS):
            trial = q + step
            trial = np.where(inside, np.clip(trial, low, high), trial)
            left = weight * pose_shift(self.robot.fk(trial), target)
            if float(left @ left) < size * (1.0 - 1e-12):
                return trial
            step *= 0.5
        return q.copy()

    def _passing(self, q: Array, step: Array) -> Array:
        """Mask (n,) of the joint whose motion takes the arm out of its IK branch.

        The arm moves from q to q + step.  All entries are False if the arm stays in its branch, or
        if no single joint is the cause.
        """
        held = np.zeros(len(q), dtype=bool)
        if self._branch and self.robot.configuration(q + step) != self._branch:
            for i in np.argsort(-np.abs(step)).tolist():
                one = step.copy()
                one[i] = 0.0
                if step[i] != 0.0 and self.robot.configuration(q + one) == self._branch:
                    held[i] = True
                    break
        return held

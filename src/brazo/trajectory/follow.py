"""Joint motion that moves the tool along a path.

The first pose is solved by inverse kinematics, which selects the IK branch.  From there the path is
followed step by step.  Joint velocities and accelerations are computed exactly (`joint_rates`), not
by finite differences.  The next configuration is predicted with the two-point Hermite rule

    q₁ = q₀ + h/2 (q̇₀ + q̇₁) + h²/12 (q̈₀ − q̈₁)

and corrected by Newton's method, so that the tool is on the path.  The arm therefore cannot jump to
another branch.  If the branch ends at a singularity, a joint limit or the workspace boundary, an
error gives time and position.  Between the steps the motion is a quintic with the computed
positions, velocities and accelerations.

`orientation` selects the constraint, as in inverse kinematics:

    full      position and orientation
    nearest   position, with the closest feasible orientation
    free      position only, with minimal joint motion
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between, rotvec_from_matrix
from brazo.kinematics.result import joint_text, range_text, violations
from brazo.trajectory.base import MAX_SAMPLES, Trajectory
from brazo.trajectory.cartesian import CartesianPath, PathSample
from brazo.trajectory.joint_rates import Rates, ToolMotion
from brazo.trajectory.piecewise import Piecewise, quintic_pieces

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Orientation = Literal["full", "nearest", "free"]
ORIENTATIONS = ("full", "nearest", "free")

Kind = Literal["reach", "limit", "singularity", "branch", "step"]

SINGULAR = 5e-3  # a singular value below this counts as a singularity
_NEXT = 32.0  # in units of the rounding of times
_ON_PATH = 1e-10  # m and rad, for a full pose
_THERE = 1e-12  # m and rad, rounding level


@dataclass(frozen=True, slots=True)
class PathError:
    """Max position (m) and orientation (rad) errors of a motion along a path, and their times."""

    position: float  # m
    orientation: float  # rad
    t_position: float  # s
    t_orientation: float  # s


class PathInfeasible(BrazoError):
    """Raised when an arm cannot follow a path.

    `t` (s) and `position` (3,) are the first infeasible point of the path, and `kind` is the cause.
    """

    def __init__(self, message: str, t: float, position: Array, kind: Kind) -> None:
        super().__init__(message)
        self.t = t  # s, first infeasible time
        self.position = np.array(position)  # (3,) m, of the path there
        self.kind: Kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.t, self.position, self.kind)


def follow_path(
    robot: Robot,
    path: CartesianPath,
    dt: float = 0.01,
    q0: Any = None,
    branch: str | None = None,
    *,
    orientation: Orientation = "full",
    singular: float = SINGULAR,
    tolerance: float = 1e-5,
) -> Piecewise:
    """Compute the joint motion that moves the tool along a path.

    At the start, the IK solution nearest to `q0` or the solution of the named `branch` is used.
    The tool is exactly on the path at times that are at most `dt` (s) apart.  In between, the tool
    may deviate by up to `tolerance` (m, and rad for a full orientation).  If the deviation is
    larger, an error asks for a smaller dt.

    `orientation` is the constraint: "full", "nearest" (position and closest feasible orientation)
    or "free" (position only).  Raises `PathInfeasible` if the arm cannot follow the path, or if the
    singularity margin (min singular value, see `Rates.margin`) is below `singular`.
    """
    tolerance = positive(tolerance, "tolerance")
    t = step_times(path, dt)
    motion = follow_times(robot, path, t, q0, branch, orientation=orientation, singular=singular)
    strayed = path_error(robot, motion, path, 0.5 * (t[:-1] + t[1:]))
    turned = strayed.orientation if orientation == "full" else 0.0
    if max(strayed.position, turned) > tolerance:
        at = strayed.t_position if strayed.position > tolerance else strayed.t_orientation
        raise BrazoError(
            f"{_place(path, at)}: between two steps of dt = {dt:g} s the tool deviates from the "
            "path "
            f"by {1000 * strayed.position:.3g} mm and {math.degrees(turned):.3g}°: use a smaller "
            "dt, or a slower path"
        )
    return motion


def follow_times(
    robot: Robot,
    path: CartesianPath,
    t: Array,
    q0: Any = None,
    branch: str | None = None,
    *,
    orientation: Orientation = "full",
    singular: float = SINGULAR,
) -> Piecewise:
    """Compute the joint motion along a path; the tool is exactly on the path at times t (m,).

    `t` must include all breaks of the path.  The other arguments are those of `follow_path`.
    """
    one_of(orientation, ORIENTATIONS, "orientation")
    # Just before and after each time, beyond its rounding: the acceleration jumps at breaks.
    near = _NEXT * np.spacing(path.duration)
    now = path.sample(np.minimum(t + near, path.duration))
    before = path.sample(np.maximum(t - near, 0.0))
    guide = _Tracker(robot, path, t, now, orientation, positive(singular, "singular"))
    q, first, last = guide.run(before, q0, branch)
    h = np.diff(t)
    qd0, qdd0 = np.stack([r.qd for r in first]), np.stack([r.qdd for r in first])
    qd1, qdd1 = np.stack([r.qd for r in last]), np.stack([r.qdd for r in last])
    return Piecewise(t, quintic_pieces(h, q[:-1], q[1:], qd0, qd1, qdd0, qdd1))


def path_error(
    robot: Robot, motion: Trajectory, path: CartesianPath, t: Array | None = None
) -> PathError:
    """Max deviation of the tool from the path at times t (m,).

    By default, 10 000 evenly spaced times are used.
    """
    t = np.linspace(0.0, path.duration, 10_000) if t is None else t
    gap, turn = deviations(robot, motion, path, t)
    k, j = int(np.argmax(gap)), int(np.argmax(turn))
    return PathError(float(gap[k]), float(turn[j]), float(t[k]), float(t[j]))


def deviations(
    robot: Robot, motion: Trajectory, path: CartesianPath, t: Array
) -> tuple[Array, Array]:
    """Position (m) and orientation deviation (rad) of the tool from the path at times (m,)."""
    reached = robot.fk(np.ascontiguousarray(motion.sample(t).q))
    wanted = path.pose(t)
    gap = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=-1)
    return gap, angle_between(reached[:, :3, :3], wanted[:, :3, :3])


def onto(
    motion: ToolMotion, q: Array, T: Array, orientation: Orientation, steps: int = 12
) -> tuple[Array, float, float]:
    """Solve for joint positions with the tool at the pose T, by Newton's method from q.

    Return the joint positions and the remaining position (m) and orientation error (rad).  Unless
    `orientation` is "full", only the position is solved, and the orientation error is 0.
    """
    full = orientation == "full"
    best = gap = turn = math.inf
    for _ in range(steps):
        shift = pose_shift(motion.robot.fk(q), T)
        gap = math.sqrt(float(shift[:3] @ shift[:3]))
        turn = math.sqrt(float(shift[3:] @ shift[3:])) if full else 0.0
        size = gap + turn
        # Converged when rounding stops the descent; the residual of an infeasible pose stays large.
        if size < 1e-13 or (size >= 0.5 * best and size < 1e-9) or size > 1e3:
            break
        best = min(best, size)
        if not full:
            shift[3:] = 0.0
        q = q + motion.inverse(q) @ shift
    return q, gap, turn


def hermite_end(q: Array, r0: Any, r1: Rates, h: float) -> Array:
    """Configuration after a step of h seconds from q, by the two-point Hermite rule.

    `r0` and `r1` are the joint rates at both ends.
    """
    return q + 0.5 * h * (r0.qd + r1.qd) + h * h / 12.0 * (r0.qdd - r1.qdd)


def pose_shift(T: Array, wanted: Array) -> Array:
    """Displacement (6,) from the pose T to `wanted`, linear then angular, in base axes.

    The angular part is parallel to the rotation axis.  Its length is the rotation angle (rad), or
    the sine of this angle if the angle is below 60°.
    """
    shift = np.empty(6)
    shift[:3] = wanted[:3, 3] - T[:3, 3]
    R = wanted[:3, :3] @ T[:3, :3].T
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    if a + e + i > 2.0:
        # Below 60° the sine is good enough for a Newton step, and faster.
        shift[3:] = 0.5 * (h - f), 0.5 * (c - g), 0.5 * (d - b)
    else:
        shift[3:] = rotvec_from_matrix(R)
    return shift


class _Tracker:
    """Computes the joint motion of a robot along a path.

    If the robot cannot follow the path, an error gives the cause.
    """

    def __init__(
        self,
        robot: Robot,
        path: CartesianPath,
        t: Array,
        now: PathSample,
        orientation: Orientation,
        singular: float,
    ) -> None:
        self.robot, self.path, self.t, self.now = robot, path, t, now
        self.orientation: Orientation = orientation
        self.singular = singular
        self.motion = ToolMotion(robot, turning=orientation != "free")
        # If the pose does not determine q, q depends on the path so far.
        self.history = self.motion.spare > 0 or orientation == "nearest"
        self.limits = robot.limits

    def run(
        self, before: PathSample, q0: Any, branch: str | None
    ) -> tuple[Array, list[Rates], list[Rates]]:
        """Return the configurations at the times `self.t`, and the rates at both ends of each step.

        `before` has the path samples just before each time.  At breaks of the path they differ
        from `self.now`, the samples just after each time.
        """
        t, now, breaks = self.t, self.now, set(self.path.breaks.tolist())
        start = self._start(q0, branch)
        q = [self._onto(np.array(start), 0, start)]
        first, last = [self._rates(q[0], now, 0)], []
        for k in range(1, len(t)):
            h = float(t[k] - t[k - 1])
            r0 = first[-1]
            one = self._onto(q[-1] + h * (r0.qd + 0.5 * h * r0.qdd), k, q[-1])
            r1 = self._rates(one, before, k)
            if self.history:
                one = self._onto(hermite_end(q[-1], r0, r1, h), k, q[-1])
                r1 = self._rates(one, before, k)
            q.append(one)
            last.append(r1)
            first.append(self._rates(one, now, k) if t[k] in breaks else r1)
        found = np.stack(q)
        self._same_branch(found)
        return found, first[:-1], last

    def _start(self, q0: Any, branch: str | None) -> Array:
        """Return the start configuration.

        This is `q0` if no `branch` is named, the orientation is "full", `q0` is within the limits
        and the tool is then at the start of the path.  Otherwise it is computed by IK.
        """
        T = self.now.T[0]
        if branch is None and self.orientation == "full" and np.shape(q0) == (self.robot.n,):
            q = np.array(q0, dtype=float)
            if np.isfinite(q).all() and not violations(q, self.limits).any():
                shift = pose_shift(self.robot.fk(q), T)
                if float(np.abs(shift).max()) < _THERE:
                    return q
        found = self.robot.ik(T, q0, branch, orientation=self.orientation)
        if not found.success:
            self._fail(0, "reach", f"the start of the path is not reachable: {found.reason}")
        return found.q

    def _rates(self, q: Array, sample: PathSample, k: int) -> Rates:
        found = self.motion.rates(q, sample.velocity[k], sample.acceleration[k])
        if found.margin < self.singular:
            self._fail(
                k,
                "singularity",
                f"the arm approaches a singularity of {self.motion.singular_joints(q)}, where "
                f"joint velocities are unbounded: min singular value {found.margin:.1e}, limit "
                f"{self.singular:g}; start at another pose, move the path, or start in another "
                "branch",
            )
        return found

    def _onto(self, guess: Array, k: int, previous: Array) -> Array:
        T = self.now.T[k]
        q, gap, turn = onto(self.motion, guess, T, self.orientation)
        if gap > _ON_PATH or turn > _ON_PATH or not np.isfinite(q).all():
            self._raise_cause(k, previous)
        past = violations(q, self.limits)
        if past.any():
            i = int(np.argmax(past))
            kind = self.robot.joint_kinds[i]
            self._fail(
                k,
                "limit",
                f"joint {i + 1} ({self.robot.joint_names[i]}) exceeds its limit: "
                f"{joint_text(kind, q[i])}, allowed {range_text(kind, self.limits[i])}; start at "
                "another pose, make the path smaller, or start in another branch",
            )
        return q

    def _raise_cause(self, k: int, previous: Array) -> NoReturn:
        """Raise an error that explains why the arm cannot follow the path to step k.

        `previous` is the configuration before this step.
        """
        found = self.robot.ik(self.now.T[k], previous, orientation=self.orientation)
        if not found.success:
            few = self.orientation == "full" and self.motion.point_rank + self.motion.turn_rank < 6
            hint = (
                "; a tool orientation that rotates with the arm (Radial) may be feasible"
                if few
                else ""
            )
            self._fail(k, "reach", f"{found.reason}{hint}")
        if found.branch and found.branch == self.robot.configuration(previous):
            self._fail(k, "step", "the step is too large; use a smaller dt")
        jump = float(np.abs(found.q - previous).max())
        name = f" ({found.branch})" if found.branch else ""
        self._fail(
            k,
            "branch",
            f"the arm cannot continue in its IK branch; another branch{name} reaches this pose, "
            f"but the joints would jump by {jump:.3g} rad or m",
        )

    def _same_branch(self, q: Array) -> None:
        """Raise an error if the last configuration of q (m, n) is not in the branch of the first.

        The branch changes where the arm passes through a singularity.
        """
        if self.motion.spare or self.orientation == "free":
            return
        names = {0: self.robot.configuration(q[0])}
        if not names[0] or self.robot.configuration(q[-1]) == names[0]:
            return
        low, high = 0, len(q) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.robot.configuration(q[middle]) == names[0]:
                low = middle
            else:
                high = middle
        self._fail(
            high,
            "branch",
            f"the arm would change its IK branch from {names[0]} to "
            f"{self.robot.configuration(q[high])}, through a singularity; move the path",
        )

    def _fail(self, k: int, kind: Kind, why: str) -> NoReturn:
        t = float(self.t[k])
        raise PathInfeasible(f"{_place(self.path, t)}: {why}", t, self.now.T[k, :3, 3], kind)


def _place(path: CartesianPath, t: float) -> str:
    x, y, z = path.pose(t)[:3, 3]
    return f"t = {t:.4g} s, tool at ({x:.4f}, {y:.4f}, {z:.4f}) m"


def step_times(path: CartesianPath, dt: float) -> Array:
    """All breaks of the path, with evenly spaced times at most dt (s) apart between them."""
    dt = positive(dt, "dt")
    if path.duration / dt > MAX_SAMPLES:
        raise BrazoError(
            f"dt = {dt:g} s gives {path.duration / dt:.3g} steps; at most {MAX_SAMPLES} are "
            "allowed: use a larger dt"
        )
    parts = [
        np.linspace(a, b, max(math.ceil((b - a) / dt * (1.0 - 1e-12)), 1) + 1)[:-1]
        for a, b in zip(path.breaks[:-1], path.breaks[1:], strict=True)
    ]
    return np.concatenate([*parts, path.breaks[-1:]])

"""A path of the tool as a motion of the joints.

The first pose is solved by inverse kinematics, which picks the branch; from there the motion is
followed.  At every step the joint speeds and accelerations are those of `joint_rates`, exact and
not differences; the next configuration is predicted with the two-point Hermite rule

    q₁ = q₀ + h/2 (q̇₀ + q̇₁) + h²/12 (q̈₀ − q̈₁)

and put onto the path by Newton's method.  So the arm can never leap to another branch: where its
own ends (at a singularity, a limit, the edge of the reach) the path ends with an error that says
when and where.  Between the steps run quintics with these positions, speeds and accelerations.

`orientation` says what of the pose counts, as in inverse kinematics: "full" all of it; "nearest"
the point, while the tool turns with the path as nearly as the joints allow; "free" the point
alone, the joints moving least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between, rotvec_from_matrix
from brazo.kinematics.result import joint_text, range_text, violations
from brazo.trajectory.base import MAX_SAMPLES, Trajectory
from brazo.trajectory.cartesian import CartesianPath, PathSample
from brazo.trajectory.joint_rates import Rates, ToolMotion
from brazo.trajectory.piecewise import Piecewise, quintic_pieces
from brazo.trajectory.reading import choice, positive

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Orientation = Literal["full", "nearest", "free"]
ORIENTATIONS = ("full", "nearest", "free")

SINGULAR = 5e-3  # a singular value this small counts as a singularity
_ON_PATH = 1e-10  # m and rad, for a full pose
_THERE = 1e-12  # m and rad; nearer than this is where rounding leaves it


@dataclass(frozen=True, slots=True)
class PathError:
    """How far a motion strays from a path, at worst, and when."""

    position: float  # m
    orientation: float  # rad
    t_position: float  # s
    t_orientation: float  # s


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
    """The joint motion that carries the tool along a path.

    `dt` (s) is the widest step between exact points.  Of several ways to begin the one nearest to
    `q0` is taken, or the named `branch`.  Between the points the tool may stray by `tolerance` (m,
    and rad with a full orientation); a path on which it strays more needs a smaller dt.
    """
    choice(orientation, ORIENTATIONS, "orientation")
    tolerance, singular = positive(tolerance, "tolerance"), positive(singular, "singular")
    t = _times(path, positive(dt, "dt"))
    now = path.sample(t)
    # What holds just before each time: another acceleration where the time law has a break.
    before = path.sample(np.maximum(np.nextafter(t, -math.inf), 0.0))
    guide = _Guide(robot, path, t, now, orientation, singular)
    q, first, last = guide.run(before, q0, branch)
    h = np.diff(t)
    qd0, qdd0 = np.stack([r.qd for r in first]), np.stack([r.qdd for r in first])
    qd1, qdd1 = np.stack([r.qd for r in last]), np.stack([r.qdd for r in last])
    motion = Piecewise(t, quintic_pieces(h, q[:-1], q[1:], qd0, qd1, qdd0, qdd1))
    strayed = path_error(robot, motion, path, 0.5 * (t[:-1] + t[1:]))
    turned = strayed.orientation if orientation == "full" else 0.0
    if max(strayed.position, turned) > tolerance:
        at = strayed.t_position if strayed.position > tolerance else strayed.t_orientation
        raise BrazoError(
            f"{_place(path, at)}: between two steps of dt = {dt:g} s the tool strays from the path "
            f"by {1000 * strayed.position:.3g} mm and {math.degrees(turned):.3g}°: take a smaller "
            "dt, or slow the path down"
        )
    return motion


def path_error(
    robot: Robot, motion: Trajectory, path: CartesianPath, t: Array | None = None
) -> PathError:
    """How far the tool strays from the path, at times (m,) or at 10 000 even ones."""
    t = np.linspace(0.0, path.duration, 10_000) if t is None else t
    reached = robot.fk(np.ascontiguousarray(motion.sample(t).q))
    wanted = path.pose(t)
    gap = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=-1)
    turn = angle_between(reached[:, :3, :3], wanted[:, :3, :3])
    k, j = int(np.argmax(gap)), int(np.argmax(turn))
    return PathError(float(gap[k]), float(turn[j]), float(t[k]), float(t[j]))


def onto(
    motion: ToolMotion, q: Array, T: Array, orientation: Orientation, steps: int = 12
) -> tuple[Array, float, float]:
    """q moved until the tool is at T, by Newton's method, with what is left: m and rad."""
    full = orientation == "full"
    best = gap = turn = math.inf
    for _ in range(steps):
        shift = pose_shift(motion.robot.fk(q), T)
        gap = math.sqrt(float(shift[:3] @ shift[:3]))
        turn = math.sqrt(float(shift[3:] @ shift[3:])) if full else 0.0
        size = gap + turn
        # Done when rounding stops the descent; a pose no arm position has never gets small.
        if size < 1e-13 or (size >= 0.5 * best and size < 1e-9) or size > 1e3:
            break
        best = min(best, size)
        if not full:
            shift[3:] = 0.0
        q = q + motion.inverse(q) @ shift
    return q, gap, turn


def hermite_end(q: Array, r0: Any, r1: Rates, h: float) -> Array:
    """The end of a step of h seconds from q, with the rates at both its ends."""
    return q + 0.5 * h * (r0.qd + r1.qd) + h * h / 12.0 * (r0.qdd - r1.qdd)


def pose_shift(T: Array, wanted: Array) -> Array:
    """The small motion (6,) that takes a pose to another, linear then angular, base axes."""
    shift = np.empty(6)
    shift[:3] = wanted[:3, 3] - T[:3, 3]
    R = wanted[:3, :3] @ T[:3, :3].T
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    if a + e + i > 2.0:
        # Below 60° the sine serves a Newton step as well as the angle, and is quicker had.
        shift[3:] = 0.5 * (h - f), 0.5 * (c - g), 0.5 * (d - b)
    else:
        shift[3:] = rotvec_from_matrix(R)
    return shift


class _Guide:
    """Follows one path with one robot, and tells why where it cannot."""

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
        # Where the pose leaves joints or a turn open, q depends on the way taken so far.
        self.history = self.motion.spare > 0 or orientation == "nearest"
        self.limits = robot.limits

    def run(
        self, before: PathSample, q0: Any, branch: str | None
    ) -> tuple[Array, list[Rates], list[Rates]]:
        """Configurations at all times, and the rates at both ends of every step."""
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
        """Where to begin; an arm that stands there already need not be asked how to get there."""
        T = self.now.T[0]
        if branch is None and self.orientation == "full" and np.shape(q0) == (self.robot.n,):
            q = np.array(q0, dtype=float)
            if np.isfinite(q).all() and not violations(q, self.limits).any():
                shift = pose_shift(self.robot.fk(q), T)
                if float(np.abs(shift).max()) < _THERE:
                    return q
        found = self.robot.ik(T, q0, branch, orientation=self.orientation)
        if not found.success:
            raise BrazoError(f"{self._at(0)}: the path's start is not reached: {found.reason}")
        return found.q

    def _rates(self, q: Array, sample: PathSample, k: int) -> Rates:
        found = self.motion.rates(q, sample.velocity[k], sample.acceleration[k])
        if found.margin < self.singular:
            raise BrazoError(
                f"{self._at(k)}: the arm nears a singularity of {self.motion.singular_joints(q)}, "
                f"where a tool speed needs unlimited joint speed: smallest singular value "
                f"{found.margin:.1e}, allowed {self.singular:g}; start at another pose, move the "
                "path away, or begin in another branch"
            )
        return found

    def _onto(self, guess: Array, k: int, previous: Array) -> Array:
        T = self.now.T[k]
        q, gap, turn = onto(self.motion, guess, T, self.orientation)
        if gap > _ON_PATH or turn > _ON_PATH or not np.isfinite(q).all():
            self._lost(k, previous)
        past = violations(q, self.limits)
        if past.any():
            i = int(np.argmax(past))
            kind = self.robot.joint_kinds[i]
            raise BrazoError(
                f"{self._at(k)}: joint {i + 1} ({self.robot.joint_names[i]}) passes its limit: "
                f"{joint_text(kind, q[i])}, allowed {range_text(kind, self.limits[i])}; start at "
                "another pose, make the path smaller, or begin in another branch"
            )
        return q

    def _lost(self, k: int, previous: Array) -> None:
        """Say why the arm cannot follow to step k."""
        found = self.robot.ik(self.now.T[k], previous, orientation=self.orientation)
        if not found.success:
            few = self.orientation == "full" and self.motion.point_rank + self.motion.turn_rank < 6
            hint = "; a tool that turns with the arm (Radial) may be held" if few else ""
            raise BrazoError(f"{self._at(k)}: {found.reason}{hint}")
        if found.branch and found.branch == self.robot.configuration(previous):
            raise BrazoError(f"{self._at(k)}: the step to here is too wide; take a smaller dt")
        jump = float(np.abs(found.q - previous).max())
        name = f" ({found.branch})" if found.branch else ""
        raise BrazoError(
            f"{self._at(k)}: the arm cannot go on in its branch; another one{name} reaches this "
            f"pose, {jump:.3g} away in joint space: the path would jump"
        )

    def _same_branch(self, q: Array) -> None:
        """Refuse a motion that ends in another branch: it went through a singularity unseen."""
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
        raise BrazoError(
            f"{self._at(high)}: the arm changes its branch from {names[0]} to "
            f"{self.robot.configuration(q[high])}, through a singularity; move the path away"
        )

    def _at(self, k: int) -> str:
        return _place(self.path, float(self.t[k]))


def _place(path: CartesianPath, t: float) -> str:
    x, y, z = path.pose(t)[:3, 3]
    return f"t = {t:.4g} s, tool at ({x:.4f}, {y:.4f}, {z:.4f}) m"


def _times(path: CartesianPath, dt: float) -> Array:
    """Every break of the path, and even steps of at most dt between them."""
    if path.duration / dt > MAX_SAMPLES:
        raise BrazoError(f"{path.duration / dt:.3g} steps; at most {MAX_SAMPLES}: a longer dt")
    parts = [
        np.linspace(a, b, max(math.ceil((b - a) / dt * (1.0 - 1e-12)), 1) + 1)[:-1]
        for a, b in zip(path.breaks[:-1], path.breaks[1:], strict=True)
    ]
    return np.concatenate([*parts, path.breaks[-1:]])

"""`nearest_placement`: the nearest position, or the largest scale, at which a path is feasible.

The search looks for the shortest shift, or for the largest scale about the centre of the path.  A
placement is a candidate if one IK branch is within the joint limits at all samples of the path,
without jumps (checked by batch inverse kinematics).  Shifts are searched first in 26 directions
with increasing length, then around the shortest candidate with decreasing spread.  The joint motion
is planned for up to eight candidates, starting with the shortest shift or the largest scale; this
also excludes singularities.  The result is the first candidate that the arm can follow.  The search
is deterministic, but the shift is not proven to be the minimum.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.checks import one_of
from brazo.codegen.checkpoint import checkpoint
from brazo.errors import BrazoError
from brazo.trajectory.cartesian import CartesianPath
from brazo.trajectory.follow import Orientation, PathInfeasible
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.plan_path import STEP, TOLERANCE, plan_path

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
By = Literal["shift", "scale"]
BY: tuple[By, ...] = ("shift", "scale")
SAMPLES = 40  # of the path
_RADII = 0.4 * 0.75 ** np.arange(14)[::-1]  # m, of the shells
_SCALES = np.linspace(0.98, 0.04, 48)
_ROUNDS = 6
_TRIES = 64  # candidates in a round
_PLANS = 8  # accepted placements that are planned
_JUMP = 1.0  # rad or m, of a joint between two samples
_COARSE = 1e-4  # m, tolerance of a plan that only shows feasibility


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """A feasible placement of a path.

    `path` is the moved path, and `motion` the joint motion along it.  `shift`, `scale` and `about`
    are the arguments of `CartesianPath.moved` that produce the moved path.
    """

    shift: Array  # (3,) m
    scale: float
    about: Array  # (3,) m, point that does not move in scaling
    path: CartesianPath
    motion: Piecewise


def nearest_placement(
    robot: Robot,
    path: CartesianPath,
    q0: Any = None,
    *,
    orientation: Orientation = "full",
    by: By = "shift",
    tolerance: float = TOLERANCE,
    dt: float = STEP,
) -> Placement:
    """Find the feasible placement nearest to the current placement of a path.

    `by="shift"` searches for the shortest shift, and `by="scale"` for the largest scale below 1.
    The other arguments are those of `plan_path`.  Raises `BrazoError` if no feasible shift of up to
    0.4 m, or no feasible scale down to 4 %, is found.
    """
    one_of(by, BY, "by")
    times = np.linspace(0.0, path.duration, SAMPLES)
    p = path.pose(times)[:, :3, 3]
    centre = 0.5 * (p.min(axis=0) + p.max(axis=0))
    search = _Search(robot, path, times, centre, orientation)
    found = search.shifts() if by == "shift" else search.scales()
    why = ""
    for shift, scale in found[:_PLANS]:
        checkpoint()
        moved = path.moved(shift, scale, centre)
        try:
            plan_path(robot, moved, q0, orientation=orientation, tolerance=_COARSE, dt=2.0 * dt)
            motion = plan_path(
                robot, moved, q0, orientation=orientation, tolerance=tolerance, dt=dt
            )
        except PathInfeasible as error:
            why = f": {error}"
            continue
        return Placement(shift, scale, centre, moved, motion)
    what = "shift of at most 0.4 m" if by == "shift" else "scale from 98 % down to 4 %"
    raise BrazoError(f"no {what} makes the path feasible{why}")


class _Search:
    """Search for candidate placements by inverse kinematics."""

    def __init__(
        self,
        robot: Robot,
        path: CartesianPath,
        times: Array,
        centre: Array,
        orientation: Orientation,
    ) -> None:
        self.robot, self.path, self.times, self.centre = robot, path, times, centre
        self.orientation: Orientation = orientation
        self._T = path.pose(times)
        # A tool that rotates with the arm has other orientations elsewhere.
        probe = path.moved((0.011, 0.007, 0.003)).pose(times)
        self._rigid = float(np.abs(probe[:, :3, :3] - self._T[:, :3, :3]).max()) < 1e-12

    def shifts(self) -> list[tuple[Array, float]]:
        """Candidate placements (shift, scale) with different shifts.

        The list starts with the shortest shift, followed by shifts in the same direction that are
        2 % to 20 % longer.  The candidates that are not close to the shortest shift follow, sorted
        by length.
        """
        axes = [v for v in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(v)]
        directions = np.array(axes) / np.linalg.norm(axes, axis=1, keepdims=True)
        kept: list[Array] = []
        for radius in _RADII:
            shell = radius * directions
            kept += list(shell[self.accepted(shell, np.ones(len(shell)))])
            if kept:
                break
        if not kept:
            return []
        random = np.random.default_rng(0)
        for k in range(_ROUNDS):
            best = min(kept, key=lambda d: float(d @ d))
            length = float(np.linalg.norm(best))
            spread = random.normal(scale=0.8 * 0.6**k, size=(_TRIES, 3))
            toward = best / length + spread
            toward /= np.linalg.norm(toward, axis=1, keepdims=True)
            tried = toward * length * random.uniform(1.0 - 0.6 * 0.7**k, 1.0, (_TRIES, 1))
            kept += list(tried[self.accepted(tried, np.ones(_TRIES))])
        kept.sort(key=lambda d: float(d @ d))
        # A path that just touches a limit fails by rounding: also a little further.
        best = [kept[0], *(kept[0] * (1.0 + more) for more in (0.02, 0.05, 0.1, 0.2))]
        others = [d for d in kept[1:] if not _beside(d, kept[0])]
        return [(d, 1.0) for d in itertools.chain(best, others)]

    def scales(self) -> list[tuple[Array, float]]:
        """Candidate placements (shift, scale) with different scales, largest scale first."""
        zero = np.zeros(3)
        fits = self.accepted(np.zeros((len(_SCALES), 3)), _SCALES)
        if not fits.any():
            return []
        k = int(np.argmax(fits))
        fine = np.linspace(1.0 if k == 0 else _SCALES[k - 1], _SCALES[k], 17)[1:]
        better = fine[self.accepted(np.zeros((len(fine), 3)), fine)]
        return [(zero, float(s)) for s in np.unique([*better, *_SCALES[fits]])[::-1]]

    def accepted(self, shifts: Array, scales: Array) -> Array:
        """Return a mask (k,) of the placements in which one IK branch covers the whole path.

        The branch must be within the joint limits at all samples and must not jump between them.
        """
        checkpoint()
        poses = np.stack([self._poses(d, s) for d, s in zip(shifts, scales, strict=True)])
        # Numeric solutions, of a free orientation, are not worth many attempts here.
        few: dict[str, Any] = {"attempts": 2} if self.orientation == "free" else {}
        found = self.robot.ik_batch(poses, orientation=self.orientation, **few)
        fits = found.valid & found.within_limits  # (k, samples, branches)
        step = np.abs(np.diff(found.all_q, axis=1))
        rotary = np.array([kind == "revolute" for kind in self.robot.joint_kinds])
        turns = np.where(rotary, 2.0 * math.pi * np.round(step / (2.0 * math.pi)), 0.0)
        calm: Array = np.all(np.abs(step - turns) < _JUMP, axis=-1)
        return np.asarray((fits.all(axis=1) & calm.all(axis=1)).any(axis=-1))

    def _poses(self, shift: Array, scale: float) -> Array:
        if self._rigid:
            T = self._T.copy()
            T[:, :3, 3] = self.centre + scale * (T[:, :3, 3] - self.centre) + shift
            return T
        return self.path.moved(shift, float(scale), self.centre).pose(self.times)


def _beside(d: Array, best: Array) -> bool:
    return float(np.linalg.norm(d - best)) < 0.1 * float(np.linalg.norm(best))

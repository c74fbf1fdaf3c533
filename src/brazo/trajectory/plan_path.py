"""`plan_path`: the joint motion along a tool path, in an IK branch in which the path is feasible.

The possible starts are the IK solutions of the first pose, including those with full turns added to
joints whose range allows it.  Up to 32 starts are tried in order of distance from the current
configuration, until the arm can follow the whole path from one of them.  If the path is not
feasible from any start, the error is that of the start from which the arm gets furthest.

The motion consists of time steps.  The tool is exactly on the path at both ends of each step.
Within a step, the deviation of the tool from the path is of sixth order in the step length.  A step
whose deviation e is too large is therefore divided into about (e/tolerance)^(1/6) parts.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.result import violations
from brazo.trajectory.cartesian import CartesianPath
from brazo.trajectory.follow import (
    Orientation,
    PathInfeasible,
    deviations,
    follow_times,
    step_times,
)
from brazo.trajectory.piecewise import Piecewise

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
TOLERANCE = 1e-9  # m, and rad for a full orientation
STEP = 0.04  # s, first guess
_ROUNDS = 6
_MAX_PARTS = 16  # of an interval in one round
_SAME = 1e-6  # rad, m
_MAX_STARTS = 32


def plan_path(
    robot: Robot,
    path: CartesianPath,
    q0: Any = None,
    *,
    orientation: Orientation = "full",
    tolerance: float = TOLERANCE,
    dt: float = STEP,
) -> Piecewise:
    """Plan the joint motion along a path, from the feasible start nearest to `q0`.

    `q0` (n,) is the first pose in the robot file by default.  `orientation` is "full", "nearest" or
    "free", as in `follow_path`.  At times that are at most `dt` (s) apart, the tool is exactly on
    the path.  In between, the tool deviates by at most `tolerance` (m, and rad for a full
    orientation).  Raises `PathInfeasible` if no start is feasible, and `BrazoError` if the
    tolerance is not reached.
    """
    tolerance = positive(tolerance, "tolerance")
    best: PathInfeasible | None = None
    for start in starts(robot, path, q0, orientation):
        try:
            return _refined(robot, path, start, orientation, tolerance, dt)
        except PathInfeasible as error:
            if best is None or error.t > best.t:
                best = error
    assert best is not None
    raise best


def starts(robot: Robot, path: CartesianPath, q0: Any, orientation: Orientation) -> list[Array]:
    """Possible start configurations (n,) of a path, nearest to `q0` first.

    They are the IK solutions of the first pose, and copies of these with revolute joints moved by
    one turn.  Raises `PathInfeasible` if there are none.
    """
    T = path.pose(0.0)
    near = np.array(next(iter(robot.poses.values()), np.zeros(robot.n)) if q0 is None else q0)
    found = robot.ik(T, near, orientation=orientation)
    if not found.success:
        x, y, z = T[:3, 3]
        raise PathInfeasible(
            f"t = 0 s, tool at ({x:.4f}, {y:.4f}, {z:.4f}) m: the start of the path is not "
            f"reachable: {found.reason}",
            0.0,
            T[:3, 3],
            "reach",
        )
    solutions = [found.q, *(one.q for one in found.all if one.within_limits)]
    kept: list[Array] = []
    for q in solutions:
        for one in _turned(robot, np.array(q)):
            if all(np.abs(one - other).max() > _SAME for other in kept):
                kept.append(one)
    kept.sort(key=lambda q: float(np.abs(q - near).max()))
    return kept[:_MAX_STARTS]


def _turned(robot: Robot, q: Array) -> list[Array]:
    """Return q, and copies of q with revolute joints moved by one turn within their limits."""
    low, high = robot.limits.T
    choices = []
    for i, kind in enumerate(robot.joint_kinds):
        values = [float(q[i])]
        if kind == "revolute" and math.isfinite(low[i]) and math.isfinite(high[i]):
            values += [q[i] + k * 2.0 * math.pi for k in (-1, 1)]
        choices.append([x for x in values if low[i] <= x <= high[i]] or values[:1])
    return [np.array(one) for one in itertools.islice(itertools.product(*choices), _MAX_STARTS)]


def _refined(
    robot: Robot,
    path: CartesianPath,
    start: Array,
    orientation: Orientation,
    tolerance: float,
    dt: float,
) -> Piecewise:
    """Motion along the path from the configuration `start`.

    Steps are divided until the tool deviates from the path by at most `tolerance`.
    """
    if violations(start, robot.limits).any():
        raise BrazoError("plan_path: the start configuration is outside the joint limits")
    t, worst = step_times(path, dt), math.inf
    for _ in range(_ROUNDS):
        try:
            motion = follow_times(robot, path, t, start, orientation=orientation)
        except PathInfeasible as error:
            if error.kind != "step":
                raise
            t = _divided(t, np.full(len(t) - 1, 4))
            continue
        gap, turn = deviations(robot, motion, path, 0.5 * (t[:-1] + t[1:]))
        error = np.maximum(gap, turn) if orientation == "full" else gap
        worst = float(error.max())
        if worst <= tolerance:
            return motion
        parts = np.ceil((error / (0.3 * tolerance)) ** (1.0 / 6.0))
        t = _divided(t, np.clip(parts, 1, _MAX_PARTS).astype(int))
    raise BrazoError(
        f"the tool deviates from the path by {worst:.3g} m or rad even with steps of "
        f"{float(np.diff(t).min()):.3g} s; allow a larger tolerance, or slow the path down"
    )


def _divided(t: Array, parts: Array) -> Array:
    """Divide interval k of the times t (m,) into parts[k] equal parts; `parts` is (m − 1,)."""
    fine = [
        np.linspace(a, b, int(n) + 1)[:-1] for a, b, n in zip(t[:-1], t[1:], parts, strict=True)
    ]
    return np.concatenate([*fine, t[-1:]])

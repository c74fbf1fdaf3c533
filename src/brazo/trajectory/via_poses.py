"""Joint motion through tool poses at given times.

Each pose is solved by inverse kinematics, and cubics or quintics interpolate the joint positions.

The tool is at the given poses only at the given times.  In between, its motion results from the
joint polynomials.  Use `follow_path` to keep the tool on a path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.kinematics.options import Orientation
from brazo.trajectory.joint_rates import ToolMotion
from brazo.trajectory.piecewise import Piecewise
from brazo.trajectory.reading import array, times, vector
from brazo.trajectory.via_points import Rule, cubic_via_points, quintic_via_points

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
Degree = Literal["cubic", "quintic"]


def via_poses(
    robot: Robot,
    t: Any,
    poses: Any,
    velocities: Any = None,
    q0: Any = None,
    branch: str | None = None,
    *,
    orientation: Orientation = "full",
    degree: Degree = "cubic",
    rule: Rule = "average",
) -> Piecewise:
    """Joint motion through tool poses (k, 4, 4), or points (k, 3), at times t (k,).

    `velocities` (k, 6) are tool velocities (linear, then angular, base axes).  For rows that are
    None, the joint velocities follow from the `rule` (see `cubic_via_points`).  For an arm with
    named IK branches, all poses are solved in one branch.  This is `branch` or, if it is None, the
    branch of the first pose's IK solution nearest to `q0`.
    """
    one_of(degree, ("cubic", "quintic"), "degree")
    t = times(t)
    q = solve_poses(robot, t, poses, q0, branch, orientation)
    qd = joint_speeds(robot, q, velocities, orientation)
    through = cubic_via_points if degree == "cubic" else quintic_via_points
    return through(t, q, qd, rule=rule)


def solve_poses(
    robot: Robot,
    t: Array,
    poses: Any,
    q0: Any = None,
    branch: str | None = None,
    orientation: Orientation = "full",
    names: list[str] | None = None,
) -> Array:
    """Joint positions (k, n) for poses or points, in one IK branch.

    Each solution is near the previous one.  `names` are prefixes of error messages, one per pose;
    by default, index and time of the pose.
    """
    targets = [array(T, f"poses[{k}]") for k, T in enumerate(poses)]
    if len(targets) != len(t):
        raise BrazoError(f"{len(targets)} poses for {len(t)} times; expected one per time")
    found: list[Array] = []
    kept = branch
    for k, T in enumerate(targets):
        name = names[k] if names else f"poses[{k}], t = {t[k]:g} s: "
        try:
            answer = robot.ik(T, q0 if k == 0 else found[-1], kept, orientation=orientation)
        except BrazoError as error:
            raise BrazoError(f"{name}{error}") from None
        if not answer.success:
            raise BrazoError(f"{name}{answer.reason}")
        # Solutions of a redundant arm are a continuum without named branches.
        if kept is None and answer.branch not in (None, "NULL-SPACE"):
            kept = answer.branch
        found.append(answer.q)
    return np.stack(found)


def joint_speeds(
    robot: Robot, q: Array, velocities: Any, orientation: Orientation
) -> list[Array | None] | None:
    """Joint velocities (n,) for one tool velocity (6,) at each configuration in q (k, n).

    If a tool velocity is None, the joint velocity is None.  If `velocities` is None, the result is
    None.
    """
    if velocities is None:
        return None
    if len(velocities) != len(q):
        raise BrazoError(
            f"{len(velocities)} velocities for {len(q)} poses; expected one per pose, or None"
        )
    motion = ToolMotion(robot, turning=orientation != "free")
    found: list[Array | None] = []
    for k, row in enumerate(velocities):
        if row is None:
            found.append(None)
            continue
        rates = motion.rates(q[k], vector(row, 6, f"velocities[{k}]"), np.zeros(6))
        if rates.margin < 1e-9:
            raise BrazoError(
                f"velocities[{k}]: the tool cannot have this velocity, because the arm is at a "
                "singularity"
            )
        found.append(rates.qd)
    return found

"""IK solutions for a target pose, in the order in which they are tried.

Candidates are all IK branches within the joint limits.  If the gripper is symmetric, the branches
for the pose rotated by 180° about the tool axis are included.  Candidates are ordered by the
duration of a straight joint motion.  The first candidate with a collision-free path is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.kinematics.result import IKResult
from brazo.model.transforms import rot_z
from brazo.program.steps import Orientation
from brazo.robot import Robot

Array = np.ndarray
_SAME = 1e-6  # rad, m
_TILT = np.radians(0.1)  # rad, tilt of a body at rest on soft contacts


@dataclass(frozen=True, slots=True, eq=False)
class JointCandidate:
    """An IK solution: joint values with which the tool is at the target."""

    q: Array
    name: str  # of the branch; "" if the solver has no branches
    time: float  # s, straight joint motion at full speed


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All candidates, shortest motion first, and why other IK solutions were rejected."""

    found: tuple[JointCandidate, ...]
    rejected: tuple[str, ...]  # reasons

    @property
    def reason(self) -> str:
        """Message that explains why there is no candidate."""
        return "; ".join(self.rejected) or "no joint values reach the pose"


def ik_candidates(
    arm: Robot,
    T: Array,
    q0: Array,
    speed: Array,
    *,
    branch: str | None = None,
    orientation: Orientation = "full",
    gripper_symmetric: bool = False,
) -> Candidates:
    """Return the IK solutions for the tool pose T (4, 4) in the base frame.

    They are sorted by the duration of a straight joint motion from q0 (n,) with the joint speeds
    `speed` (n,).  If `branch` is given, only branches whose names contain all words of `branch` are
    used.  With `gripper_symmetric`, T may also be rotated by 180° about the tool axis.
    """
    found: list[JointCandidate] = []
    rejected: dict[str, None] = {}
    for pose, suffix in ((T, ""), (T @ rot_z(np.pi), " rotated 180°"))[
        : 2 if gripper_symmetric else 1
    ]:
        answer = _solve(arm, pose, q0, branch, orientation)
        if not answer.success:
            rejected[answer.reason] = None
            continue
        solutions = [(answer.q, answer.branch or "")]
        for one in answer.all:
            if branch is not None and not set(branch.upper().split()) <= set(
                one.name.upper().split()
            ):
                continue
            if one.within_limits:
                solutions.append((one.q, one.name))
            else:
                past = ", ".join(arm.joint_names[i] for i in one.limit_violations)
                rejected[f"{one.name}{suffix}: out of limits: {past}"] = None
        for q, name in solutions:
            time = float((np.abs(q - q0) / speed).max())
            if all(np.abs(q - other.q).max() > _SAME for other in found):
                found.append(JointCandidate(np.array(q), f"{name}{suffix}".strip(), time))
    found.sort(key=lambda candidate: candidate.time)
    return Candidates(tuple(found), tuple(rejected))


def _solve(
    arm: Robot, T: Array, q0: Array, branch: str | None, orientation: Orientation
) -> IKResult:
    """Solve IK; accept an orientation error up to `_TILT` if there is no exact solution.

    The error is accepted only if `orientation` is "full".  It allows the tool to reach a body that
    is slightly tilted because its contacts are soft.
    """
    answer = arm.ik(T, q0, branch, orientation=orientation)
    if answer.success or orientation != "full":
        return answer
    near = arm.ik(T, q0, branch, orientation="nearest")
    return near if near.success and near.residual.orientation <= _TILT else answer

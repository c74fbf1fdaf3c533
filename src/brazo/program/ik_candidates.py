"""Which way of the arm to hold its tool at a pose: the nearest that can be reached, and why.

Candidates are all branches of inverse kinematics inside the limits, for the pose itself and, where
the clamp may be turned, for its half turn.  They are tried in the order of the time a straight
motion to them takes; the first that its way is free to is taken.
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
_LEANING = np.radians(0.1)  # rad, a body at rest on soft contacts may lean


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pose of the joints that puts the tool where it is wanted."""

    q: Array
    name: str  # of the branch; "" where the method knows none
    time: float  # s at full speed, straight there


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Every candidate, the nearest first, and why others are none."""

    candidates: tuple[Candidate, ...]
    refused: tuple[str, ...]  # sentences

    @property
    def reason(self) -> str:
        """Why there is no candidate at all."""
        return "; ".join(self.refused) or "no joint values reach the pose"


def choose(
    arm: Robot,
    T: Array,
    q0: Array,
    speed: Array,
    *,
    branch: str | None = None,
    orientation: Orientation = "full",
    gripper_symmetric: bool = False,
) -> Choice:
    """Ways to hold the tool at T (4, 4, in the base frame), seen from q0."""
    found: list[Candidate] = []
    refused: dict[str, None] = {}
    for pose, turned in ((T, ""), (T @ rot_z(np.pi), " turned"))[: 2 if gripper_symmetric else 1]:
        answer = _solve(arm, pose, q0, branch, orientation)
        if not answer.success:
            refused[answer.reason] = None
            continue
        ways = [(answer.q, answer.branch or "")]
        for one in answer.all:
            if branch is not None and not _matches(one.name, branch):
                continue
            if one.within_limits:
                ways.append((one.q, one.name))
            else:
                past = ", ".join(arm.joint_names[i] for i in one.limit_violations)
                refused[f"{one.name}{turned}: past the limits of {past}"] = None
        for q, name in ways:
            time = float((np.abs(q - q0) / speed).max())
            if all(np.abs(q - other.q).max() > _SAME for other in found):
                found.append(Candidate(np.array(q), f"{name}{turned}".strip(), time))
    found.sort(key=lambda candidate: candidate.time)
    return Choice(tuple(found), tuple(refused))


def _solve(
    arm: Robot, T: Array, q0: Array, branch: str | None, orientation: Orientation
) -> IKResult:
    """Inverse kinematics; a full orientation may be missed by as little as a body leans."""
    answer = arm.ik(T, q0, branch, orientation=orientation)
    if answer.success or orientation != "full":
        return answer
    near = arm.ik(T, q0, branch, orientation="nearest")
    return near if near.success and near.residual.orientation <= _LEANING else answer


def _matches(name: str, branch: str) -> bool:
    return set(branch.upper().split()) <= set(name.upper().split())

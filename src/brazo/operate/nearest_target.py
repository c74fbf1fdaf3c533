"""Nearest configurations for tool targets that a five-joint arm cannot reach.

There are two rules, those of `Robot.nearest_point`: keep the pitch of the tool, or take the nearest
position with any pitch.  The pitch is the elevation of axis 5, measured in the plane through axis 1
and the target.  It is 0 if axis 5 is perpendicular to axis 1 and points away from it, and π/2 if it
has the direction of axis 1.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.kinematics.nearest_point import NearestPoint, NearestRule
    from brazo.robot import Robot

_AXIS = 1e-9  # m: closer targets are on axis 1


@functools.lru_cache(maxsize=64)
def has_nearest_rules(arm: Robot) -> bool:
    """Whether the nearest-target rules apply to an arm.

    The arm must have five joints (yaw, three parallel joints, roll) and a tool on axis 5, without
    lateral offset from axis 1.
    """
    try:
        arm.nearest_point(arm.fk(np.clip(np.zeros(arm.n), *arm.limits.T))[:3, 3], 0.0)
    except BrazoError:
        return False
    return True


def nearest_target(arm: Robot, T: np.ndarray, roll: float, rule: NearestRule) -> NearestPoint:
    """Return the configuration nearest to the tool pose T (4, 4), given in the base frame.

    `roll` (rad) is the position of joint 5.  `rule` is "pitch" to keep the pitch, or "position" to
    take the nearest position.
    """
    return arm.nearest_point(T[:3, 3], _pitch(arm, T), roll, rule)


def _pitch(arm: Robot, T: np.ndarray) -> float:
    """Return the pitch (rad) of a five-joint arm with its tool at the pose T (4, 4)."""
    zero = np.zeros(arm.n)
    J, home = arm.jacobian(zero), arm.fk(zero)
    a1, a2, a5 = J[3:, 0], J[3:, 1], J[3:, 4]
    foot = home[:3, 3] - np.cross(J[:3, 0], a1)  # point of axis 1 nearest to the tool
    away = T[:3, 3] - foot
    away = away - (away @ a1) * a1
    distance = float(np.linalg.norm(away))
    # On axis 1 the arm does not turn: its forward direction is that at q = 0.
    ahead = away / distance if distance > _AXIS else np.cross(a2, a1)
    axis = T[:3, :3] @ home[:3, :3].T @ a5  # axis 5, which the tool carries along
    return math.atan2(float(axis @ a1), float(axis @ ahead))

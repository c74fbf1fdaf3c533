"""Tool targets that a five-joint arm cannot reach: the nearest configuration by one of two rules.

The rules are those of `Robot.nearest_point`: keep the pitch of the tool, or take the nearest
position with any pitch.  The pitch of a target pose is the elevation of its z axis, away from axis
1.
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
    """Whether the rules apply to an arm: five joints, yaw, three parallel joints and roll."""
    try:
        arm.nearest_point(arm.fk(np.clip(np.zeros(arm.n), *arm.limits.T))[:3, 3], 0.0)
    except BrazoError:
        return False
    return True


def nearest_target(arm: Robot, T: np.ndarray, roll: float, rule: NearestRule) -> NearestPoint:
    """The configuration nearest to a tool pose (4, 4) in the base frame, with joint 5 at `roll`."""
    (x, y, _), axis = T[:3, 3], T[:3, 2]
    distance = math.hypot(x, y)
    ahead = (x * axis[0] + y * axis[1]) / distance if distance > _AXIS else axis[0]
    pitch = math.atan2(float(axis[2]), float(ahead))
    return arm.nearest_point(T[:3, 3], pitch, roll, rule)

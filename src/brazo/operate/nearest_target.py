"""Nearest configurations for tool targets that a five-joint arm cannot reach.

There are two rules, those of `Robot.nearest_point`: keep the pitch of the tool, or take the nearest
position with any pitch.  The pitch is the angle of the tool's z axis above the horizontal, measured
in the vertical plane through axis 1 and the target.  It is 0 if z is horizontal and points away
from axis 1.  Axis 1 must be the z axis of the base frame.
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
    (x, y, _), axis = T[:3, 3], T[:3, 2]
    distance = math.hypot(x, y)
    ahead = (x * axis[0] + y * axis[1]) / distance if distance > _AXIS else axis[0]
    pitch = math.atan2(float(axis[2]), float(ahead))
    return arm.nearest_point(T[:3, 3], pitch, roll, rule)

"""Detection of unit mistakes: numbers read in m or rad that were probably given in mm or degrees.

In a file, a number without a unit is in SI units. On the command line, a length without a unit is
in m. Such a number is implausible if it is

* a length above 25 m, an angle above 25 rad (four turns), a speed above 25 m/s or an angular speed
  above 50 rad/s, in a robot, cell or program file,
* a joint value outside the joint limits (`joint_fields.outside`), or, on the command line, a
  prismatic joint value above 25 m,
* a target position of inverse kinematics on the command line whose distance from the base is more
  than ten times the robot's reach.

An implausible number is reported with the probable unit and used as written. A number with a unit
(`30m`) is never reported as a unit mistake. The limit of 25 m allows for a large gantry and a 20 m
crane.
"""

from __future__ import annotations

import math

import numpy as np

from brazo import units
from brazo.model.description import Model

MAX_PLAIN = 25.0  # m, rad, m/s
MAX_PLAIN_TURNING = 50.0  # rad/s
MAX_REACHES = 10.0

_MEANT = {
    units.LENGTH: (MAX_PLAIN, "m", "mm"),
    units.ANGLE: (MAX_PLAIN, "rad", "deg"),
    units.SPEED: (MAX_PLAIN, "m/s", "mm/s"),
    units.ANGULAR_SPEED: (MAX_PLAIN_TURNING, "rad/s", "deg/s"),
}


def doubt(value: float, dimension: units.Dimension) -> str:
    """Return a warning if a number without a unit is implausible, otherwise ""."""
    limit, read, meant = _MEANT.get(dimension, (math.inf, "", ""))
    if abs(value) <= limit:
        return ""
    return (
        f"{value:g} without a unit is read as {value:g} {read}; did you mean {value:g}{meant}? "
        f"If not, write {value:g}{read}"
    )


def target_doubt(position: np.ndarray, model: Model) -> str:
    """Return a warning if a target position (3,) without units is implausible, otherwise ""."""
    distance, limit = float(np.linalg.norm(position)), MAX_REACHES * model.reach
    if not distance > limit:
        return ""
    texts = " ".join(f"{x:g}mm" for x in position)
    return (
        f"the target is {distance:g} m from the base; the robot reaches at most "
        f"{limit / MAX_REACHES:.3g} m; did you mean {texts}?"
    )

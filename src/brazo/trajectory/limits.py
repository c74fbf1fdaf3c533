"""`Limits`: motion limits of the joints.

A robot file gives position limits and, if its drives are known, their max speed and torque.  Robot
files have no acceleration or jerk limits, and many have no speed limits.  Missing limits are given
by the caller or taken from `Assumed`.  Every assumed value is listed in `Limits.assumed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.result import joint_text
from brazo.model.description import Drive
from brazo.trajectory.reading import bounds, floats

if TYPE_CHECKING:
    from brazo.robot import Robot

Array = np.ndarray
_UNITS = {"speed": "/s", "acceleration": "/s²", "jerk": "/s³"}


@dataclass(frozen=True, slots=True)
class Assumed:
    """Default values for limits that neither the robot file nor the caller gives.

    Max speed is reached in `acceleration_time` (s) at max acceleration, and max acceleration in
    `jerk_time` (s) at max jerk.
    """

    angular_speed: float = 1.0  # rad/s, revolute joints whose file gives no max_speed
    linear_speed: float = 0.25  # m/s, prismatic ones
    acceleration_time: float = 0.25  # s
    jerk_time: float = 0.1  # s

    def __post_init__(self) -> None:
        for name in ("angular_speed", "linear_speed", "acceleration_time", "jerk_time"):
            positive(getattr(self, name), name)


ASSUMED = Assumed()


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Max speed, acceleration, jerk and torque of each joint, and position limits.

    A single number applies to all joints.  Infinite means no limit, as does `position=None`.
    """

    speed: Any  # (n,) rad/s, m/s
    acceleration: Any = math.inf  # (n,) rad/s², m/s²
    jerk: Any = math.inf  # (n,) rad/s³, m/s³
    position: Any = None  # (n, 2) rad, m
    torque: Any = math.inf  # (n,) N m, N
    assumed: tuple[str, ...] = field(default=(), kw_only=True)  # messages
    n: int = field(
        default=0, kw_only=True
    )  # number of joints, if all of the above are single numbers

    def __post_init__(self) -> None:
        sizes = [np.size(getattr(self, name)) for name in ("speed", "acceleration", "jerk")]
        if self.position is not None:
            sizes.append(len(np.atleast_2d(self.position)))
        n = self.n or max(*sizes, np.size(self.torque))
        object.__setattr__(self, "n", n)
        for name in ("speed", "acceleration", "jerk", "torque"):
            object.__setattr__(self, name, _frozen(bounds(getattr(self, name), n, name)))
        object.__setattr__(self, "position", _frozen(_position(self.position, n)))

    def finite(self, name: str) -> Array:
        """Return the limit `name` (n,); raise an error if it is not finite."""
        return bounds(getattr(self, name), self.n, name, finite=True)

    def scaled(self, share: float) -> Limits:
        """Return the limits with all speed limits multiplied by `share` (0 < share ≤ 1)."""
        share = positive(share, "share")
        if share > 1.0:
            raise BrazoError(f"share is {share:g}; it must be at most 1")
        return replace(self, speed=share * self.speed)


def limits_of(
    robot: Robot,
    *,
    speed: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    assume: Assumed | None = ASSUMED,
) -> Limits:
    """Motion limits of a robot: from its file, from the caller, or assumed.

    `speed`, `acceleration` and `jerk` are limits given by the caller, (n,) or one number.  A
    `speed` above the limit of a drive is reduced to this limit.  Missing limits are taken
    from `assume`; with `assume=None`, a missing limit is an error.
    """
    n = robot.n
    drives = drives_of(robot)
    own = np.array([drive.max_speed for drive in drives])
    notes: list[str] = []

    def fill(name: str, value: Any, otherwise: Array) -> Array:
        found = np.full(n, math.inf) if value is None else bounds(value, n, name)
        if name == "speed":
            found = np.minimum(found, own)
        for i in np.flatnonzero(~np.isfinite(found)).tolist():
            joint = f"joint {i + 1} ({robot.joint_names[i]})"
            if assume is None:
                where = " in the robot file" if name == "speed" else ""
                raise BrazoError(f"no {name} limit for {joint}{where}: pass {name}=…")
            found[i] = otherwise[i]
            unit = ("rad" if robot.joint_kinds[i] == "revolute" else "m") + _UNITS[name]
            notes.append(f"{joint}: {name} {found[i]:g} {unit} assumed")
        return found

    guess = assume or Assumed()
    speeds = fill(
        "speed",
        speed,
        np.array(
            [
                guess.angular_speed if kind == "revolute" else guess.linear_speed
                for kind in robot.joint_kinds
            ]
        ),
    )
    accelerations = fill("acceleration", acceleration, speeds / guess.acceleration_time)
    jerks = fill("jerk", jerk, accelerations / guess.jerk_time)
    return Limits(
        speed=speeds,
        acceleration=accelerations,
        jerk=jerks,
        position=robot.limits,
        torque=np.array([drive.max_torque for drive in drives]),
        assumed=tuple(notes),
        n=n,
    )


def drives_of(robot: Robot) -> Sequence[Drive]:
    """The drive of each joint, in the order of q."""
    return robot.model.drives


def _position(value: Any, n: int) -> Array:
    if value is None:
        return np.tile([-math.inf, math.inf], (n, 1))
    position = floats(value, "position")
    if position.shape != (n, 2):
        raise BrazoError(
            f"position limits have shape {position.shape}; expected ({n}, 2): lower and upper "
            "limit of each joint"
        )
    wrong = np.flatnonzero(~(position[:, 0] <= position[:, 1]))
    if len(wrong):
        i = int(wrong[0])
        raise BrazoError(
            f"position limits of joint {i + 1}: the lower limit {position[i, 0]:g} must not "
            f"exceed the upper limit {position[i, 1]:g} (rad or m)"
        )
    return position


def _frozen(values: Array) -> Array:
    values = values.copy()
    values.flags.writeable = False
    return values


def at_limit(robot: Robot, limits: Limits, i: int, upper: bool) -> str:
    """Message that joint i is at its upper or lower position limit."""
    limit = joint_text(robot.joint_kinds[i], float(limits.position[i, int(upper)]))
    end = "upper" if upper else "lower"
    return f"joint {i + 1} ({robot.joint_names[i]}) is at its {end} limit, {limit}"

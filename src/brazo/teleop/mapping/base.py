"""Mapping of the master's motion to the follower.

Increments of position are mapped, so master and follower can be at any position at engagement:

    ΔP_follower = S ΔP_master / k

S maps directions and must be a rotation, because a reflection would swap left and right for the
operator.  k is the ratio of master to follower displacement: with k > 1 the follower moves less
than the master, with k < 1 more.  The default S is for a Delta master and a SCARA follower: master
X to follower Y, Y to −Z, Z to −X.

`JointMap` maps joint to joint, for equal mechanisms.  `PoseMap` maps handle pose to tool pose, for
different mechanisms.  Both map increments, except for a `JointMap` that is set to absolute.  A
command contains the absolute master position, and an increment is the difference to the last
command that was used.  A lost command therefore loses no motion, and a change of direction, scale
or clutch causes no motion by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from brazo.arrays import float_array
from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.trajectory.reading import vector

DIRECTIONS = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
DIRECTIONS.flags.writeable = False
SCALES = (1e-3, 1e3)  # master over follower displacement, min and max


def scale_of(value: Any, what: str, least: float = SCALES[0], most: float = SCALES[1]) -> float:
    """Return `value` as a float if it is from `least` to `most`; raise BrazoError otherwise.

    `what` is the name of the value in the error message.
    """
    scale = positive(value, what)
    if not least <= scale <= most:
        raise BrazoError(f"{what} is {scale:g}; expected {least:g} to {most:g}")
    return scale


@dataclass(frozen=True, eq=False)
class IncrementMap:
    """Mapping of position increments by a direction matrix S (3, 3) and a scale k."""

    directions: np.ndarray = field(default_factory=lambda: DIRECTIONS)
    scale: float = 1.0

    def __post_init__(self) -> None:
        S = np.array(self.directions, dtype=float)
        if S.shape != (3, 3) or not np.isfinite(S).all():
            got = f"shape {S.shape}" if S.shape != (3, 3) else "a value that is not finite"
            raise BrazoError(f"directions must be a (3, 3) matrix of finite numbers; got {got}")
        # Check the magnitudes first: the product of huge values would overflow.
        if (
            np.abs(S).max() > 1.001
            or np.abs(S @ S.T - np.eye(3)).max() > 1e-9
            or np.linalg.det(S) < 0.0
        ):
            raise BrazoError(
                "directions must be a rotation matrix: orthonormal rows, determinant 1"
            )
        S.flags.writeable = False
        object.__setattr__(self, "directions", S)
        object.__setattr__(self, "scale", scale_of(self.scale, "scale"))

    def __call__(self, increment) -> np.ndarray:
        """Return the follower's increment (..., 3), m, for an increment (..., 3) of the master."""
        step = float_array(increment, "increment")
        if step.ndim == 0 or step.shape[-1] != 3 or not np.isfinite(step).all():
            shaped = step.ndim > 0 and step.shape[-1] == 3
            got = "a value that is not finite" if shaped else f"shape {step.shape}"
            raise BrazoError(f"increment must be an array (..., 3) of finite numbers; got {got}")
        return step @ self.directions.T / self.scale

    def changed(self, name: str, value: Any) -> IncrementMap:
        """Return a copy with one setting changed: `name` is `scale` or `directions`.

        The value of `directions` consists of nine numbers, row by row.
        """
        if name == "scale":
            return IncrementMap(self.directions, value)
        return IncrementMap(vector(np.ravel(value), 9, name).reshape(3, 3), self.scale)

    def settings(self) -> dict[str, Any]:
        """Return `scale` and `directions` (nine numbers, row by row, rounded to nine digits)."""
        S = [float(f"{x:.9g}") for x in self.directions.ravel()]
        return {"scale": self.scale, "directions": S}


def axes(directions: Any) -> str:
    """Return a text that lists the follower axis for each master axis.

    Example: `X to Y, Y to -Z, Z to -X`.
    """
    S = np.reshape(directions, (3, 3))
    return ", ".join(f"{name} to {_axis(S[:, j])}" for j, name in enumerate("XYZ"))


def _axis(direction: np.ndarray) -> str:
    i = int(np.argmax(np.abs(direction)))
    if abs(direction[i]) < 1.0 - 1e-6:
        return f"({', '.join(f'{x:.3g}' for x in direction)})"
    return ("-" if direction[i] < 0.0 else "") + "XYZ"[i]


def in_words(settings: dict[str, Any]) -> str:
    """Return the settings of a mapping as one line of text for the user."""
    if "directions" in settings:
        scale, leads = settings["scale"], axes(settings["directions"])
        return f"mapping by pose: scale {scale:g}, master axes {leads}"
    if "gain" in settings:
        gains = [f"{gain:g}" for gain in settings["gain"]]
        gain = f"gains {', '.join(gains)}" if len(set(gains)) > 1 else f"gain {gains[0]}"
        how = "absolute" if settings["absolute"] else "incremental"
        return f"mapping by joints: {how}, {gain}"
    return "mapping: " + ", ".join(f"{name} {value}" for name, value in settings.items())


@dataclass(frozen=True, slots=True, eq=False)
class MasterPoint:
    """Master position: joint values (n,), or the handle pose (4, 4), or both."""

    q: np.ndarray | None = None
    T: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class JointTarget:
    """Joint target of the follower for one command of the master."""

    q: np.ndarray  # (n,)
    warnings: tuple[str, ...] = ()
    jump: str = ""  # reason why the step is not plausible; q is then unchanged


@dataclass(frozen=True, slots=True)
class Plausible:
    """Limits of plausible master motion between two commands.

    The max distance is `slack` plus `speed` times the interval between the commands.  The max angle
    follows in the same way from `angular_slack` and `angular_speed`.
    """

    speed: float = 3.0  # m/s
    slack: float = 0.01  # m
    angular_speed: float = 20.0  # rad/s, also of joints
    angular_slack: float = 0.05  # rad

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0.0:
                raise BrazoError(f"{name} is {getattr(self, name)}; it must be greater than 0")


class Mapping(Protocol):
    """Mapping from master positions to joint targets of the follower."""

    def obstacle(self, master: MasterPoint, q: np.ndarray) -> str:
        """Return why following cannot start with the follower at q (n,), or "" if it can."""
        ...

    def anchor(self, master: MasterPoint, q: np.ndarray) -> None:
        """Set the master position and the follower's q (n,) from which the next step starts."""
        ...

    def step(self, master: MasterPoint, dt: float) -> JointTarget:
        """Return the joint target for a master position, dt seconds after the last step."""
        ...

    def set(self, name: str, value: Any) -> None:
        """Change a setting at run time; raise BrazoError if the name or value is invalid."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings that a master shows, by name, as values that JSON can represent.

        They are sent as JSON in an answer, which has at most 200 characters.
        """
        ...

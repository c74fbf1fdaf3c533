"""From the master's motion to the follower's, for mechanisms of different shape and size.

Motion travels as increments, so the two may stand anywhere when they engage:

    ΔP_follower = S ΔP_master / k

S turns directions and has to be a rotation (a mirror would swap left and right in the operator's
hands); k is the master's length over the follower's: above 1 the follower moves finer, below 1
wider.  The default S is the one of the Delta and SCARA pair: master X to follower Y, Y to −Z,
Z to −X.

`JointMap` (equal mechanisms, joint to joint) and `PoseMap` (unequal ones: joint, pose, pose, joint)
are built on increments.  The wire carries where the master *is*; an increment is the difference to
the last command used, so a command that was lost or dropped loses no motion, and a change of
direction, scale or clutch while running moves nothing by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.reading import positive, vector

DIRECTIONS = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
DIRECTIONS.flags.writeable = False
SCALES = (1e-3, 1e3)  # a hand's way over a tool's, from the widest to the finest


def scale_of(value: Any, what: str, least: float = SCALES[0], most: float = SCALES[1]) -> float:
    """A scale that makes sense, whoever asks for it."""
    scale = positive(value, what)
    if not least <= scale <= most:
        raise BrazoError(f"{what} is {scale:g}; wanted {least:g} to {most:g}")
    return scale


@dataclass(frozen=True, eq=False)
class IncrementMap:
    """Direction matrix S (3, 3) and scale k."""

    directions: np.ndarray = field(default_factory=lambda: DIRECTIONS)
    scale: float = 1.0

    def __post_init__(self) -> None:
        S = np.array(self.directions, dtype=float)
        if S.shape != (3, 3) or not np.isfinite(S).all():
            raise BrazoError(f"directions have shape {S.shape}; wanted a finite (3, 3) matrix")
        # Sizes first: the product of huge ones is no number.
        if (
            np.abs(S).max() > 1.001
            or np.abs(S @ S.T - np.eye(3)).max() > 1e-9
            or np.linalg.det(S) < 0.0
        ):
            raise BrazoError(
                "directions must be a rotation: unit rows, square to each other, right-handed"
            )
        S.flags.writeable = False
        object.__setattr__(self, "directions", S)
        object.__setattr__(self, "scale", scale_of(self.scale, "scale"))

    def __call__(self, increment) -> np.ndarray:
        """The follower's increment (..., 3) for one of the master's, in metres."""
        try:
            step = np.asarray(increment, dtype=float)
        except (TypeError, ValueError) as error:
            raise BrazoError(f"increment: not an array of numbers ({error})") from None
        if step.ndim == 0 or step.shape[-1] != 3 or not np.isfinite(step).all():
            raise BrazoError(f"increment has shape {step.shape}; wanted (..., 3), finite values")
        return step @ self.directions.T / self.scale

    def changed(self, name: str, value: Any) -> IncrementMap:
        """The same with another `scale`, or other `directions` (nine numbers, row by row)."""
        if name == "scale":
            return IncrementMap(self.directions, value)
        return IncrementMap(vector(np.ravel(value), 9, name).reshape(3, 3), self.scale)

    def settings(self) -> dict[str, Any]:
        """What is set; directions row by row, to nine digits."""
        S = [float(f"{x:.9g}") for x in self.directions.ravel()]
        return {"scale": self.scale, "directions": S}


def axes(directions: Any) -> str:
    """Where directions, row by row, lead the master's axes: `X to Y, Y to -Z, Z to -X`."""
    S = np.reshape(directions, (3, 3))
    return ", ".join(f"{name} to {_axis(S[:, j])}" for j, name in enumerate("XYZ"))


def _axis(direction: np.ndarray) -> str:
    i = int(np.argmax(np.abs(direction)))
    if abs(direction[i]) < 1.0 - 1e-6:
        return f"({', '.join(f'{x:.3g}' for x in direction)})"
    return ("-" if direction[i] < 0.0 else "") + "XYZ"[i]


def in_words(settings: dict[str, Any]) -> str:
    """What a mapping is set to, for people."""
    if "directions" in settings:
        scale, leads = settings["scale"], axes(settings["directions"])
        return f"mapping by pose: scale {scale:g}, the master's {leads}"
    if "gain" in settings:
        gains = [f"{gain:g}" for gain in settings["gain"]]
        gain = f"gains {', '.join(gains)}" if len(set(gains)) > 1 else f"gain {gains[0]}"
        how = "to where the master's are" if settings["absolute"] else "by as much as the master's"
        return f"mapping by joints: {how}, {gain}"
    return "mapping: " + ", ".join(f"{name} {value}" for name, value in settings.items())


@dataclass(frozen=True, slots=True, eq=False)
class MasterPoint:
    """Where the master stands: joint values (n,), or the pose (4, 4) of its handle, or both."""

    q: np.ndarray | None = None
    T: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What a step of the master means for the follower."""

    q: np.ndarray  # (n,)
    warnings: tuple[str, ...] = ()
    jump: str = ""  # why the step cannot be the motion of a hand; q is then where it was before


@dataclass(frozen=True, slots=True)
class Plausible:
    """The most a master can move between two commands: `slack` plus `speed` times the time."""

    speed: float = 3.0  # m/s
    slack: float = 0.01  # m
    angular_speed: float = 20.0  # rad/s, also of joints
    angular_slack: float = 0.05  # rad

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0.0:
                raise BrazoError(f"{name} is {getattr(self, name)}; it must be greater than 0")


class Mapping(Protocol):
    """What turns commands into joint targets for the follower."""

    def obstacle(self, master: MasterPoint, q: np.ndarray) -> str:
        """Why following cannot begin with the follower at q (n,), "" when it can."""
        ...

    def anchor(self, master: MasterPoint, q: np.ndarray) -> None:
        """From here on increments count: the master is there, the follower at q (n,)."""
        ...

    def step(self, master: MasterPoint, dt: float) -> Target:
        """The target for where the master is now, dt seconds after the last step."""
        ...

    def set(self, name: str, value: Any) -> None:
        """Change a setting while running; `BrazoError` says which there are."""
        ...

    def settings(self) -> dict[str, Any]:
        """What is set, as JSON types."""
        ...

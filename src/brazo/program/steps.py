"""What a program is made of: one frozen dataclass a kind of step, plain data that knows no robot.

A target of the tool is a `Target`: where (`xyz`), how turned (`rpy`), and in whose frame.  A frame
is read at the moment its step starts:

    world           the cell's frame
    base            of the robot that moves
    tool            of the robot that moves, as it is when the step starts
    NAME            a body, fixture or chute of the cell; a chute's frame sits in its upper mouth,
                    x along the way down

`of` names a body in the clamp: then not the tool but that body goes to the target, as it lies in
the clamp now.  Names may carry `$variables` of a surrounding `ForEach`.

Lengths in m, angles in rad, times in s, forces in N.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from brazo.deprecation import renamed_names
from brazo.errors import BrazoError

Triple = tuple[float, float, float]
Plan = Literal["direct", "free", "unchecked"]
Orientation = Literal["full", "nearest", "free"]
PLANS: tuple[Plan, ...] = ("direct", "free", "unchecked")
ORIENTATIONS: tuple[Orientation, ...] = ("full", "nearest", "free")
VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
OWN_FRAMES = ("world", "base", "tool")
MAX_TIMES = 10_000
MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file a step is written."""

    path: Path | None
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast: a share of what the drives allow, a duration, or a speed of the tool point.

    Half the share takes twice the time.  Without any the program's own `speed` counts.
    """

    fraction: float | None = None  # 0 < fraction ≤ 1
    time: float | None = None  # s
    tool_speed: float | None = None  # m/s; lines and paths only

    def __post_init__(self) -> None:
        named = {"speed": self.fraction, "time": self.time, "tool_speed": self.tool_speed}
        given = {name: value for name, value in named.items() if value is not None}
        if len(given) > 1:
            raise BrazoError(f"give one of speed, time and tool_speed, not {' and '.join(given)}")
        for name, value in given.items():
            _above(value, name)
        if self.fraction is not None and self.fraction > 1.0:
            raise BrazoError(
                f"speed is {self.fraction:g}; it is a fraction of the drives' limits: 0 to 1"
            )


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When a motion is over: the tool is near enough to its goal, or that has taken too long."""

    within: float = 0.010  # m
    timeout: float = 2.0  # s after the motion should have ended; then the program fails

    def __post_init__(self) -> None:
        _above(self.within, "within")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True)
class Target:
    """A pose to reach; without `rpy` the tool stays turned as it is.

    `by` instead of `xyz` is a shift from where the tool is, along the frame's axes.
    """

    xyz: Triple | None = None
    rpy: Triple | None = None
    frame: str = "world"
    by: Triple | None = None
    of: str | None = None  # a body in the clamp that goes to the target

    def __post_init__(self) -> None:
        if self.xyz is not None and self.by is not None:
            raise BrazoError("give 'xyz', where to go, or 'by', how far; not both")
        if self.xyz is None and self.by is None and self.rpy is None:
            raise BrazoError("a target needs 'xyz', 'by' or 'rpy'")
        for name in ("xyz", "rpy", "by"):
            value = getattr(self, name)
            if value is not None:
                _finite(value, name, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What every step has: where it is written."""

    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJoints(Step):
    """Joints to given values, or to a pose of the robot's file (or `start`) by its name."""

    to: tuple[float, ...] | str
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"
    # What was written for each value, "angle", "length" or "": checked once the robot is known.
    kinds: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.to, str):
            _finite(self.to, "to", len(self.to) or 1)
        if self.speed.tool_speed is not None:
            raise BrazoError("joints have no tool_speed; give speed, a share, or time")
        _one_of(self.plan, PLANS, "plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveTo(Step):
    """Move the tool to a pose by a joint motion to one of its IK solutions.

    `branch` names the solution; without it the nearest reachable one is used.  With
    `gripper_symmetric` the gripper may also be rotated by 180° about its own axis, which is
    equivalent for two equal fingers.
    """

    target: Target
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"
    branch: str | None = None
    orientation: Orientation = "full"
    gripper_symmetric: bool = False

    def __post_init__(self) -> None:
        if self.speed.tool_speed is not None:
            raise BrazoError("a joint motion has no tool_speed; give speed or time, or use line")
        _one_of(self.plan, PLANS, "plan")
        _one_of(self.orientation, ORIENTATIONS, "orientation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Step):
    """The tool along a straight line to a pose."""

    target: Target
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"  # never "free": the line is the way
    orientation: Orientation = "full"

    def __post_init__(self) -> None:
        _own_way(self.plan, "line")
        _one_of(self.orientation, ORIENTATIONS, "orientation")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPath(Step):
    """The tool along a curve of `brazo.trajectory`, given by its name and its numbers.

    `values` are the curve's arguments in SI, in the frame `frame`; `rpy` is how the tool is turned
    there (as it is now when left out).  The tool first goes to the curve's beginning.
    """

    curve: str
    values: Mapping[str, Any]
    rpy: Triple | None = None
    frame: str = "world"
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"
    orientation: Orientation = "full"

    def __post_init__(self) -> None:
        _own_way(self.plan, "path")
        _one_of(self.orientation, ORIENTATIONS, "orientation")
        if self.rpy is not None:
            _finite(self.rpy, "rpy", 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip(Step):
    """Close the clamp with a force and wait until it holds something.

    `body` is what it should hold; `settle` is how long it must have held it; after `timeout`
    without a grasp the program fails.
    """

    body: str | None = None
    force: float | None = None
    settle: float = 0.1
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if self.force is not None:
            _above(self.force, "force")
        _seconds(self.settle, "settle")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Step):
    """Open the clamp and wait until its pads are off."""

    opening: float | None = None
    timeout: float = 2.0

    def __post_init__(self) -> None:
        if self.opening is not None:
            _above(self.opening, "opening")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Step):
    """Stay for some seconds."""

    time: float

    def __post_init__(self) -> None:
        _seconds(self.time, "time")


@dataclass(frozen=True, slots=True)
class Held:
    """A body is held: by the robot whose step this is, or by another; `off`: no more."""

    body: str
    by: str | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Touching:
    """Two robots, bodies, fixtures or parts touch."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Signal:
    """Somebody has raised a flag."""

    name: str


@dataclass(frozen=True, slots=True)
class At:
    """The clock shows a time (s)."""

    time: float


@dataclass(frozen=True, slots=True)
class Through:
    """A body has gone all the way through a chute."""

    body: str
    chute: str


Condition = Held | Touching | Signal | At | Through


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil(Step):
    """Stay until something is so; after `timeout` seconds the program fails."""

    condition: Condition
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSignal(Step):
    """Raise (or lower) a flag the other robots can wait for."""

    name: str
    on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Step):
    """Meet: go on when every robot that has a sync of this name has come to it."""

    name: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetController(Step):
    """Another law from here on, or (without `law`) other gains for the present one."""

    controller: str | None = None
    gains: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.controller is None and not self.gains:
            raise BrazoError("give a 'controller', 'gains', or both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Step):
    """Write a line into the log of the run."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Step):
    """The same steps several times."""

    times: int
    do: tuple[Step, ...]

    def __post_init__(self) -> None:
        if self.times != int(self.times) or not 1 <= self.times <= MAX_TIMES:
            raise BrazoError(f"times is {self.times:g}; wanted a whole number, 1 to {MAX_TIMES}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach(Step):
    """The same steps for several things; `$variable` in them stands for each in turn."""

    variable: str
    of: tuple[str, ...]
    do: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not VARIABLE.fullmatch(f"${self.variable}"):
            raise BrazoError(
                f"'{self.variable}' is no name for a variable: letters, digits, underscores"
            )
        if not self.of:
            raise BrazoError("'of' names nothing to do this for")


VERBS: dict[str, type[Step]] = {
    "move_joints": MoveJoints,
    "move_to": MoveTo,
    "line": Line,
    "path": FollowPath,
    "grip": Grip,
    "release": Release,
    "wait": Wait,
    "wait_until": WaitUntil,
    "set_signal": SetSignal,
    "sync": Sync,
    "set_controller": SetController,
    "note": Note,
    "repeat": Repeat,
    "for_each": ForEach,
}
_VERB_OF = {kind: verb for verb, kind in VERBS.items()}


def verb_of(step: Step) -> str:
    """The word a step is written with."""
    return _VERB_OF[type(step)]


def substituted(value: Any, variables: Mapping[str, str]) -> Any:
    """The same data with `$variables` in its texts replaced."""
    if not variables:
        return value
    if isinstance(value, str):
        return VARIABLE.sub(lambda found: variables.get(found[1], found[0]), value)
    if isinstance(value, tuple):
        return tuple(substituted(item, variables) for item in value)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, Place):
        changed = {f.name: substituted(getattr(value, f.name), variables) for f in fields(value)}
        return type(value)(**changed)
    return value


def _finite(values: Any, name: str, count: int) -> None:
    if len(values) != count or not all(math.isfinite(value) for value in values):
        raise BrazoError(f"{name}: wanted {count} finite numbers, got {values}")


def _above(value: float, name: str) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise BrazoError(f"{name} is {value:g}; it must be finite and greater than 0")


def _seconds(value: float, name: str) -> None:
    if not 0.0 <= value <= MAX_SECONDS:
        raise BrazoError(f"{name} is {value:g} s; wanted 0 to {MAX_SECONDS:g}")


def _one_of(value: str, allowed: tuple[str, ...], name: str) -> None:
    if value not in allowed:
        raise BrazoError(f"{name} '{value}' is not one of {', '.join(allowed)}")


def _own_way(plan: str, verb: str) -> None:
    _one_of(plan, PLANS, "plan")
    if plan == "free":
        raise BrazoError(f"a {verb} is its own way: plan is 'direct' or 'unchecked', not 'free'")


__getattr__ = renamed_names(__name__, {"Pace": "Speed", "Arrival": "Tolerance"})

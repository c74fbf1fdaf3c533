"""The steps of a program: one frozen dataclass for each kind of step, independent of any robot.

A tool target is a `Target`: position (`xyz`), orientation (`rpy`) and the frame they are given in.
The frame is evaluated when the step starts:

    world           the cell's frame
    base            of the robot that moves
    tool            of the robot that moves, when the step starts
    NAME            a body, fixture, chute or frame of the cell; the origin of a chute's frame is
                    its upper opening, x points down the chute

`of` names a body in the gripper: then that body, not the tool, moves to the target, with its
current pose in the gripper.  Names may contain `$variables` of an enclosing `ForEach`.

Lengths in m, angles in rad, times in s, forces in N.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from brazo.checks import one_of, positive
from brazo.deprecation import renamed_names
from brazo.errors import BrazoError

Triple = tuple[float, float, float]
Plan = Literal["direct", "free", "unchecked"]
Orientation = Literal["full", "nearest", "free"]
PLANS: tuple[Plan, ...] = ("direct", "free", "unchecked")
ORIENTATIONS: tuple[Orientation, ...] = ("full", "nearest", "free")
VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
MAX_TIMES = 10_000
MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """The file and line of a step."""

    path: Path | None
    line: int
    folder: Path | None = None  # of files that the step names

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a motion: a fraction of the drives' limits, a duration, or a tool speed.

    Half the fraction takes twice the time.  If none is given the program's `speed` applies.
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
            positive(value, name)
        if self.fraction is not None and self.fraction > 1.0:
            raise BrazoError(
                f"speed is {self.fraction:g}; it must be a fraction of the drives' limits, "
                "above 0 and at most 1"
            )


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When a motion is complete: the tool is within `within` of its goal before `timeout`."""

    within: float = 0.010  # m
    timeout: float = 2.0  # s after the planned end of the motion; then the program fails

    def __post_init__(self) -> None:
        positive(self.within, "within")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True)
class Target:
    """A target pose; without `rpy` the tool keeps its orientation.

    `by` instead of `xyz` is an offset from the current position, along the frame's axes.  `point`
    is the name of the point that the pose is taken from.
    """

    xyz: Triple | None = None
    rpy: Triple | None = None
    frame: str = "world"
    by: Triple | None = None
    of: str | None = None  # a body in the gripper that moves to the target
    point: str = ""

    def __post_init__(self) -> None:
        if self.xyz is not None and self.by is not None:
            raise BrazoError("give 'xyz' (position) or 'by' (offset), not both")
        if self.xyz is None and self.by is None and self.rpy is None and not self.point:
            raise BrazoError("a target needs 'xyz', 'by', 'rpy' or 'to' (the name of a point)")
        for name in ("xyz", "rpy", "by"):
            value = getattr(self, name)
            if value is not None:
                _finite(value, name, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Base of all steps: the place in the program file."""

    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJoints(Step):
    """Move joints to a joint target, a named point, a pose of the robot file, or `start`."""

    to: tuple[float, ...] | str
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"
    point: str = field(default="", compare=False)  # name of the point that `to` was taken from
    # The unit given for each value, "angle", "length" or ""; checked once the robot is known.
    kinds: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.to, str):
            _finite(self.to, "to", len(self.to) or 1)
        if self.speed.tool_speed is not None:
            raise BrazoError("move_joints has no tool_speed; give speed (a fraction) or time")
        one_of(self.plan, PLANS, "plan")


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
            raise BrazoError("move_to has no tool_speed; give speed or time, or use line")
        one_of(self.plan, PLANS, "plan")
        one_of(self.orientation, ORIENTATIONS, "orientation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Step):
    """Move the tool along a straight line to a pose."""

    target: Target
    speed: Speed = Speed()
    tolerance: Tolerance = field(default_factory=Tolerance)
    plan: Plan = "direct"  # never "free": the path is given
    orientation: Orientation = "full"

    def __post_init__(self) -> None:
        _fixed_path(self.plan, "line")
        one_of(self.orientation, ORIENTATIONS, "orientation")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPath(Step):
    """Move the tool along a curve of `brazo.trajectory`, given by name and arguments.

    `values` are the curve's arguments in SI units in the frame `frame`; `rpy` is the tool
    orientation in that frame (default: the current one).  The tool first moves to the start of the
    curve.
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
        _fixed_path(self.plan, "path")
        one_of(self.orientation, ORIENTATIONS, "orientation")
        if self.rpy is not None:
            _finite(self.rpy, "rpy", 3)

    @property
    def folder(self) -> Path | None:
        """Folder of the program file, in which the SVG file of a curve is."""
        return None if self.place is None else self.place.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip(Step):
    """Close the gripper with a force and wait for a grasp.

    `body` is the body to grasp, `settle` the time (s) it must be held; the program fails after
    `timeout` (s) without a grasp.
    """

    body: str | None = None
    force: float | None = None
    settle: float = 0.1
    timeout: float = 5.0

    def __post_init__(self) -> None:
        if self.force is not None:
            positive(self.force, "force")
        _seconds(self.settle, "settle")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Step):
    """Open the gripper and wait until its pads no longer touch the body."""

    opening: float | None = None
    timeout: float = 2.0

    def __post_init__(self) -> None:
        if self.opening is not None:
            positive(self.opening, "opening")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Step):
    """Wait for a time (s)."""

    time: float

    def __post_init__(self) -> None:
        _seconds(self.time, "time")


@dataclass(frozen=True, slots=True)
class Held:
    """Condition: a body is held by robot `by` (default: this robot); with `off`, it is not held."""

    body: str
    by: str | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Touching:
    """Condition: two robots, bodies, fixtures or parts are in contact."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Signal:
    """Condition: true while the named signal is on."""

    name: str


@dataclass(frozen=True, slots=True)
class At:
    """Condition: the simulation time has reached `time` (s)."""

    time: float


@dataclass(frozen=True, slots=True)
class Through:
    """Condition: a body has passed completely through a chute."""

    body: str
    chute: str


Condition = Held | Touching | Signal | At | Through


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil(Step):
    """Wait for a condition; after `timeout` seconds the program fails."""

    condition: Condition
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSignal(Step):
    """Switch on (or off) a signal that other robots can wait for."""

    name: str
    on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Step):
    """Wait until every robot with a sync of this name has reached it."""

    name: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetController(Step):
    """Set the controller, or (without `controller`) gains of the current one."""

    controller: str | None = None
    gains: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.controller is None and not self.gains:
            raise BrazoError("give a 'controller', 'gains', or both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Step):
    """Write a line to the log of the run."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Step):
    """Repeat steps a number of times."""

    times: int
    do: tuple[Step, ...]

    def __post_init__(self) -> None:
        if self.times != int(self.times) or not 1 <= self.times <= MAX_TIMES:
            raise BrazoError(f"times is {self.times:g}; expected an integer, 1 to {MAX_TIMES}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach(Step):
    """Repeat steps for each name in `of`, which replaces `$variable` in them."""

    variable: str
    of: tuple[str, ...]
    do: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not VARIABLE.fullmatch(f"${self.variable}"):
            raise BrazoError(
                f"'{self.variable}' is not a valid variable name: use letters, digits and "
                "underscores"
            )
        if not self.of:
            raise BrazoError("'of' is empty: give at least one name")


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
    """The verb of a step in a program file."""
    return _VERB_OF[type(step)]


def substituted(value: Any, variables: Mapping[str, str]) -> Any:
    """A copy of the data with `$variables` in strings replaced."""
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
        raise BrazoError(f"{name}: expected {count} finite numbers, got {values}")


def _seconds(value: float, name: str) -> None:
    if not 0.0 <= value <= MAX_SECONDS:
        raise BrazoError(f"{name} is {value:g} s; expected 0 to {MAX_SECONDS:g} s")


def _fixed_path(plan: str, verb: str) -> None:
    one_of(plan, PLANS, "plan")
    if plan == "free":
        raise BrazoError(
            f"the path of a {verb} is fixed: plan must be 'direct' or 'unchecked', not 'free'"
        )


__getattr__ = renamed_names(__name__, {"Pace": "Speed", "Arrival": "Tolerance"})

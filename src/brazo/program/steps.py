"""The steps of a program: one frozen dataclass for each kind of step, independent of any robot.

A tool target is a `Target`: position (`xyz`), orientation (`rpy`) and the frame in which they are
given.  The frame is evaluated when the step starts:

    world           the world frame of the cell
    base            the base frame of the robot that moves
    tool            the tool frame of the robot that moves, at the start of the step
    NAME            a body, fixture, chute or frame of the cell, or the base of another robot; the
                    origin of a chute's frame is its upper opening, x points down the chute

If `of` is the name of a body in the gripper, the target applies to this body, not to the tool.  The
pose of the body in the gripper does not change.  Names may contain `$variables` of an enclosing
`ForEach`.

The collision check of a motion depends on `plan`: `direct` fails if the motion would collide,
`free` plans a path around obstacles, and `unchecked` omits the check.  The tool reaches the exact
orientation if `orientation` is `full`, and the closest feasible one if it is `nearest`; with
`free`, any orientation is allowed.

Lengths are in m, angles in rad, times in s, forces in N.
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
Gain = float | bool | str | tuple[float, ...]  # text or bool: another option of a controller
PLANS: tuple[Plan, ...] = ("direct", "free", "unchecked")
ORIENTATIONS: tuple[Orientation, ...] = ("full", "nearest", "free")
VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
MAX_TIMES = 10_000
MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """File and line of a step."""

    path: Path | None
    line: int
    folder: Path | None = None  # of files that the step names

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a motion: a fraction of the drives' limits, a duration, or a tool speed.

    Half the fraction doubles the duration.  If none of the three is given, the `speed` of the
    program is used.
    """

    fraction: float | None = None  # 0 < fraction ≤ 1
    time: float | None = None  # s
    tool_speed: float | None = None  # m/s; lines and paths only

    def __post_init__(self) -> None:
        named = {"speed": self.fraction, "time": self.time, "tool_speed": self.tool_speed}
        given = {name: value for name, value in named.items() if value is not None}
        if len(given) > 1:
            raise BrazoError(
                f"give only one of 'speed', 'time' and 'tool_speed', not {' and '.join(given)}"
            )
        for name, value in given.items():
            positive(value, name)
        if self.fraction is not None and self.fraction > 1.0:
            raise BrazoError(
                f"speed is {self.fraction:g}; it must be a fraction of the drives' limits, "
                "above 0 and at most 1"
            )


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Condition for the end of a motion: the tool must be within `within` (m) of its target.

    The orientation error must be at most 5°.  The program fails if the condition is not met within
    `timeout` seconds after the planned end of the motion.
    """

    within: float = 0.010  # m
    timeout: float = 2.0  # s after the planned end of the motion; then the program fails

    def __post_init__(self) -> None:
        positive(self.within, "within")
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True)
class Target:
    """Target pose in `frame`: a position `xyz` or an offset `by`, and an orientation `rpy`.

    `by` is an offset from the current position along the axes of the frame.  Without `rpy` the
    orientation is kept.  If `point` is given, the pose is that of the point with this name.
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
    """Base class of all steps; contains the location in the program file."""

    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJoints(Step):
    """Move the joints to joint values, or to a named configuration.

    The name is that of a point, of a pose in the robot file, or `start` (the start pose in the
    cell).
    """

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
            raise BrazoError("move_joints has no 'tool_speed'; give 'speed' (a fraction) or 'time'")
        one_of(self.plan, PLANS, "plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveTo(Step):
    """Move the tool to a pose by a joint motion to one of its IK solutions.

    The solutions are tried in the order of the duration of a straight joint motion, shortest first.
    The first solution with a collision-free motion is used.  `branch` is the name of an IK branch,
    or a part of it; then only solutions of this branch are tried.  With `gripper_symmetric`, poses
    with the gripper rotated by 180° about its axis are also allowed; they are equivalent for two
    equal fingers.
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
            raise BrazoError("move_to has no 'tool_speed'; give 'speed' or 'time', or use 'line'")
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

    `values` are the arguments of the curve in SI units, in the frame `frame`.  `rpy` is the tool
    orientation in this frame (default: the current orientation).  The tool first moves to the start
    of the curve.
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
        """Folder for relative paths of SVG files: that of the program file, or None."""
        return None if self.place is None else self.place.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip(Step):
    """Close the gripper with `force` (N; default: its max force) and wait for a grasp.

    `body` is the body to grasp (default: any body), `settle` the time (s) for which it must be held
    without interruption.  The program fails after `timeout` (s) without a grasp.
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
    """Open the gripper to `opening` (m; default: fully) and wait until it is open.

    The step ends when the opening is reached and no body is held.  The program fails if this takes
    longer than `timeout` (s).
    """

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
    """Condition that the robot `by` (default: the waiting robot) holds a body.

    If `off` is True, the condition is that the robot does not hold the body.
    """

    body: str
    by: str | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Touching:
    """Condition that two robots, bodies, fixtures or parts are in contact."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Signal:
    """Condition that a signal is on."""

    name: str


@dataclass(frozen=True, slots=True)
class At:
    """Condition that the simulation time has reached `time` (s)."""

    time: float


@dataclass(frozen=True, slots=True)
class Through:
    """Condition that a body has passed completely through a chute."""

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
    """Wait until every robot that has a sync with this name has reached it."""

    name: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        _seconds(self.timeout, "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetController(Step):
    """Set the controller and its gains; without `controller`, set gains of the current one."""

    controller: str | None = None
    gains: Mapping[str, Gain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.controller is None and not self.gains:
            raise BrazoError("give 'controller', 'gains' or both")


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
    """Repeat steps for each name in `of`.

    With `variable="bar"`, each name replaces `$bar` in the steps.
    """

    variable: str
    of: tuple[str, ...]
    do: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not VARIABLE.fullmatch(f"${self.variable}"):
            raise BrazoError(
                f"'{self.variable}' is not a valid variable name: use letters, digits and "
                "underscores, and no digit at the start"
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
    """Return the verb with which a program file names this kind of step."""
    return _VERB_OF[type(step)]


def substituted(value: Any, variables: Mapping[str, str]) -> Any:
    """Return a copy of a step, tuple or string with its `$variables` replaced by their values."""
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

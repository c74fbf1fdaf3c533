"""`Program`: the steps of each robot of a cell, as plain data.

    program = Program("pick", cell="cooperative")
    two = program.robot("scara2")
    two.move_to(xyz=(-0.1, 0, 0.08), rpy=(pi, 0, 0), in_="bar 1", plan="free")
    two.line(by=(0, 0, -0.07))
    two.grip(60, body="bar 1")

The methods have the names of the verbs in a program file (`brazo.program.program_file`), and most
arguments have the names of its fields; `in_` is `in` in the file.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brazo.checks import one_of
from brazo.deprecation import renamed_option
from brazo.errors import BrazoError
from brazo.model.description import Finding
from brazo.operate.points import Point
from brazo.program import steps as s
from brazo.program.collision import check_clearance
from brazo.trajectory.curve_fields import check_curve

if TYPE_CHECKING:
    from brazo.program.execution import Execution

WatchMode = Literal["stop", "warn"]
PlannerName = Literal["rrt", "ompl"]
WATCHES: tuple[WatchMode, ...] = ("stop", "warn")
PLANNERS: tuple[PlannerName, ...] = ("rrt", "ompl")


@dataclass(frozen=True, slots=True)
class Goal:
    """Goal of a program: the required final state of a body.

    Exactly one of `chute`, `at`, `on` and `free` must be given.
    """

    body: str
    chute: str | None = None  # passed through this chute
    at: s.Triple | None = None  # its origin is at rest here (m, world), to within `within`
    within: float = 0.005  # m
    on: str | None = None  # at rest on this body or fixture, not held
    free: bool = False  # not held by a gripper
    place: s.Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        given = (self.chute is not None, self.at is not None, self.on is not None, self.free)
        if sum(given) != 1:
            raise BrazoError(
                "a goal must be {body: NAME, through: CHUTE}, "
                "{body: NAME, at: [x, y, z], within: 5mm}, "
                "{body: NAME, on: NAME} or {body: NAME, free: on}"
            )
        if not 0.0 < self.within < math.inf:
            raise BrazoError(f"within is {self.within:g} m; it must be finite and above 0")

    def __str__(self) -> str:
        if self.chute is not None:
            return f"{self.body} through {self.chute}"
        if self.at is not None:
            x, y, z = self.at
            near = f"within {1e3 * self.within:g} mm of"
            return f"{self.body} at rest {near} ({x:g}, {y:g}, {z:g}) m"
        return f"{self.body} free" if self.free else f"{self.body} on {self.on}"

    @property
    def plain(self) -> dict[str, Any]:
        """Return the goal as a mapping, as in a program file."""
        if self.at is not None:
            return {"body": self.body, "at": self.at, "within": self.within}
        named = {"through": self.chute, "on": self.on, "free": self.free or None}
        return {"body": self.body, **{n: v for n, v in named.items() if v is not None}}


@dataclass
class Program:
    """Steps of each robot, goals, points, and settings such as the default speed."""

    name: str
    about: str = ""
    cell: str | None = None  # the cell it was written for
    speed: float = 0.5  # fraction of the drives' limits, default of steps
    clearance: float = 0.003  # m, min distance from obstacles on planned and checked paths
    watch: WatchMode = "stop"  # reaction to unintended contacts
    planner: PlannerName = "rrt"
    goals: tuple[Goal, ...] = ()
    steps: dict[str, list[s.Step]] = field(default_factory=dict)
    # By robot: points that its steps name.
    points: Mapping[str, Sequence[Point]] = field(default_factory=dict, compare=False)
    path: Path | None = field(default=None, compare=False, repr=False)
    places: dict[str, s.Place] = field(default_factory=dict, compare=False, repr=False)  # of robots
    findings: tuple[Finding, ...] = field(default=(), compare=False, repr=False)  # of its file

    def __post_init__(self) -> None:
        if not 0.0 < self.speed <= 1.0:
            raise BrazoError(
                f"speed is {self.speed:g}; it must be a fraction of the drives' limits, "
                "above 0 and at most 1"
            )
        check_clearance(self.clearance)
        one_of(self.watch, WATCHES, "watch")
        one_of(self.planner, PLANNERS, "planner")

    def robot(self, name: str) -> StepList:
        """Return the step list of a robot, to which steps can be added."""
        return StepList(self.steps.setdefault(name, []))

    def start(self, sim: Any, **options: Any) -> Execution:
        """Validate the program for the cell of a simulation and start it; return the execution.

        The options are those of `brazo.program.execution.Execution`.
        """
        from brazo.program.execution import Execution

        execution = Execution(self, sim, **options)
        sim.tasks.add(execution)
        return execution

    def to_yaml(self) -> str:
        """Return the program as the text of a program file."""
        from brazo.program.writer import to_yaml

        return to_yaml(self)

    def save(self, path: str | Path) -> Path:
        """Write the program to a program file; return its path."""
        from brazo.files import replacing

        with replacing(Path(path)) as temporary:
            temporary.write_text(self.to_yaml(), encoding="utf-8")
        return Path(path)


class StepList:
    """Step list of a robot.  Each method adds a step and returns this object.

    `repeat` and `for_each` are context managers; they add a loop with the steps of the `with`
    block.  The `options` of `move_joints`, `move_to` and `line` are `speed`, `time`, `within` and
    `timeout`, and for `line` also `tool_speed`; see `Speed` and `Tolerance` in
    `brazo.program.steps`.
    """

    def __init__(self, steps: list[s.Step]) -> None:
        self._lists: list[list[s.Step]] = [steps]

    def __len__(self) -> int:
        return len(self._lists[-1])

    def add(self, step: s.Step) -> StepList:
        """Add any step."""
        self._lists[-1].append(step)
        return self

    def move_joints(self, to: Sequence[float] | str, *, plan: s.Plan = "direct", **options: Any):
        """Move the joints to joint values, or to a named configuration.

        The name is that of a point, of a pose in the robot file, or `start` (the start pose in the
        cell).
        """
        where = to if isinstance(to, str) else _numbers(to, "to")
        return self.add(s.MoveJoints(to=where, plan=plan, **_options(options)))

    def move_to(
        self,
        xyz: Any = None,
        rpy: Any = None,
        in_: str = "world",
        *,
        by: Any = None,
        of: str | None = None,
        plan: s.Plan = "direct",
        branch: str | None = None,
        orientation: s.Orientation = "full",
        gripper_symmetric: bool = False,
        **options: Any,
    ):
        """Move the tool to a pose by a joint motion."""
        renamed_option(options, "either_way", "gripper_symmetric", "move_to")
        gripper_symmetric = options.pop("gripper_symmetric", gripper_symmetric)
        return self.add(
            s.MoveTo(
                target=_target(xyz, rpy, in_, by, of),
                plan=plan,
                **_options(options),
                branch=branch,
                orientation=orientation,
                gripper_symmetric=gripper_symmetric,
            )
        )

    def line(
        self,
        xyz: Any = None,
        rpy: Any = None,
        in_: str = "world",
        *,
        by: Any = None,
        of: str | None = None,
        plan: s.Plan = "direct",
        orientation: s.Orientation = "full",
        **options: Any,
    ):
        """Move the tool along a straight line."""
        return self.add(
            s.Line(
                target=_target(xyz, rpy, in_, by, of),
                plan=plan,
                **_options(options),
                orientation=orientation,
            )
        )

    def path(
        self,
        curve: str,
        rpy: Any = None,
        in_: str = "world",
        *,
        speed: float | None = None,
        time: float | None = None,
        tool_speed: float | None = None,
        tolerance: s.Tolerance = s.Tolerance(),  # noqa: B008
        plan: s.Plan = "direct",
        orientation: s.Orientation = "full",
        **values: Any,
    ):
        """Move the tool along a curve; `curve` is its name and `values` are its arguments.

        The curves are `circle`, `arc`, `square`, `spiral`, `helix`, `lissajous` and `polyline`.
        The curves for drawing with a pen are `text`, `svg` and `strokes`.
        """
        check_curve(curve, values)
        return self.add(
            s.FollowPath(
                curve=curve,
                values={name: _plain(value) for name, value in values.items()},
                rpy=None if rpy is None else _triple(rpy, "rpy"),
                frame=in_,
                speed=s.Speed(speed, time, tool_speed),
                tolerance=tolerance,
                plan=plan,
                orientation=orientation,
            )
        )

    def grip(
        self,
        force: float | None = None,
        *,
        body: str | None = None,
        settle: float = 0.1,
        timeout: float = 5.0,
    ):
        """Close the gripper and wait for a grasp; see `brazo.program.steps.Grip`."""
        return self.add(s.Grip(body=body, force=force, settle=settle, timeout=timeout))

    def release(self, opening: float | None = None, *, timeout: float = 2.0):
        """Open the gripper to `opening` (m), by default fully."""
        return self.add(s.Release(opening=opening, timeout=timeout))

    def wait(self, time: float):
        """Wait for a time (s)."""
        return self.add(s.Wait(time=float(time)))

    def wait_until(self, condition: s.Condition, *, timeout: float = 60.0):
        """Wait for a condition."""
        return self.add(s.WaitUntil(condition=condition, timeout=timeout))

    def set_signal(self, name: str, on: bool = True):
        """Switch a signal on or off."""
        return self.add(s.SetSignal(name=name, on=on))

    def sync(self, name: str, *, timeout: float = 60.0):
        """Wait for all robots that have a sync of this name."""
        return self.add(s.Sync(name=name, timeout=timeout))

    def set_controller(self, controller: str | None = None, **gains: Any):
        """Set the controller by name, its gains, or both."""
        renamed_option(gains, "law", "controller", "set_controller")
        controller = gains.pop("controller", controller)
        values = {name: _plain(value) for name, value in gains.items()}
        return self.add(s.SetController(controller=controller, gains=values))

    def note(self, text: str):
        """Write a line to the log."""
        return self.add(s.Note(text=text))

    @contextlib.contextmanager
    def repeat(self, times: int) -> Iterator[StepList]:
        """Repeat the steps added inside the `with` block."""
        with self._inside() as inner:
            yield self
        self.add(s.Repeat(times=times, do=tuple(inner)))

    @contextlib.contextmanager
    def for_each(self, variable: str, of: Sequence[str]) -> Iterator[StepList]:
        """Repeat the steps added inside the `with` block for each name in `of`.

        With `variable="bar"`, each name replaces `$bar` in the steps.
        """
        with self._inside() as inner:
            yield self
        self.add(s.ForEach(variable=variable, of=tuple(of), do=tuple(inner)))

    @contextlib.contextmanager
    def _inside(self) -> Iterator[list[s.Step]]:
        inner: list[s.Step] = []
        self._lists.append(inner)
        try:
            yield inner
        finally:
            self._lists.pop()


def walk(steps: Sequence[s.Step]) -> Iterator[s.Step]:
    """Yield every step, including those inside loops."""
    for step in steps:
        yield step
        if isinstance(step, (s.Repeat, s.ForEach)):
            yield from walk(step.do)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Convert options to `Speed` (speed, time, tool_speed) and `Tolerance` (within, timeout)."""
    tolerance = {name: given.pop(name) for name in ("within", "timeout") if name in given}
    if "speed" in given:
        given["fraction"] = given.pop("speed")
    return {"speed": s.Speed(**given), "tolerance": s.Tolerance(**tolerance)}


def _target(xyz: Any, rpy: Any, frame: str, by: Any, of: str | None) -> s.Target:
    return s.Target(
        None if xyz is None else _triple(xyz, "xyz"),
        None if rpy is None else _triple(rpy, "rpy"),
        frame,
        None if by is None else _triple(by, "by"),
        of,
    )


def _triple(value: Any, what: str) -> s.Triple:
    numbers = _numbers(value, what)
    if len(numbers) != 3:
        raise BrazoError(f"{what}: expected 3 numbers, got {len(numbers)}")
    return (numbers[0], numbers[1], numbers[2])


def _numbers(value: Any, what: str) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BrazoError(f"{what}: not a list of numbers ({error})") from None


def _plain(value: Any) -> Any:
    """Convert numbers to floats, and arrays and lists to nested tuples; keep text and booleans."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        raise BrazoError("expected a number or a list of numbers, got a mapping")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Sequence):
        return tuple(_plain(one) for one in value)
    return float(value)

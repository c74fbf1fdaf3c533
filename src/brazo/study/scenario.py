"""Inputs of the runs of a study: cases (payload, model errors, noise, faults), tasks, controllers.

A case is a set of conditions; a task is a reference trajectory.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of, positive
from brazo.control import Controller, controllers
from brazo.control.benchmark import quintic, sines
from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.trajectory.files import read_via_points

Task = Callable[[float], Any]  # t -> (q, qd, qdd)
FaultKind = Literal["torque loss", "unpowered", "encoder bias", "encoder stuck", "joint locked"]
FAULTS = ("torque loss", "unpowered", "encoder bias", "encoder stuck", "joint locked")
VALUED = ("torque loss", "encoder bias")  # faults with a value
COMPILED = ("torque loss", "unpowered", "encoder bias")  # faults of the compiled loop
TASKS = ("sines", "quintic", "step")
STEP = 0.1  # rad; a tenth of it in m for prismatic joints


@dataclass(frozen=True, slots=True)
class StudyFault:
    """Fault of one joint, active from the time `at` (s) on.

    `joint` is a name or a number from 1.  For a torque loss, `value` is the fraction of the torque
    that is lost.  For an encoder bias, `value` is the offset (rad or m).  Other faults do not use
    `value`.
    """

    kind: FaultKind
    joint: str | int
    at: float = 0.0
    value: float = 0.0

    def __post_init__(self) -> None:
        one_of(self.kind, FAULTS, "fault")
        if self.kind == "torque loss" and not 0.0 <= self.value <= 1.0:
            raise BrazoError(f"torque loss: the value is {self.value:g}; it must be from 0 to 1")
        if not (math.isfinite(self.at) and self.at >= 0.0 and math.isfinite(self.value)):
            raise BrazoError(f"fault '{self.kind}': time and value must be finite, time 0 or more")

    def index(self, robot: Robot) -> int:
        """Return the index of the joint."""
        return joint_index(robot, self.joint, f"fault '{self.kind}'")


@dataclass(frozen=True, slots=True)
class Case:
    """Conditions of a run that differ from the nominal conditions."""

    name: str = "nominal"
    payload: float = 0.0  # kg, at the tool
    payload_com: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m, tool frame
    payload_known: bool = False  # whether the controller knows it
    mass_error: float = 0.0  # fraction by which the masses differ from those of the robot file
    position_noise: float = 0.0  # standard deviation of the encoders, rad and m
    velocity_noise: float = 0.0  # rad/s and m/s
    start_error: float = 0.0  # standard deviation of the start from the reference, rad and m
    delay: float = 0.0  # s, until a torque reaches the drives
    disturbance: float = 0.0  # N m or N, on the joint `disturbance_joint`
    disturbance_joint: str | int = 1
    disturbance_start: float = 0.0  # s
    disturbance_stop: float = math.inf  # s
    faults: tuple[StudyFault, ...] = ()

    def __post_init__(self) -> None:
        for name in ("payload", "position_noise", "velocity_noise", "start_error", "delay"):
            value = getattr(self, name)
            positive(value, name, zero=True)
        if not (math.isfinite(self.mass_error) and self.mass_error > -1.0):
            raise BrazoError(f"mass_error = {self.mass_error}; it must be greater than -1")
        if not self.disturbance_start < self.disturbance_stop:
            raise BrazoError(
                f"the disturbance ends at {self.disturbance_stop:g} s, not after its start at "
                f"{self.disturbance_start:g} s"
            )


#: Numbers of a case that can be factors.
CASE_FACTORS = (
    "payload", "mass_error", "position_noise", "velocity_noise", "start_error", "delay",
    "disturbance",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ControllerChoice:
    """Controller given by name, options and gains."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Controller:
        """Return a new controller that is not bound to a robot."""
        known = controllers()
        if self.kind not in known:
            raise BrazoError(f"no controller '{self.kind}'; controllers: {', '.join(known)}")
        kind = known[self.kind]
        allowed = list(inspect.signature(kind).parameters)
        for name in self.options:
            if name not in allowed:
                raise BrazoError(
                    f"{self.kind} has no option '{name}'; options: {', '.join(allowed)}"
                )
        try:
            return kind(**self.options)
        except TypeError as error:
            raise BrazoError(f"{self.kind}: {error}") from None


def named_controllers(given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    """Return a mapping from names to controllers.

    `given` is such a mapping, one name of a controller, or several names.
    """
    if isinstance(given, Mapping):
        return dict(given)
    return {one: ControllerChoice(one) for one in listed(given)}


def listed(given: Any) -> list[Any]:
    """Return `given` as a list; a string, a path or a function is one entry."""
    return [given] if isinstance(given, (str, Path)) or callable(given) else list(given)


def make_controller(choice: Controller | ControllerChoice) -> Controller:
    """Return a new, independent controller for one group of runs."""
    return copy.deepcopy(choice) if isinstance(choice, Controller) else choice.make()


def make_task(robot: Robot, task: str | Path | Callable[[Robot], Task]) -> Task:
    """Return the trajectory of a task for a robot: a function t -> (q, qd, qdd).

    `task` is "sines", "quintic", "step", the path of a via-point file, or a function that returns
    the trajectory for a robot.
    """
    if callable(task):
        return task(robot)
    if task == "sines":
        return sines(robot)
    if task == "quintic":
        return quintic(robot)
    if task == "step":
        return step(robot)
    return read_via_points(task, robot)


def step(robot: Robot) -> Task:
    """Return a trajectory in which every joint makes a step of 0.1 rad or 0.01 m at t = 0.05 s.

    The start is the first pose of the robot, or zero if the robot has no poses.  A joint steps in
    negative direction if it would otherwise exceed its upper limit.
    """
    start = np.array(next(iter(robot.poses.values()), np.zeros(robot.n)), dtype=float)
    size = np.array([STEP if kind == "revolute" else 0.1 * STEP for kind in robot.joint_kinds])
    goal = np.where(start + size > robot.limits[:, 1], start - size, start + size)
    zero = np.zeros(robot.n)
    return lambda t: (start if t < 0.05 else goal, zero, zero)


def joint_index(robot: Robot, joint: str | int, what: str) -> int:
    """Return the index of a joint given by name, or by number from 1.

    The error message starts with `what`.
    """
    if isinstance(joint, str) and joint in robot.joint_names:
        return robot.joint_names.index(joint)
    if isinstance(joint, int) and 1 <= joint <= robot.n:
        return joint - 1
    raise BrazoError(
        f"{what}: robot '{robot.name}' has no joint {joint!r}; joints: "
        f"{', '.join(robot.joint_names)}, or 1 to {robot.n}"
    )

"""Faults of a robot: joints, drives, encoders and command delay.

    JointLocked     a joint stays at its position, regardless of forces (brake, jammed gear)
    JointFree       a joint is unpowered: its drive delivers no torque
    TorqueLoss      a drive delivers only a fraction of the commanded torque
    EncoderBias     an encoder has a constant offset
    EncoderNoise    measured position and velocity have Gaussian noise (seeded by the simulation)
    EncoderFrozen   an encoder keeps its reading from the start of the fault; measured velocity is 0
    CommandDelay    torques reach the drives with a delay

Locks and torque losses act in the engine, as an equality constraint and as a drive gain.  They
therefore affect any kind of controller.  Encoder faults act between the robot and its controller;
the values that the controller receives are recorded as `measured`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.kinematics.result import joint_text
from brazo.world import WorldRobot

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the robot with the name `robot`; `Simulation.inject` activates the fault."""

    robot: str

    #: Whether the fault changes the measurements that the controller receives.
    on_sensors: ClassVar[bool] = False
    #: Whether the fault changes the torques that the drives receive.
    on_command: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """Message that describes the fault; joint values are in rad or m."""
        return type(self).__name__

    def text_for(self, robot: WorldRobot | None) -> str:
        """Return `text` with joint values in ° or mm; if `robot` is None, return `text`."""
        return self.text

    def check(self, robot: WorldRobot, dt: float) -> None:
        """Raise `BrazoError` if the fault cannot be applied; `dt` (s) is the step size."""

    def begin(self, robot: WorldRobot) -> None:
        """Activate the fault in the engine."""

    def end(self, robot: WorldRobot) -> None:
        """Clear the fault in the engine."""

    def weaken(self, gain: Array, robot: WorldRobot) -> None:
        """Reduce `gain` (n,) in place; drive i delivers the fraction `gain[i]` of its torque."""

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        """Return a new object that changes measurements and commands in every step.

        `dt` (s) is the step size, and `rng` generates random noise.
        """
        return Effect()


class Effect:
    """Effect of an active fault on measurements and drive commands."""

    def sense(self, q: Array, qd: Array) -> None:
        """Change the measured positions and velocities (n,) in place."""

    def command(self, tau: Array) -> Array:
        """Return the torques (n,) that reach the drives when `tau` (n,) is commanded."""
        return tau


@dataclass(frozen=True, slots=True)
class JointFault(Fault):
    """A fault of the joint with the name `joint`."""

    joint: str

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)

    def index(self, robot: WorldRobot) -> int:
        """Return the index of the joint in the robot; raise an error if there is none."""
        if self.joint not in robot.joint_names:
            raise BrazoError(
                f"robot '{robot.name}' has no joint '{self.joint}'; "
                f"joints: {', '.join(robot.joint_names)}"
            )
        return robot.joint_names.index(self.joint)

    def _amount(self, value: float, robot: WorldRobot | None) -> str:
        """Format `value` (rad or m) for messages, in ° or mm if the robot is known."""
        if robot is None or self.joint not in robot.joint_names:
            return f"{value:g} rad or m"
        return joint_text(robot.model.joint_kinds[self.index(robot)], value, ".4g")


@dataclass(frozen=True, slots=True)
class JointLocked(JointFault):
    """Fault: a joint stays at its position, regardless of the forces on it."""

    @property
    def text(self) -> str:
        return f"{self.robot}: joint '{self.joint}' is locked"

    def begin(self, robot: WorldRobot) -> None:
        robot.lock(self.index(robot))

    def end(self, robot: WorldRobot) -> None:
        robot.unlock(self.index(robot))


@dataclass(frozen=True, slots=True)
class TorqueLoss(JointFault):
    """Fault: a drive loses the fraction `share` (0 to 1) of its torque."""

    share: float

    @property
    def text(self) -> str:
        return f"{self.robot}: torque loss of {self.share:.0%} at joint '{self.joint}'"

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)
        if not 0.0 <= self.share <= 1.0:
            raise BrazoError(f"torque loss {self.share:g}: must be from 0 to 1")

    def weaken(self, gain: Array, robot: WorldRobot) -> None:
        gain[self.index(robot)] *= 1.0 - self.share


@dataclass(frozen=True, slots=True)
class JointFree(JointFault):
    """Fault: a joint is unpowered; its drive delivers no torque."""

    @property
    def text(self) -> str:
        return f"{self.robot}: joint '{self.joint}' is unpowered"

    def weaken(self, gain: Array, robot: WorldRobot) -> None:
        gain[self.index(robot)] = 0.0


@dataclass(frozen=True, slots=True)
class EncoderBias(JointFault):
    """Fault: an encoder has a constant offset `bias` (rad or m)."""

    bias: float
    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return self.text_for(None)

    def text_for(self, robot: WorldRobot | None) -> str:
        return f"{self.robot}: encoder bias of '{self.joint}': {self._amount(self.bias, robot)}"

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)
        if not math.isfinite(self.bias):
            raise BrazoError(f"encoder bias {self.bias}: must be finite")

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Bias(self.index(robot), self.bias)


@dataclass(frozen=True, slots=True)
class EncoderNoise(JointFault):
    """Fault: Gaussian noise on the measurements of one joint.

    The standard deviation is `std` (rad or m) for the position and `rate_std` (rad/s or m/s) for
    the velocity.
    """

    std: float
    rate_std: float = 0.0
    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return self.text_for(None)

    def text_for(self, robot: WorldRobot | None) -> str:
        return f"{self.robot}: encoder noise of '{self.joint}': σ = {self._amount(self.std, robot)}"

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)
        for value in (self.std, self.rate_std):
            positive(value, "noise", zero=True)

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Noise(self.index(robot), self.std, self.rate_std, rng)


@dataclass(frozen=True, slots=True)
class EncoderFrozen(JointFault):
    """Fault: an encoder keeps its reading from the start of the fault; measured velocity is 0.

    The reading includes the effect of earlier faults of the encoder, such as a bias.
    """

    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: encoder of '{self.joint}' is stuck"

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Frozen(self.index(robot))


@dataclass(frozen=True, slots=True)
class CommandDelay(Fault):
    """Fault: commanded torques reach the drives after a delay of `delay` seconds.

    The delay is rounded to a whole number of simulation steps.
    """

    delay: float
    on_command: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: command delay {1e3 * self.delay:g} ms"

    def check(self, robot: WorldRobot, dt: float) -> None:
        positive(self.delay, "delay (s)", zero=True)
        if round(self.delay / dt) > MAX_QUEUED:
            raise BrazoError(f"delay {self.delay:g} s: must be at most {MAX_QUEUED * dt:g} s")

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Delay(round(self.delay / dt), robot.torque.copy())


MAX_QUEUED = 100_000  # commands


class _Bias(Effect):
    def __init__(self, joint: int, bias: float) -> None:
        self._joint, self._bias = joint, bias

    def sense(self, q: Array, qd: Array) -> None:
        q[self._joint] += self._bias


class _Noise(Effect):
    def __init__(self, joint: int, std: float, rate: float, rng: np.random.Generator) -> None:
        self._joint, self._std, self._rate, self._rng = joint, std, rate, rng

    def sense(self, q: Array, qd: Array) -> None:
        first, second = self._rng.standard_normal(2)
        q[self._joint] += self._std * first
        qd[self._joint] += self._rate * second


class _Frozen(Effect):
    def __init__(self, joint: int) -> None:
        self._joint = joint
        self._value: float | None = None  # first reading, changed by earlier faults

    def sense(self, q: Array, qd: Array) -> None:
        if self._value is None:
            self._value = float(q[self._joint])
        q[self._joint], qd[self._joint] = self._value, 0.0


class _Delay(Effect):
    """Queue of delayed commands.

    Until the first delayed command reaches the drives, they keep the torques from before the fault.
    """

    def __init__(self, steps: int, last: Array) -> None:
        self._queue = deque([last.copy() for _ in range(steps)])

    def command(self, tau: Array) -> Array:
        self._queue.append(tau.copy())
        return self._queue.popleft()

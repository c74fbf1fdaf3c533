"""What can go wrong with a robot: joints, drives, encoders, the command line.

    JointLocked     a joint stays where it is, whatever pushes it (a brake, a jammed gear)
    JointFree       a joint's drive gives nothing; the joint swings
    TorqueLoss      a drive gives only part of what it is asked for
    EncoderBias     an encoder is off by a constant
    EncoderNoise    an encoder and its speed have Gaussian noise, from the simulation's seed
    EncoderFrozen   an encoder says for ever what it said when it froze, speed 0
    CommandDelay    torques reach the drives late

Locks and torques are the engine's own (an equality, the gain of a drive), so laws in any form feel
them.  Encoders stand between the robot and its law; what the law sees is recorded as `measured`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brazo.errors import BrazoError
from brazo.world import WorldRobot

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a robot; `sim.inject(fault)` makes it so."""

    robot: str

    #: Whether it stands between the encoders and the law, or between the law and the drives.
    on_sensors: ClassVar[bool] = False
    on_command: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """A sentence about it."""
        return type(self).__name__

    def check(self, robot: WorldRobot, dt: float) -> None:
        """Refuse what makes no sense for this robot."""

    def begin(self, robot: WorldRobot) -> None:
        """Make it so in the engine, once."""

    def end(self, robot: WorldRobot) -> None:
        """Undo it in the engine."""

    def weaken(self, gain: Array, robot: WorldRobot) -> None:
        """Lower the gains (n,) of the drives in place."""

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        """What it does in every step; for faults of encoders and commands."""
        return Effect()


class Effect:
    """A fault at work: may change what is measured, and what the drives are told."""

    def sense(self, q: Array, qd: Array) -> None:
        """Change measured positions and speeds (n,) in place."""

    def command(self, tau: Array) -> Array:
        """The torques (n,) that reach the drives instead."""
        return tau


@dataclass(frozen=True, slots=True)
class JointFault(Fault):
    """A fault of one joint, by name."""

    joint: str

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)

    def index(self, robot: WorldRobot) -> int:
        """Which joint of the robot it is."""
        if self.joint not in robot.joint_names:
            raise BrazoError(
                f"robot '{robot.name}' has no joint '{self.joint}'; "
                f"joints: {', '.join(robot.joint_names)}"
            )
        return robot.joint_names.index(self.joint)


@dataclass(frozen=True, slots=True)
class JointLocked(JointFault):
    """A joint that stays where it is."""

    @property
    def text(self) -> str:
        return f"{self.robot}: joint '{self.joint}' is locked"

    def begin(self, robot: WorldRobot) -> None:
        robot.lock(self.index(robot))

    def end(self, robot: WorldRobot) -> None:
        robot.unlock(self.index(robot))


@dataclass(frozen=True, slots=True)
class TorqueLoss(JointFault):
    """A drive that gives only part of its torque; `share` (0..1) is what is lost."""

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
    """A joint whose drive gives nothing."""

    @property
    def text(self) -> str:
        return f"{self.robot}: joint '{self.joint}' is unpowered"

    def weaken(self, gain: Array, robot: WorldRobot) -> None:
        gain[self.index(robot)] = 0.0


@dataclass(frozen=True, slots=True)
class EncoderBias(JointFault):
    """An encoder that is off by `bias` (rad or m)."""

    bias: float
    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: encoder bias of '{self.joint}': {self.bias:g}"

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)
        if not math.isfinite(self.bias):
            raise BrazoError(f"encoder bias {self.bias}: must be finite")

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Bias(self.index(robot), self.bias)


@dataclass(frozen=True, slots=True)
class EncoderNoise(JointFault):
    """An encoder with Gaussian noise of `std` (rad or m), its speed with `rate_std` (per s)."""

    std: float
    rate_std: float = 0.0
    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: encoder noise of '{self.joint}': σ = {self.std:g}"

    def check(self, robot: WorldRobot, dt: float) -> None:
        self.index(robot)
        for value in (self.std, self.rate_std):
            if not (math.isfinite(value) and value >= 0.0):
                raise BrazoError(f"noise {value:g}: must be finite, 0 or more")

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Noise(self.index(robot), self.std, self.rate_std, rng)


@dataclass(frozen=True, slots=True)
class EncoderFrozen(JointFault):
    """An encoder that says the same for ever."""

    on_sensors: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: encoder of '{self.joint}' is stuck"

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        index = self.index(robot)
        return _Frozen(index, float(robot.q[index]))


@dataclass(frozen=True, slots=True)
class CommandDelay(Fault):
    """Torques that reach the drives `delay` seconds late."""

    delay: float
    on_command: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.robot}: command delay {1e3 * self.delay:g} ms"

    def check(self, robot: WorldRobot, dt: float) -> None:
        if not (math.isfinite(self.delay) and self.delay >= 0.0):
            raise BrazoError(f"delay {self.delay:g} s: must be finite, 0 s or more")
        if round(self.delay / dt) > MOST_WAITING:
            raise BrazoError(f"delay {self.delay:g} s: at most {MOST_WAITING * dt:g} s")

    def effect(self, robot: WorldRobot, dt: float, rng: np.random.Generator) -> Effect:
        return _Delay(round(self.delay / dt), robot.torque.copy())


MOST_WAITING = 100_000  # commands


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
    def __init__(self, joint: int, value: float) -> None:
        self._joint, self._value = joint, value

    def sense(self, q: Array, qd: Array) -> None:
        q[self._joint], qd[self._joint] = self._value, 0.0


class _Delay(Effect):
    """The drives go on with what they were told last until the first late command arrives."""

    def __init__(self, steps: int, last: Array) -> None:
        self._under_way = deque([last.copy() for _ in range(steps)])

    def command(self, tau: Array) -> Array:
        self._under_way.append(tau.copy())
        return self._under_way.popleft()

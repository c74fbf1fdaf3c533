"""Actuators of joints: a DC motor with PWM supply and gear, optionally with a position servo.

The input of an actuator is a torque command (DC motor) or a joint position reference (position
servo). Its output is the joint torque that motor, amplifier and gear deliver within their limits.
Actuators are data of the robot file. They are used only if the drives of the robot are `real`;
ideal drives deliver the commanded torque. The equations are in `brazo.control.actuators`.

Units are SI and radians. Motor values are at the motor shaft, servo values at the joint, except
the encoder, whose counts are per turn of the motor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from brazo.checks import one_of
from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.model.description import Drive, Model

DriveKind = Literal["ideal", "real"]
DRIVE_KINDS: tuple[DriveKind, ...] = ("ideal", "real")


@dataclass(frozen=True, slots=True)
class Motor:
    """Permanent-magnet DC motor with L di/dt = V − R i − k ω and torque k i.

    L is the inductance, R the resistance, k the torque constant, i the current, V the voltage and ω
    the rotor speed.
    """

    resistance: float  # ohm
    inductance: float  # H
    torque_constant: float  # N m/A, and V s/rad
    inertia: float  # kg m², of the rotor
    viscous: float = 0.0  # N m s/rad
    coulomb: float = 0.0  # N m
    max_current: float = math.inf  # A, limited by the amplifier


@dataclass(frozen=True, slots=True)
class Pwm:
    """Pulse-width modulated supply; only its mean voltage (duty cycle · supply) is modelled.

    The duty cycle is from −1 to 1. It is a multiple of 1/steps (any value if `steps` is 0) and
    changes at most `frequency` times per second.
    """

    supply: float  # V
    steps: int = 0  # levels from 0 to the full supply; 0: continuous
    frequency: float = math.inf  # Hz


@dataclass(frozen=True, slots=True)
class Gear:
    """Gear: ratio (motor rad per joint rad or m), efficiency, backlash (rad or m at the joint)."""

    ratio: float = 1.0
    efficiency: float = 1.0
    backlash: float = 0.0


@dataclass(frozen=True, slots=True)
class Servo:
    """Position servo: a PI position loop around a PI speed loop, with an encoder on the motor."""

    position: float  # 1/s
    speed: float  # N m s/rad or N s/m
    position_integral: float = 0.0  # 1/s²
    speed_integral: float = 0.0  # N m/rad or N/m
    encoder: float = 0.0  # counts per turn of the motor; 0: exact


@dataclass(frozen=True, slots=True)
class Actuator:
    """Motor, supply and gear of a joint, and optionally a position servo.

    With a servo, the input is a joint position reference; without, it is a torque command.
    """

    motor: Motor
    pwm: Pwm
    gear: Gear = Gear()
    current_bandwidth: float | None = None  # rad/s, of a current loop; None: no current sensor
    servo: Servo | None = None

    @property
    def kind(self) -> str:
        """Kind of actuator: `"servo"` if it has a position servo, otherwise `"dc motor"`."""
        return "dc motor" if self.servo is None else "servo"

    @property
    def armature(self) -> float:
        """Rotor inertia reflected to the joint: ratio² · rotor inertia (kg m² or kg)."""
        return self.gear.ratio**2 * self.motor.inertia


def with_drives(model: Model, kind: DriveKind) -> Model:
    """Return the model with drives of this kind: "real" (the actuators of its file) or "ideal".

    A joint without an actuator keeps its ideal drive. In a real drive, gear ratio and rotor inertia
    of the actuator replace gear ratio and motor inertia of the ideal drive. For a gear with
    backlash, the motor inertia is set to 0, because the rotor moves separately within the gap.
    """
    one_of(kind, DRIVE_KINDS, "drives")
    if kind == "ideal":
        return model.with_each_drive(_ideal) if model.real_drives else model
    require_actuators(model)
    return model.with_each_drive(_real)


def require_actuators(model: Model) -> None:
    """Raise an error if the robot has no actuator, or if the inertia of a body is unknown."""
    if not any(drive.actuator for drive in model.drives):
        raise BrazoError(
            f"robot '{model.name}': drives 'real' needs an actuator in its file; add "
            "'actuator: {motor: ..., pwm: ...}' to its joints, or use drives 'ideal'"
        )
    if model.missing_inertia:
        raise BrazoError(
            f"robot '{model.name}': drives 'real' needs the inertia of every link, but it is "
            f"missing for {', '.join(model.missing_inertia)}; give it in the file, or use drives "
            "'ideal'"
        )


def _real(drive: Drive) -> Drive:
    found = drive.actuator
    if found is None or drive.real is not None:
        return drive
    rotor = 0.0 if found.gear.backlash else found.motor.inertia
    ideal = (drive.gear, drive.motor_inertia)
    return replace(drive, gear=found.gear.ratio, motor_inertia=rotor, real=ideal)


def _ideal(drive: Drive) -> Drive:
    if drive.real is None:
        return drive
    gear, inertia = drive.real
    return replace(drive, gear=gear, motor_inertia=inertia, real=None)

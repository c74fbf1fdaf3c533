"""Fields of a joint's actuator in a robot file: motor, PWM supply, gear, current loop, servo."""

from __future__ import annotations

import math

from brazo import units
from brazo.formats.document import Field
from brazo.formats.robot_yaml.joint_fields import Names, ReadingContext, position_of
from brazo.model.actuators import Actuator, Gear, Motor, Pwm, Servo
from brazo.model.description import JointKind

_MAX_STEPS = 1 << 20
_PER_LENGTH: units.Dimension = (-1, 0, 0, 0, 0)  # of a screw: 2*pi/10mm


def read_actuator(field: Field | None, kind: JointKind, context: ReadingContext) -> Actuator | None:
    """Return the actuator in `field`, for a joint of this `kind`; None if the field is absent."""
    if field is None or field.is_null:
        return None
    names = context.names
    allowed = ("motor", "pwm", "gear", "current_bandwidth", "servo")
    fields = field.mapping(allowed, required=("motor", "pwm"))
    bandwidth = None
    if "current_bandwidth" in fields:
        entry = fields["current_bandwidth"]
        bandwidth = 2.0 * math.pi * entry.number(units.FREQUENCY, names=names, above=0.0)
    return Actuator(
        _motor(fields["motor"], names),
        _pwm(fields["pwm"], names),
        _gear(fields["gear"], kind, names) if "gear" in fields else Gear(),
        bandwidth,
        _servo(fields["servo"], names) if "servo" in fields else None,
    )


def _motor(field: Field, names: Names) -> Motor:
    required = {
        "resistance": units.RESISTANCE,
        "inductance": units.INDUCTANCE,
        "torque_constant": units.TORQUE_CONSTANT,
        "inertia": units.INERTIA,
    }
    fields = field.mapping((*required, "friction", "max_current"), required=required)
    given = {
        key: fields[key].number(dimension, names=names, above=0.0)
        for key, dimension in required.items()
    }
    if "friction" in fields:
        friction = fields["friction"].mapping(("viscous", "coulomb"))
        if "viscous" in friction:
            given["viscous"] = friction["viscous"].number(names=names, at_least=0.0)
        if "coulomb" in friction:
            entry = friction["coulomb"]
            given["coulomb"] = entry.number(units.TORQUE, names=names, at_least=0.0)
    if "max_current" in fields:
        given["max_current"] = fields["max_current"].number(units.CURRENT, names=names, above=0.0)
    return Motor(**given)


def _pwm(field: Field, names: Names) -> Pwm:
    fields = field.mapping(("supply", "steps", "frequency"), required=("supply",))
    supply = fields["supply"].number(units.VOLTAGE, names=names, above=0.0)
    steps, frequency = 0, math.inf
    if "steps" in fields:
        count = fields["steps"].number(names=names, at_least=1.0)
        steps = round(count)
        if steps != count or steps > _MAX_STEPS:
            fields["steps"].fail(f"{count:g} is not a whole number from 1 to {_MAX_STEPS}")
    if "frequency" in fields:
        frequency = fields["frequency"].number(units.FREQUENCY, names=names, above=0.0)
    return Pwm(supply, steps, frequency)


def _gear(field: Field, kind: JointKind, names: Names) -> Gear:
    fields = field.mapping(("ratio", "efficiency", "backlash"))
    given = {}
    if "ratio" in fields:
        per_length = () if kind == "revolute" else (units.NUMBER, _PER_LENGTH)
        given["ratio"] = fields["ratio"].number(*per_length, names=names)
        if given["ratio"] == 0.0:
            fields["ratio"].fail("the gear ratio must not be 0")
    if "efficiency" in fields:
        given["efficiency"] = fields["efficiency"].number(names=names, above=0.0)
        if given["efficiency"] > 1.0:
            fields["efficiency"].fail(
                f"{given['efficiency']:g} is above the maximum, 1: no gear adds energy"
            )
    if "backlash" in fields:
        entry = fields["backlash"]
        given["backlash"] = entry.number(position_of(kind), names=names, at_least=0.0)
    return Gear(**given)


def _servo(field: Field, names: Names) -> Servo:
    allowed = ("position", "position_integral", "speed", "speed_integral", "encoder")
    fields = field.mapping(allowed, required=("position", "speed"))
    return Servo(**{key: one.number(names=names, at_least=0.0) for key, one in fields.items()})

"""Dimensions of quantities as powers of base dimensions, and the units that files may use."""

from __future__ import annotations

import math

Dimension = tuple[int, int, int, int, int]  # powers of length, mass, time, angle, current

NUMBER: Dimension = (0, 0, 0, 0, 0)
LENGTH: Dimension = (1, 0, 0, 0, 0)
MASS: Dimension = (0, 1, 0, 0, 0)
TIME: Dimension = (0, 0, 1, 0, 0)
ANGLE: Dimension = (0, 0, 0, 1, 0)
SPEED: Dimension = (1, 0, -1, 0, 0)
ANGULAR_SPEED: Dimension = (0, 0, -1, 1, 0)
ACCELERATION: Dimension = (1, 0, -2, 0, 0)
FORCE: Dimension = (1, 1, -2, 0, 0)
TORQUE: Dimension = (2, 1, -2, 0, 0)
INERTIA: Dimension = (2, 1, 0, 0, 0)
FREQUENCY: Dimension = (0, 0, -1, 0, 0)
CURRENT: Dimension = (0, 0, 0, 0, 1)
VOLTAGE: Dimension = (2, 1, -3, 0, -1)
RESISTANCE: Dimension = (2, 1, -3, 0, -2)
INDUCTANCE: Dimension = (2, 1, -2, 0, -2)
TORQUE_CONSTANT: Dimension = (2, 1, -2, 0, -1)  # of Nm/A

_NAMES = {
    NUMBER: "a plain number",
    LENGTH: "a length",
    MASS: "a mass",
    TIME: "a time",
    ANGLE: "an angle",
    SPEED: "a speed",
    ANGULAR_SPEED: "an angular speed",
    ACCELERATION: "an acceleration",
    FORCE: "a force",
    TORQUE: "a torque",
    INERTIA: "an inertia",
    FREQUENCY: "a frequency",
    CURRENT: "a current",
    VOLTAGE: "a voltage",
    RESISTANCE: "a resistance",
    INDUCTANCE: "an inductance",
    TORQUE_CONSTANT: "a torque constant",
}

_EXAMPLES = {
    ACCELERATION: "2m/(1s)^2",
    INERTIA: "0.5kg*(1m)^2",
    TORQUE_CONSTANT: "0.05Nm/1A",
}

UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, LENGTH),
    "cm": (1e-2, LENGTH),
    "mm": (1e-3, LENGTH),
    "um": (1e-6, LENGTH),
    "in": (0.0254, LENGTH),
    "ft": (0.3048, LENGTH),
    "rad": (1.0, ANGLE),
    "deg": (math.pi / 180.0, ANGLE),
    "kg": (1.0, MASS),
    "g": (1e-3, MASS),
    "lb": (0.45359237, MASS),
    "s": (1.0, TIME),
    "ms": (1e-3, TIME),
    "N": (1.0, FORCE),
    "kN": (1e3, FORCE),
    "Nm": (1.0, TORQUE),
    "mNm": (1e-3, TORQUE),
    "rpm": (2.0 * math.pi / 60.0, ANGULAR_SPEED),
    "Hz": (1.0, FREQUENCY),
    "kHz": (1e3, FREQUENCY),
    "V": (1.0, VOLTAGE),
    "A": (1.0, CURRENT),
    "ohm": (1.0, RESISTANCE),
    "H": (1.0, INDUCTANCE),
    "mH": (1e-3, INDUCTANCE),
}


def dimension_name(dimension: Dimension | None) -> str:
    """Return the name of a dimension for error messages, such as `a length` or `length^2`."""
    if dimension is None:
        return "a plain number"
    bases = ("length", "mass", "time", "angle", "current")
    text = " ".join(f"{base}^{p}" for base, p in zip(bases, dimension, strict=True) if p)
    return _NAMES.get(dimension, text)


def units_of(dimension: Dimension) -> list[str]:
    """Return the names of the units of a dimension."""
    return [name for name, (_, own) in UNITS.items() if own == dimension]


def expected(dimension: Dimension) -> str:
    """Return the name of a dimension and its units for error messages.

    An example is `a mass (units: kg, g, lb)`.  If no unit has this dimension, a sample value is
    shown instead, as in `(such as 2m/(1s)^2)`.
    """
    units = ", ".join(units_of(dimension) + _units_per_second(dimension))
    if units or dimension == NUMBER:
        return f"{dimension_name(dimension)} (units: {units or 'none'})"
    example = _EXAMPLES.get(dimension)
    return dimension_name(dimension) + (f" (such as {example})" if example else "")


def _units_per_second(dimension: Dimension) -> list[str]:
    """Return the units of a dimension that have the form `unit/s`, such as `deg/s`."""
    a, b, c, d, e = dimension
    times_second: Dimension = (a, b, c + 1, d, e)
    if times_second == TIME:  # s/s is a plain number
        return []
    return [f"{name}/s" for name in units_of(times_second)]

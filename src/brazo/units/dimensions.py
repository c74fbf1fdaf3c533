"""Dimensions of quantities as powers of the base ones, and the units one may write."""

from __future__ import annotations

import math

Dimension = tuple[int, int, int, int]  # powers of length, mass, time, angle

NUMBER: Dimension = (0, 0, 0, 0)
LENGTH: Dimension = (1, 0, 0, 0)
MASS: Dimension = (0, 1, 0, 0)
TIME: Dimension = (0, 0, 1, 0)
ANGLE: Dimension = (0, 0, 0, 1)
SPEED: Dimension = (1, 0, -1, 0)
ANGULAR_SPEED: Dimension = (0, 0, -1, 1)
ACCELERATION: Dimension = (1, 0, -2, 0)
FORCE: Dimension = (1, 1, -2, 0)
TORQUE: Dimension = (2, 1, -2, 0)
INERTIA: Dimension = (2, 1, 0, 0)

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
}


def dimension_name(dimension: Dimension | None) -> str:
    """Return the name of a dimension, for messages."""
    if dimension is None:
        return "a plain number"
    return _NAMES.get(dimension, f"length^{dimension[0]} mass^{dimension[1]} time^{dimension[2]}")


def units_of(dimension: Dimension) -> list[str]:
    """Return the names of the units of a dimension."""
    return [name for name, (_, d) in UNITS.items() if d == dimension]

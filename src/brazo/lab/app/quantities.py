"""Conversion between numbers and the text of fields, with units and expressions."""

from __future__ import annotations

import math
from typing import Literal

from brazo import units
from brazo.errors import BrazoError

Quantity = Literal[
    "number", "deg", "rad", "mm", "m", "s", "ms", "kg", "N", "percent", "deg/s", "mm/s"
]

# Factor from a plain number to SI, and the dimension that an explicit unit must have.
_MEANING: dict[str, tuple[float, object]] = {
    "number": (1.0, None),
    "deg": (math.pi / 180.0, units.ANGLE),
    "rad": (1.0, units.ANGLE),
    "mm": (1e-3, units.LENGTH),
    "m": (1.0, units.LENGTH),
    "s": (1.0, units.TIME),
    "ms": (1e-3, units.TIME),
    "kg": (1.0, units.MASS),
    "N": (1.0, units.FORCE),
    "percent": (0.01, None),
    "deg/s": (math.pi / 180.0, units.ANGULAR_SPEED),
    "mm/s": (1e-3, units.SPEED),
}


def read_quantity(given: float | str, unit: Quantity) -> float:
    """Convert a number, or text with an optional unit or expression, to a value in SI units.

    A number without a unit is in `unit`; an angle that contains `pi` is in rad.  Raises
    `BrazoError` for invalid text.
    """
    scale, dimension = _MEANING[unit]
    if not isinstance(given, str):
        return float(given) * scale
    text = given.strip().replace("−", "-").replace("°", "deg").replace("%", "")
    if "," in text and "." not in text:
        text = text.replace(",", ".")
    if not text:
        raise BrazoError("empty field: expected a number")
    plain = units.parse(text).dimension is None
    if plain and not (dimension is units.ANGLE and "pi" in units.names_in(text)):
        return units.quantity(text) * scale
    if dimension is None:
        raise BrazoError(f"'{text}' has a unit: expected a plain number")
    return units.quantity(text, dimension)  # type: ignore[arg-type]


def fixed(value: float, digits: int) -> str:
    """Format a number with `digits` decimals, a Unicode minus sign and no negative zero."""
    text = f"{value:.{digits}f}"
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.") else f"−{text[1:]}"
    return text

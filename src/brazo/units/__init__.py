"""Quantities with units: `90deg`, `20 cm`, `9in`, `L1/2`, evaluated to SI units and radians.

`dimensions` defines the units, `quantities` the arithmetic with dimension checks, and `expressions`
the grammar and the expression tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from brazo.errors import BrazoError
from brazo.units.dimensions import (
    ACCELERATION,
    ANGLE,
    ANGULAR_SPEED,
    CURRENT,
    FORCE,
    FREQUENCY,
    INDUCTANCE,
    INERTIA,
    LENGTH,
    MASS,
    NUMBER,
    RESISTANCE,
    SPEED,
    TIME,
    TORQUE,
    TORQUE_CONSTANT,
    UNITS,
    VOLTAGE,
    Dimension,
    dimension_name,
    expected,
    units_of,
)
from brazo.units.expressions import RESERVED, Expression, names_in, parse_expression
from brazo.units.quantities import Quantity

__all__ = [
    "ACCELERATION",
    "ANGLE",
    "ANGULAR_SPEED",
    "CURRENT",
    "FORCE",
    "FREQUENCY",
    "INDUCTANCE",
    "INERTIA",
    "LENGTH",
    "MASS",
    "NUMBER",
    "RESERVED",
    "RESISTANCE",
    "SPEED",
    "TIME",
    "TORQUE",
    "TORQUE_CONSTANT",
    "UNITS",
    "VOLTAGE",
    "Dimension",
    "Expression",
    "Quantity",
    "dimension_name",
    "expected",
    "names_in",
    "parse",
    "parse_expression",
    "quantity",
    "units_of",
]


def parse(text: str, names: Mapping[str, Quantity] | None = None) -> Quantity:
    """Evaluate an expression such as `90deg` or `-L1/2` to a quantity in SI units.

    `names` maps the names of parameters to their values.
    """
    return parse_expression(text, names or ()).evaluate(names)


def quantity(
    text: str, dimension: Dimension = NUMBER, names: Mapping[str, Quantity] | None = None
) -> float:
    """Evaluate an expression to a float in SI units.

    A value without a unit is accepted for every dimension and taken as SI.  A value of another
    dimension than `dimension` raises a `BrazoError`.  `names` maps the names of parameters to their
    values.
    """
    result = parse(text, names)
    if result.dimension is None or result.dimension == dimension:
        return result.value
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise BrazoError(
        f"'{shown}' is {dimension_name(result.dimension)}, expected {expected(dimension)}"
    )

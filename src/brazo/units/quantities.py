"""Floats that carry a dimension, with the arithmetic that checks it.

A quantity without a dimension is *free*: it was written without a unit and takes whatever dimension
the field asks for, so `2*L1` and `L1 + 0.1` are lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from brazo.errors import BrazoError
from brazo.units.dimensions import NUMBER, UNITS, Dimension, dimension_name


class Refused(BrazoError):
    """An operation without a result; the message continues the text of the expression."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A float in SI with its dimension; `dimension=None` means free (no unit was written)."""

    value: float
    dimension: Dimension | None = None

    def __neg__(self) -> Quantity:
        return Quantity(-self.value, self.dimension)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.value + other.value, self._common(other))

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self._common(other))

    def __mul__(self, other: Quantity) -> Quantity:
        return Quantity(self.value * other.value, self._product(other, 1))

    def __truediv__(self, other: Quantity) -> Quantity:
        if other.value == 0.0:
            raise Refused(" divides by zero")
        return Quantity(self.value / other.value, self._product(other, -1))

    def __pow__(self, exponent: Quantity) -> Quantity:
        if exponent.dimension is not None:
            raise Refused(": an exponent cannot carry a unit")
        dimension = self.dimension
        if dimension is not None:
            if abs(exponent.value) > 9 or exponent.value != int(exponent.value):
                raise Refused(": a unit needs a whole exponent")
            a, b, c, d = (int(exponent.value) * power for power in dimension)
            dimension = (a, b, c, d)
        try:
            value = self.value**exponent.value
        except (OverflowError, ZeroDivisionError) as error:
            raise Refused(" is not a finite number") from error
        if isinstance(value, complex):
            raise Refused(" is not a real number")
        return Quantity(value, dimension)

    def _common(self, other: Quantity) -> Dimension | None:
        """Dimension of a sum."""
        if self.dimension is None:
            return other.dimension
        if other.dimension is not None and other.dimension != self.dimension:
            raise Refused(
                f" adds {dimension_name(self.dimension)} and {dimension_name(other.dimension)}"
            )
        return self.dimension

    def _product(self, other: Quantity, sign: int) -> Dimension | None:
        """Dimension of a product or quotient; a free factor takes no part (`2*L1`, `L1/2`)."""
        if other.dimension is None:
            return self.dimension
        if self.dimension is None and sign > 0:
            return other.dimension
        a, b, c, d = self.dimension or NUMBER
        e, f, g, h = other.dimension
        return a + sign * e, b + sign * f, c + sign * g, d + sign * h


class QuantityScalars:
    """Literals, pi and functions as quantities; see `brazo.units.expressions.Scalars`."""

    pi = Quantity(math.pi)

    def literal(self, number: str, unit: str | None, per_second: bool) -> Quantity:
        if unit is None:
            return Quantity(float(number))
        scale, dimension = UNITS[unit]
        if per_second:
            dimension = (dimension[0], dimension[1], dimension[2] - 1, dimension[3])
        return Quantity(float(number) * scale, dimension)

    def call(self, function: str, argument: Quantity) -> Quantity:
        if function == "abs":
            return Quantity(abs(argument.value), argument.dimension)
        try:
            return Quantity(_FUNCTIONS[function](argument.value))
        except ValueError as error:
            raise Refused(" is not a real number") from error


_FUNCTIONS = {"sin": math.sin, "cos": math.cos, "tan": math.tan, "sqrt": math.sqrt}

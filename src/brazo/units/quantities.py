"""Floats with a dimension, whose arithmetic checks that dimensions agree.

In a sum, a number without a unit takes the dimension of the other operand.  In a product or
quotient, it is a plain factor.  So `2*L1` and `L1 + 0.1` are lengths if `L1` is a length.  A result
without a unit takes the dimension of the field in the file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from brazo.errors import BrazoError
from brazo.units.dimensions import NUMBER, UNITS, Dimension, dimension_name


class UndefinedResult(BrazoError):
    """Raised for an operation without a result, such as a division by zero or 1 m + 1 rad.

    The message, for example ` is not a real number`, is appended to the quoted expression.
    """


@dataclass(frozen=True, slots=True)
class Quantity:
    """A float in SI units with a dimension; `dimension=None` means that no unit was given."""

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
            raise UndefinedResult(" divides by zero")
        return Quantity(self.value / other.value, self._product(other, -1))

    def __pow__(self, exponent: Quantity) -> Quantity:
        if exponent.dimension is not None:
            raise UndefinedResult(": an exponent cannot have a unit")
        dimension = self.dimension
        if dimension is not None:
            if not (abs(exponent.value) <= 9 and exponent.value == int(exponent.value)):
                raise UndefinedResult(
                    ": the exponent of a quantity with a unit must be an integer from -9 to 9"
                )
            a, b, c, d, e = (int(exponent.value) * power for power in dimension)
            dimension = (a, b, c, d, e)
        try:
            value = self.value**exponent.value
        except (OverflowError, ZeroDivisionError) as error:
            raise UndefinedResult(" is not a finite number") from error
        if isinstance(value, complex):
            raise UndefinedResult(" is not a real number")
        return Quantity(value, dimension)

    def _common(self, other: Quantity) -> Dimension | None:
        """Common dimension of two quantities in a sum; an error if their dimensions differ."""
        if self.dimension is None:
            return other.dimension
        if other.dimension is not None and other.dimension != self.dimension:
            raise UndefinedResult(
                f" adds or subtracts {dimension_name(self.dimension)} and "
                f"{dimension_name(other.dimension)}"
            )
        return self.dimension

    def _product(self, other: Quantity, sign: int) -> Dimension | None:
        """Dimension of a product (`sign` = 1) or quotient (−1) of two quantities.

        A factor or divisor without a unit does not change the dimension.
        """
        if other.dimension is None:
            return self.dimension
        if self.dimension is None and sign > 0:
            return other.dimension
        a, b, c, d, e = self.dimension or NUMBER
        f, g, h, i, j = other.dimension
        return a + sign * f, b + sign * g, c + sign * h, d + sign * i, e + sign * j


class QuantityScalars:
    """Evaluates expressions as quantities; implements the protocol `Scalars`."""

    pi = Quantity(math.pi)

    def literal(self, number: str, unit: str | None, per_second: bool) -> Quantity:
        if unit is None:
            return Quantity(float(number))
        scale, dimension = UNITS[unit]
        if per_second:
            a, b, c, d, e = dimension
            dimension = (a, b, c - 1, d, e)
        return Quantity(float(number) * scale, dimension)

    def call(self, function: str, argument: Quantity) -> Quantity:
        if function == "abs":
            return Quantity(abs(argument.value), argument.dimension)
        try:
            return Quantity(_FUNCTIONS[function](argument.value))
        except ValueError as error:
            raise UndefinedResult(" is not a real number") from error


_FUNCTIONS = {"sin": math.sin, "cos": math.cos, "tan": math.tan, "sqrt": math.sqrt}

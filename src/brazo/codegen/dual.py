"""Dual numbers x + ε x' with ε² = 0: derivatives along one direction (forward mode).

An algorithm that runs on dual numbers also computes its derivative. This also works in compiled
loops, which :mod:`derivative` cannot differentiate. Value and slope may be of any scalar type. The
operations are addition, subtraction, multiplication, negation, sine and cosine.

    y = f(Dual(x, 1.0))        y.value = f(x)        y.slope = f'(x)
"""

from __future__ import annotations

from typing import Any

from brazo.codegen.ring import sincos

__all__ = ["Dual", "duals", "slopes", "values"]


class Dual:
    """Dual number: a value and its slope (derivative). A plain number has slope 0."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any = 0.0) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value + b.value, self.slope + b.slope)

    def __sub__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value - b.value, self.slope - b.slope)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value * b.value, self.slope * b.value + self.value * b.slope)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def sincos(self) -> tuple[Dual, Dual]:
        s, c = sincos(self.value)
        return Dual(s, c * self.slope), Dual(c, -(s * self.slope))


def duals(value: list[Any], slope: list[Any]) -> list[Any]:
    """Return a list of dual numbers from sequences of values and slopes."""
    return [Dual(x, d) for x, d in zip(value, slope, strict=True)]


def values(vector: list[Any]) -> list[Any]:
    """Return the values of a sequence of dual numbers."""
    return [_dual(x).value for x in vector]


def slopes(vector: list[Any]) -> list[Any]:
    """Return the slopes of a sequence of dual numbers."""
    return [_dual(x).slope for x in vector]


def _dual(x: Any) -> Dual:
    return x if type(x) is Dual else Dual(x)

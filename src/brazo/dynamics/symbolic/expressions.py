"""Conversion of the expressions of a robot file to SymPy: `-L1/2`, `90deg`, `sqrt(2)*5cm`.

The input is a parsed expression (`brazo.units.expressions`).  Parameter names become symbols.
Decimal numbers become exact fractions, and degrees exact fractions of pi, so that the sine of 90°
is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from brazo import units

Expr = Any  # SymPy's own classes are not typed

_FUNCTIONS = {"sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "sqrt": sp.sqrt, "abs": sp.Abs}
_PI_UNITS = {"deg": sp.pi / 180, "rpm": sp.pi / 30}


def symbolic(expression: units.Expression, names: Mapping[str, Expr]) -> Expr:
    """Convert an expression to SymPy, in SI units and radians; `names` maps names to symbols."""
    return expression.over(_EXACT, names)


class _Exact:
    """Evaluates expressions with exact SymPy numbers; implements the protocol `Scalars`."""

    pi = sp.pi

    def literal(self, number: str, unit: str | None, per_second: bool) -> Expr:
        value = sp.Rational(Fraction(number))
        if unit is None:
            return value
        if unit in _PI_UNITS:
            return value * _PI_UNITS[unit]
        scale = units.UNITS[unit][0]
        return value * sp.Rational(Fraction(repr(scale)))

    def call(self, function: str, argument: Expr) -> Expr:
        return _FUNCTIONS[function](argument)


_EXACT = _Exact()

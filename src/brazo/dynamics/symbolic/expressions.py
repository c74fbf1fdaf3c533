"""The robot file's expressions as SymPy ones: `-L1/2`, `90deg`, `sqrt(2)*5cm`.

The grammar is that of `brazo.units`, which has checked the text when the file was loaded; here the
same text keeps its names.  Decimal numbers become exact fractions and degrees exact fractions of
pi, so that a quarter turn has an exact sine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from brazo import units
from brazo.errors import BrazoError

Expr = Any  # SymPy's own classes are not typed

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<unit>[A-Za-z]+)?"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|[-+*/^()]))",
    re.ASCII,
)
_FUNCTIONS = {"sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "sqrt": sp.sqrt, "abs": sp.Abs}
_PI_UNITS = {"deg": sp.pi / 180, "rpm": sp.pi / 30}


def read_expression(text: str, names: Mapping[str, Expr]) -> Expr:
    """An expression of the robot file over the given symbols, in SI and radians."""
    return _Reader(text, names).read()


def exact(value: float) -> Expr:
    """The decimal number a float prints as, as a fraction."""
    return sp.Rational(Fraction(repr(float(value))))


class _Reader:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, names: Mapping[str, Expr]) -> None:
        self.text, self.names = text, names
        self.tokens = list(_TOKEN.finditer(text.rstrip()))
        self.at = 0

    def read(self) -> Expr:
        value = self._sum()
        if self.at < len(self.tokens):
            self._fail()
        return value

    def _fail(self) -> None:
        raise BrazoError(f"'{self.text[:60]}' is not a number or expression")

    def _take(self, *ops: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at]["op"] in ops:
            self.at += 1
            return self.tokens[self.at - 1]["op"]
        return None

    def _sum(self) -> Expr:
        left = self._product()
        while op := self._take("+", "-"):
            right = self._product()
            left = left + right if op == "+" else left - right
        return left

    def _product(self) -> Expr:
        left = self._signed()
        while op := self._take("*", "/"):
            right = self._signed()
            left = left * right if op == "*" else left / right
        return left

    def _signed(self) -> Expr:
        if self._take("-"):
            return -self._signed()
        if self._take("+"):
            return self._signed()
        base = self._atom()
        return base ** self._signed() if self._take("^", "**") else base

    def _atom(self) -> Expr:
        if self._take("("):
            inner = self._sum()
            if not self._take(")"):
                self._fail()
            return inner
        if self.at >= len(self.tokens):
            self._fail()
        token = self.tokens[self.at]
        self.at += 1
        if token["number"]:
            return self._number(token)
        name = token["name"]
        if name in self.names:
            return self.names[name]
        if name == "pi":
            return sp.pi
        if name in _FUNCTIONS and self._take("("):
            inner = self._sum()
            if not self._take(")"):
                self._fail()
            return _FUNCTIONS[name](inner)
        self._fail()

    def _number(self, token: re.Match[str]) -> Expr:
        value = sp.Rational(Fraction(token["number"]))
        unit = token["unit"]
        if unit is None:
            return value
        if unit in _PI_UNITS:
            return value * _PI_UNITS[unit]
        if unit not in units.UNITS:
            self._fail()
        return value * exact(units.UNITS[unit][0])

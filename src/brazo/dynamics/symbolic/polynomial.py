"""Polynomials in sines, cosines and parameters, always in normal form.

The ring is Q[p₁, p₂, …, C₁, S₁, C₂, S₂, …] with C² + S² = 1 for every angle.  Every square of a
sine is replaced by 1 − C².  The angles are independent, so every function has exactly one normal
form.  Terms that are mathematically equal therefore cancel, and zero has no terms.

A monomial is an integer with one byte per exponent, so monomials are multiplied by adding integers.
Coefficients are exact (int, Fraction), or floats if the parameters are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

Expr = Any
Number = Any  # int, Fraction or float

_BYTE = 8
_MAX_POWER = 12  # a higher power of an expression becomes a variable


class TooManyTerms(Exception):
    """Raised when an expression exceeds the term limit of its ring."""


@dataclass(frozen=True)
class Angle:
    """An angle of the ring; `rates[k]` is its derivative with respect to q_k.

    `group` is the index of a group of parallel axes.
    """

    expression: Expr
    group: int
    rates: dict[int, Number]


class TrigRing:
    """A ring of polynomials; its variables (generators) are created when they first occur."""

    def __init__(self, limit: int | None = None, tick: Callable[[], None] | None = None) -> None:
        self.limit = limit  # terms of one expression
        self.tick = tick or (lambda: None)  # called now and then, may raise to stop
        self.variables: list[Expr] = []
        self._index: dict[Expr, int] = {}
        self.angles: dict[int, Angle] = {}  # by the index of the cosine; the sine is the next
        self.trig_mask = 0  # all exponents of sines and cosines
        self.square_mask = 0  # the bit that is set where a sine is squared
        self.coordinates: dict[int, int] = {}  # index of a sliding joint's variable -> q index

    # -- generators -------------------------------------------------------------------------

    def variable(self, expression: Expr) -> Poly:
        """Ring variable for a symbol, or for an expression that is not a polynomial."""
        return Poly(self, {1 << _BYTE * self.index(expression): 1})

    def index(self, expression: Expr) -> int:
        found = self._index.get(expression)
        if found is None:
            found = self._index[expression] = len(self.variables)
            self.variables.append(expression)
        return found

    def coordinate(self, symbol: Expr, k: int) -> Poly:
        """Ring variable for the position q_k of a prismatic joint."""
        self.coordinates[self.index(symbol)] = k
        return self.variable(symbol)

    def cos_sin(self, angle: Angle) -> tuple[Poly, Poly]:
        """Cosine and sine of an angle; an angle and its negative use the same ring variables."""
        if angle.expression.could_extract_minus_sign():
            rates = {k: -rate for k, rate in angle.rates.items()}
            c, s = self.cos_sin(Angle(-angle.expression, angle.group, rates))
            return c, -s
        known = sp.cos(angle.expression) in self._index
        c, s = self.index(sp.cos(angle.expression)), self.index(sp.sin(angle.expression))
        assert s == c + 1
        if not known:
            self.angles[c] = angle
            self.trig_mask |= 0xFFFF << _BYTE * c
            self.square_mask |= 2 << _BYTE * s
        return Poly(self, {1 << _BYTE * c: 1}), Poly(self, {1 << _BYTE * s: 1})

    def embed(self, value: Expr) -> Poly | Number:
        """Convert a number or SymPy expression to an element of the ring.

        An expression that is not a polynomial becomes one variable.
        """
        if isinstance(value, (int, float, Fraction)):
            return value
        if value.is_Rational:
            return int(value) if value.is_Integer else Fraction(int(value.p), int(value.q))
        if value.is_Float:
            return float(value)
        if value.is_Add:
            return sum((self.embed(x) for x in value.args[1:]), self.embed(value.args[0]))
        if value.is_Mul:
            product = self.embed(value.args[0])
            for x in value.args[1:]:
                product = product * self.embed(x)
            return product
        if value.is_Pow and value.exp.is_Integer and 0 < value.exp <= _MAX_POWER:
            base = product = self.embed(value.base)
            for _ in range(int(value.exp) - 1):
                product = product * base
            return product
        if isinstance(value, (sp.cos, sp.sin)) and value.args[0].free_symbols:
            c, s = self.cos_sin(Angle(value.args[0], -1, {}))
            return c if isinstance(value, sp.cos) else s
        return self.variable(value)

    # -- calculus ---------------------------------------------------------------------------

    def derivatives(self, values: Iterable[Any], k: int) -> list[Any]:
        """Derivative ∂/∂q_k of each element."""
        return [self._derivative(value, k) for value in values]

    def _derivative(self, value: Any, k: int) -> Any:
        if not isinstance(value, Poly):
            return 0
        total: dict[int, Number] = {}
        moving = [(c, rate) for c, a in self.angles.items() if (rate := a.rates.get(k)) is not None]
        sliding = [i for i, j in self.coordinates.items() if j == k]
        for key, coefficient in value.terms.items():
            powers = self.powers(key)
            for c, rate in moving:
                a, b = powers[c], powers[c + 1]
                C, S = 1 << _BYTE * c, 1 << _BYTE * (c + 1)
                if a:
                    self.add_term(total, key - C + S, -a * rate * coefficient)
                if b:
                    self.add_term(total, key + C - S, b * rate * coefficient)
            for i in sliding:
                if powers[i]:
                    self.add_term(total, key - (1 << _BYTE * i), powers[i] * coefficient)
        return Poly(self, _without_zeros(total))

    # -- monomials --------------------------------------------------------------------------

    def powers(self, key: int) -> bytes:
        """Exponents of all variables in a monomial, one byte each."""
        return key.to_bytes(len(self.variables), "little")

    def add_term(self, terms: dict[int, Number], key: int, coefficient: Number) -> None:
        """Add one term to `terms`, after replacing squares of sines."""
        squares = key & self.square_mask
        if not squares:
            terms[key] = terms.get(key, 0) + coefficient
            return
        square = squares & -squares
        cosine = square >> _BYTE
        self.add_term(terms, key - square, coefficient)
        self.add_term(terms, key - square + cosine, -coefficient)


class Poly:
    """An element of a `TrigRing`: a sum of monomials."""

    __slots__ = ("ring", "terms")

    def __init__(self, ring: TrigRing, terms: dict[int, Number]) -> None:
        self.ring, self.terms = ring, terms

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Poly:
        return Poly(self.ring, {key: -x for key, x in self.terms.items()})

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Poly):
            if other == 0:
                return 0
            return Poly(self.ring, {key: x * other for key, x in self.terms.items()})
        ring, squares = self.ring, self.ring.square_mask
        ring.tick()
        total: dict[int, Number] = {}
        get, add_term = total.get, ring.add_term
        for key_a, a in self.terms.items():
            for key_b, b in other.terms.items():
                key = key_a + key_b
                if key & squares:
                    add_term(total, key, a * b)
                else:
                    total[key] = get(key, 0) + a * b
        if ring.limit is not None and len(total) > ring.limit:
            raise TooManyTerms
        return Poly(ring, _without_zeros(total))

    __rmul__ = __mul__

    def _plus(self, other: Any, sign: int) -> Any:
        if not isinstance(other, Poly):
            if other == 0:
                return self
            other = Poly(self.ring, {0: other})
        total = dict(self.terms)
        for key, x in other.terms.items():
            total[key] = total.get(key, 0) + sign * x
        if self.ring.limit is not None and len(total) > self.ring.limit:
            raise TooManyTerms
        return Poly(self.ring, _without_zeros(total))


def terms_of(value: Any) -> dict[int, Number]:
    """Terms of a polynomial or number, as a dictionary from monomial to coefficient."""
    if isinstance(value, Poly):
        return value.terms
    return {} if value == 0 else {0: value}


def largest(values: Iterable[Any]) -> float:
    """Largest absolute value of the coefficients of several elements."""
    return max((abs(float(x)) for v in values for x in terms_of(v).values()), default=0.0)


def _without_zeros(terms: dict[int, Number]) -> dict[int, Number]:
    return {key: x for key, x in terms.items() if x != 0}

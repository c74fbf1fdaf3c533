"""Conversion of polynomials from their normal form (`polynomial`) to the form of textbooks.

The normal form contains no squares of sines and no functions of sums of angles, only products of
sines and cosines.  C_i and S_i are the cosine and the sine of the angle φ_i.  These identities are
applied wherever they make the expression shorter:

    C_i C_j + S_i S_j → cos(φ_j − φ_i)       C_i C_j − S_i S_j → cos(φ_i + φ_j)
    C_i S_j − S_i C_j → sin(φ_j − φ_i)       C_i S_j + S_i C_j → sin(φ_i + φ_j)
    1 − C² → S²                              2 C² − 1 → cos 2φ

The first two lines apply to the angles of one group of parallel axes.  Then the terms are collected
by mass and inertia, m₂ (L₁² + L₂² + …), or by geometry, (m₂ + m₃) L₁² + …, whichever is shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import sympy as sp

from brazo.dynamics.symbolic.polynomial import Angle, Poly, TrigRing, terms_of

Expr = Any
Number = Any
Terms = dict[int, Number]


class Readable:
    """Converts elements of a ring to SymPy expressions; `heavy` are the masses and inertias."""

    def __init__(self, ring: TrigRing, heavy: Iterable[Expr]) -> None:
        self.ring = ring
        self.heavy_mask = 0
        for symbol in heavy:
            self.heavy_mask |= 0xFF << 8 * ring.index(symbol)
        self._joined: dict[tuple[int, int, int], tuple[Poly, Poly]] = {}
        self._powers: dict[tuple[int, int], Expr] = {}
        self._angles = dict(ring.angles)  # those of the derivation, not the sums made here
        self._trig_mask = ring.trig_mask

    def expression(self, value: Any) -> Expr:
        """Convert an element of the ring to a SymPy expression, shortened and collected."""
        return self.collected(self.folded(terms_of(value)))

    # -- sums of angles, squares ------------------------------------------------------------

    def folded(self, terms: Terms) -> Terms:
        """Shorten terms with the identities of the module docstring, which are exact."""
        mask = self._trig_mask
        by_rest: dict[int, Terms] = {}
        for key, x in terms.items():
            by_rest.setdefault(key & ~mask, {})[key & mask] = x
        return {
            key + rest: x
            for rest, trig in by_rest.items()
            for key, x in self._fold(trig).items()
            if x != 0
        }

    def _fold(self, trig: Terms) -> Terms:
        used = 0
        for key in trig:
            used |= key
        present = [c for c in self._angles if (used >> 8 * c) & 0xFFFF]
        for i, j in combinations(present, 2):
            group = self._angles[i].group
            if group >= 0 and group == self._angles[j].group:
                trig = self._fold_pair(trig, i, j)
        for i in present:
            trig = self._fold_square(trig, i)
        return trig

    def _fold_pair(self, trig: Terms, i: int, j: int) -> Terms:
        Ci, Si, Cj, Sj = (1 << 8 * k for k in (i, i + 1, j, j + 1))
        both = 0xFFFF << 8 * i | 0xFFFF << 8 * j
        result = dict(trig)
        for first, second, cosine in ((Ci + Cj, Si + Sj, True), (Ci + Sj, Si + Cj, False)):
            for key in trig:
                if key & both != first:
                    continue
                other = key - first + second
                x, y = trig[key], trig.get(other, 0)
                if y == 0 or not (_equal(x, y) or _equal(x, -y)):
                    continue
                del result[key], result[other]
                # CC + SS and CS − SC belong to the difference, the others to the sum.
                difference = _equal(x, y) == cosine
                pair = self._join(i, j, -1 if difference else 1)
                ((joined, one),) = (pair[0] if cosine else pair[1]).terms.items()
                joined += key - first
                result[joined] = result.get(joined, 0) + x * one
        return result

    def _fold_square(self, trig: Terms, i: int) -> Terms:
        C, S = 1 << 8 * i, 1 << 8 * (i + 1)
        mask = 0xFFFF << 8 * i
        result = dict(trig)
        for key, x in trig.items():
            if key & mask != 2 * C:
                continue
            rest = key - 2 * C
            y = trig.get(rest, 0)
            if y == 0:
                continue
            if _equal(y, -x):
                del result[key], result[rest]
                result[rest + 2 * S] = -x
            elif _equal(2 * y, -x):
                del result[key], result[rest]
                ((twice, one),) = self._join(i, i, 1)[0].terms.items()
                result[rest + twice] = result.get(rest + twice, 0) - y * one
        return result

    def _join(self, i: int, j: int, sign: int) -> tuple[Poly, Poly]:
        """Cosine and sine of φ_j + sign·φ_i, where `sign` is 1 or -1."""
        found = self._joined.get((i, j, sign))
        if found is None:
            expression = self._angles[j].expression + sign * self._angles[i].expression
            found = self._joined[i, j, sign] = self.ring.cos_sin(Angle(expression, -1, {}))
        return found

    # -- collecting -------------------------------------------------------------------------

    def collected(self, terms: Terms) -> Expr:
        """Write a sum of terms as an expression with common factors before brackets."""
        if not terms:
            return sp.Integer(0)
        heavy: dict[int, Terms] = {}
        light: dict[int, Terms] = {}
        for key, x in terms.items():
            weight, rest = key & self.heavy_mask, key & ~self.heavy_mask
            heavy.setdefault(weight, {})[rest] = x
            light.setdefault(rest, {})[weight] = x
        by_mass, by_geometry = self._merged(heavy), self._merged(light)
        best = min((by_mass, by_geometry), key=self._length)
        return sp.Add(*(sp.Mul(*self._factors(a), *self._factors(b)) for a, b in best))

    def _merged(self, groups: dict[int, Terms]) -> list[tuple[Terms, Terms]]:
        """Write groups as products (factor, bracket); merge groups with proportional brackets.

        `groups` maps each monomial (the factor) to the terms that it multiplies (the bracket).
        """
        merged: dict[tuple, tuple[Terms, Terms]] = {}
        for factor, bracket in groups.items():
            lead = bracket[min(bracket)]
            identity = tuple(sorted((key, _ratio(x, lead)) for key, x in bracket.items()))
            if identity not in merged:
                size = _usual(bracket.values())
                merged[identity] = ({}, {key: _ratio(x, size) for key, x in bracket.items()})
            outer, inner = merged[identity]
            outer[factor] = _ratio(lead, inner[min(inner)])
        return list(merged.values())

    def _length(self, products: list[tuple[Terms, Terms]]) -> int:
        """Number of factors in the written expression."""
        return sum(
            max(1, sum(self.ring.powers(key))) for pair in products for part in pair for key in part
        )

    def _factors(self, terms: Terms) -> list[Expr]:
        """Two factors of a sum: its common monomial with a coefficient, and the bracket."""
        shared = [min(column) for column in zip(*map(self.ring.powers, terms), strict=True)]
        common = sum(power << 8 * i for i, power in enumerate(shared))
        size = _usual(terms.values())
        inside = (self._monomial(key - common, _ratio(x, size)) for key, x in terms.items())
        return [self._monomial(common, size), sp.Add(*inside)]

    def _monomial(self, key: int, x: Number) -> Expr:
        factors = [_number(x)]
        for i, power in enumerate(self.ring.powers(key)):
            if power:
                factors.append(self._power(i, power))
        return sp.Mul(*factors)

    def _power(self, i: int, power: int) -> Expr:
        found = self._powers.get((i, power))
        if found is None:
            found = self._powers[i, power] = self.ring.variables[i] ** power
        return found


def _equal(a: Number, b: Number) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= 1e-12 * abs(a)
    return a == b


def _ratio(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    ratio = Fraction(a) / Fraction(b)
    return int(ratio) if ratio.denominator == 1 else ratio


def _usual(values: Iterable[Number]) -> Number:
    """Number to factor out of a bracket with the coefficients `values`.

    It is the most frequent absolute value, or 1 if there are several coefficients and one of them
    is a float.  It is negative if all coefficients are negative.
    """
    values = list(values)
    if len(values) > 1 and any(isinstance(x, float) for x in values):
        size: Number = 1
    else:
        sizes = Counter(abs(x) for x in values)
        size = max(sizes, key=lambda x: (sizes[x], x))
    return -size if all(x < 0 for x in values) else size


def _number(x: Number) -> Expr:
    if isinstance(x, float):
        return sp.Integer(int(x)) if x in (1.0, -1.0) else sp.Float(x)
    return sp.Rational(x)

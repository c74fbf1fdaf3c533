"""Expressions over SymPy against the same trees over floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from brazo import units
from brazo.dynamics.symbolic.expressions import symbolic
from brazo.errors import BrazoError
from brazo.units.quantities import QuantityScalars

L1, L2 = sp.symbols("L1 L2")
NAMES = {"L1": L1, "L2": L2}
VALUES = {L1: 0.3, L2: 0.25}
QUANTITIES = {"L1": units.Quantity(0.3), "L2": units.Quantity(0.25)}


def read(text: str) -> Any:
    return symbolic(units.parse_expression(text, NAMES), NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "90deg", "-L1/2", "20cm", "9in", "2*L1 - L2", "-L1^2", "2^-2", "L1**2/12", "sqrt(2)*5cm",
        "sin(30deg)*L1", "(L1 + L2)*(L1 - L2)", "+L1 - -L2", "pi/4", "1.8e-3", ".5", "abs(-L2)",
        "62.6111^2*0.00148", "tan(pi/8)", "250mm/2", "10rpm",
    ],
)  # fmt: skip
def test_gives_the_number_of_the_float_evaluation(text):
    tree = units.parse_expression(text, NAMES)
    value = symbolic(tree, NAMES).evalf(20, subs=VALUES)
    assert float(value) == pytest.approx(tree.evaluate(QUANTITIES).value, rel=1e-15)


literals = st.builds(
    lambda number, gap, unit: f"{number!r}{gap}{unit}" if unit else repr(number),
    st.floats(0.01, 100.0, allow_subnormal=False),
    st.sampled_from(["", " ", "\t"]),
    st.sampled_from(["", "", "cm", "mm", "in", "m"]),
)
texts = st.recursive(
    literals | st.sampled_from(["L1", "L2", "pi", "(9mm/s*2s)"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("{} / {}".format, inner, literals),
        st.builds("-{}".format, inner),
        st.builds("({})^{}".format, inner, st.sampled_from(["2", "3", "-1"])),
        st.builds("{}(({})/1m)".format, st.sampled_from(["sin", "cos", "abs"]), inner),
        st.builds("sqrt(1 + abs({})/1cm)".format, inner),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Bounded:
    """A float with a first-order bound of the accumulated rounding errors."""

    value: float
    error: float = 0.0

    def _rounded(self, value: float, error: float) -> Bounded:
        return Bounded(value, error + 4e-16 * abs(value))

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __add__(self, other: Bounded) -> Bounded:
        return self._rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Bounded) -> Bounded:
        return self + -other

    def __mul__(self, other: Bounded) -> Bounded:
        error = abs(self.value) * other.error + abs(other.value) * self.error
        return self._rounded(self.value * other.value, error)

    def __truediv__(self, other: Bounded) -> Bounded:
        value = self.value / other.value
        return self._rounded(value, (self.error + abs(value) * other.error) / abs(other.value))

    def __pow__(self, power: Bounded) -> Bounded:
        # Next to zero an inverse has no first-order bound.
        assume(power.value > 0 or abs(self.value) > 1e6 * self.error)
        slope = power.value * self.value ** (power.value - 1)
        return self._rounded(self.value**power.value, abs(slope) * self.error)


class BoundedScalars:
    pi = Bounded(math.pi, 1e-15)

    def literal(self, number: str, unit: str | None, per_second: bool) -> Bounded:
        value = QuantityScalars().literal(number, unit, per_second).value
        return Bounded(value, 4e-16 * value)

    def call(self, function: str, x: Bounded) -> Bounded:
        value = QuantityScalars().call(function, units.Quantity(x.value)).value
        return Bounded(value, x.error + 4e-16)  # no slope is above 1 where they are used


@given(texts)
def test_floats_and_sympy_agree_on_every_expression(text):
    tree = units.parse_expression(text, NAMES)
    try:
        value = tree.evaluate(QUANTITIES).value
    except BrazoError as error:
        assume("adds" not in str(error) and "by zero" not in str(error))
        assume("finite" not in str(error))
        raise
    bound = tree.over(BoundedScalars(), {"L1": Bounded(0.3, 1e-16), "L2": Bounded(0.25)})
    assert bound.value == value
    exact = symbolic(tree, {"L1": sp.Rational(3, 10), "L2": sp.Rational(1, 4)})
    assert abs(float(exact.evalf(50) - sp.Float(value, 50))) <= 2 * bound.error


def test_numbers_and_angles_stay_exact():
    assert read("-L1/2") == -L1 / 2
    assert read("90deg") == read("90 deg") == sp.pi / 2
    assert read("0.15") == sp.Rational(3, 20)
    assert read("45deg + pi/4") == sp.pi / 2
    assert read("180deg/s") == sp.pi


def test_s_is_a_second_unless_it_is_a_parameter():
    s = sp.Symbol("s")
    assert symbolic(units.parse_expression("4mm/s", {"s"}), {"s": s}) == sp.Rational(1, 250) / s
    assert symbolic(units.parse_expression("4mm/s"), {}) == sp.Rational(1, 250)


@pytest.mark.parametrize("text", ["L3", "L1 +", "(L1", "2 L1", "3furlong", "", "L1)"])
def test_invalid_expressions_are_rejected(text):
    with pytest.raises(BrazoError):
        read(text)

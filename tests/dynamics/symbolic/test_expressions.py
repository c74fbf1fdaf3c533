"""The symbolic reading of a file's expressions against the numeric one."""

from __future__ import annotations

import pytest
import sympy as sp

from brazo import units
from brazo.dynamics.symbolic.expressions import read_expression
from brazo.errors import BrazoError

L1, L2 = sp.symbols("L1 L2")
NAMES = {"L1": L1, "L2": L2}
VALUES = {L1: 0.3, L2: 0.25}


@pytest.mark.parametrize(
    "text",
    [
        "90deg", "-L1/2", "20cm", "9in", "2*L1 - L2", "-L1^2", "2^-2", "L1**2/12", "sqrt(2)*5cm",
        "sin(30deg)*L1", "(L1 + L2)*(L1 - L2)", "+L1 - -L2", "pi/4", "1.8e-3", ".5", "abs(-L2)",
        "62.6111^2*0.00148", "tan(pi/8)", "250mm/2", "10rpm",
    ],
)  # fmt: skip
def test_gives_the_number_of_the_numeric_reader(text):
    quantities = {"L1": units.Quantity(0.3), "L2": units.Quantity(0.25)}
    value = read_expression(text, NAMES).evalf(20, subs=VALUES)
    assert float(value) == pytest.approx(units.parse(text, quantities).value, rel=1e-15)


def test_numbers_and_angles_stay_exact():
    assert read_expression("-L1/2", NAMES) == -L1 / 2
    assert read_expression("90deg", {}) == sp.pi / 2
    assert read_expression("0.15", {}) == sp.Rational(3, 20)
    assert read_expression("45deg + pi/4", {}) == sp.pi / 2


@pytest.mark.parametrize("text", ["L3", "L1 +", "(L1", "2 L1", "3furlong", "", "L1)"])
def test_refuses_what_is_no_expression(text):
    with pytest.raises(BrazoError):
        read_expression(text, NAMES)

"""Quantities with units."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo import units
from brazo.errors import BrazoError
from brazo.units import Quantity


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("90deg", units.ANGLE, math.pi / 2),
        ("-150deg", units.ANGLE, -math.radians(150)),
        ("20cm", units.LENGTH, 0.2),
        ("9in", units.LENGTH, 0.2286),
        ("297.5mm", units.LENGTH, 0.2975),
        ("1e-3", units.MASS, 1e-3),
        (".5kg", units.MASS, 0.5),
        ("2*(3+4)^2/7", units.NUMBER, 14.0),
        ("-2^2", units.NUMBER, -4.0),
        ("2^-1", units.NUMBER, 0.5),
        ("180deg/s", units.ANGULAR_SPEED, math.pi),
        ("60rpm", units.ANGULAR_SPEED, 2 * math.pi),
        ("sqrt(2)*5cm", units.LENGTH, math.sqrt(2) * 0.05),
        ("pi/2", units.ANGLE, math.pi / 2),
        ("30cm*20cm", (2, 0, 0, 0, 0), 0.06),
        ("12V/0.5A", (2, 1, -3, 0, -2), 24.0),
        ("50mNm/2A", (2, 1, -2, 0, -1), 0.025),
    ],
)
def test_quantities(text, dimension, value):
    assert units.quantity(text, dimension) == pytest.approx(value, rel=1e-15)


def test_parameters_are_names():
    names = {"L1": Quantity(0.25, units.LENGTH), "k": Quantity(2.0)}
    assert units.quantity("-L1/2", units.LENGTH, names) == -0.125
    assert units.quantity("k*L1 + 5cm", units.LENGTH, names) == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing"),
        ("90degrees", "unknown unit 'degrees'"),
        ("L9", "unknown name 'L9' in 'L9'; expected a number, such as 0.4, 30deg or 5cm"),
        ("1/0", "divides by zero"),
        ("1cm + 1deg", "adds or subtracts a length and an angle"),
        ("5kg", "expected an angle"),
        ("(1", "')' is missing"),
        ("1 2", "unexpected"),
        ("2**", "ends too early"),
        ("1e999", "not a finite number"),
        ("(-8)^0.5", "not a real number"),
        ("(2m)^(1e999-1e999)", "must be an integer from -9 to 9"),
        ("sqrt(-1)", "not a real number"),
        ("__import__('os')", "cannot read"),
        ("9" * 500, "characters"),
        ("(" * 100 + "1" + ")" * 100, "nested"),
        ("-" * 300 + "1", "nested"),
    ],
)
def test_invalid_text_raises_with_a_reason(text, message):
    with pytest.raises(BrazoError, match=message.replace("(", r"\(").replace(")", r"\)")):
        units.quantity(text, units.ANGLE)


@pytest.mark.parametrize(
    ("text", "dimension", "allowed"),
    [
        ("5deg", units.SPEED, "a speed (units: m/s, cm/s, mm/s, um/s, in/s, ft/s)"),
        ("5m", units.ANGULAR_SPEED, "an angular speed (units: rpm, rad/s, deg/s)"),
        ("5m", units.ACCELERATION, "an acceleration (such as 2m/(1s)^2)"),
        ("5m", units.INERTIA, "an inertia (such as 0.5kg*(1m)^2)"),
        ("5m", units.TORQUE_CONSTANT, "a torque constant (such as 0.05Nm/1A)"),
        ("5m", units.NUMBER, "a plain number (units: none)"),
    ],
)
def test_another_dimension_is_refused_with_units_that_are_accepted(text, dimension, allowed):
    with pytest.raises(BrazoError, match=re.escape(f"expected {allowed}")):
        units.quantity(text, dimension)
    if "such as" not in allowed and dimension != units.NUMBER:
        for unit in allowed.partition("units: ")[2][:-1].split(", "):
            units.quantity(f"1{unit}", dimension)
    if "such as" in allowed:
        units.quantity(allowed.partition("such as ")[2][:-1], dimension)


@pytest.mark.parametrize("dimension", [units.SPEED, units.ANGULAR_SPEED, units.FREQUENCY])
def test_units_of_a_dimension_are_keys_of_the_unit_table(dimension):
    assert set(units.units_of(dimension)) == {
        u for u, (_, d) in units.UNITS.items() if d == dimension
    }


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_a_clear_error(text):
    try:
        assert math.isfinite(units.quantity(text))
    except BrazoError as error:
        assert str(error)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(0.1, 1e6))
def test_arithmetic_equals_that_of_python(a, b, c):
    text = f"({a!r}) + ({b!r}) * 2 - ({a!r}) / {c!r}"
    assert units.quantity(text) == a + b * 2 - a / c

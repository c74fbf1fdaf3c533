"""The ring of sines, cosines and parameters: normal form, arithmetic, derivatives."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
import sympy as sp

from brazo.dynamics.symbolic.polynomial import Angle, Poly, TooManyTerms, TrigRing, terms_of
from brazo.dynamics.symbolic.readable import Readable

q1, q2, q3, a, m = sp.symbols("q1 q2 q3 a m")


@pytest.fixture
def ring():
    return TrigRing()


def angles(ring):
    """cos and sin of q1, of q1 + q2 (parallel axes) and of q3."""
    first = ring.cos_sin(Angle(q1, 0, {0: 1}))
    second = ring.cos_sin(Angle(q1 + q2, 0, {0: 1, 1: 1}))
    third = ring.cos_sin(Angle(q3, 1, {2: 1}))
    return [*first, *second, *third]


def value(ring, element, numbers):
    x = [float(v.evalf(20, subs=numbers)) for v in ring.variables]
    return math.fsum(
        float(c) * math.prod(x[i] ** e for i, e in enumerate(ring.powers(key)))
        for key, c in terms_of(element).items()
    )


def test_squares_of_sines_are_replaced(ring):
    c, s, *_ = angles(ring)
    assert terms_of(c * c + s * s) == {0: 1}
    assert terms_of((c * s) * (c * s) - c * c + c * c * c * c) == {}


def test_arithmetic_agrees_with_floats(ring):
    rng = random.Random(1)
    letters = [*angles(ring), ring.variable(a), ring.variable(m)]
    numbers = {q1: 0.7, q2: -1.1, q3: 0.4, a: 0.3, m: 2.5}

    def element():
        total = Fraction(rng.randint(-3, 3), rng.randint(1, 4))
        for _ in range(4):
            product = rng.randint(1, 3)
            for x in rng.sample(letters, 3):
                product = product * x
            total = total + product
        return total

    for _ in range(20):
        x, y = element(), element()
        vx, vy = value(ring, x, numbers), value(ring, y, numbers)
        assert value(ring, x * y, numbers) == pytest.approx(vx * vy, abs=1e-13)
        assert value(ring, x - y, numbers) == pytest.approx(vx - vy, abs=1e-13)
        assert value(ring, 2 - x, numbers) == pytest.approx(2 - vx, abs=1e-13)


def test_derivatives_agree_with_sympy(ring):
    c1, s1, c12, s12, c3, s3 = angles(ring)
    d = ring.coordinate(sp.Symbol("q4"), 3)
    element = a_times(ring, c1 * s12 * s3) + c12 * c12 * s1 + d * d * c3
    expression = Readable(ring, []).expression(element)
    for k, symbol in enumerate((q1, q2, q3, sp.Symbol("q4"))):
        (derived,) = ring.derivatives([element], k)
        difference = Readable(ring, []).expression(derived) - sp.diff(expression, symbol)
        assert sp.simplify(sp.expand_trig(difference)) == 0


def a_times(ring, x):
    return ring.variable(a) * x


def test_sums_of_angles_are_restored(ring):
    c1, s1, c12, s12, c3, s3 = angles(ring)
    show = Readable(ring, [m]).expression
    assert show(c1 * c12 + s1 * s12) == sp.cos(q2)
    assert show(c1 * s12 - s1 * c12) == sp.sin(q2)
    assert show(c1 * c12 - s1 * s12) == sp.cos(2 * q1 + q2)
    assert show(3 * (c1 * s12) + 3 * (s1 * c12)) == 3 * sp.sin(2 * q1 + q2)
    assert show(1 - c3 * c3) == sp.sin(q3) ** 2
    assert show(2 * (c3 * c3) - 1) == sp.cos(2 * q3)
    # Axes that are not parallel keep their own sines.
    assert show(c1 * c3 + s1 * s3) == sp.cos(q1) * sp.cos(q3) + sp.sin(q1) * sp.sin(q3)


def test_terms_are_collected_by_mass_or_by_geometry(ring):
    m2, m3, l1, l2 = (ring.variable(sp.Symbol(x)) for x in ("m2", "m3", "L1", "L2"))
    show = Readable(ring, sp.symbols("m2 m3")).expression
    M2, M3, L1, L2 = sp.symbols("m2 m3 L1 L2")
    assert show(m2 * l1 * l1 + m3 * l1 * l1) == L1**2 * (M2 + M3)
    by_mass = show(m2 * (l1 * l1 + l2 * l2 + 2 * l1 * l2) + m3 * l1)
    assert by_mass == M2 * (L1**2 + L2**2 + 2 * L1 * L2) + M3 * L1


def test_non_polynomial_expression_becomes_a_variable(ring):
    x = ring.embed(sp.sqrt(a) * 2 + 1 / m)
    assert Readable(ring, []).expression(x * x) == sp.expand((2 * sp.sqrt(a) + 1 / m) ** 2)


def test_growth_is_limited():
    ring = TrigRing(limit=20)
    x = sum((ring.variable(sp.Symbol(f"x{i}")) for i in range(10)), Poly(ring, {}))
    with pytest.raises(TooManyTerms):
        _ = x * x

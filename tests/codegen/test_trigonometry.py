"""The compiled sine, cosine and angle against sixty decimal digits."""

import math
from decimal import Decimal, localcontext

import mpmath
import numpy as np
import pytest

from brazo.codegen import Graph, atan2, compile_kernel, rint, sincos

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)


def _compiled(finite=False):
    g = Graph()
    return compile_kernel("sincos", g, {"sc": list(sincos(g.inputs("x", 1)[0]))}, finite=finite)


def _exact(x: float) -> tuple[Decimal, Decimal]:
    """Reduction by quarter turns and two Taylor series."""
    with localcontext() as context:
        context.prec = 60
        quarter = (Decimal(x) / (PI / 2)).to_integral_value()
        r = Decimal(x) - quarter * (PI / 2)
        sine, cosine = Decimal(0), Decimal(0)
        term, n = Decimal(1), 0
        while abs(term) > Decimal(10) ** -58 * abs(r) or n < 2:
            if n % 2:
                sine += term if n % 4 == 1 else -term
            else:
                cosine += term if n % 4 == 0 else -term
            n += 1
            term = term * r / n
        return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][
            int(quarter) % 4
        ]


def _worst_ulp(points) -> float:
    found = _compiled()(np.array(points)[:, None])
    worst = 0.0
    for x, pair in zip(points, found, strict=True):
        for value, exact in zip(pair.tolist(), _exact(x), strict=True):
            ulp = Decimal(math.ulp(float(exact)))
            worst = max(worst, float(abs(Decimal(value) - exact) / ulp))
    return worst


RNG = np.random.default_rng(0)
POINTS = {
    "joint angles": RNG.uniform(-7, 7, 1500).tolist(),
    "all magnitudes": (10.0 ** RNG.uniform(-300, 8, 800) * RNG.choice([-1, 1], 800)).tolist(),
    "large": RNG.uniform(-1e8, 1e8, 800).tolist(),
    "around multiples of a quarter turn": [
        float(np.nextafter(k * (math.pi / 2), side))
        for k in [1, 2, 3, 4, 5, 7, 11, *RNG.integers(1, 63_000_000, 600).tolist()]
        for side in (-1e9, k * (math.pi / 2), 1e9)
    ],
    "edges": [5e-324, 2.2e-308, 1e-160, math.pi / 4, -math.pi / 4, 1e8, -1e8, 6.2e7],
}


@pytest.mark.parametrize("kind", POINTS)
def test_the_error_is_below_one_unit_in_the_last_place(kind):
    assert _worst_ulp(POINTS[kind]) < 0.85


def test_zeros_keep_their_sign():
    f = _compiled()
    for zero in (0.0, -0.0):
        s, c = f([zero])
        assert s == 0.0 and math.copysign(1.0, s) == math.copysign(1.0, zero) and c == 1.0


@pytest.mark.parametrize("x", [1.0000001e8, -2e8, 1e300, math.inf, -math.inf, math.nan])
def test_beyond_the_range_it_is_nan_not_a_wrong_number(x):
    f = _compiled()
    assert np.isnan(f([x])).all()
    rows = np.zeros((13, 1))
    rows[5] = x
    many = f(rows)
    assert np.isnan(many[5]).all() and np.isfinite(np.delete(many, 5, axis=0)).all()


def test_symmetry_is_exact():
    f = _compiled()
    x = RNG.uniform(0, 1e4, (1000, 1))
    plus, minus = f(x), f(-x)
    assert np.array_equal(plus[:, 0], -minus[:, 0]) and np.array_equal(plus[:, 1], minus[:, 1])


def _angle():
    g = Graph()
    y, x = g.inputs("p", 2)
    return compile_kernel("angle", g, {"a": [atan2(y, x)]}, finite=False)


DIRECTIONS = {
    "all directions": RNG.normal(size=(2000, 2)),
    "all magnitudes": 10.0 ** RNG.uniform(-140, 140, (800, 2)) * RNG.choice([-1, 1], (800, 2)),
    "near the axes and diagonals": np.array(
        [
            (math.sin(k * math.pi / 8 + d), math.cos(k * math.pi / 8 + d))
            for k in range(-8, 9)
            for d in (10.0 ** RNG.uniform(-17, -1, 60)) * RNG.choice([-1, 1], 60)
        ]
    ),
    "edges": np.array(
        [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (5e-324, 1), (5e-324, -5e-324)]
        + [(7e307, 7e307), (1e-300, 1e300), (3e-308, 4e-308)],
        dtype=float,
    ),
}


@pytest.mark.parametrize("kind", DIRECTIONS)
def test_the_angle_is_within_two_units_in_the_last_place(kind):
    points = DIRECTIONS[kind]
    found = _angle()(points)[:, 0]
    worst = 0.0
    with mpmath.workdps(60):
        for (y, x), value in zip(points.tolist(), found.tolist(), strict=True):
            exact = mpmath.atan2(y, x)
            worst = max(worst, float(abs(value - exact) / math.ulp(float(exact))))
    assert worst < 2.0


def test_the_angle_has_the_same_bits_alone_and_in_lanes():
    f, points = _angle(), np.concatenate(list(DIRECTIONS.values()))
    assert np.array_equal(f(points), [f(p) for p in points])
    mirrored = f(points * (-1.0, 1.0))  # below the x axis
    upper = points[:, 0] != 0.0
    assert np.array_equal(mirrored[upper], -f(points)[upper])


def test_angle_of_zeros_and_nan():
    f = _angle()
    for zero in (0.0, -0.0):
        assert f([zero, 0.0]) == f([zero, -0.0]) == f([zero, 2.0]) == atan2(zero, -0.0) == 0.0
        assert f([zero, -1.0]) == atan2(zero, -1.0) == math.pi
    for bad in ([math.nan, 1.0], [1.0, math.nan], [math.inf, math.inf]):
        assert np.isnan(f(bad)).all()


def test_rounding_is_to_the_nearest_integer():
    g = Graph()
    f = compile_kernel("nearest", g, {"r": [rint(g.inputs("x", 1)[0])]})
    x = np.concatenate([RNG.uniform(-1e6, 1e6, 300), np.arange(-4, 4) + 0.5, [2.0**51 - 0.5]])
    assert np.array_equal(f(x[:, None])[:, 0], np.rint(x))
    assert [rint(v) for v in x.tolist()] == np.rint(x).tolist()

"""The same algorithm on floats, arrays, extended precision and graphs."""

import math

import numpy as np
import pytest

from brazo.codegen import (
    Graph,
    absolute,
    compile_kernel,
    maximum,
    minimum,
    sign,
    sincos,
    sqrt,
    where,
)
from brazo.codegen.linear import ldl_solve

VALUES = [-2.5, -1.0, 0.0, 0.25, 3.0]


def _everything(x, y):
    s, c = sincos(x)
    return [
        s,
        c,
        sqrt(x * x + y * y),
        minimum(x, y),
        maximum(x, 0.5),
        where(x - y, s, c),
        where(x, 1.0, y),
        absolute(x),
        sign(x),
    ]


def test_every_ring_gives_the_same_numbers():
    g = Graph()
    a, b = g.inputs("x", 2)
    f = compile_kernel("everything", g, {"r": _everything(a, b)})
    x = np.array(VALUES)
    columns = _everything(x, x[::-1])
    for i, (u, v) in enumerate(zip(VALUES, VALUES[::-1], strict=True)):
        expected = _everything(u, v)
        assert np.allclose(f([u, v]), expected, rtol=3e-16, atol=3e-16)
        assert np.allclose([np.broadcast_to(c, 5)[i] for c in columns], expected, rtol=3e-16)
        assert np.allclose(_everything(np.float64(u), np.float64(v)), expected, rtol=3e-16)
        long = _everything(np.longdouble(u), np.longdouble(v))
        assert np.allclose(np.array(long, dtype=float), expected, rtol=3e-16)
        assert type(long[0]) is np.longdouble


def test_nan_is_propagated():
    assert math.isnan(sqrt(-1.0)) and math.isnan(minimum(math.nan, 1.0))
    assert math.isnan(maximum(1.0, math.nan)) and where(math.nan, 1.0, 2.0) == 2.0
    assert np.isnan(sqrt(np.array([-1.0]))).all()
    g = Graph()
    a, b = g.inputs("x", 2)
    outputs = [minimum(a, b), maximum(a, b), where(a, 1.0, 2.0)]
    f = compile_kernel("nans", g, {"r": outputs}, finite=False)
    for pair in ([math.nan, 1.0], [1.0, math.nan]):
        assert np.isnan(f(pair)[:2]).all()
    assert f([math.nan, 0.0])[2] == 2.0


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_ldl_solves_positive_definite_systems(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A = B @ B.T + np.eye(n)
    b, c = rng.normal(size=(2, n))
    x, y = ldl_solve(A.tolist(), b.tolist(), c.tolist())
    assert np.allclose(A @ x, b, atol=1e-12) and np.allclose(A @ y, c, atol=1e-12)
    g = Graph()
    entries, right = g.inputs("A", n * n), g.inputs("b", n)
    (z,) = ldl_solve([entries[i * n : (i + 1) * n] for i in range(n)], right)
    f = compile_kernel("ldl", g, {"x": z})
    assert np.array_equal(f(A.ravel(), b), x)
    lower = np.tril(A)  # the upper triangle is never read
    assert np.array_equal(f(lower.ravel(), b), x)

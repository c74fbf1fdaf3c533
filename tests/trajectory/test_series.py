"""A user's function as a series: values and derivatives to rounding, corners refused."""

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.trajectory.series import series

X = np.linspace(0.0, 1.0, 101)


def test_values_and_three_derivatives_of_a_known_function():
    w = 7.0
    s = series(lambda x: [np.sin(w * x), np.exp(x)], "f", ((2,),))
    exact = [np.sin(w * X), w * np.cos(w * X), -(w**2) * np.sin(w * X), -(w**3) * np.cos(w * X)]
    for order, tolerance in enumerate((1e-13, 1e-11, 1e-9, 1e-7)):
        assert np.abs(s(X, order)[:, 0] - exact[order]).max() < tolerance * w**order
        assert np.abs(s(X, order)[:, 1] - np.exp(X)).max() < 10 * tolerance


@pytest.mark.parametrize("degree", [0, 1, 3, 9])
def test_polynomials_are_exact(degree):
    c = np.random.default_rng(degree).normal(size=degree + 1)
    s = series(lambda x: [np.polynomial.polynomial.polyval(x, c)], "f", ((1,),))
    second = np.polynomial.polynomial.polyder(c, 2)
    assert np.abs(s(X)[:, 0] - np.polynomial.polynomial.polyval(X, c)).max() < 1e-13
    assert np.abs(s(X, 2)[:, 0] - np.polynomial.polynomial.polyval(X, second)).max() < 1e-9


@pytest.mark.parametrize("f", [lambda x: [abs(x - 0.4)], lambda x: [float(x > 0.3)]])
def test_corners_and_jumps_are_refused(f):
    with pytest.raises(BrazoError, match="not smooth enough"):
        series(f, "f", ((1,),))


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: [1.0, 2.0], r"returned shape \(2,\); expected \(1,\)"),
        (lambda x: [1.0] if x == 0.5 else [1.0, 2.0], r"shape \(2,\), but earlier \(1,\)"),
        (lambda x: [np.nan], "must be finite"),
        (lambda x: [1 / 0], "f raised ZeroDivisionError"),
    ],
)
def test_bad_functions_are_refused(f, words):
    with pytest.raises(BrazoError, match=words):
        series(f, "f", ((1,),))

"""Factors: combinations of lists, and samples with the right distribution."""

import numpy as np
import pytest

from brazo import BrazoError
from brazo.study import grid, loguniform, normal, uniform, values
from brazo.study.factors import Factor, factor_rows

LONG = Factor("values", (1.0,) * 10**5)


def test_lists_are_combined_with_all_samples() -> None:
    factors = {"a": values(1, 2, 3), "u": uniform(0, 1), "b": grid(0, 1, 2)}
    rows = factor_rows(factors, 4, "random", 0)
    assert {len(column) for column in rows.values()} == {24}
    pairs = set(zip(rows["a"].tolist(), rows["b"].tolist(), rows["u"].tolist(), strict=True))
    assert len(pairs) == 24 and len(set(rows["u"].tolist())) == 4


@pytest.mark.parametrize("sampling", ["random", "latin-hypercube", "sobol"])
def test_samples_have_the_distribution(sampling) -> None:
    from scipy import stats

    factors = {"u": uniform(2, 4), "n": normal(1, 0.5), "l": loguniform(0.01, 100)}
    rows = factor_rows(factors, 512, sampling, 3)
    laws = {
        "u": stats.uniform(2, 2).cdf,
        "n": stats.norm(1, 0.5).cdf,
        "l": stats.loguniform(0.01, 100).cdf,
    }
    for name, law in laws.items():
        assert stats.kstest(rows[name], law).pvalue > 1e-3
    again = factor_rows(factors, 512, sampling, 3)
    assert all(np.array_equal(rows[name], again[name]) for name in rows)


def test_latin_hypercube_has_one_value_in_each_interval() -> None:
    u = factor_rows({"x": uniform(0, 1), "y": uniform(0, 1)}, 50, "latin-hypercube", 0)
    for column in u.values():
        assert sorted(np.floor(50 * column).astype(int).tolist()) == list(range(50))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: values([]), "no values"),
        (lambda: uniform(2, 1), "the first number must be the smaller"),
        (lambda: loguniform(0, 1), "greater than 0"),
        (lambda: normal(0, -1), "standard deviation"),
        (lambda: grid(0, 1, 0), "count = 0"),
        (lambda: values(float("nan")), "not finite"),
        (lambda: factor_rows(dict.fromkeys("ab", LONG), 1, "random", 0), "combinations"),
    ],
)
def test_mistakes_are_named(make, message) -> None:
    with pytest.raises(BrazoError, match=message):
        make()

"""Factors of a study: the values that differ from run to run.

    values        a list; if several factors are lists, all combinations of their values are run
    uniform       between two values
    loguniform    between two values, with a uniform logarithm
    normal        mean and standard deviation

All distributions are sampled together, as `samples` rows.  Every row is combined with all
combinations of the lists.  The rows are drawn by one of these methods:

    random              independent values
    latin-hypercube     one value in each of `samples` intervals of equal probability
    sobol               a scrambled Sobol sequence; use a power of 2 for `samples`

The same seed gives the same rows, on every computer and for every number of processes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brazo.arrays import float_array
from brazo.errors import BrazoError

Kind = Literal["values", "uniform", "normal", "loguniform"]
Sampling = Literal["random", "latin-hypercube", "sobol"]
SAMPLINGS = ("random", "latin-hypercube", "sobol")
DISTRIBUTIONS = ("uniform", "normal", "loguniform")
MAX_ROWS = 100_000_000


@dataclass(frozen=True, slots=True)
class Factor:
    """Values, or a distribution, of one quantity; made by functions such as `uniform`."""

    kind: Kind
    values: tuple[float, ...]  # of the list, or the two parameters of the distribution

    def __post_init__(self) -> None:
        if not self.values:
            raise BrazoError("a factor has no values; give at least one")
        if not all(math.isfinite(v) for v in self.values):
            raise BrazoError("a factor has values that are not finite")
        if self.kind == "values":
            return
        low, high = self.values
        if self.kind == "normal":
            if high < 0.0:
                raise BrazoError(
                    f"normal: the standard deviation is {high:g}; it must be 0 or more"
                )
        elif not low < high:
            raise BrazoError(
                f"{self.kind}: from {low:g} to {high:g}; the first number must be the smaller one"
            )
        if self.kind == "loguniform" and low <= 0.0:
            raise BrazoError(f"loguniform: the lower limit is {low:g}; it must be greater than 0")

    @property
    def sampled(self) -> bool:
        """Whether the factor is a distribution."""
        return self.kind != "values"

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Return the quantiles of the distribution at the probabilities u."""
        low, high = self.values
        if self.kind == "uniform":
            return low + (high - low) * u
        if self.kind == "loguniform":
            return np.exp(np.log(low) + (np.log(high) - np.log(low)) * u)
        from scipy.special import ndtri

        return low + high * ndtri(u)


def values(*given: Any) -> Factor:
    """Return a factor with the given values: numbers, or one array."""
    array = float_array(given[0] if len(given) == 1 else given, "values of a factor")
    return Factor("values", tuple(np.atleast_1d(array).tolist()))


def grid(start: float, stop: float, count: int) -> Factor:
    """Return a factor with `count` equally spaced values from `start` to `stop`."""
    if not isinstance(count, int) or count < 1:
        raise BrazoError(f"grid: count = {count!r}; it must be an integer of at least 1")
    return values(np.linspace(start, stop, count))


def uniform(low: float, high: float) -> Factor:
    """Return a factor that is uniformly distributed between two values."""
    return Factor("uniform", (float(low), float(high)))


def normal(mean: float, std: float) -> Factor:
    """Return a factor with a normal distribution."""
    return Factor("normal", (float(mean), float(std)))


def loguniform(low: float, high: float) -> Factor:
    """Return a factor whose logarithm is uniformly distributed, between two positive values."""
    return Factor("loguniform", (float(low), float(high)))


def factor_rows(
    factors: Mapping[str, Factor], samples: int, sampling: str, seed: int
) -> dict[str, np.ndarray]:
    """Return the values (rows,) of each factor, by name of the factor.

    The rows are all combinations of the listed values, each with all samples of the distributions.
    """
    drawn = [name for name, factor in factors.items() if factor.sampled]
    listed = {name: f.values for name, f in factors.items() if not f.sampled}
    count = samples if drawn else 1
    total = count * math.prod(len(v) for v in listed.values())
    if total > MAX_ROWS:
        raise BrazoError(f"the factors have {total} combinations; at most {MAX_ROWS} are allowed")
    rows = {name: np.empty(0) for name in factors}
    u = _unit_samples(len(drawn), count, sampling, seed)
    outer = total // count
    for i, name in enumerate(drawn):
        rows[name] = np.tile(factors[name].quantile(u[:, i]), outer)
    repeat = total
    for name, given in listed.items():
        repeat //= len(given)
        block = np.repeat(np.asarray(given, dtype=float), repeat)
        rows[name] = np.tile(block, total // len(block))
    return rows


def _unit_samples(dimensions: int, count: int, sampling: str, seed: int) -> np.ndarray:
    """Return samples (count, dimensions) in the open unit cube."""
    if not dimensions:
        return np.empty((count, 0))
    if sampling == "random":
        u = np.random.default_rng(seed).random((count, dimensions))
    else:
        import warnings

        from scipy.stats import qmc

        rng = np.random.default_rng(seed)
        kind = qmc.Sobol if sampling == "sobol" else qmc.LatinHypercube
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a count that is no power of 2
            u = kind(dimensions, rng=rng).random(count)
    return np.clip(u, 2.0**-53, 1.0 - 2.0**-53)  # quantiles of 0 and 1 may be infinite

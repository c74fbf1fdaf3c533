"""CMA-ES on the logarithms of positive factors (Hansen, The CMA evolution strategy, 2016).

To continue a search, the state of the optimiser is computed again from the stored scores of all
batches.  The state itself is not stored, because reading it would need unpickling, which can run
foreign code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brazo.errors import BrazoError

SIGMA = 0.05  # initial standard deviation, of the logarithmic range


class CmaEs:
    """CMA-ES optimiser of factors from 1/span to span; the first candidates are near `start`."""

    def __init__(self, start: Mapping[str, float], span: float, batch: int) -> None:
        try:
            import cmaes
        except ImportError:
            raise BrazoError('the sampler needs cmaes: pip install "brazo[tuning]"') from None
        self._names, self._span, self._batch = list(start), span, batch
        n = len(self._names)
        self._optimizer: Any = cmaes.CMA(
            mean=self._point(start),
            sigma=SIGMA,
            bounds=np.tile([0.0, 1.0], (n, 1)),
            n_max_resampling=10 * n,
            population_size=batch,
        )

    def ask(self, count: int, seed: int) -> list[dict[str, float]]:
        """Return `count` new candidates; the same seed and scores give the same candidates."""
        self._optimizer.reseed_rng(seed)
        return [self._factors(self._optimizer.ask()) for _ in range(count)]

    def tell(self, factors: Sequence[Mapping[str, float]], scores: np.ndarray) -> None:
        """Update with the scores (batch,) of a full batch; a shorter last batch is ignored."""
        if len(factors) == self._batch:
            points = [self._point(one) for one in factors]
            self._optimizer.tell(list(zip(points, scores.tolist(), strict=True)))

    def _point(self, factors: Mapping[str, float]) -> np.ndarray:
        """Return the factors as a point of the unit cube."""
        values = np.array([factors[name] for name in self._names])
        return np.clip(0.5 * (1.0 + np.log(values) / np.log(self._span)), 0.0, 1.0)

    def _factors(self, point: np.ndarray) -> dict[str, float]:
        values = np.exp((2.0 * point - 1.0) * np.log(self._span))
        values = np.clip(values, 1.0 / self._span, self._span)
        return dict(zip(self._names, values.tolist(), strict=True))

"""Search space of a tuning: positive gains as multiples of starting values, on a log scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brazo.control import CompiledController
from brazo.errors import BrazoError

SECONDARY = ("tf", "kt")  # filter and anti-windup of a PID: tuned only if they are named


class GainSpace:
    """Search space: factors by which the gains of a bound controller are multiplied.

    If `per_joint` is True, each entry of a gain has a factor; otherwise each gain has one factor.
    A factor is from 1/span to span.  Entries that are 0 stay 0.  `names` are the gains that are
    tuned; by default these are all gains with an entry greater than 0, except `SECONDARY`.
    """

    def __init__(
        self,
        controller: CompiledController,
        names: Sequence[str] | None,
        per_joint: bool,
        span: float,
    ) -> None:
        if not (isinstance(span, (int, float)) and np.isfinite(span) and span > 1.0):
            raise BrazoError(f"tune: span = {span!r}; it must be a number greater than 1")
        self.span, self.per_joint = float(span), per_joint
        self.start = {name: np.array(v) for name, v in controller.gain_values().items()}
        if names is None:
            names = [
                name for name, v in self.start.items() if name not in SECONDARY and (v > 0.0).any()
            ]
        if not names:
            raise BrazoError(f"tune: {controller.name} has no gains that are greater than 0")
        self.parameters: dict[str, tuple[str, np.ndarray]] = {}  # mask of the entries
        labels = {p.name: p.labels for p in controller.parameters()}
        for name in names:
            if name not in self.start:
                raise BrazoError(
                    f"tune: {controller.name} has no gain '{name}'; gains: {', '.join(self.start)}"
                )
            positive = self.start[name] > 0.0
            if not positive.any():
                raise BrazoError(
                    f"tune: gain '{name}' is 0 and cannot be scaled; give it a starting value, "
                    f"e.g. {controller.name}({name}=...)"
                )
            if not per_joint:
                self.parameters[name] = name, positive
                continue
            for i in np.flatnonzero(positive).tolist():
                mask = np.arange(len(positive)) == i
                self.parameters[f"{name}.{labels[name][i]}"] = name, mask

    @property
    def names(self) -> list[str]:
        """Names of the gains that are tuned."""
        return list(dict.fromkeys(gain for gain, _ in self.parameters.values()))

    def gains(self, trials: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
        """Return the gains (trials, size) by name; a trial maps parameter names to factors."""
        found = {name: np.tile(self.start[name], (len(trials), 1)) for name in self.names}
        for parameter, (gain, mask) in self.parameters.items():
            factors = np.array([trial[parameter] for trial in trials])
            found[gain][:, mask] *= factors[:, None]
        return found

    def factors(self, gains: Mapping[str, Any]) -> dict[str, float]:
        """Return the factors that give `gains`, by parameter name, clipped to the search space.

        The factor of a gain that is not in `gains` is 1.  A factor that several entries of a gain
        share is the geometric mean of their ratios to the starting values.
        """
        found = {}
        for parameter, (gain, mask) in self.parameters.items():
            ratio = 1.0
            if gain in gains:
                value = np.broadcast_to(np.asarray(gains[gain], dtype=float), mask.shape)[mask]
                with np.errstate(divide="ignore"):
                    ratio = float(np.exp(np.log(value / self.start[gain][mask]).mean()))
            found[parameter] = float(np.clip(ratio, 1.0 / self.span, self.span))
        return found

    def distributions(self) -> dict[str, Any]:
        """Return the search space as Optuna distributions."""
        from optuna.distributions import FloatDistribution

        one = FloatDistribution(1.0 / self.span, self.span, log=True)
        return dict.fromkeys(self.parameters, one)

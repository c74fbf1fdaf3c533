"""Control flow of the least-squares solver in Python, used if there is no machine code.

:mod:`driver` implements and explains the same algorithm in LLVM IR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["search"]

Vector = list[float]
# The norms are the cost and the squared norms of the two groups of residual rows.
Step = Callable[[Vector, float], tuple[Vector, Vector]]  # x, mu -> next x, norms at x

_MASK = 2**64 - 1
_MOST_DAMPING = 1e9


def search(
    begin: Callable[[Vector], Vector],
    step: Step,
    x0: Vector,
    sample: Sequence[Sequence[float]],
    settings: Sequence[float],
    seed: int,
) -> tuple[Vector, Vector]:
    """Solve one problem; return x and its info, with the fields of `INFO` in :mod:`driver`."""
    tol_first, tol_rest, mu, stall, iterations, attempts, patience, polish = settings

    def good(norms: Vector) -> bool:
        return norms[1] <= tol_first**2 and norms[2] <= tol_rest**2

    x = z = begin(x0)
    best, state, count = math.inf, seed, 0
    for attempt in range(1, int(attempts) + 1):
        if attempt > 1:
            start, state = _random(state, sample)
            z = begin(start)
        checkpoint, waited = math.inf, 0
        for _ in range(math.ceil(iterations)):
            y, norms = step(z, mu)
            count += 1
            if good(norms):
                z, norms = _one_more(step, mu, z, y, norms, good)
                return z, [1.0, *norms, count, attempt]
            if norms[0] < best:
                best, x = norms[0], z
            z, waited = y, waited + 1
            if waited >= patience:
                if not norms[0] <= checkpoint * stall:
                    break
                checkpoint, waited = norms[0], 0
    x, norms, more = _polish(step, mu, x, int(polish), good)
    status = 1.0 if good(norms) else 0.0
    return x, [status, *norms, count + more, float(int(attempts))]


def _one_more(
    step: Step, mu: float, z: Vector, y: Vector, norms: Vector, good: Callable[[Vector], bool]
) -> tuple[Vector, Vector]:
    """Return a point and its norms: the next iterate y if it is better, otherwise z.

    ``norms`` (see `Step`) belong to the solution z. y is better if it is also a solution and its
    cost is smaller.
    """
    _, trial = step(y, mu)
    return (y, trial) if good(trial) and trial[0] < norms[0] else (z, norms)


def _polish(
    step: Step, mu: float, x: Vector, steps: int, good: Callable[[Vector], bool]
) -> tuple[Vector, Vector, int]:
    """Descend from x to a minimum of the cost; return the point, its norms and the step count."""
    y, norms = step(x, mu)
    for count in range(1, steps + 1):
        w, trial = step(y, mu)
        if trial[0] < norms[0]:
            x, norms = y, trial
            if good(norms):
                return x, norms, count
            y, mu = w, mu / 3.0
        else:
            mu *= 4.0
            if mu > _MOST_DAMPING:
                return x, norms, count
            y, _ = step(x, mu)
    return x, norms, steps


def _random(state: int, sample: Sequence[Sequence[float]]) -> tuple[Vector, int]:
    """Return a random point of the sampling box and the next state of the splitmix64 generator."""
    point = []
    for low, high in zip(*sample, strict=True):
        state = (state - 7046029254386353131) & _MASK
        h = state
        h = ((h ^ (h >> 30)) * (-4658895280553007687 & _MASK)) & _MASK
        h = ((h ^ (h >> 27)) * (-7723592293110705685 & _MASK)) & _MASK
        h ^= h >> 31
        point.append(low + (h >> 11) * 2.0**-53 * (high - low))
    return point, state

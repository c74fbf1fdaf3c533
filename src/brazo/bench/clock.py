"""Race: several callables are timed in turn over many rounds; the shortest time of each counts.

The load of a machine changes from second to second.  Callables that are called within milliseconds
of each other run under the same load.  Other processes affect the shortest time of a
callable less than its other times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from brazo.bench.settings import Settings

__all__ = ["race"]


def race(
    settings: Settings,
    callables: Mapping[str, Callable[[], Any]],
    work: float | Mapping[str, float] = 1.0,
) -> dict[str, float]:
    """Time callables in turn and return the shortest time (s) of each, per unit of work.

    `work` is the number of units of work of one call: a number for all callables, or a number for
    each name.
    """
    repeats = {name: _repeats(call, settings.round_time) for name, call in callables.items()}
    best = {name: _time(call, repeats[name]) for name, call in callables.items()}
    a_round = sum(best[name] * repeats[name] for name in callables)
    for _ in range(max(2, min(settings.rounds, int(settings.longest_race / a_round)))):
        for name, call in callables.items():
            best[name] = min(best[name], _time(call, repeats[name]))
    units = work if isinstance(work, Mapping) else dict.fromkeys(callables, work)
    return {name: seconds / units[name] for name, seconds in best.items()}


def _repeats(call: Callable[[], Any], seconds: float) -> int:
    """Return the number of calls that take about `seconds` in total, found by trial.

    The trial calls also warm up caches.
    """
    repeats = 1
    while True:
        # The best of three, because an interrupted call would end the search too early.
        taken = min(_time(call, repeats) for _ in range(3)) * repeats
        if taken >= 0.25 * seconds or repeats >= 1_000_000:
            return max(1, round(repeats * min(seconds / max(taken, 1e-9), 4.0)))
        repeats *= 4


def _time(call: Callable[[], Any], repeats: int) -> float:
    rounds = range(repeats)
    start = time.perf_counter()
    for _ in rounds:
        call()
    return (time.perf_counter() - start) / repeats

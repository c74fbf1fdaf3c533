"""How far the other side's clock is ahead, from pings: offset, round trip, and proof of a jump.

A ping leaves at t₀ and its answer comes back at t₃ by the own clock; in between the other side had
it from t₁ to t₂ by its own.  With delays that may differ there and back but are never negative

    offset θ ∈ [t₂ − t₃, t₁ − t₀],   middle ½ ((t₁ − t₀) + (t₂ − t₃)),   width (t₃ − t₀) − (t₂ − t₁)

and the width is the round trip (Mills, RFC 5905).  The narrowest interval of the last few counts,
each widened by what two clocks may drift since.  Were both clocks steady, all intervals would share
a point; two that do not are proof that a clock has jumped, whatever the network did.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

DRIFT = 1e-3  # s/s between two clocks that are both being slewed as hard as operating systems do
WINDOW = 64  # pings


@dataclass(frozen=True, slots=True)
class Estimate:
    """The other clock minus the own, and how wrong that may be; all in µs."""

    offset: int
    error: int
    round_trip: int  # the least of the window

    def to_local(self, remote: int) -> int:
        """A time of the other side by the own clock."""
        return remote - self.offset


@dataclass(frozen=True, slots=True)
class _Ping:
    low: int  # of the offset
    high: int
    at: int  # when it left, own clock

    def half_width(self, now: int) -> float:
        return (self.high - self.low) / 2 + DRIFT * max(now - self.at, 0)


class ClockFilter:
    """The pings of one connection."""

    def __init__(self, window: int = WINDOW) -> None:
        self._pings: deque[_Ping] = deque(maxlen=window)
        self.jumps = 0
        self.estimate: Estimate | None = None

    def add(self, t0: int, t1: int, t2: int, t3: int) -> bool:
        """One ping and its answer; True when it proves that a clock has jumped."""
        new = _Ping(t2 - t3, t1 - t0, t0)
        jumped = t3 < t0 or t2 < t1 or new.high < new.low
        if jumped:
            # Times that contradict themselves tell nothing of the offset.
            self._pings.clear()
            self.estimate = None
        else:
            jumped = self._contradicts(new, t3)
            if jumped:
                self._pings.clear()
            self._pings.append(new)
            self._choose(t3)
        self.jumps += jumped
        return jumped

    def _contradicts(self, new: _Ping, now: int) -> bool:
        if self.estimate is None:
            return False
        best = min(self._pings, key=lambda ping: ping.half_width(now))
        # One more for each: times are whole microseconds.
        reach = best.half_width(now) + new.half_width(now) + 2.0
        return abs(new.low + new.high - best.low - best.high) > 2.0 * reach

    def _choose(self, now: int) -> None:
        best = min(self._pings, key=lambda ping: ping.half_width(now))
        self.estimate = Estimate(
            (best.low + best.high) // 2,
            int(best.half_width(now)) + 1,
            min(ping.high - ping.low for ping in self._pings),
        )

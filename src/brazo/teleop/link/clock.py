"""Estimation of the clock offset to the peer from pings, and detection of clock jumps.

A ping is sent at t₀ and its answer arrives at t₃, by the local clock.  The peer receives the ping
at t₁ and answers at t₂, by its own clock.  The delays of the two directions may differ but are
never negative, so

    offset θ ∈ [t₂ − t₃, t₁ − t₀],   middle ½ ((t₁ − t₀) + (t₂ − t₃)),   width (t₃ − t₀) − (t₂ − t₁)

and the width of this interval is the round trip (Mills, RFC 5905).  The narrowest of the recent
intervals is used.  Each interval is widened by the possible drift of the two clocks since its ping.
If both clocks run steadily, all intervals have a common point.  Two disjoint intervals therefore
prove that a clock has jumped, whatever the delays of the network are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

DRIFT = 1e-3  # s/s, max drift between two clocks that operating systems slew
WINDOW = 64  # pings


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated clock offset (peer minus local), its max error and the round trip, in µs."""

    offset: int
    error: int
    round_trip: int  # min of the window

    def to_local(self, remote: int) -> int:
        """Convert a time (µs) on the clock of the peer to the local clock."""
        return remote - self.offset


@dataclass(frozen=True, slots=True)
class _Ping:
    low: int  # bounds of the offset
    high: int
    at: int  # send time, local clock

    def half_width(self, now: int) -> float:
        return (self.high - self.low) / 2 + DRIFT * max(now - self.at, 0)


class ClockFilter:
    """Estimator of the clock offset from the pings of one connection."""

    def __init__(self, window: int = WINDOW) -> None:
        self._pings: deque[_Ping] = deque(maxlen=window)
        self.jumps = 0
        self.estimate: Estimate | None = None

    def add(self, t0: int, t1: int, t2: int, t3: int) -> bool:
        """Add the four times (µs) of a ping and its answer; return True if a clock has jumped."""
        new = _Ping(t2 - t3, t1 - t0, t0)
        jumped = t3 < t0 or t2 < t1 or new.high < new.low
        if jumped:
            # Contradictory times contain no information about the offset.
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
        # 1 µs for each interval, because times are rounded to whole microseconds.
        reach = best.half_width(now) + new.half_width(now) + 2.0
        return abs(new.low + new.high - best.low - best.high) > 2.0 * reach

    def _choose(self, now: int) -> None:
        best = min(self._pings, key=lambda ping: ping.half_width(now))
        self.estimate = Estimate(
            (best.low + best.high) // 2,
            int(best.half_width(now)) + 1,
            min(ping.high - ping.low for ping in self._pings),
        )

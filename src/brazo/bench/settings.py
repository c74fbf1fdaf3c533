"""Settings of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a benchmark.

    With `peers`, other libraries are measured too.  With `quick`, the measurements are too short
    for reliable ratios.
    """

    peers: bool = False
    quick: bool = False

    @property
    def rounds(self) -> int:
        """Max number of rounds.  Each round times every callable; the shortest times count."""
        return 3 if self.quick else 25

    @property
    def round_time(self) -> float:
        """Approximate total time (s) of the calls of one callable in a round."""
        return 0.002 if self.quick else 0.01

    @property
    def longest_race(self) -> float:
        """Approximate max time (s) of all rounds together; at least two rounds are timed."""
        return 1.0 if self.quick else 15.0

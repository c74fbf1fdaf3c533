"""How long and against whom to measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`quick` measures everything, but too short for its ratios to be trusted."""

    peers: bool = False
    quick: bool = False

    @property
    def rounds(self) -> int:
        """Rounds of a race; each contestant's best one counts."""
        return 3 if self.quick else 25

    @property
    def round_time(self) -> float:
        """Seconds a contestant runs in a round, about."""
        return 0.002 if self.quick else 0.01

    @property
    def longest_race(self) -> float:
        """Seconds after which a race ends with fewer rounds."""
        return 1.0 if self.quick else 15.0

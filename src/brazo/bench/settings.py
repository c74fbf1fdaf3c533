"""Duration and peers of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings; `quick` measures all sections, but too briefly for reliable ratios."""

    peers: bool = False
    quick: bool = False

    @property
    def rounds(self) -> int:
        """Rounds of a race; the best one of each callable counts."""
        return 3 if self.quick else 25

    @property
    def round_time(self) -> float:
        """Approximate seconds of a callable per round."""
        return 0.002 if self.quick else 0.01

    @property
    def longest_race(self) -> float:
        """Seconds after which a race ends with fewer rounds."""
        return 1.0 if self.quick else 15.0

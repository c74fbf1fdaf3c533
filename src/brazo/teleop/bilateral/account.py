"""What both ends of a bilateral link are told of its energies, for pages and reports."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """Energy (J) each robot has put into the link since they were joined, as one end knows it."""

    scheme: str
    master: float = 0.0
    follower: float = 0.0
    buffered: float = 0.0  # s, how long what came will last
    round_trip: float = math.nan  # s, of the scheme's own packets
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)  # N, put on this end's tool

    @property
    def together(self) -> float:
        """What both have put in: never negative while the link is passive."""
        return self.master + self.follower

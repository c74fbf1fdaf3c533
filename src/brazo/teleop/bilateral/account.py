"""Energy balance of a bilateral link as known to one side, for pages and reports."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """Energy (J) that each robot has put into the link since pairing, as known to one side."""

    scheme: str
    master: float = 0.0
    follower: float = 0.0
    buffered: float = 0.0  # s, duration of the received, unused data
    round_trip: float = math.nan  # s, measured from the packets of the scheme
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)  # N, applied to the tool at this side

    @property
    def together(self) -> float:
        """Total energy (J) put in by both robots; never negative while the link is passive."""
        return self.master + self.follower

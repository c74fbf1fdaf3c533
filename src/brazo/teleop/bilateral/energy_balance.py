"""Energy balance of a bilateral link, as known to one of its two sides."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnergyBalance:
    """Energy (J) that master and follower robot have put into the link since pairing."""

    scheme: str
    master: float = 0.0
    follower: float = 0.0
    buffered: float = 0.0  # s, duration of the received, unused data
    round_trip: float = math.nan  # s, measured from the packets of the scheme
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)  # N, applied to the tool at this side

    @property
    def together(self) -> float:
        """Total energy (J) that both robots have put into the link.

        It is never negative if the link is passive.
        """
        return self.master + self.follower

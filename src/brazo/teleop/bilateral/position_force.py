"""Position–force: the plain scheme, without compensation of delay.

A spring and a damper pull the follower's tool to the received position of the master, and the
contact force measured at the follower is applied to the master's handle,

    F_follower = K (x_m(t−T) − x) + B (ẋ_m(t−T) − ẋ),       F_master = f(t−T).

With negligible delay this gives the best transparency.  With delay, the loop operator → wall →
operator gains energy in every round trip: for an operator of stiffness K_h the loop gain is about K
/ K_h, and above 1 the contact oscillates with growing amplitude.  A sample is held until a newer
one arrives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.checks import positive
from brazo.teleop.bilateral.packet import Packet
from brazo.teleop.bilateral.scheme import (
    Array,
    EndState,
    ForceCommand,
    SchemeEnd,
    Side,
    limited,
)


class PositionForce:
    """Position–force scheme: stiffness K (N/m), damping B (N s/m), max force of either side (N).

    `id` is the initial id of both sides; see `packet`.
    """

    name = "position-force"

    def __init__(
        self,
        stiffness: float = 2000.0,
        damping: float = 60.0,
        *,
        force_limit: float = 40.0,
        id: int = 1,
    ) -> None:
        self.stiffness = positive(stiffness, "stiffness")
        self.damping = positive(damping, "damping", zero=True)
        self.force_limit = positive(force_limit, "force_limit")
        self._ends = {side: SchemeEnd(id) for side in ("master", "follower")}

    def restart(self, side: Side) -> None:
        """Start a new coupling at one side."""
        self._ends[side] = SchemeEnd(self._ends[side].inflow.id + 1)

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """Return the force on the handle (3,), N, and the packet to send."""
        end = self._ends["master"]
        end.step(t, x, received)
        known = end.inflow.latest
        end.force = np.zeros(3) if known is None else limited(known.f, self.force_limit)
        return end.force, end.packet(v, end.force)

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[ForceCommand, Packet]:
        """Return the command of the follower and the packet to send."""
        end = self._ends["follower"]
        end.step(t, x, received)
        known = end.inflow.latest
        goal, speed, end.force = end.x, v, np.zeros(3)
        if known is not None:
            goal, speed = known.x, known.v
            pull = self.stiffness * (goal - end.x) + self.damping * (speed - v)
            end.force = limited(pull, self.force_limit)
        return ForceCommand(end.force, end.origin + goal, speed), end.packet(v, f)

    def state(self, side: Side) -> EndState:
        """Return energies and delays of one side."""
        return self._ends[side].state()

"""Position–force scheme: bilateral control without compensation of delay.

A spring and a damper pull the follower's tool, at x, to the received position x_m of the master.
The contact force f measured at the follower is applied to the master's handle.  With the delay T of
the link, the forces are

    F_follower = K (x_m(t−T) − x) + B (ẋ_m(t−T) − ẋ),       F_master = f(t−T).

With negligible delay this scheme is transparent: the operator feels the measured force.  With
delay, the control loop through the operator and a touched object gains energy in every round trip.
For an operator of stiffness K_h the loop gain is about K/K_h.  If it is above 1, the contact
oscillates with growing amplitude.  Received values are held until a newer packet arrives.
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
    """Position–force scheme with stiffness K (N/m) and damping B (N s/m).

    `force_limit` is the max force (N) on either robot.  `id` is the initial id of both sides; see
    `brazo.teleop.bilateral.packet`.
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
        """Reset one side and increase its id; packets from before the restart are then ignored."""
        self._ends[side] = SchemeEnd(self._ends[side].inflow.id + 1)

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """Return the force (3,), N, on the handle and the packet to send; see `Scheme.master`."""
        end = self._ends["master"]
        end.step(t, x, received)
        known = end.inflow.latest
        end.force = np.zeros(3) if known is None else limited(known.f, self.force_limit)
        return end.force, end.packet(v, end.force)

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[ForceCommand, Packet]:
        """Return the follower command and the packet to send; see `Scheme.follower`."""
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
        """Return energies, delays and packet counts of one side."""
        return self._ends[side].state()

"""Position–force: the plain scheme, without any care for delay.

The follower's tool is pulled by a spring and a damper to where the master's was when it sent, and
the contact force that was measured at the follower is put on the master's handle,

    F_follower = K (x_m(t−T) − x) + B (ẋ_m(t−T) − ẋ),       F_master = f(t−T).

With no delay to speak of this is the clearest touch there is.  With delay the loop
hand → wall → hand gains energy in every turn: with a hand of stiffness K_h the loop gain is about
K / K_h, and above 1 the contact swings up.  A sample is held until a newer one comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.teleop.bilateral.packet import Packet
from brazo.teleop.bilateral.scheme import Array, Command, End, EndState, Side, limited, positive


class PositionForce:
    """Stiffness K (N/m), damping B (N s/m), and the greatest force of either end (N).

    `id` is the number of this life of an end.
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
        self._ends = {side: End(id) for side in ("master", "follower")}

    def restart(self, side: Side) -> None:
        self._ends[side] = End(self._ends[side].inflow.id + 1)

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        end = self._ends["master"]
        end.step(t, x, received)
        known = end.inflow.latest
        end.force = np.zeros(3) if known is None else limited(known.f, self.force_limit)
        return end.force, end.packet(v, end.force)

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[Command, Packet]:
        end = self._ends["follower"]
        end.step(t, x, received)
        known = end.inflow.latest
        goal, speed, end.force = end.x, v, np.zeros(3)
        if known is not None:
            goal, speed = known.x, known.v
            pull = self.stiffness * (goal - end.x) + self.damping * (speed - v)
            end.force = limited(pull, self.force_limit)
        return Command(end.force, end.origin + goal, speed), end.packet(v, f)

    def state(self, side: Side) -> EndState:
        return self._ends[side].state()

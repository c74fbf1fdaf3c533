"""Interface of a bilateral scheme: one method for the master and one for the follower.

    force, packet   = scheme.master(t, x, v, received)         in every cycle of the master
    command, packet = scheme.follower(t, x, v, f, received)    in every cycle of the follower

`t` is the time (s).  `x`, `v` and `f` (3,) are position, velocity and external force of the tool in
the master's task space; `TaskMap` converts the values of the follower.  `received` contains all
packets that arrived since the last call, in any order.  The returned force is held until the next
call.  The two methods exchange data only by packets.  They can run in one process, or in two
processes with one scheme object each.  Only displacements are used.  Each side measures them
from its position at pairing, the time at which it first receives a packet of the peer.

Energy is measured at the tool, where force and displacement are both known exactly: a force F held
from one call to the next does the work F·Δx.  `SchemeEnd` computes this energy for one side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.teleop.bilateral.packet import Delay, Inflow, Packet

Array = np.ndarray
Side = Literal["master", "follower"]


@dataclass(frozen=True, slots=True, eq=False)
class ForceCommand:
    """Command for the follower until the next call, in the master's task space."""

    force: Array  # (3,) N, applied to its tool
    x: Array  # (3,) m, position that the force pulls towards
    v: Array  # (3,) m/s


@dataclass(frozen=True, slots=True)
class EndState:
    """State of one side (master or follower): energies since pairing, delay, packet counts.

    Energies are in J.
    """

    energy: float  # put into the link by the robot of this side: −Σ F·Δx
    power: float  # W, mean over the last cycle
    received: float  # energy sent by the peer, as received so far
    spent: float  # part of it used here; never more than received
    sent: float  # energy sent by this side
    coupling: float  # energy put into the spring and damper of this side
    buffered: float  # s, duration of the received, unused data
    paired: bool  # whether the peer is known
    id: int  # of this side
    peer: int  # of the peer; the energies of two sides can be added if each is the other's peer
    delay: Delay
    counts: Mapping[str, int]


class Scheme(Protocol):
    """Bilateral control scheme that couples two robots over a link with delay."""

    name: str
    force_limit: float  # N, of either side

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """Return the force (3,), N, on the master's handle and the packet to send.

        Arguments as in the module description.
        """
        ...

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[ForceCommand, Packet]:
        """Return the follower command and the packet to send; f (3,) is the contact force (N).

        Arguments as in the module description.
        """
        ...

    def state(self, side: Side) -> EndState:
        """Return the state of one side."""
        ...

    def restart(self, side: Side) -> None:
        """Reset one side and increase its id, for example when the operator releases the clutch.

        The peer pairs again when it receives the new id.  Stored energy and packets in transit are
        discarded, which only removes energy from the link.
        """
        ...


class SchemeEnd:
    """State of one side that all schemes need: cycle time, sequence numbers, packets, energy."""

    def __init__(self, id: int) -> None:
        self.period = math.nan  # s, expected time to the next call: running mean of the cycles
        self.t = math.nan
        self.origin = np.zeros(3)
        self.x = np.zeros(3)  # relative to the origin
        self.force = np.zeros(3)
        self.energy = self.power = 0.0
        self.inflow = Inflow(id)
        self._seq = 0

    @property
    def paired(self) -> bool:
        """Whether a packet of the peer has been received."""
        return self.inflow.peer > 0

    def step(self, t: float, x: Array, received: Sequence[Packet]) -> tuple[float, Array, bool]:
        """Finish the cycle that ends at time t (s), with the tool at x (3,).

        Return the length of the cycle (s), the displacement (3,) of the tool in the cycle (m), and
        whether this side was reset.  In the first cycle, and when the peer is new or has restarted,
        displacement and energy are measured from this cycle on.
        """
        first = math.isnan(self.t)
        if not (first or t > self.t):
            raise BrazoError(f"the time must increase: got {t:.6f} s after {self.t:.6f} s")
        place = x - self.origin
        dt, moved = (0.0, np.zeros(3)) if first else (t - self.t, place - self.x)
        if not first:
            work = -float(self.force @ moved)
            self.energy += work
            self.power = work / dt
            self.period = dt if math.isnan(self.period) else self.period + 0.1 * (dt - self.period)
        self.t, self.x = t, place
        fresh = self.inflow.take(t, received)
        if fresh or first:
            self.origin, self.x = x.copy(), np.zeros(3)
            self.energy = 0.0
        return dt, moved, fresh or first

    def packet(self, v: Array, f: Array, wave: Array | None = None, energy: float = 0.0) -> Packet:
        """Return the next packet to send, with velocity v (3,), m/s, and force f (3,), N.

        `wave` (3,) is the integral of the outgoing wave, by default 0, and `energy` (J) is the
        energy sent so far.
        """
        self._seq += 1
        inflow = self.inflow
        echo, held = inflow.echo(self.t)
        sums = np.zeros(3) if wave is None else wave
        return Packet(
            self._seq, self.t, inflow.id, inflow.peer, self.x, v.copy(), f.copy(), sums, energy,
            echo, held,
        )  # fmt: skip

    def state(
        self,
        received: float = 0.0,
        spent: float = 0.0,
        sent: float = 0.0,
        coupling: float = 0.0,
        buffered: float = 0.0,
    ) -> EndState:
        """Return the state of this side; the arguments are the same-named fields of `EndState`."""
        inflow = self.inflow
        peer = inflow.peer
        return EndState(
            self.energy, self.power, received, spent, sent, coupling, buffered,
            peer > 0, inflow.id, peer, inflow.delay(self.t), dict(inflow.counts),
        )  # fmt: skip


def limited(force: Array, most: float) -> Array:
    """Return the force (3,), scaled down if its norm exceeds `most` (N)."""
    length = math.sqrt(float(force @ force))
    return force if length <= most else force * (most / length)

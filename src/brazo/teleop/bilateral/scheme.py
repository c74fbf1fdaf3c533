"""What every bilateral scheme is: two methods that know the time only as an argument.

    force, packet   = scheme.master(t, x, v, received)         every cycle of the master's loop
    command, packet = scheme.follower(t, x, v, f, received)    every cycle of the follower's

`x`, `v` and `f` (3,) are place, speed and outside force of the tool in the master's task space
(`TaskMap` brings the follower's there), `received` all packets that came since the last call, in
whatever order.  The force returned is held until the next call.  Nothing else is shared by the two
methods: they may be called in one process or, each on an object of its own, in two.  Only ways
count, from where each end stood when it first heard of the other.

Energies are counted at the tool, where force and way are both known exactly: the force F held from
one call to the next does the work F·Δx.  `End` keeps that account for one end.
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
class Command:
    """What the follower is to do until the next call, in the master's task space."""

    force: Array  # (3,) N, to be put on its tool
    x: Array  # (3,) m, where the force pulls it to
    v: Array  # (3,) m/s


@dataclass(frozen=True, slots=True)
class EndState:
    """What an end publishes: energies (J) since the two were joined, delay, counts."""

    energy: float  # what the robot at this end put into the link: −Σ F·Δx
    power: float  # the same, W, over the last cycle
    received: float  # energy the other end has sent away, as far as known here
    spent: float  # of that, used here; never more than received
    sent: float  # energy sent away from here
    coupling: float  # energy put into this end's spring and damper
    buffered: float  # s, how long what was received will last
    paired: bool  # whether the other end is known
    id: int  # of this life of the end
    peer: int  # the other end's; accounts of two ends belong together where each is the other's
    delay: Delay
    counts: Mapping[str, int]


class Scheme(Protocol):
    """A way of coupling two robots over a link that takes its time."""

    name: str
    force_limit: float  # N, of either end

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """The force (3,) on the master's handle, and what to send."""
        ...

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[Command, Packet]:
        """What the follower is to do, and what to send; f is what touches it."""
        ...

    def state(self, side: Side) -> EndState:
        """The account of one end."""
        ...

    def restart(self, side: Side) -> None:
        """Forget the past of one end, as after a clutch; the other end joins when it hears of it.

        What was stored or on its way is lost, which takes energy and never gives any.
        """
        ...


class End:
    """What all ends have: cycle, numbering, newest packet, and the account at the tool."""

    def __init__(self, id: int) -> None:
        self.period = math.nan  # s, expected until the next call: a mean of the last cycles
        self.t = math.nan
        self.origin = np.zeros(3)
        self.x = np.zeros(3)  # from the origin
        self.force = np.zeros(3)
        self.energy = self.power = 0.0
        self.inflow = Inflow(id)
        self._seq = 0

    @property
    def paired(self) -> bool:
        """Whether the other end is known."""
        return self.inflow.peer > 0

    def step(self, t: float, x: Array, received: Sequence[Packet]) -> tuple[float, Array, bool]:
        """Close the cycle that ends at t: its length, the way in it, whether all begins anew."""
        first = math.isnan(self.t)
        if not (first or t > self.t):
            raise BrazoError(f"time only increases: {t:.6f} s after {self.t:.6f} s")
        place = x - self.origin
        dt, way = (0.0, np.zeros(3)) if first else (t - self.t, place - self.x)
        if not first:
            work = -float(self.force @ way)
            self.energy += work
            self.power = work / dt
            self.period = dt if math.isnan(self.period) else self.period + 0.1 * (dt - self.period)
        self.t, self.x = t, place
        anew = self.inflow.take(t, received)
        if anew or first:
            self.origin, self.x = x.copy(), np.zeros(3)
            self.energy = 0.0
        return dt, way, anew or first

    def packet(self, v: Array, f: Array, wave: Array | None = None, energy: float = 0.0) -> Packet:
        """The next packet."""
        self._seq += 1
        inflow = self.inflow
        echo, held = inflow.echo(self.t)
        sums = np.zeros(3) if wave is None else wave
        return Packet(
            self._seq, self.t, inflow.id, inflow.peer, self.x, v.copy(), f.copy(), sums, energy,
            echo, held,
        )  # fmt: skip

    def state(self, **account: float) -> EndState:
        """What is published, with the scheme's own account."""
        given = dict.fromkeys(("received", "spent", "sent", "coupling", "buffered"), 0.0) | account
        inflow = self.inflow
        return EndState(
            self.energy, self.power, **given,
            paired=self.paired, id=inflow.id, peer=inflow.peer,
            delay=inflow.delay(self.t), counts=dict(inflow.counts),
        )  # fmt: skip


def positive(value: float, what: str, *, zero: bool = False) -> float:
    """A setting that is a finite number greater than 0 (or 0, where that is allowed)."""
    ok = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or value < 0.0 or (value == 0.0 and not zero):
        least = "at least 0" if zero else "greater than 0"
        raise BrazoError(f"{what} is {value!r}; wanted a finite number {least}")
    return float(value)


def limited(force: Array, most: float) -> Array:
    """The force, no longer than `most`."""
    length = math.sqrt(float(force @ force))
    return force if length <= most else force * (most / length)

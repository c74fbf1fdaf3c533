"""What the two ends of a bilateral link tell each other, and which of it counts.

A packet carries a number that rises by one, the sender's time, where the sender is, the force it
meets, and two sums: of its outgoing wave and of the energy it sent away.  Being sums (and places,
not increments), a packet says all that its forerunners said.  So the newest is enough: whatever
comes late, twice, in another order or never changes nothing, and no energy can be counted twice.

Sums have a beginning, and both ends must mean the same one.  Every end has an `id`, greater after
each restart, and says whose `peer` it is.  An end that sees a new id begins its sums anew, for that
peer; it acts only on packets whose sums were begun for itself.  So what is still on its way from
before a restart, of either end, is worth nothing.

Delay is measured both ways.  `one_way` needs clocks that agree (one process, or a link that
translates `sent`); the round trip needs none, because a packet tells which of the other side's
packets it has seen and how long ago:

    round trip = now − echo − held.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from brazo.errors import BrazoError

Array = np.ndarray
MOST = 2.0**53  # of a count that a double holds exactly
# No tool goes so far, so fast or against such a force, and no session so long: beyond these a
# packet is a mistake, and its squares would soon be no numbers any more.
LARGEST = 1e6  # m, m/s, N
LARGEST_SUM = 1e9  # √(J s), J, s


def _zeros() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """One sample of one end, in the master's task space: m, m/s, N, J."""

    seq: int  # from 1, rising by one
    sent: float  # s, by the sender's clock
    id: int = 1  # of the sender since its last restart
    peer: int = 0  # the id its sums were begun for; 0 while it knows none
    x: Array = field(default_factory=_zeros)  # (3,) the way of the sender's tool since then
    v: Array = field(default_factory=_zeros)  # (3,) its speed
    f: Array = field(default_factory=_zeros)  # (3,) the force on it from outside
    wave: Array = field(default_factory=_zeros)  # (3,) ∫ outgoing wave dt, √(J s)
    energy: float = 0.0  # J sent away; never falls
    echo: float = math.nan  # `sent` of the newest packet from the other side
    held: float = 0.0  # s since that one came

    def numbers(self) -> tuple[float, ...]:
        """The packet as plain numbers, for a wire: 19, or 17 while there is no echo."""
        told = (
            float(self.seq), self.sent, float(self.id), float(self.peer),
            *self.x.tolist(), *self.v.tolist(), *self.f.tolist(), *self.wave.tolist(), self.energy,
        )  # fmt: skip
        return told if math.isnan(self.echo) else (*told, self.echo, self.held)

    @classmethod
    def read(cls, numbers: Sequence[float]) -> Packet:
        """A packet from a wire, checked."""
        try:
            given = [float(x) for x in numbers]
        except (TypeError, ValueError, OverflowError):
            raise BrazoError(f"a packet is 17 or 19 numbers, not {numbers!r}") from None
        if len(given) not in (17, 19):
            raise BrazoError(f"a packet has 17 or 19 numbers, not {len(given)}")
        if not all(map(math.isfinite, given)):
            raise BrazoError("a packet with a number that is not finite")
        seq, sent, id_, peer = given[:4]
        for value, what, least in ((seq, "number", 1.0), (id_, "id", 1.0), (peer, "peer", 0.0)):
            if not (least <= value <= MOST and value.is_integer()):
                raise BrazoError(f"a packet's {what} is a whole number from {least:g}; got {value}")
        for values, most in ((given[4:13], LARGEST), ([sent, *given[13:]], LARGEST_SUM)):
            if any(abs(value) > most for value in values):
                raise BrazoError(f"a packet with a number beyond ±{most:g}")
        x, v, f, wave = (np.array(given[i : i + 3]) for i in (4, 7, 10, 13))
        if given[16] < 0.0:
            raise BrazoError(f"a packet with {given[16]:g} J sent away; it is at least 0")
        echo, held = given[17:] or (math.nan, 0.0)
        return cls(int(seq), sent, int(id_), int(peer), x, v, f, wave, given[16], echo, held)


@dataclass(frozen=True, slots=True)
class Delay:
    """The delay as measured, s; nan before anything came."""

    one_way: float = math.nan  # of the newest packet when it came
    least: float = math.nan
    greatest: float = math.nan
    round_trip: float = math.nan
    age: float = math.nan  # of the newest packet now


class Inflow:
    """The packets that come to one end: keeps the newest, counts the rest.

    `counts`: "used"; "late" (older than what is known), "twice", "before" (of an earlier life of
    the other end), "unpaired" (not begun for this end), "refused" (energy that falls: no honest
    sender does that); "missing" are numbers skipped, also those that come late.
    """

    def __init__(self, id: int = 1) -> None:
        self.id, self.peer = id, 0
        self.counts: Counter[str] = Counter()
        self.latest: Packet | None = None
        self._came = math.nan
        self._one_way = self._round_trip = math.nan
        self._least, self._greatest = math.inf, -math.inf

    def take(self, t: float, packets: Sequence[Packet]) -> bool:
        """Take what came since the last call; whether the other end is a new one."""
        before = self.peer
        for packet in packets:
            if packet.id > self.peer:
                self.peer, self.latest = packet.id, None
            reason = self._unfit(packet)
            self.counts[reason or "used"] += 1
            if reason:
                continue
            if self.latest is not None:
                self.counts["missing"] += packet.seq - self.latest.seq - 1
            self.latest, self._came = packet, t
            self._measure(t, packet)
        return self.peer != before

    def _unfit(self, packet: Packet) -> str:
        last = self.latest
        if packet.id < self.peer:
            return "before"
        if packet.peer != self.id:
            return "unpaired"
        if last is not None and packet.seq <= last.seq:
            return "twice" if packet.seq == last.seq else "late"
        if packet.energy < (0.0 if last is None else last.energy):
            return "refused"
        return ""

    def echo(self, t: float) -> tuple[float, float]:
        """What to send back so that the other side can measure: `echo` and `held`."""
        if self.latest is None:
            return math.nan, 0.0
        return self.latest.sent, t - self._came

    def delay(self, t: float) -> Delay:
        """The delay as known at t."""
        if self.latest is None:
            return Delay()
        return Delay(
            self._one_way, self._least, self._greatest, self._round_trip, t - self.latest.sent
        )

    def _measure(self, t: float, packet: Packet) -> None:
        self._one_way = t - packet.sent
        self._least = min(self._least, self._one_way)
        self._greatest = max(self._greatest, self._one_way)
        if not math.isnan(packet.echo):
            self._round_trip = t - packet.echo - packet.held

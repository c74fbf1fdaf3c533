"""Packets of a bilateral link, and the receiver that selects the valid ones.

A packet contains a sequence number, the sender's time, position, velocity and external force, and
two sums: the integral of the outgoing wave and the energy sent so far.  Because a packet contains
positions and sums, not increments, it replaces all earlier packets.  Only the newest packet is
needed: late, duplicated, reordered or lost packets have no lasting effect, and no energy is counted
twice.

Both sides must start their sums at the same event.  Each side has an `id`, which increases with
each restart.  The field `peer` of a packet is the id that the other side had when the sender
started its sums.  A side that receives a new id of the other side restarts its own sums.  A side
uses a packet only if the packet's `peer` is the current id of this side.  Packets sent before a
restart of either side are therefore ignored.

The delay is measured in two ways.  `one_way` requires synchronised clocks (one process, or a link
that converts `sent` to the local clock).  The round trip requires no synchronisation: `echo` is the
sending time of the last packet that the sender received, and `held` is the time from the arrival of
that packet until this packet is sent,

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
MOST = 2.0**53  # largest count that a double holds exactly
# Bounds far beyond any real tool or session.  A packet outside them is an error, and its squares
# would overflow.
LARGEST = 1e6  # m, m/s, N
LARGEST_SUM = 1e9  # √(J s), J, s


def _zeros() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """Message from one side of a bilateral link to the other, in the master's task space.

    Units are m, m/s, N and J.
    """

    seq: int  # starts at 1, increases by one
    sent: float  # s, clock of the sender
    id: int = 1  # id of the sender, larger after each restart
    peer: int = 0  # id of the peer that the sums belong to; 0 while unknown
    x: Array = field(default_factory=_zeros)  # (3,) displacement of the tool since pairing
    v: Array = field(default_factory=_zeros)  # (3,) velocity of the tool
    f: Array = field(default_factory=_zeros)  # (3,) external force on the tool
    wave: Array = field(default_factory=_zeros)  # (3,) ∫ outgoing wave dt, √(J s)
    energy: float = 0.0  # J sent; never decreases
    echo: float = math.nan  # `sent` of the newest packet from the peer
    held: float = 0.0  # s since that packet was received

    def numbers(self) -> tuple[float, ...]:
        """Return the packet as a tuple of 19 floats, or of 17 floats if `echo` is nan."""
        values = (
            float(self.seq), self.sent, float(self.id), float(self.peer),
            *self.x.tolist(), *self.v.tolist(), *self.f.tolist(), *self.wave.tolist(), self.energy,
        )  # fmt: skip
        return values if math.isnan(self.echo) else (*values, self.echo, self.held)

    @classmethod
    def read(cls, numbers: Sequence[float]) -> Packet:
        """Return the packet that `Packet.numbers` encoded; raise an error for invalid numbers."""
        try:
            given = [float(x) for x in numbers]
        except (TypeError, ValueError, OverflowError):
            raise BrazoError(
                f"a packet must be a sequence of 17 or 19 numbers, not {numbers!r}"
            ) from None
        if len(given) not in (17, 19):
            raise BrazoError(f"a packet must have 17 or 19 numbers, not {len(given)}")
        if not all(map(math.isfinite, given)):
            raise BrazoError("a packet contains a number that is not finite")
        seq, sent, id_, peer = given[:4]
        for value, what, least in (
            (seq, "sequence number", 1.0),
            (id_, "id", 1.0),
            (peer, "peer", 0.0),
        ):
            if not (least <= value <= MOST and value.is_integer()):
                raise BrazoError(
                    f"a packet's {what} must be an integer of at least {least:g} and at most 2^53; "
                    f"got {value:g}"
                )
        for values, most, what in (
            (given[4:13], LARGEST, "position, velocity or force"),
            ([sent, *given[13:]], LARGEST_SUM, "time, wave integral or energy"),
        ):
            if any(abs(value) > most for value in values):
                raise BrazoError(f"a packet contains a {what} outside ±{most:g} (SI units)")
        x, v, f, wave = (np.array(given[i : i + 3]) for i in (4, 7, 10, 13))
        if given[16] < 0.0:
            raise BrazoError(
                f"a packet reports a sent energy of {given[16]:g} J; it must be at least 0"
            )
        echo, held = given[17:] or (math.nan, 0.0)
        return cls(int(seq), sent, int(id_), int(peer), x, v, f, wave, given[16], echo, held)


@dataclass(frozen=True, slots=True)
class Delay:
    """Measured delays of received packets, in s; nan before the first packet."""

    one_way: float = math.nan  # of the newest packet on arrival
    least: float = math.nan
    greatest: float = math.nan
    round_trip: float = math.nan
    age: float = math.nan  # current age of the newest packet


class Inflow:
    """Receiver of one side: keeps the newest valid packet and counts the packets.

    Keys of `counts`:

        used        accepted as the newest packet
        late        older than the newest packet
        twice       duplicate of the newest packet
        before      sent before the last restart of the peer
        unpaired    the packet's `peer` is not the id of this side
        refused     the energy sum is lower than in the newest packet: an error of the sender
        missing     skipped sequence numbers, including those of packets that arrive late
    """

    def __init__(self, id: int = 1) -> None:
        self.id, self.peer = id, 0
        self.counts: Counter[str] = Counter()
        self.latest: Packet | None = None
        self._came = math.nan
        self._one_way = self._round_trip = math.nan
        self._least, self._greatest = math.inf, -math.inf

    def take(self, t: float, packets: Sequence[Packet]) -> bool:
        """Process packets received at time t (s); return True if the peer is new or restarted."""
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
        """Return the fields `echo` and `held` (s) for a packet that is sent at time t (s).

        They are nan and 0 if no packet was received yet.
        """
        if self.latest is None:
            return math.nan, 0.0
        return self.latest.sent, t - self._came

    def delay(self, t: float) -> Delay:
        """Return the delays measured up to time t (s)."""
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

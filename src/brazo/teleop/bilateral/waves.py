"""Wave variables: the link as an elastic line, passive whatever the delay does.

Each end of the line moves with ẏ and pulls its robot with F through a spring and a damper,

    F = K (y − x) + B (ẏ − ẋ),        in = (b ẏ + F)/√(2b),      out = (b ẏ − F)/√(2b),

and what goes out at one end comes in at the other after the delay (Anderson & Spong 1989, Niemeyer
& Slotine 1991).  The line gives its robot F·ẏ = ½ in² − ½ out², so it cannot give more than came
in: both ends together are passive for every delay.

**Matching.**  A wave that meets its own impedance is not echoed.  So the follower is damped by
D = b: in free motion it repeats the master's way after the delay, and the hand feels a drag b ẋ and
no echo.  At a rigid wall the line itself gives way: with T the delay one way the hand feels the
stiffness of K, b/T and K in series.  B = b takes up what is quicker than K/b.

**Varying delay.**  A wave that is stretched in time gains energy when samples are repeated.  So not
samples are sent but sums, ∫ out dt and ∫ ½ out² dt (Niemeyer & Slotine 1998).  With U and E what
was received of both and not used yet, the next cycle of length h uses

    in = U · min(1/h, 2E/|U|²),

which empties U and E together: for one packet a cycle it is the very wave that was sent; a burst is
played at the pace it was made; a gap plays nothing.  Since ½ in² h never exceeds E, no stretch,
loss, repetition or disorder adds energy, and since U is used up in full, nothing drifts: at rest
and without force both ends stand at the same place.  With `smoothing` longer than h it takes the
place of h in 1/h: a low pass, which only takes energy, and small gaps are bridged.

**Sampling.**  F is held over a cycle.  With A = ∫ in dt used in it and Δy = (√(2b) A − F h)/b, the
account ½|A|²/h − ½|out h|²/h = F·Δy is exact for any cycle length.  What is left is the sampled
spring and damper between y and x; F is taken at the end of the cycle (B + K h instead of B), which
makes up for the hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brazo.teleop.bilateral.packet import Packet
from brazo.teleop.bilateral.scheme import Array, Command, End, EndState, Side, limited, positive

_NOTHING = np.zeros(3)


class WaveVariables:
    """Line impedance b (N s/m); stiffness K (N/m) and damping B (N s/m) between line and robots.

    `drag` is D, the damping of the follower itself; B and D are b when not given.  `smoothing` is
    in s, `force_limit` (N) the greatest pull of either end, `id` the number of this life of an end.
    """

    name = "wave variables"

    def __init__(
        self,
        impedance: float = 25.0,
        stiffness: float = 2000.0,
        damping: float | None = None,
        drag: float | None = None,
        *,
        smoothing: float = 0.005,
        force_limit: float = 40.0,
        id: int = 1,
    ) -> None:
        self.impedance = positive(impedance, "impedance")
        self.stiffness = positive(stiffness, "stiffness")
        b = self.impedance
        self.damping = positive(b if damping is None else damping, "damping", zero=True)
        self.drag = positive(b if drag is None else drag, "drag", zero=True)
        self.smoothing = positive(smoothing, "smoothing", zero=True)
        self.force_limit = positive(force_limit, "force_limit")
        self._ends: dict[Side, WaveEnd] = {
            "master": WaveEnd(self, id), "follower": WaveEnd(self, id, self.drag)
        }  # fmt: skip

    def restart(self, side: Side) -> None:
        old = self._ends[side]
        self._ends[side] = WaveEnd(self, old.end.inflow.id + 1, old.drag)

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        return self._ends["master"].step(t, x, v, _NOTHING, received)

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[Command, Packet]:
        end = self._ends["follower"]
        force, packet = end.step(t, x, v, f, received)
        return Command(force, end.end.origin + end.y, end.rate), packet

    def state(self, side: Side) -> EndState:
        return self._ends[side].state()


class WaveBuffer:
    """What came in and is not used yet: a wave sum U and the energy E it was sent with."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing  # s
        self.received = self.spent = 0.0  # J
        self._came, self._used = np.zeros(3), np.zeros(3)

    def put(self, packet: Packet) -> None:
        self._came, self.received = packet.wave, packet.energy

    def wave(self, h: float) -> Array:
        """The wave to use for the next h seconds."""
        U, E = self._came - self._used, max(self.received - self.spent, 0.0)
        length2 = float(U @ U)
        if length2 == 0.0:
            return U
        return U * min(1.0 / max(h, self.smoothing), 2.0 * E / length2)

    def use(self, A: Array, h: float) -> None:
        """A = ∫ in dt was used in h seconds."""
        self._used = self._used + A
        self.spent += 0.5 * float(A @ A) / h

    @property
    def lasts(self) -> float:
        """How long (s) what is there will last."""
        U, E = self._came - self._used, self.received - self.spent
        return 0.5 * float(U @ U) / E if E > 0.0 else 0.0


class WaveEnd:
    """One end of the line."""

    def __init__(self, line: WaveVariables, id: int, drag: float = 0.0) -> None:
        self.line, self.drag = line, drag
        self.end = End(id)
        self._begin()

    def _begin(self) -> None:
        """The line is at rest and ends where the tool is."""
        self.buffer = WaveBuffer(self.line.smoothing)
        self.y, self.rate = np.zeros(3), np.zeros(3)  # of the line's end, as x from the origin
        self.sum, self.sent = np.zeros(3), 0.0  # what goes out
        self.coupling = 0.0
        self._in, self._pull = np.zeros(3), np.zeros(3)
        self._planned = 0.0  # s
        self.end.force = np.zeros(3)

    def step(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """One cycle."""
        end = self.end
        dt, way, anew = end.step(t, x, received)
        if anew:
            self._begin()
        elif end.paired:
            self._close(dt, way)
        if end.inflow.latest is not None:
            self.buffer.put(end.inflow.latest)
        if end.paired and end.period > 0.0:
            self._pull = self._force(end.x, v)
            end.force = self._pull - self.drag * v
        return end.force, end.packet(v, f, self.sum, self.sent)

    def _close(self, dt: float, way: Array) -> None:
        """Do the account of the cycle that is over, with the length it really had."""
        b, F = self.line.impedance, self._pull
        # A cycle that took longer than planned gets no more than was planned for it.
        A = self._in * min(dt, self._planned)
        Y = (math.sqrt(2.0 * b) * A - F * dt) / b
        gone = A - math.sqrt(2.0 / b) * F * dt
        self.buffer.use(A, dt)
        self.y = self.y + Y
        self.sum = self.sum + gone
        self.sent += 0.5 * float(gone @ gone) / dt
        self.coupling += float(F @ Y - self.end.force @ way)

    def _force(self, x: Array, v: Array) -> Array:
        b, K = self.line.impedance, self.line.stiffness
        h = self._planned = self.end.period
        self._in = self.buffer.wave(h)
        B = self.line.damping + K * h
        push, spring = math.sqrt(2.0 * b) * self._in, K * (self.y - x)
        rate = (push - spring + B * v) / (b + B)
        F = limited(spring + B * (rate - v), self.line.force_limit)
        self.rate = (push - F) / b
        return F

    def state(self) -> EndState:
        buffer = self.buffer
        return self.end.state(
            received=buffer.received,
            spent=buffer.spent,
            sent=self.sent,
            coupling=self.coupling,
            buffered=buffer.lasts,
        )

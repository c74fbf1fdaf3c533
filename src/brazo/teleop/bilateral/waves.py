"""Wave variables: bilateral control that is passive for any delay.

The link is modelled as an elastic line with the impedance b.  Each end of the line has a position
y.  A spring (stiffness K) and a damper (damping B) connect this end to the tool of one robot, which
is at x, and pull the tool with the force F.  `in` and `out` are the incoming and outgoing waves of
this end:

    F = K (y − x) + B (ẏ − ẋ),        in = (b ẏ + F)/√(2b),      out = (b ẏ − F)/√(2b).

After the delay, the outgoing wave of one end is the incoming wave of the opposite end (Anderson &
Spong 1989, Niemeyer & Slotine 1991).  Each end delivers the power F·ẏ = ½ in² − ½ out² to its
robot.  The line therefore cannot deliver more energy than it received: it is passive for any delay.

**Matching.**  A wave is not reflected at an end whose impedance equals that of the line.  The
follower's tool therefore has the damping D = b: in free motion it repeats the master's path after
the delay, and the operator feels a drag b ẋ and no reflection.  At a rigid wall the line itself is
compliant: with a one-way delay T the operator feels the stiffnesses K, b/T and K in series.  A
damping B = b absorbs the components of the motion that are faster than K/b (rad/s).

**Varying delay.**  If samples of the wave were sent, repeating a sample while the delay grows would
add energy.  Therefore the integrals ∫ out dt and ∫ ½ out² dt are sent (Niemeyer & Slotine 1998).
Let U and E be the parts of the two integrals that were received but not yet used.  The next cycle,
of length h, uses

    in = U · min(1/h, 2E/|U|²),

which uses up U and E at the same time.  With one packet per cycle this is exactly the wave that was
sent.  A burst of packets is replayed at the rate at which it was produced, and a gap gives zero.
Since ½ in² h never exceeds E, no delay variation, loss, duplication or reordering adds energy.
Since U is used completely, the positions do not drift: at rest and without force both ends are at
the same position.  A `smoothing` longer than h replaces h in 1/h.  This is a low-pass filter, which
only removes energy and bridges short gaps.

**Sampling.**  F is constant during a cycle.  Let A = ∫ in dt be the integral of the wave used in
the cycle.  The end of the line then moves by Δy = (√(2b) A − F h)/b, and the balance
½|A|²/h − ½|out h|²/h = F·Δy is exact for any cycle length.  Only the spring and damper between y
and x have a sampling error.  To compensate for the constant F, F is evaluated for the end of the
cycle (B + K h instead of B).
"""

from __future__ import annotations

import math
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

_NOTHING = np.zeros(3)


class WaveVariables:
    """Wave-variable scheme: an elastic line between master and follower.

    `impedance` b (N s/m) is that of the line.  `stiffness` K (N/m) and `damping` B (N s/m) are
    those of the spring and damper at each of its two ends.  `drag` D (N s/m) is the damping of the
    follower's tool.  B and D default to b.  `smoothing` is the time constant (s) of the low-pass
    filter.  `force_limit` is the max force (N) of the spring and damper at either end.  `id` is the
    initial id of both sides.
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
        """Reset one side and increase its id, so that the two sides pair again."""
        old = self._ends[side]
        self._ends[side] = WaveEnd(self, old.end.inflow.id + 1, old.drag)

    def master(
        self, t: float, x: Array, v: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """Return the force (3,), N, on the handle and the packet to send; see `Scheme.master`."""
        return self._ends["master"].step(t, x, v, _NOTHING, received)

    def follower(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[ForceCommand, Packet]:
        """Return the follower command and the packet to send; see `Scheme.follower`."""
        end = self._ends["follower"]
        force, packet = end.step(t, x, v, f, received)
        return ForceCommand(force, end.end.origin + end.y, end.rate), packet

    def state(self, side: Side) -> EndState:
        """Return energies, delays and packet counts of one side."""
        return self._ends[side].state()


class WaveBuffer:
    """Part of the wave that was received but not yet used: its integral U and energy E."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing  # s
        self.received = self.spent = 0.0  # J
        self._came, self._used = np.zeros(3), np.zeros(3)

    def put(self, packet: Packet) -> None:
        self._came, self.received = packet.wave, packet.energy

    def wave(self, h: float) -> Array:
        """Return the wave (3,) to use for the next h seconds."""
        U, E = self._came - self._used, max(self.received - self.spent, 0.0)
        length2 = float(U @ U)
        if length2 == 0.0:
            return U
        return U * min(1.0 / max(h, self.smoothing), 2.0 * E / length2)

    def use(self, A: Array, h: float) -> None:
        """Remove the integral A = ∫ in dt (3,), used during h seconds, from the buffer."""
        self._used = self._used + A
        self.spent += 0.5 * float(A @ A) / h

    @property
    def lasts(self) -> float:
        """Time (s) in which the wave in the buffer will be used up if no packet arrives."""
        U, E = self._came - self._used, self.received - self.spent
        return 0.5 * float(U @ U) / E if E > 0.0 else 0.0


class WaveEnd:
    """End of the elastic line at one robot, with its spring and damper."""

    def __init__(self, line: WaveVariables, id: int, drag: float = 0.0) -> None:
        self.line, self.drag = line, drag
        self.end = SchemeEnd(id)
        self._begin()

    def _begin(self) -> None:
        """Reset this end of the line to rest, at the position of the tool."""
        self.buffer = WaveBuffer(self.line.smoothing)
        self.y, self.rate = np.zeros(3), np.zeros(3)  # end of the line, from origin
        self.sum, self.sent = np.zeros(3), 0.0  # outgoing wave and energy
        self.coupling = 0.0
        self._in, self._pull = np.zeros(3), np.zeros(3)
        self._planned = 0.0  # s
        self.end.force = np.zeros(3)

    def step(
        self, t: float, x: Array, v: Array, f: Array, received: Sequence[Packet]
    ) -> tuple[Array, Packet]:
        """Run one cycle; return the force (3,), N, on the tool and the packet to send."""
        end = self.end
        dt, moved, fresh = end.step(t, x, received)
        if fresh:
            self._begin()
        elif end.paired:
            self._close(dt, moved)
        if end.inflow.latest is not None:
            self.buffer.put(end.inflow.latest)
        if end.paired and end.period > 0.0:
            self._pull = self._force(end.x, v)
            end.force = self._pull - self.drag * v
        return end.force, end.packet(v, f, self.sum, self.sent)

    def _close(self, dt: float, moved: Array) -> None:
        """Update position, wave and energies for the finished cycle.

        `dt` (s) is the length of the cycle and `moved` (3,), m, the displacement of the tool in it.
        """
        b, F = self.line.impedance, self._pull
        # A cycle longer than planned uses no more of the wave than was planned.
        A = self._in * min(dt, self._planned)
        Y = (math.sqrt(2.0 * b) * A - F * dt) / b
        gone = A - math.sqrt(2.0 / b) * F * dt
        self.buffer.use(A, dt)
        self.y = self.y + Y
        self.sum = self.sum + gone
        self.sent += 0.5 * float(gone @ gone) / dt
        self.coupling += float(F @ Y - self.end.force @ moved)

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
        return self.end.state(buffer.received, buffer.spent, self.sent, self.coupling, buffer.lasts)

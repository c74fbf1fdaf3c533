"""Simulated network delay within one process; runs with the same seed are bit-identical.

Without jitter every packet is delayed by T.  With the jitter J there are three kinds of delay:

    scattered  T plus a random value in [−J, J] for each packet; packets can overtake each other
    ordered    as scattered, but packets stay in order (as with TCP), with gaps and bursts
    drifting   a delay that varies slowly between T − J and T + J

Packets can also be lost or duplicated.  A packet is delivered by the first call of `receive` at or
after its arrival time.
"""

from __future__ import annotations

import heapq
import math
from typing import Literal, get_args

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.teleop.bilateral.packet import Packet

Kind = Literal["scattered", "ordered", "drifting"]
_EPSILON = 1e-9  # s, tolerance between sums of time steps and sums of delays


class DelayLine:
    """Simulated network connection in one direction.

    `delay` (s), `jitter` (s) and `kind` are T, J and the kind of delay in the module description.
    `loss` and `twice` are the fractions of lost and duplicated packets, in [0, 1).  `wander` is the
    highest frequency (Hz) in the variation of a drifting delay.
    """

    def __init__(
        self,
        delay: float,
        jitter: float = 0.0,
        *,
        kind: Kind = "scattered",
        loss: float = 0.0,
        twice: float = 0.0,
        wander: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.delay = positive(delay, "delay", zero=True)
        self.jitter = positive(jitter, "jitter", zero=True)
        if self.jitter > self.delay:
            raise BrazoError(
                f"jitter is {jitter:g} s; it must not exceed the delay, which is {delay:g} s"
            )
        one_of(kind, get_args(Kind), "kind")
        for share, what in ((loss, "loss"), (twice, "twice")):
            if not 0.0 <= share < 1.0:
                raise BrazoError(f"{what} is {share!r}; it must be at least 0 and below 1")
        self.kind, self.loss, self.twice = kind, loss, twice
        self.wander = positive(wander, "wander")  # Hz
        self.random = np.random.default_rng(seed)
        self._phases = self.random.uniform(0.0, 2.0 * math.pi, 3)
        self._on_the_way: list[tuple[float, int, Packet]] = []
        self._count = 0
        self._last = -math.inf

    def send(self, t: float, packet: Packet) -> None:
        """Send a packet at time t (s)."""
        if self.loss and self.random.random() < self.loss:
            return
        copies = 2 if self.twice and self.random.random() < self.twice else 1
        for _ in range(copies):
            arrival = t + self._delay(t)
            if self.kind == "ordered":
                arrival = self._last = max(arrival, self._last)
            self._count += 1
            heapq.heappush(self._on_the_way, (arrival, self._count, packet))

    def receive(self, t: float) -> list[Packet]:
        """Return the packets that have arrived since the last call, up to time t (s)."""
        found = []
        while self._on_the_way and self._on_the_way[0][0] <= t + _EPSILON:
            found.append(heapq.heappop(self._on_the_way)[2])
        return found

    def _delay(self, t: float) -> float:
        if not self.jitter:
            return self.delay
        if self.kind == "drifting":
            # Three sines with incommensurable frequencies; their mean is at most 1 in magnitude.
            rates = 2.0 * math.pi * self.wander * np.array([1.0, 0.6180, 0.4142])
            return self.delay + self.jitter * float(np.sin(rates * t + self._phases).mean())
        return self.delay + self.jitter * float(self.random.uniform(-1.0, 1.0))

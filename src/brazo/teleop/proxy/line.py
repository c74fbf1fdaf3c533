"""`FaultLine`: when each frame of one direction comes out, if it does; pure, time is given.

Every frame draws the same four random numbers whether or not they are needed, so what happens to
the k-th frame depends on the seed and on the script alone.  Frames leave in the order in which they
came (the network below is TCP), unless they are meant to be overtaken.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from brazo.teleop.proxy.faults import Faults


@dataclass(frozen=True, slots=True, order=True)
class Leaving:
    """A frame on its way out."""

    at: float  # s
    index: int  # of two at one time the lower leaves first
    data: bytes


class FaultLine:
    """One direction of one connection."""

    def __init__(
        self,
        seed: str,
        faults: Callable[[float], Faults],
        thaw: Callable[[float], float],
        counts: Counter[str],
    ) -> None:
        self._random = random.Random(seed)
        self._faults, self._thaw, self._counts = faults, thaw, counts
        self._index = 0
        self._last = 0.0  # when the frame before leaves
        self._busy = 0.0  # until then the throttled line is taken

    def push(self, data: bytes, now: float, whole: bool = True) -> list[Leaving]:
        """What becomes of a frame that comes in now; `whole` frames may come twice or later."""
        lost, twice, overtaken, jitter = (self._random.random() for _ in range(4))
        faults = self._faults(now)
        self._counts["frames"] += 1
        if faults.half_open:
            self._counts["vanished"] += 1
            return []
        at = now + faults.delay + jitter * faults.jitter
        if faults.freeze:
            self._counts["frozen"] += 1
            at = max(at, self._thaw(now))
        if lost < faults.loss:
            self._counts["stalled"] += 1
            at += faults.stall
        at = max(at, self._last)
        self._busy = max(at, self._busy) + len(data) / faults.throttle
        at = max(at, self._busy)
        late = whole and overtaken < faults.reorder
        if not late:
            self._last = at
        else:
            # Not held against those behind it, which therefore pass.
            self._counts["overtaken"] += 1
            at += faults.overtaken
        leaving = [self._leave(at, data)]
        if whole and twice < faults.duplicate:
            self._counts["doubled"] += 1
            leaving.append(self._leave(at, data))
        return leaving

    def half_open(self, now: float) -> bool:
        """Whether everything vanishes now."""
        return self._faults(now).half_open

    def thaw(self, now: float) -> None:
        """A freeze without an end is over: those behind need not wait for it."""
        self._last, self._busy = min(self._last, now), min(self._busy, now)

    def _leave(self, at: float, data: bytes) -> Leaving:
        self._index += 1
        return Leaving(at, self._index, data)

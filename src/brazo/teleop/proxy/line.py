"""`FaultLine`: send times of the frames in one direction of a connection; performs no I/O.

Four random numbers are generated for every frame, even if they are not needed.  The random numbers
of the k-th frame therefore depend only on the seed.  What happens to a frame depends on its random
numbers and on the faults that are active when it arrives.  Frames are sent in order of arrival, as
in TCP, except those that are reordered.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from brazo.teleop.proxy.faults import Faults


@dataclass(frozen=True, slots=True, order=True)
class Leaving:
    """A frame with the time at which it is sent."""

    at: float  # s
    index: int  # order of frames that leave at the same time
    data: bytes


class FaultLine:
    """Schedule of the frames of one direction of one connection.

    `faults(t)` returns the faults at time t (s).  `thaw(t)` returns the time (s) at which the
    fault `freeze` that is active at time t ends.
    """

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
        self._last = 0.0  # departure time of the previous frame
        self._busy = 0.0  # time until which the throttled line is busy

    def push(self, data: bytes, now: float, whole: bool = True) -> list[Leaving]:
        """Return the frame `data`, which arrives at time `now` (s), with the time to send it.

        The list has two entries if the frame is duplicated, and is empty if the connection is
        half-open.  A frame can be duplicated or reordered only if it is a complete message (`whole`
        is True).
        """
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
            # Later frames do not wait for this one, so they overtake it.
            self._counts["overtaken"] += 1
            at += faults.overtaken
        leaving = [self._leave(at, data)]
        if whole and twice < faults.duplicate:
            self._counts["doubled"] += 1
            leaving.append(self._leave(at, data))
        return leaving

    def half_open(self, now: float) -> bool:
        """Return whether all data is dropped at time `now` (s)."""
        return self._faults(now).half_open

    def thaw(self, now: float) -> None:
        """Clear the waiting time: frames after time `now` (s) do not wait for earlier frames."""
        self._last, self._busy = min(self._last, now), min(self._busy, now)

    def _leave(self, at: float, data: bytes) -> Leaving:
        self._index += 1
        return Leaving(at, self._index, data)

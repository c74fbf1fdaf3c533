"""A cell stepped in real time, 1 kHz, and how late each step began.

As a script it steps until its standard input is closed and prints what it saw: the measure of what
a busy machine alone does to such a loop.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np

from brazo.world import World, load_cell

LATE = 5e-3  # s


class Stepping:
    """`with Stepping() as loop:` steps in a thread; afterwards `made` and `late` tell."""

    def __init__(self) -> None:
        self.world = World(load_cell("cooperative"))
        self._late: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def _loop(self) -> None:
        due = time.perf_counter()
        while not self._stop.is_set():
            self._late.append(time.perf_counter() - due)
            self.world.step(1)
            due = max(due + 1e-3, time.perf_counter() - 0.05)  # a step missed for good is no step
            while (left := due - time.perf_counter()) > 0:
                time.sleep(left)

    def __enter__(self) -> Stepping:
        self._start = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        elapsed = time.perf_counter() - self._start
        self.made = len(self._late) / (elapsed / 1e-3)  # of the steps there was time for
        self.late = float(np.mean(np.array(self._late) > LATE))


if __name__ == "__main__":
    with Stepping() as loop:
        sys.stdin.read()
    print(json.dumps({"made": loop.made, "late": loop.late}))  # noqa: T201

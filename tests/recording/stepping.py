"""A cell stepped in real time at 1 kHz, with the delay of each step.

As a script it steps until stdin is closed and prints its statistics, which show how a busy machine
alone affects such a loop.
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
    """Step in a thread: `with Stepping() as loop:`; afterwards `made` and `late` are set."""

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
            due = max(due + 1e-3, time.perf_counter() - 0.05)  # steps later than 50 ms are skipped
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
        self.made = len(self._late) / (elapsed / 1e-3)  # share of the nominal number of steps
        self.late = float(np.mean(np.array(self._late) > LATE))


if __name__ == "__main__":
    with Stepping() as loop:
        sys.stdin.read()
    print(json.dumps({"made": loop.made, "late": loop.late}))  # noqa: T201

"""A lab in a separate process that reports its resource usage, for `soak.py`, `lab_costs.py` and
`floods.py`.

The process runs this file; every input line is answered by one line of JSON.  Linux only: it reads
/proc.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAYER = "brazo player"  # the simulation thread


@dataclass(frozen=True)
class Sample:
    """Resource usage of the process at one time."""

    wall: float  # s
    rss: float  # MB in memory
    cpu: float  # s, of all threads
    player: float  # s, of the simulation's
    lab: float  # s, of the one that shows
    time: float  # s simulated
    frames: int  # scenes shown since the start

    def beside(self, before: Sample) -> float:
        """CPU usage of the lab without the simulation since `before`, as a fraction of one core."""
        took = (self.cpu - before.cpu) - (self.player - before.player)
        return took / (self.wall - before.wall)

    def rate(self, before: Sample) -> float:
        """Scenes shown per second since `before`."""
        return (self.frames - before.frames) / (self.wall - before.wall)

    def factor(self, before: Sample) -> float:
        """Simulated over wall time since `before`."""
        return (self.time - before.time) / (self.wall - before.wall)


class LabProcess:
    """`with LabProcess("cooperative") as lab:`; `lab.url`, `lab.sample()`."""

    def __init__(self, cell: str, *options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, cell, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url: str = self._read()["url"]
        self.pid = self._process.pid

    def __enter__(self) -> LabProcess:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def sample(self) -> Sample:
        """Return the resource usage so far."""
        return Sample(**self.ask("sample"))

    def ask(self, what: str) -> Any:
        """The answer to a line: `sample`, `clicks`, `probes`, `forget`, `memory`."""
        assert self._process.stdin is not None
        print(what, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the lab has ended")
        return json.loads(line)


def rss(pid: int) -> float:
    """Return the memory of a process, MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


# ---- in the process itself -----------------------------------------------------------------------


def main(cell: str, *options: str) -> None:
    from brazo.lab.serving import serve

    if "--trace" in options:
        tracemalloc.start(12)
    lab = serve(cell, port=0, open_browser=False, block=False)
    counted = [0]
    place = lab.scene.place

    def counting(*arguments: Any) -> None:
        counted[0] += 1
        place(*arguments)

    lab.scene.place = counting  # pyright: ignore[reportAttributeAccessIssue]
    clicks: list[float] = []
    lab.channel.on("measure/click", lambda: clicks.append(time.time()), free=True)
    acts: list[tuple[int, float]] = []
    stops: list[float] = []
    halt = lab.halt

    def halting() -> str | None:
        said = halt()
        stops.append(time.monotonic())
        return said

    lab.halt = halting
    lab.channel.on("measure/act", lambda n: acts.append((n, time.monotonic())), int, still=True)
    first: tracemalloc.Snapshot | None = None
    print(json.dumps({"url": lab.url}), flush=True)
    for line in sys.stdin:
        answer: Any = None
        match line.strip():
            case "sample":
                answer = {
                    "wall": time.monotonic(),
                    "rss": rss(os.getpid()),
                    "cpu": time.process_time(),
                    "player": _cpu_of(PLAYER),
                    "lab": _cpu_of("brazo lab"),
                    "time": lab.sim.time,
                    "frames": counted[0],
                }
            case "clicks":
                answer = clicks
            case "probes":
                answer = {"acts": acts, "stops": stops}
            case "forget":
                acts.clear()
                stops.clear()
            case "memory":
                now = tracemalloc.take_snapshot()
                if first is not None:
                    grown = now.compare_to(first, "traceback")[:12]
                    answer = [[s.size_diff, s.count_diff, s.traceback.format()] for s in grown]
                first = first or now
        print(json.dumps(answer), flush=True)
    lab.stop()


def _cpu_of(name: str) -> float:
    threads = [t.ident for t in threading.enumerate() if t.name == name and t.ident]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in threads)


if __name__ == "__main__":
    main(*sys.argv[1:])

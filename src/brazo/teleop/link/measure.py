"""Measurement of a link between two processes on this machine.

The master sends a stream of commands.  The follower runs in its own process and reads the newest
command in every cycle, as a control loop would.  Both processes use the same monotonic clock, so
the one-way latency is measured, not estimated.

    latency  time from `send` at the master to arrival in the follower's process
    age      age of the newest command at each cycle of the follower's loop
    jitter   difference between arrival interval and sending interval of two commands
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from brazo.errors import BrazoError
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.link.master_link import MasterLink
from brazo.teleop.link.views import LinkReport

JOINTS = 6


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles (50, 99 and 99.9 %) and max of a measured duration, in ms."""

    p50: float
    p99: float
    p999: float
    most: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """Results of a measurement of the link."""

    seconds: float
    rate: float  # Hz, achieved by the master's loop
    sent: int  # commands passed to the link
    received: int
    replaced: int  # by a newer one before they were sent
    lost: int  # missing sequence numbers
    disordered: int  # frames that arrived after a newer one
    late: int  # expired on arrival
    latency: Spread
    jitter: Spread
    age: Spread
    round_trip: float  # ms, min
    offset: float  # ms, estimated clock offset; the true value is 0, because both use one clock


def measure(
    seconds: float = 10.0,
    rate: float = 500.0,
    progress: Callable[[float], None] | None = None,
) -> Measurement:
    """Measure a link over the loopback interface for `seconds` at `rate` commands per second.

    `progress` is called with the completed fraction, from 0 to 1.
    """
    if not (0.0 < seconds <= 86_400.0 and 1.0 <= rate <= 1000.0):
        raise BrazoError(
            f"cannot measure for {seconds:g} s at {rate:g} Hz; "
            "the duration must be above 0 s and at most 86400 s (a day), and the rate 1 to 1000 Hz"
        )
    command = [sys.executable, "-m", "brazo.teleop.link.measure", str(1.0 / rate)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            port = int(process.stdout.readline())
            with MasterLink(f"127.0.0.1:{port}") as link:
                link.wait()
                while link.round_trip is None:
                    time.sleep(0.01)
                time.sleep(0.5)
                sent, took = _stream(link, seconds, 1.0 / rate, progress)
                # Read them now: the link loses these values when the follower ends.
                trip, offset = link.round_trip, link.offset
                if trip is None or offset is None:
                    raise BrazoError("the link was lost while it was measured; try again")
                process.stdin.write("end\n")
                process.stdin.flush()
                measured = json.loads(process.stdout.readline())
                left = link.counts["commands"]
        except (ValueError, OSError) as error:
            raise BrazoError(f"the follower's process failed: {error}") from None
        finally:
            process.kill()
    counts = measured["counts"]
    return Measurement(
        seconds=took,
        rate=sent / took,
        sent=sent,
        received=counts.get("accepted", 0),
        replaced=sent - left,
        lost=counts.get("missing", 0),
        disordered=counts.get("replayed", 0),
        late=counts.get("expired", 0),
        latency=Spread(*measured["latency"]),
        jitter=Spread(*measured["jitter"]),
        age=Spread(*measured["age"]),
        round_trip=1e3 * trip,
        offset=1e3 * offset,
    )


def _stream(
    link: MasterLink, seconds: float, period: float, progress: Callable[[float], None] | None
) -> tuple[int, float]:
    begin = due = time.perf_counter()
    sent = 0
    while (now := time.perf_counter()) - begin < seconds:
        # A late loop does not catch up, because two commands at once carry no more than one.
        due = max(due + period, now + period / 2)
        link.send((0.001 * sent % 1.0,) * JOINTS)
        sent += 1
        if progress is not None and sent % 100 == 0:
            progress((now - begin) / seconds)
        time.sleep(max(due - time.perf_counter(), 0.0))
    time.sleep(0.2)
    return sent, now - begin


class _Histogram:
    """Histogram of durations with a resolution of 1 µs; its memory size is constant."""

    def __init__(self) -> None:
        self._counts = np.zeros(1_000_000, dtype=np.int64)
        self._most = 0.0

    def add(self, seconds: float) -> None:
        self._counts[min(max(int(1e6 * seconds), 0), len(self._counts) - 1)] += 1
        self._most = max(self._most, seconds)

    def spread(self) -> list[float]:
        """Return the 50, 99 and 99.9 % percentiles and the max, in ms."""
        below = np.cumsum(self._counts)
        total = max(int(below[-1]), 1)
        found = [float(np.searchsorted(below, share * total)) / 1e3 for share in (0.5, 0.99, 0.999)]
        return [*found, 1e3 * self._most]


def _follow(period: float) -> None:
    """Run the follower of a measurement in this process, with cycles of `period` seconds.

    The port and, at the end, the results are written to standard output.
    """
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
    latency, jitter, age = _Histogram(), _Histogram(), _Histogram()
    ages: list[float] = []
    last, due = None, time.perf_counter()
    with FollowerLink(joints=JOINTS) as link:
        sys.stdout.write(f"{link.port}\n")
        sys.stdout.flush()
        while not over.is_set():
            due = max(due + period, time.perf_counter())
            time.sleep(max(due - time.perf_counter(), 0.0))
            now, latest = time.perf_counter(), link.view().latest
            if latest is None:
                continue
            sent = 1e-6 * latest.command.sent
            ages.append(now - sent)
            if latest is not last:
                # Samples after the last command of the run do not describe the link.
                for seconds in ages:
                    age.add(seconds)
                ages.clear()
                latency.add(latest.received - sent)
                if last is not None:
                    apart = latest.received - last.received
                    jitter.add(abs(apart - 1e-6 * (latest.command.sent - last.command.sent)))
                last = latest
            link.publish(LinkReport(0, "measuring", q=latest.command.q))
        spreads = {"latency": latency.spread(), "jitter": jitter.spread(), "age": age.spread()}
        sys.stdout.write(json.dumps(spreads | {"counts": dict(link.counts)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _follow(float(sys.argv[1]))

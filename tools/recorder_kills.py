"""Kill recording processes at random times and rates, and start pairs of recorders on one path.

    python tools/recorder_kills.py            50 kills at 1, 10 and 1,000 Hz each, then 25 pairs

A killed recording must contain every row that was appended more than 0.2 s before the kill.  One
recorder of a pair must be rejected, and the rows of the other must be complete.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from brazo.recording import Recording

RECORD = """
import sys, time
from brazo.recording import Recorder
path, rate = sys.argv[1], float(sys.argv[2])
recorder = Recorder(path, {"t": "s", "k": ""}, wait=False)
print("ready", flush=True)
k = 0
while True:
    recorder.append([time.monotonic(), k])
    k += 1
    time.sleep(1 / rate)
"""
PAIR = """
import sys
from brazo.errors import BrazoError
from brazo.recording import Recorder
try:
    with Recorder(sys.argv[1], {"t": "s", "who": ""}) as recorder:
        for k in range(500):
            recorder.append([k, float(sys.argv[2])])
except BrazoError as error:
    sys.exit(2)
"""


def kill(folder: Path, rate: float, seed: int) -> float:
    """Kill one recorder; return the age (s) of the oldest lost row, 0 if none was lost."""
    path = folder / f"{rate:g}-{seed}.parquet"
    process = subprocess.Popen(
        [sys.executable, "-c", RECORD, str(path), str(rate)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    time.sleep(random.Random(seed).uniform(0.05, 1.0 + 2.0 / rate))
    killed = time.monotonic()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    run = Recording.open(path)
    if not len(run):
        return killed - began  # not one row: the first is appended at once
    assert (run["k"] == range(len(run))).all(), "rows are missing in between"
    # The next row was due a period after the last one that was read.
    return max(0.0, killed - (run.t[-1] + 1 / rate))


def pair(folder: Path, k: int) -> bool:
    """Whether exactly one of two recorders on one path wrote, with all of its rows."""
    path = folder / f"pair-{k}.parquet"
    command = [sys.executable, "-c", PAIR, str(path)]
    both = [subprocess.Popen([*command, str(who)]) for who in (1, 2)]
    codes = [process.wait() for process in both]
    run = Recording.open(path)
    return sorted(codes) == [0, 2] and len(run) == 500 and len(set(run["who"])) == 1


def main() -> None:
    """Print a line for each rate, and one for the pairs; exit with 1 if a check failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=25)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rate in (1.0, 10.0, 1000.0):
            lost = [kill(folder, rate, seed) for seed in range(options.kills)]
            print(f"{rate:6g} Hz: {options.kills} kills, at most {max(lost):.3f} s lost")
            good &= max(lost) <= 0.2
        right = sum(pair(folder, k) for k in range(options.pairs))
        print(f"pairs: {right} of {options.pairs} with one writer and all its rows")
        good &= right == options.pairs
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

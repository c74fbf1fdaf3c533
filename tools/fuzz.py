"""Corrupted files for every reader: only `BrazoError`, within limits of time and memory.

    python tools/fuzz.py                    60,000 cases, two processes
    python tools/fuzz.py 5000 --seed 7      others, and fewer
    python tools/fuzz.py --case 1234        one case of the seed, with its traceback

A case is a file written by brazo with a few tokens, lines or bytes changed (`tests/fuzzing.py`).
It is read in a process with limited memory.  Required: no exception except BrazoError, at most 5 s
of CPU time, no crash, and less than 700 MB.  The exit code is 1 otherwise.  Linux only.
"""

from __future__ import annotations

import argparse
import collections
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CASES = 60_000
MEMORY = 4 << 30  # bytes of address space of a process
SLOW = 5.0  # s of processor time
HANG = 60.0  # s without an answer
MOST = 700.0  # MB
CHUNK = 2000  # cases of one process


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="?", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kind", help="only this kind of file")
    parser.add_argument("--case", type=int, help="run one case here")
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        _work(chosen.seed, range(*chosen.work), chosen.kind)
    elif chosen.case is not None:
        _one(chosen.seed, chosen.case, chosen.kind)
    else:
        sys.exit(_Run(chosen).report())


def _kinds(folder: Path, only: str | None) -> list[Any]:
    from tests.fuzzing import kinds

    return [kind for kind in kinds(folder) if only in (None, kind.name)]


def _one(seed: int, number: int, only: str | None) -> None:
    from tests.fuzzing import case

    with tempfile.TemporaryDirectory() as name:
        kind, data = case(_kinds(Path(name), only), seed, number)
        path = Path(name) / f"case{kind.suffix}"
        path.write_bytes(data)
        print(kind.name, len(data), "bytes")
        print(data[:3000].decode(errors="replace"))
        print(kind.read(path))


def _work(seed: int, numbers: range, only: str | None) -> None:
    """Read cases; print a line of JSON before and after each."""
    from brazo.body.mesh_process import reader
    from brazo.errors import BrazoError
    from tests.fuzzing import case

    warnings.simplefilter("ignore")
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    with tempfile.TemporaryDirectory() as name:
        kinds = _kinds(Path(name), only)
        for number in numbers:
            print(json.dumps({"begin": number}), file=out, flush=True)
            kind, data = case(kinds, seed, number)
            path = Path(name) / f"case{kind.suffix}"
            path.write_bytes(data)
            answer: dict[str, Any] = {"end": number, "kind": kind.name}
            start = _cpu()
            try:
                kind.read(path)
                answer["result"] = "read"
            except BrazoError:
                answer["result"] = "refused"
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                answer["result"] = "traceback"
                answer["error"] = f"{type(error).__name__}: {str(error)[:120]}"
                answer["where"] = f"{last.filename.split('/src/')[-1]}:{last.lineno}"
            answer["time"] = _cpu() - start
            answer["memory"] = _peak(os.getpid())
            process = reader._process
            if process is not None:
                answer["memory"] = max(answer["memory"], _peak(process.pid))
            print(json.dumps(answer), file=out, flush=True)


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def _peak(pid: int) -> float:
    """Return the peak memory of a process, MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(x.split()[1]) / 1e3 for x in status.splitlines() if "VmHWM" in x), 0.0)


class _Run:
    """Distributes cases to processes and counts the results."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.lock = threading.Lock()
        self.next = 0
        self.done = 0
        self.results: collections.Counter[str] = collections.Counter()
        self.failures: list[dict[str, Any]] = []
        self.slowest: dict[str, Any] = {"time": 0.0}
        self.largest: dict[str, Any] = {"memory": 0.0}
        self.start = time.monotonic()
        threads = [threading.Thread(target=self._hand_out) for _ in range(chosen.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _hand_out(self) -> None:
        while True:
            with self.lock:
                first = self.next
                self.next = last = min(first + CHUNK, self.chosen.cases)
            if first >= last:
                return
            while first < last:  # a process that dies costs one case
                first = self._process(first, last)

    def _process(self, first: int, last: int) -> int:
        command = [sys.executable, __file__, "--seed", str(self.chosen.seed)]
        command += ["--work", str(first), str(last)]
        command += ["--kind", self.chosen.kind] if self.chosen.kind else []
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        errors: list[str] = []
        drain = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
        drain.start()
        hung = threading.Event()

        def give_up() -> None:
            hung.set()
            process.kill()

        current = None
        watch = threading.Timer(2 * HANG, give_up)
        watch.start()
        assert process.stdout is not None
        for line in process.stdout:
            watch.cancel()
            watch = threading.Timer(HANG, give_up)
            watch.start()
            answer = json.loads(line)
            if "begin" in answer:
                current = answer["begin"]
            else:
                current = None
                first = answer["end"] + 1
                self._count(answer)
        watch.cancel()
        process.wait()
        drain.join()
        if current is not None:
            what = "hang" if hung.is_set() else "crash"
            said = f"exit code {process.returncode}: {''.join(errors[-3:])[-300:]}"
            self._count({"end": current, "kind": "?", "result": what, "error": said})
            return current + 1
        if first < last:
            print("".join(errors), flush=True)
            os._exit(2)
        return first

    def _count(self, answer: dict[str, Any]) -> None:
        with self.lock:
            self.done += 1
            self.results[answer["result"]] += 1
            if answer.get("time", 0.0) > self.slowest["time"]:
                self.slowest = answer
            if answer.get("memory", 0.0) > self.largest["memory"]:
                self.largest = answer
            slow = answer.get("time", 0.0) > SLOW
            if answer["result"] not in ("read", "refused") or slow:
                self.failures.append(answer)
                print(json.dumps(answer), flush=True)
            if self.done % 1000 == 0:
                print(f"{self.done} cases, {time.monotonic() - self.start:.0f} s", flush=True)

    def report(self) -> int:
        """Print the results; return the exit code."""
        slow = sum(answer.get("time", 0.0) > SLOW for answer in self.failures)
        hangs = self.results["hang"] + slow
        print(f"{self.done} cases of seed {self.chosen.seed}: {dict(self.results)}")
        print(f"tracebacks {self.results['traceback']}, crashes {self.results['crash']}")
        print(f"hangs {hangs} (above {SLOW:g} s); slowest {json.dumps(self.slowest)}")
        print(f"peak memory {self.largest['memory']:.0f} MB ({json.dumps(self.largest)})")
        return int(bool(self.failures) or self.largest["memory"] > MOST)


if __name__ == "__main__":
    main()

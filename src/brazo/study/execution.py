"""Execution of a study: chunks of runs, each kept in a file as soon as it is complete.

Compiled runs use the threads of this process, simulated ones several processes.  A folder has

    study.json        the fingerprint of the study, its names and units
    chunks/           one Parquet file for each finished chunk
    results.parquet   all runs; of an interrupted study, those of the finished chunks

Files appear complete or not at all, so a killed study continues with the chunks that are missing,
and its results do not depend on where it was killed or on the number of processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np

from brazo.codegen import thread_count
from brazo.errors import BrazoError
from brazo.files import lock, replacing
from brazo.recording.parquet import parquet_source, write_parquet
from brazo.recording.source import memory_source
from brazo.study.chunk_runs import ChunkTable, compute_chunk
from brazo.study.cluster import cluster_chunks
from brazo.study.results import StudyResults, read_results
from brazo.study.study import Study

CHUNKS, RESULTS, DESCRIPTION = "chunks", "results.parquet", "study.json"
ATTEMPTS = 3  # of a chunk whose process ended


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study; rate and remaining time are those of the runs of this call."""

    done: int  # runs, including those of earlier calls
    total: int
    rate: float  # runs/s
    remaining: float  # s


Report = Callable[[StudyProgress], object]


def run_study(
    study: Study,
    folder: str | Path,
    *,
    jobs: int | None = None,
    replace: bool = False,
    progress: Report | None = None,
    cluster: str | None = None,
) -> StudyResults:
    """Compute the runs that `folder` does not have yet, and return all results.

    `jobs` is the number of threads and processes, by default one per CPU.  A folder with the
    results of another study is rejected unless `replace` is True.  After Ctrl+C the results of the
    finished chunks are in the folder; the same call continues with the others.  `cluster` is the
    address of a Dask scheduler whose workers compute the runs, e.g. "tcp://127.0.0.1:8786".
    """
    folder = Path(folder)
    jobs = thread_count() if jobs is None else jobs
    if not isinstance(jobs, int) or jobs < 1:
        raise BrazoError(f"jobs = {jobs!r}; it must be an integer of at least 1")
    _prepare(study, folder, replace)
    with _locked(folder):
        if is_complete(study, folder):
            return read_results(folder / RESULTS)
        waiting = [c.number for c in study.chunks if not _chunk_file(folder, c.number).exists()]
        meter = _Meter(study, waiting, progress)
        try:
            chunks = _computed(study, waiting, jobs)
            if cluster is not None:
                chunks = cluster_chunks(cluster, study, waiting)
            for number, table in chunks:
                _write(_chunk_file(folder, number), study, table, complete=True)
                meter.add(len(table.columns["run"]))
        finally:
            # Also after Ctrl+C or an error: the results so far are a valid file.
            _collect(study, folder)
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)
    return read_results(folder / RESULTS)


def is_complete(study: Study, folder: Path) -> bool:
    """Whether a folder has the results of all runs of a study."""
    path = folder / RESULTS
    if not path.exists():
        return False
    about = parquet_source(path).about
    return about.get("fingerprint") == study.fingerprint and about.get("complete") == "yes"


def _prepare(study: Study, folder: Path, replace: bool) -> None:
    """Make the folder, or check that it belongs to the study."""
    description = folder / DESCRIPTION
    try:
        known = json.loads(description.read_text(encoding="utf-8")).get("fingerprint")
    except FileNotFoundError:
        known = None
        if folder.exists() and any(folder.iterdir()):
            raise BrazoError(f"{folder}: not empty and not a study; use another folder") from None
    except (OSError, ValueError, AttributeError) as error:
        raise BrazoError(f"{description}: cannot be read: {error}") from None
    if known is not None and known != study.fingerprint:
        if not replace:
            raise BrazoError(
                f"{folder}: has the results of another study (or of another version of its file, "
                "robots or brazo); use another folder, or replace them (--replace)"
            )
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)
        (folder / RESULTS).unlink(missing_ok=True)
    try:
        (folder / CHUNKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be made: {error.strerror or error}") from None
    with replacing(description) as temporary:
        temporary.write_text(json.dumps(_about(study), indent=1), encoding="utf-8")


class _locked:
    """Holds the lock of a folder, so that two processes do not compute the same chunks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        self._file = (self._folder / DESCRIPTION).open("rb")
        if not lock(self._file):
            self._file.close()
            raise BrazoError(f"{self._folder}: the study is running in another process")

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _chunk_file(folder: Path, number: int) -> Path:
    return folder / CHUNKS / f"{number:06d}.parquet"


def _computed(study: Study, waiting: list[int], jobs: int) -> Iterator[tuple[int, ChunkTable]]:
    """Yield the tables of chunks as they are finished."""
    compiled = [n for n in waiting if study.compiled(study.chunks[n].group)]
    # Machine code, and its compilation, run without the interpreter lock.
    if compiled:
        yield from _from_pool(ThreadPoolExecutor(jobs, "brazo study"), study, compiled, jobs)
    left = sorted(set(waiting) - set(compiled))
    if jobs == 1:
        for number in left:
            yield number, compute_chunk(study, number)
        return
    lost = dict.fromkeys(left, 0)
    while left:
        pool = ProcessPoolExecutor(
            min(jobs, len(left)), get_context("spawn"), initializer=_ignore_interrupt
        )
        try:
            for number, table in _from_pool(pool, study, left, jobs):
                left.remove(number)
                yield number, table
        except BrokenProcessPool:  # a process was killed, or ran out of memory
            for number in left[: 2 * jobs]:
                lost[number] += 1
            for number in [n for n in left if lost[n] >= ATTEMPTS]:
                left.remove(number)
                yield number, _lost(study, number)
        except (AttributeError, TypeError, PicklingError) as error:
            raise BrazoError(
                f"the study cannot be sent to other processes: {error}; define controllers and "
                "tasks at the top level of a module"
            ) from None


def _from_pool(
    pool: Executor, study: Study, numbers: list[int], jobs: int
) -> Iterator[tuple[int, ChunkTable]]:
    """Yield the tables of chunks as a pool finishes them; few wait in its queue."""
    running: dict[Future[ChunkTable], int] = {}
    queue = list(numbers)
    try:
        while queue or running:
            while queue and len(running) < 2 * jobs:
                number = queue.pop(0)
                running[pool.submit(compute_chunk, study, number)] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(future)
                yield number, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupt() -> None:
    """In a worker: Ctrl+C is handled by the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["BRAZO_THREADS"] = "1"


def _lost(study: Study, number: int) -> ChunkTable:
    """The table of a chunk whose processes ended."""
    chunk = study.chunks[number]
    count = len(chunk.rows)
    columns = {name: np.full(count, np.nan) for name in study.columns}
    columns["run"] = chunk.first + np.arange(count, dtype=float)
    for name in ("robot", "task", "case", "controller"):
        columns[name][:] = getattr(chunk.group, name)
    columns["row"], columns["repetition"] = chunk.rows * 1.0, chunk.repetitions * 1.0
    columns |= {name: values[chunk.rows] for name, values in study.rows.items()}
    columns["success"][:] = 0.0
    text = f"its process ended {ATTEMPTS} times"
    return ChunkTable(columns, [{"t": run, "text": text} for run in columns["run"].tolist()])


def _write(path: Path, study: Study, table: ChunkTable, complete: bool) -> None:
    columns = {name: (table.columns[name], unit) for name, unit in study.columns.items()}
    about = _about(study) | {"complete": "yes" if complete else "no"}
    events = [{"kind": "failed", **failure} for failure in table.failures]
    write_parquet(path, memory_source(columns, events, about))


def _collect(study: Study, folder: Path) -> None:
    """Write the results of the finished chunks, in the order of the runs."""
    columns: dict[str, list[np.ndarray]] = {name: [] for name in study.columns}
    failures: list[dict[str, Any]] = []
    found = 0
    for chunk in study.chunks:
        path = _chunk_file(folder, chunk.number)
        if not path.exists():
            continue
        source = parquet_source(path)
        read = source.columns()
        for name, parts in columns.items():
            parts.append(read[name][0])
        failures += [{"t": event["t"], "text": event["text"]} for event in source.events]
        found += 1
    if not found:
        return
    table = ChunkTable({name: np.concatenate(parts) for name, parts in columns.items()}, failures)
    _write(folder / RESULTS, study, table, complete=found == len(study.chunks))


def _about(study: Study) -> dict[str, str]:
    """Description of the results, of which columns of numbers need the names."""
    names = {
        "robots": [robot.name for robot in study.robots],
        "tasks": study.task_names,
        "cases": [case.name for case in study.cases],
        "controllers": list(study.controllers),
        "factors": list(study.factors),
        "joints": {robot.name: list(robot.joint_names) for robot in study.robots},
        "success": study.success,
        "duration": study.duration,
        "runs": study.runs,
    }
    return {
        "title": study.name,
        "description": study.about,
        "fingerprint": study.fingerprint,
        "study": json.dumps(names, ensure_ascii=False),
    }


class _Meter:
    """Rate and remaining time of the runs."""

    def __init__(self, study: Study, waiting: list[int], report: Report | None) -> None:
        left = sum(len(study.chunks[number].rows) for number in waiting)
        self._total, self._done = study.runs, study.runs - left
        self._new, self._start, self._report = 0, time.monotonic(), report
        self.add(0)

    def add(self, runs: int) -> None:
        self._new, self._done = self._new + runs, self._done + runs
        if self._report is None:
            return
        passed = time.monotonic() - self._start
        rate = self._new / passed if self._new and passed > 0.0 else float("nan")
        left = (self._total - self._done) / rate
        self._report(StudyProgress(self._done, self._total, rate, left))

"""Execution of a study in chunks of runs; each chunk is stored in a file when it is complete.

Compiled runs use the threads of this process, simulated runs use several processes.  The folder of
a study contains

    study.json        the fingerprint of the study, its names and units
    chunks/           one Parquet file for each finished chunk; deleted when all are finished
    results.parquet   all runs; for an interrupted study, those of the finished chunks

Files are written atomically, so a killed study continues with the missing chunks.  Its results do
not depend on when it was killed or on the number of processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_connections
from pathlib import Path
from pickle import PicklingError

import numpy as np

from brazo.codegen import thread_count
from brazo.errors import BrazoError
from brazo.files import lock, replacing
from brazo.recording.parquet import parquet_source, write_parquet
from brazo.recording.source import ColumnSource, memory_source
from brazo.study.cluster import cluster_chunks
from brazo.study.plan import ChunkTable, StudyPlan, compute_chunk
from brazo.study.results import RunCost, StudyResults, read_results

CHUNKS, RESULTS, DESCRIPTION = "chunks", "results.parquet", "study.json"
ATTEMPTS = 3  # of a chunk whose process ended
REPORT_EVERY = 0.5  # s, max time between two reports of progress
# Number and table of a chunk; None: a report.
Finished = Generator[tuple[int, ChunkTable | None], None, None]


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study.

    Rate and remaining time are measured from the start of the current call of `run_study`.  Both
    are NaN until a chunk of this call is finished.
    """

    done: int  # runs, including those of earlier calls
    total: int
    rate: float  # runs/s
    remaining: float  # s


Report = Callable[[StudyProgress], object]


def run_study(
    study: StudyPlan,
    folder: str | Path,
    *,
    jobs: int | None = None,
    replace: bool = False,
    progress: Report | None = None,
    cluster: str | None = None,
) -> StudyResults:
    """Compute the runs that are missing in `folder`, and return all results.

    Runs are computed in chunks, `jobs` chunks at the same time.  By default `jobs` is the number of
    CPUs, unless `brazo.codegen.threads` or the environment variable BRAZO_THREADS sets another
    number.  A folder with the results of another study is rejected unless `replace` is True.  After
    Ctrl+C the results of all finished chunks are in the folder, and the same call continues with
    the missing chunks.

    `progress` is called with a `StudyProgress` at the start and after each chunk.  Pools of threads
    or processes also call it every 0.5 s while no chunk is finished.  The function may raise
    KeyboardInterrupt to stop the study.

    `cluster` is the address of a Dask scheduler, e.g. "tcp://127.0.0.1:8786".  Its workers then
    compute the runs, and `jobs` is not used.
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
        try:
            meter = _Meter(study, waiting, progress)
            chunks = _computed(study, waiting, jobs)
            if cluster is not None:
                chunks = cluster_chunks(cluster, study, waiting)
            with closing(chunks):  # Ctrl+C ends the processes before the results are collected
                for number, table in chunks:
                    if table is None:  # nothing finished since the last report
                        meter.add(0)
                        continue
                    _write(_chunk_file(folder, number), study, table, complete=True)
                    meter.add(len(table.columns["run"]))
        finally:
            # Also after Ctrl+C or an error: the results so far are a valid file.
            _collect(study, folder)
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)
    results = read_results(folder / RESULTS)
    results.cost = meter.cost(jobs if cluster is None else None)
    return results


def is_complete(study: StudyPlan, folder: Path) -> bool:
    """Return whether a folder has the results of all runs of a study."""
    path = folder / RESULTS
    if not path.exists():
        return False
    about = parquet_source(path).about
    return about.get("fingerprint") == study.fingerprint and about.get("complete") == "yes"


def _prepare(study: StudyPlan, folder: Path, replace: bool) -> None:
    """Create the folder, or check that it belongs to the study.

    If `replace` is True, the results of another study are deleted.
    """
    description = folder / DESCRIPTION
    try:
        known = json.loads(description.read_text(encoding="utf-8")).get("fingerprint")
    except FileNotFoundError:
        known = None
        if folder.exists() and any(folder.iterdir()):
            raise BrazoError(
                f"{folder}: not empty and not a study folder; use another folder"
            ) from None
    except (OSError, ValueError, AttributeError) as error:
        raise BrazoError(f"{description}: cannot be read: {error}; use another folder") from None
    if known is not None and known != study.fingerprint:
        if not replace:
            raise BrazoError(
                f"{folder}: contains the results of another study, or the study, its robots or the "
                "version of brazo have changed; use another folder, or replace the results "
                "(--replace in the shell, replace=True in Python)"
            )
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)
        (folder / RESULTS).unlink(missing_ok=True)
    try:
        (folder / CHUNKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be created: {error.strerror or error}") from None
    with replacing(description) as temporary:
        temporary.write_text(json.dumps(_about(study), indent=1), encoding="utf-8")


class _locked:
    """Lock a folder, so that no two processes compute the same chunks (context manager)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        self._file = (self._folder / DESCRIPTION).open("rb")
        if not lock(self._file):
            self._file.close()
            raise BrazoError(
                f"{self._folder}: the study is running in another process; wait until it has ended"
            )

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _chunk_file(folder: Path, number: int) -> Path:
    return folder / CHUNKS / f"{number:06d}.parquet"


def _computed(study: StudyPlan, waiting: list[int], jobs: int) -> Finished:
    """Compute the chunks with the numbers `waiting`; yield number and result table of each.

    Chunks are yielded as they are finished.  While a pool has not finished a chunk, (-1, None) is
    yielded every `REPORT_EVERY` seconds.  With one job, simulated runs are computed without a pool.
    """
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
        context = get_context("spawn")
        alive, held = context.Pipe(duplex=False)  # workers end when `held` is closed
        pool = ProcessPoolExecutor(
            min(jobs, len(left)), context, initializer=_start_worker, initargs=(alive,)
        )
        try:
            for number, table in _from_pool(pool, study, left, jobs, held.close):
                if table is not None:
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
        finally:
            held.close()
            alive.close()


def _from_pool(
    pool: Executor,
    study: StudyPlan,
    numbers: list[int],
    jobs: int,
    end_workers: Callable[[], object] | None = None,
) -> Finished:
    """Compute the chunks with the given `numbers` in a pool; yield number and table of each.

    At most 2 * `jobs` chunks are queued at a time.  While none is finished, (-1, None) is yielded
    every `REPORT_EVERY` seconds.  If the generator is closed early, the chunks in progress are
    discarded: `end_workers` ends the processes, and threads finish without a result.
    """
    running: dict[Future[ChunkTable], int] = {}
    queue = list(numbers)
    try:
        while queue or running:
            while queue and len(running) < 2 * jobs:
                number = queue.pop(0)
                running[pool.submit(compute_chunk, study, number)] = number
            done = wait(running, REPORT_EVERY, return_when=FIRST_COMPLETED).done
            if not done:
                yield -1, None
            for future in done:
                number = running.pop(future)
                yield number, future.result()
    except BaseException:
        if end_workers is not None:
            end_workers()
        pool.shutdown(wait=end_workers is not None, cancel_futures=True)
        raise
    pool.shutdown()


def _start_worker(alive: Connection) -> None:
    """Prepare a worker process: ignore Ctrl+C and use one thread.

    The process ends when the parent process ends or closes its side of the connection `alive`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["BRAZO_THREADS"] = "1"
    watch = threading.Thread(target=_end_with_parent, args=(alive,), name="brazo parent")
    watch.daemon = True
    watch.start()


def _end_with_parent(alive: Connection) -> None:
    # A killed process does not end its workers, which would wait for chunks for ever.
    parent = parent_process()
    wait_connections([alive] if parent is None else [alive, parent.sentinel])
    os._exit(1)


def _lost(study: StudyPlan, number: int) -> ChunkTable:
    """Return a table of failed runs for a chunk whose worker processes ended unexpectedly."""
    columns = study.empty_columns(study.chunks[number])
    columns["success"][:] = 0.0
    text = f"the worker process of this run ended unexpectedly {ATTEMPTS} times"
    return ChunkTable(columns, [{"t": run, "text": text} for run in columns["run"].tolist()])


def _write(path: Path, study: StudyPlan, table: ChunkTable, complete: bool) -> None:
    columns = {name: (table.columns[name], unit) for name, unit in study.columns.items()}
    about = _about(study) | {"complete": "yes" if complete else "no"}
    events = [{"kind": "failed", **failure} for failure in table.failures]
    write_parquet(path, memory_source(columns, events, about))


def _collect(study: StudyPlan, folder: Path) -> None:
    """Write the results of all finished chunks to one file, in the order of the runs."""
    sources: list[ColumnSource] = []
    for chunk in study.chunks:
        path = _chunk_file(folder, chunk.number)
        if path.exists():
            sources.append(parquet_source(path))
    if not sources:
        return

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        for source in sources:
            yield from source.read(names)

    events = [event for source in sources for event in source.events]
    complete = len(sources) == len(study.chunks)
    about = _about(study) | {"complete": "yes" if complete else "no"}
    rows = sum(source.rows for source in sources)
    whole = ColumnSource(study.columns, about, events, rows, read)
    write_parquet(folder / RESULTS, whole)


def _about(study: StudyPlan) -> dict[str, str]:
    """Return the metadata of the results: title, description, fingerprint and `study.names`."""
    return {
        "title": study.name,
        "description": study.about,
        "fingerprint": study.fingerprint,
        "study": json.dumps(study.names, ensure_ascii=False),
    }


class _Meter:
    """Measures and reports the rate of the runs and the remaining time."""

    def __init__(self, study: StudyPlan, waiting: list[int], report: Report | None) -> None:
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

    def cost(self, jobs: int | None) -> RunCost:
        """Return the time since this meter was created, and the number of runs counted by `add`."""
        return RunCost(self._new, time.monotonic() - self._start, jobs)

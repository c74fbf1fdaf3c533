"""Chunks of a study on a Dask cluster (`pip install brazo[cluster]`).

Every task carries the study and the number of its chunk, so that the scheduler can repeat the tasks
of a worker that is lost.  Results return to this process, which writes them as in a local run.
Tasks are pickled objects: clients can run any code on scheduler and workers, and these on clients.
"""

from __future__ import annotations

from collections.abc import Generator

from brazo.errors import BrazoError
from brazo.study.plan import ChunkTable, StudyPlan, compute_chunk

RETRIES = 3  # of a chunk whose worker ended
TIMEOUT = 10  # s, to reach the scheduler


def cluster_chunks(
    address: str, study: StudyPlan, waiting: list[int]
) -> Generator[tuple[int, ChunkTable | None], None, None]:
    """Yield the tables of chunks as the cluster finishes them, in any order."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise BrazoError("a cluster needs dask.distributed: pip install 'brazo[cluster]'") from None
    try:
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BrazoError(
            f"no Dask scheduler at '{address}' ({error}); start one with `dask scheduler --host "
            "127.0.0.1` and workers with `dask worker ADDRESS`"
        ) from None
    with client:
        tasks = {
            client.submit(compute_chunk, study, number, pure=False, retries=RETRIES): number
            for number in waiting
        }
        try:
            for future in as_completed(tasks, loop=client.loop):
                yield tasks[future], future.result()
        finally:
            client.cancel(list(tasks))

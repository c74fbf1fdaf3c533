"""Chunks of a study on a Dask cluster (`pip install brazo[cluster]`).

Every task contains the study and the number of its chunk, so that the scheduler can repeat the
tasks of a lost worker.  Results return to this process, which writes them as in a local run.  Tasks
and results are pickled objects: clients, scheduler and workers can run any code on each other.
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
    """Compute the chunks with the numbers `waiting` on the cluster at `address`.

    Yield the number and the result table of each chunk as it is finished, in any order.
    """
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

"""A study on a Dask cluster gives the file of a local run, also if parts of it are killed."""

import json
import os
import subprocess
import sys
import time

import pytest

import brazo
from brazo.control import PID
from brazo.study import Study, grid


def study() -> Study:
    return Study("scara2", {"PID": PID()}, factors={"payload": grid(0.0, 2.0, 8)}, duration=0.1)


def test_a_cluster_gives_the_file_of_a_local_run(tmp_path) -> None:
    from distributed import LocalCluster

    study().run(tmp_path / "local", jobs=1)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        study().run(tmp_path / "cluster", cluster=cluster.scheduler_address)
    files = [(tmp_path / name / "results.parquet").read_bytes() for name in ("local", "cluster")]
    assert files[0] == files[1]


def test_an_address_without_a_scheduler_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("brazo.study.cluster.TIMEOUT", 0.5)
    with pytest.raises(brazo.BrazoError, match="no Dask scheduler at 'tcp:"):
        study().run(tmp_path, cluster="tcp://127.0.0.1:9")


def many() -> Study:
    """A study with ten chunks of about a second: one for each controller."""
    gains = {f"PID {k}": PID(wn=10.0 + k) for k in range(10)}
    factors = {"payload": grid(0.0, 2.0, 4)}
    return Study("scara2", gains, ["quintic"], factors=factors, duration=0.1)


def wait_for(condition, what: str) -> None:
    """Wait for other processes, which a busy computer may start slowly."""
    deadline = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers as a user starts them; the workers and the address."""
    file = tmp_path / "scheduler.json"
    started = []

    def start(*command: str) -> subprocess.Popen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen([sys.executable, "-m", *command], **quiet))
        return started[-1]

    try:
        start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
            "--no-dashboard", "--no-show", "--scheduler-file", str(file),
        )  # fmt: skip
        wait_for(file.exists, "no scheduler")
        workers = [
            start(
                "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1",
                "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
                "--local-directory", str(tmp_path / f"worker{k}"),
            )
            for k in range(2)
        ]  # fmt: skip
        yield workers, json.loads(file.read_text())["address"]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_worker_and_a_stopped_client_change_nothing_but_time(tmp_path, cluster) -> None:
    from distributed import Client

    workers, address = cluster
    with Client(address, set_as_default=False) as client:
        wait_for(lambda: len(client.scheduler_info()["workers"]) == 2, "no workers")

    def disturb(now) -> None:
        if 1 <= now.done < 3:
            workers[0].kill()  # SIGKILL, in the middle of a chunk
        if now.done >= 3:
            raise KeyboardInterrupt  # the client stops, too

    with pytest.raises(KeyboardInterrupt):
        many().run(tmp_path / "cluster", cluster=address, progress=disturb)
    done = many().run(tmp_path / "cluster", cluster=address)
    many().run(tmp_path / "alone", jobs=1)
    assert done.complete
    files = [(tmp_path / name / "results.parquet").read_bytes() for name in ("alone", "cluster")]
    assert files[0] == files[1]

"""A study on a Dask cluster gives the file of a local run."""

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

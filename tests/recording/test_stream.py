"""Recorders: complete after kill -9, never waiting for the disk."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import brazo
from brazo.recording.recording import Recording
from brazo.recording.stream import MemoryRecorder, Recorder

COLUMNS = {"t": "s", "arm.q.elbow": "rad", "arm.tau.elbow": "N m"}


def record(path, rows=2500, chunk=1000):
    recorder = Recorder(path, COLUMNS, {"cell": "test", "robot": "arm"}, chunk_rows=chunk)
    for k in range(rows):
        recorder.append([k * 1e-3, np.sin(k * 1e-3), float(k)])
        if k == 1200:
            recorder.event(1.2, "grasp", "bar held", body="bar 1")
    return recorder


def test_what_is_recorded_comes_back(tmp_path):
    recording = record(tmp_path / "run.parquet").recording()
    assert len(recording) == 2500
    assert recording.unit("arm.tau.elbow") == "N m"
    assert (recording["arm.q.elbow"] == np.sin(np.arange(2500) * 1e-3)).all()
    assert recording.events == [{"t": 1.2, "kind": "grasp", "text": "bar held", "body": "bar 1"}]
    assert recording.about["cell"] == "test"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.parquet"]


def mixed(recorder):
    """Rows and blocks by turns; what they should come back as."""
    expected, buffer = [], np.empty((256, 2))
    for k in range(8):
        for _ in range(30):
            recorder.append([len(expected), k])
            expected.append([len(expected), k])
        buffer[:, 0], buffer[:, 1] = len(expected) + np.arange(256), -k
        recorder.append_block(buffer)
        expected.extend(buffer.tolist())
        buffer[:] = np.nan  # the block was copied
    recorder.append_block(np.empty((0, 2)))
    with pytest.raises(brazo.BrazoError, match=r"\(3, 3\) for 2 columns"):
        recorder.append_block(np.zeros((3, 3)))
    recorder.event(1.0, "mark", "é")
    return expected


def test_blocks_and_rows_keep_their_order(tmp_path):
    recorder = Recorder(tmp_path / "run.parquet", {"t": "s", "x": "m"}, chunk_rows=100)
    expected = mixed(recorder)
    recording = recorder.recording()
    assert np.array_equal(np.column_stack([recording["t"], recording["x"]]), expected)
    with pytest.raises(brazo.BrazoError, match="closed"):
        recorder.append_block(np.zeros((1, 2)))


def test_a_run_in_memory_gives_the_same(tmp_path):
    recorder = MemoryRecorder({"t": "s", "x": "m"}, {"cell": "c", "rows": 3})
    expected = mixed(recorder)
    recording = recorder.recording()
    assert np.array_equal(np.column_stack([recording["t"], recording["x"]]), expected)
    assert recording.events == [{"t": 1.0, "kind": "mark", "text": "é"}]
    assert recording.about == {"cell": "c", "rows": "3"}
    assert len(MemoryRecorder({"t": "s"}).recording()) == 0


KILLED = """
import sys
from pathlib import Path
import numpy as np
from brazo.recording.stream import Recorder
columns = {"t": "s", **{f"x{i}": "m" for i in range(39)}}
recorder = Recorder(Path(sys.argv[1]), columns, {"cell": "test"})
print("ready", flush=True)
k = 0
while True:
    rows = np.arange(k, k + 50.0)[:, None] + np.arange(40.0)
    recorder.append_block(rows)
    k += 50
    if k % 500 == 0:
        recorder.event(float(k), "mark", "é" * 10, at=k)
        print(recorder.written, flush=True)
    if k == int(sys.argv[2]):
        recorder.close()
        print("closed", flush=True)
"""


@pytest.mark.parametrize("seed", range(20))
def test_kill_9_leaves_all_complete_chunks(tmp_path, seed):
    """At a random moment: while rows arrive, and for every fourth while the run is being closed."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "run.parquet"
    last = 20_000 if seed % 4 == 0 else -1
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(rng.uniform(0, 0.25))
    os.kill(process.pid, signal.SIGKILL)
    said = process.stdout.read().split()
    process.stdout.close()
    process.wait()
    recording = Recording.open(path)
    count = len(recording)
    safe = [int(word) for word in said if word.isdigit()]
    assert count >= max(safe, default=0)
    assert count % 50 == 0
    for i in (0, 1, 38):
        assert (recording[list(recording)[i]] == np.arange(count) + i).all()
    assert recording.about == {"cell": "test"}
    for k, event in enumerate(recording.events):
        assert event == {
            "t": 500.0 * (k + 1),
            "kind": "mark",
            "text": "é" * 10,
            "at": 500 * (k + 1),
        }


class StandingDisk(Recorder):
    """A recorder whose disk takes nothing until it is let go."""

    go = threading.Event()

    def _store(self, file, data):
        self.go.wait()
        super()._store(file, data)


def test_the_loop_never_waits_for_the_disk(tmp_path):
    columns = {"t": "s", **{f"x{i}": "m" for i in range(39)}}
    StandingDisk.go.clear()
    recorder = StandingDisk(tmp_path / "run.parquet", columns)
    block = np.zeros((500, 40))
    waits = []
    for k in range(120):  # a minute at 1 kHz
        block[:, 0] = 0.5 * k + 1e-3 * np.arange(500)
        start = time.perf_counter()
        recorder.append_block(block)
        waits.append(time.perf_counter() - start)
    assert recorder.written == 0
    StandingDisk.go.set()
    assert max(waits) < 0.1 and np.median(waits) < 2e-3
    assert len(recorder.recording()) == 60_000


def test_memory_stays_bounded_when_the_disk_stands(tmp_path, monkeypatch):
    monkeypatch.setattr("brazo.recording.stream.BACKLOG", 100_000)
    StandingDisk.go.clear()
    recorder = StandingDisk(tmp_path / "run.parquet", {"t": "s"})
    loop = threading.Thread(
        target=lambda: [recorder.append_block(np.zeros((1000, 1))) for _ in range(100)]
    )
    loop.start()
    loop.join(0.3)
    assert loop.is_alive() and recorder._waiting < 120_000
    StandingDisk.go.set()
    loop.join()
    assert len(recorder.recording()) == 100_000


def test_a_disk_that_fails_is_named_at_the_next_block(tmp_path):
    class Full(Recorder):
        def _store(self, file, data):
            raise OSError(28, "No space left on device")

    recorder = Full(tmp_path / "run.parquet", {"t": "s"})
    with pytest.raises(brazo.BrazoError, match=r"run\.parquet\.part: writing failed.*No space"):
        for _ in range(1000):
            recorder.append_block(np.zeros((10, 1)))
            time.sleep(1e-3)
    with pytest.raises(brazo.BrazoError, match="No space"):
        recorder.close()


def test_a_killed_run_is_never_written_over(tmp_path):
    path = tmp_path / "run.parquet"
    record(path, rows=10).close()
    record(path, rows=1500, chunk=500).abandon()
    assert len(Recording.open(path)) == 1500
    with pytest.raises(brazo.BrazoError, match="killed; finish it with `brazo convert"):
        Recorder(path, COLUMNS)
    assert len(Recording.open(path)) == 1500


def test_a_run_that_goes_on_can_be_read(tmp_path):
    recorder = record(tmp_path / "run.parquet", rows=2000, chunk=500)
    while recorder.written < 2000:
        time.sleep(1e-3)
    assert len(Recording.open(recorder.part)) == 2000
    recorder.append_block(np.zeros((7, 3)))
    assert len(recorder.recording()) == 2007


def test_wrong_rows_and_late_ones_are_refused(tmp_path):
    with record(tmp_path / "run.parquet", rows=3) as recorder:
        with pytest.raises(brazo.BrazoError, match="2 values for 3"):
            recorder.append([1.0, 2.0])
        recorder.event(np.float64(0.1), "x", "y", count=np.int64(3), at=np.zeros(2), bad=np.nan)
    with pytest.raises(brazo.BrazoError, match="closed"):
        recorder.append([1.0, 2.0, 3.0])
    event = Recording.open(tmp_path / "run.parquet").events[-1]
    assert event["count"] == 3 and event["at"] == [0.0, 0.0] and event["bad"] is None


@pytest.mark.parametrize("name", ["run.csv", "nowhere/run.parquet"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, name):
    with pytest.raises(brazo.BrazoError, match=name):
        Recorder(tmp_path / name, COLUMNS)
    with pytest.raises(brazo.BrazoError, match="at least one column"):
        Recorder(tmp_path / "run.parquet", {})

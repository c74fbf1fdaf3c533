"""Recorders: complete after kill -9, and no waiting for the disk."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import brazo
from brazo.recording.conversion import convert
from brazo.recording.recording import Recording
from brazo.recording.source import open_source
from brazo.recording.stream import MemoryRecorder, Recorder, finish_part

COLUMNS = {"t": "s", "arm.q.elbow": "rad", "arm.torque.elbow": "N m"}


def record(path, rows=2500, chunk=1000):
    recorder = Recorder(path, COLUMNS, {"cell": "test", "robot": "arm"}, chunk_rows=chunk)
    for k in range(rows):
        recorder.append([k * 1e-3, np.sin(k * 1e-3), float(k)])
        if k == 1200:
            recorder.event(1.2, "grasp", "bar held", body="bar 1")
    return recorder


def test_recorded_rows_and_events_are_read_back(tmp_path):
    recording = record(tmp_path / "run.parquet").recording()
    assert len(recording) == 2500
    assert recording.unit("arm.torque.elbow") == "N m"
    assert (recording["arm.q.elbow"] == np.sin(np.arange(2500) * 1e-3)).all()
    assert recording.events == [{"t": 1.2, "kind": "grasp", "text": "bar held", "body": "bar 1"}]
    assert recording.about["cell"] == "test"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.parquet"]


def mixed(recorder):
    """Append rows and blocks alternately; return the expected rows."""
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
    with pytest.raises(brazo.BrazoError, match=r"\(3, 3\); expected \(rows, 2\)"):
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


@pytest.mark.parametrize("end", [False, True])
def test_flush_keeps_the_order_of_rows(tmp_path, end):
    """Rows flushed by the writer thread come before later rows and before the end."""
    recorder = Recorder(tmp_path / "run.parquet", {"t": "s"})
    queue, flushing = recorder._queue, threading.Event()

    class Slow:
        """A queue that delays the writer thread just before it puts its rows."""

        get = queue.get

        def put(self, item):
            if threading.current_thread() is recorder._thread:
                flushing.set()
                time.sleep(0.2)
            queue.put(item)

    recorder._queue = Slow()
    recorder.append([0.0])
    assert flushing.wait(10)
    if not end:
        recorder.append_block(np.array([[1.0], [2.0]]))
    rows = recorder.recording().t.tolist()
    assert rows == ([0.0] if end else [0.0, 1.0, 2.0])


def test_memory_recorder_gives_the_same_recording(tmp_path):
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
def test_kill_9_leaves_all_complete_frames(tmp_path, seed):
    """Killed at a random time while rows arrive, every fourth while the run is being closed."""
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
    printed = process.stdout.read().split()
    process.stdout.close()
    process.wait()
    recording = Recording.open(path)
    count = len(recording)
    safe = [int(text) for text in printed if text.isdigit()]
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


class BlockedDisk(Recorder):
    """A recorder whose disk blocks until `go` is set."""

    go = threading.Event()

    def _store(self, kind, payload):
        self.go.wait()
        super()._store(kind, payload)


def test_loop_does_not_wait_for_the_disk(tmp_path):
    columns = {"t": "s", **{f"x{i}": "m" for i in range(39)}}
    BlockedDisk.go.clear()
    recorder = BlockedDisk(tmp_path / "run.parquet", columns)
    block = np.zeros((500, 40))
    waits = []
    for k in range(120):  # a minute at 1 kHz
        block[:, 0] = 0.5 * k + 1e-3 * np.arange(500)
        start = time.perf_counter()
        recorder.append_block(block)
        waits.append(time.perf_counter() - start)
    assert recorder.written == 0
    BlockedDisk.go.set()
    assert max(waits) < 0.1 and np.median(waits) < 2e-3
    assert len(recorder.recording()) == 60_000


def test_memory_is_bounded_when_the_disk_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("brazo.recording.stream.BACKLOG", 100_000)
    BlockedDisk.go.clear()
    recorder = BlockedDisk(tmp_path / "run.parquet", {"t": "s"})
    loop = threading.Thread(
        target=lambda: [recorder.append_block(np.zeros((1000, 1))) for _ in range(100)]
    )
    loop.start()
    loop.join(0.3)
    assert loop.is_alive() and recorder._waiting < 120_000
    BlockedDisk.go.set()
    loop.join()
    assert len(recorder.recording()) == 100_000


class FullDisk(Recorder):
    """A recorder whose disk is full after some frames."""

    frames = 5

    def _store(self, kind, payload):
        self.frames -= 1
        if self.frames < 0:
            raise OSError(28, "No space left on device")
        super()._store(kind, payload)


@pytest.mark.parametrize("by_rows", [True, False])
def test_full_disk_does_not_raise_in_the_loop(tmp_path, by_rows):
    reports = []
    path = tmp_path / "run.parquet"
    recorder = FullDisk(path, {"t": "s"}, chunk_rows=10, on_failure=reports.append)
    deadline = time.monotonic() + 20
    count = 0
    while not (reports and recorder.dropped) and time.monotonic() < deadline:
        if by_rows:
            recorder.append([float(count)])
            count += 1
        else:
            recorder.append_block(np.arange(count, count + 10.0)[:, None])
            count += 10
        if recorder.failure:
            recorder.event(count, "mark", "x")
    assert len(reports) == 1 and "No space left on device" in reports[0]
    assert f"brazo convert {recorder.part}" in reports[0]
    with pytest.raises(brazo.BrazoError, match=r"not complete.*No space"):
        recorder.close()
    found = Recording.open(path)  # the rows on disk are converted anyway
    assert 0 < len(found) < count
    assert (found.t == np.arange(len(found))).all()


def test_control_loop_does_not_wait_for_a_slow_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("brazo.recording.stream.BACKLOG", 10_000)
    BlockedDisk.go.clear()
    recorder = BlockedDisk(tmp_path / "run.parquet", {"t": "s"}, wait=False)
    for _ in range(100):
        recorder.append_block(np.zeros((1000, 1)))
    assert "too slow" in recorder.failure and recorder.dropped > 90_000
    BlockedDisk.go.set()
    with pytest.raises(brazo.BrazoError, match="too slow"):
        recorder.close()


@pytest.mark.parametrize("rate", [1.0, 10.0, 1000.0])
def test_rows_reach_the_disk_without_further_rows(tmp_path, rate):
    """At any rate; tools/recorder_kills.py measures the delay."""
    recorder = Recorder(tmp_path / "run.parquet", {"t": "s"})
    count = max(1, round(0.05 * rate))
    for k in range(count):
        recorder.append([k / rate])
    given = time.monotonic()
    while recorder.written < count and time.monotonic() < given + 20:
        time.sleep(5e-3)
    assert recorder.written == count
    assert len(Recording.open(recorder.part)) == count
    recorder.close()


def test_killed_run_is_never_overwritten(tmp_path):
    path = tmp_path / "run.parquet"
    record(path, rows=10).close()
    with pytest.raises(brazo.BrazoError, match="already exists"):
        Recorder(path, COLUMNS)
    recorder = Recorder(path, COLUMNS, replace=True)
    recorder.append_block(np.zeros((1500, 3)))
    recorder.abandon()
    assert len(Recording.open(path)) == 10  # the requested file
    with pytest.raises(
        brazo.BrazoError,
        match=r"interrupted run; convert it.*`brazo convert \S*\.part \S*run.parquet --force`",
    ):
        Recorder(path, COLUMNS, replace=True)
    assert len(Recording.open(recorder.part)) == 1500


def test_note_names_which_of_two_files_was_read(tmp_path):
    path = tmp_path / "run.parquet"
    unfinished = record(path, rows=10)
    unfinished.abandon()
    assert "read" in open_source(path).note and ".part" in open_source(path).note
    finish_part(unfinished.part, path)
    assert open_source(path).note == ""
    recorder = Recorder(path, COLUMNS, replace=True)
    assert f"is being written by process {os.getpid()}" in open_source(path).note
    recorder.abandon()
    assert "was interrupted" in open_source(path).note


def test_file_being_written_is_not_converted_or_shared(tmp_path):
    path = tmp_path / "run.parquet"
    recorder = record(path, rows=100)
    writer = f"being written by process {os.getpid()}"
    with pytest.raises(brazo.BrazoError, match=writer):
        Recorder(path, COLUMNS)
    with pytest.raises(brazo.BrazoError, match=writer):
        convert(recorder.part, path)
    with pytest.raises(brazo.BrazoError, match=writer):
        convert(path, tmp_path / "run.csv")
    assert len(recorder.recording()) == 100


def test_file_created_during_a_run_is_not_replaced(tmp_path):
    path = tmp_path / "run.parquet"
    recorder = record(path, rows=10)
    path.write_text("another file")
    with pytest.raises(brazo.BrazoError, match=r"already exists; it was not replaced.*\.part"):
        recorder.close()
    assert path.read_text() == "another file" and len(Recording.open(recorder.part)) == 10


PAIR = """
import sys, time
from pathlib import Path
import numpy as np
from brazo.errors import BrazoError
from brazo.recording.stream import Recorder
number = float(sys.argv[2])
try:
    recorder = Recorder(Path(sys.argv[1]), {"t": "s", "who": ""})
except BrazoError as error:
    print(error)
    sys.exit(2)
for k in range(200):
    recorder.append([k, number])
recorder.close()
"""


def test_two_recorders_never_share_a_path(tmp_path):
    """Of two processes started together one records and one is rejected; rows are not mixed."""
    for pair in range(5):
        path = tmp_path / f"{pair}.parquet"
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", PAIR, str(path), str(k)], stdout=subprocess.PIPE
            )
            for k in (1, 2)
        ]
        texts = [process.communicate()[0].decode() for process in processes]
        codes = [process.returncode for process in processes]
        assert sorted(codes) == [0, 2], texts
        refused = texts[codes.index(2)]
        assert "is being written" in refused or "already exists" in refused
        found = Recording.open(path)
        assert len(found) == 200 and set(found["who"]) == {codes.index(0) + 1.0}


def test_recording_in_progress_can_be_read(tmp_path):
    recorder = record(tmp_path / "run.parquet", rows=2000, chunk=500)
    while recorder.written < 2000:
        time.sleep(1e-3)
    assert len(Recording.open(recorder.part)) == 2000
    recorder.append_block(np.zeros((7, 3)))
    assert len(recorder.recording()) == 2007


def test_invalid_and_late_rows_are_rejected(tmp_path):
    with record(tmp_path / "run.parquet", rows=3) as recorder:
        with pytest.raises(brazo.BrazoError, match="2 values; expected 3"):
            recorder.append([1.0, 2.0])
        recorder.event(np.float64(0.1), "x", "y", count=np.int64(3), at=np.zeros(2), bad=np.nan)
    with pytest.raises(brazo.BrazoError, match="closed"):
        recorder.append([1.0, 2.0, 3.0])
    event = Recording.open(tmp_path / "run.parquet").events[-1]
    assert event["count"] == 3 and event["at"] == [0.0, 0.0] and event["bad"] is None


@pytest.mark.parametrize("name", ["run.csv", "nowhere/run.parquet"])
def test_error_names_an_unwritable_path(tmp_path, name):
    with pytest.raises(brazo.BrazoError, match=name):
        Recorder(tmp_path / name, COLUMNS)
    with pytest.raises(brazo.BrazoError, match="at least one column"):
        Recorder(tmp_path / "run.parquet", {})

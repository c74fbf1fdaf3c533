"""Recordings: complete after kill -9, the same in every format, in constant memory."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import openpyxl
import pytest
from mcap.reader import make_reader

import brazo
from brazo.recording.recording import Recording
from brazo.recording.stream import Recorder
from brazo.recording.xlsx import write_xlsx

COLUMNS = {"t": "s", "arm.q.elbow": "rad", "arm.tau.elbow": "N m"}


def record(path, rows=2500, chunk=1000):
    recorder = Recorder(path, COLUMNS, {"cell": "test", "robot": "arm"}, chunk_rows=chunk)
    for k in range(rows):
        recorder.append([k * 1e-3, np.sin(k * 1e-3), float(k)])
        if k == 1200:
            recorder.event(1.2, "grasp", "bar held", body="bar 1")
    return recorder


def test_what_is_recorded_comes_back(tmp_path):
    path = record(tmp_path / "run.parquet").close()
    recording = Recording.open(path)
    assert len(recording) == 2500
    assert recording.unit("arm.tau.elbow") == "N m"
    assert (recording["arm.q.elbow"] == np.sin(np.arange(2500) * 1e-3)).all()
    assert recording.events == [{"t": 1.2, "kind": "grasp", "text": "bar held", "body": "bar 1"}]
    assert recording.about["cell"] == "test"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.parquet"]


def test_blocks_and_rows_keep_their_order(tmp_path):
    recorder = Recorder(tmp_path / "run.parquet", {"t": "s", "x": "m"}, chunk_rows=100)
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
    recording = Recording.open(recorder.close())
    assert np.array_equal(np.column_stack([recording["t"], recording["x"]]), expected)
    with pytest.raises(brazo.BrazoError, match="closed"):
        recorder.append_block(buffer)


KILLED = """
import sys
import numpy as np
from pathlib import Path
from brazo.recording.stream import Recorder
recorder = Recorder(Path(sys.argv[1]), {"t": "s", "x": "m"}, chunk_rows=50)
print("ready", flush=True)
k = 0
while True:
    recorder.append([float(k), 2.0 * k])
    k += 1
    if k % 500 == 0:
        recorder.event(float(k), "mark", "é" * 10)
        print(k, flush=True)
"""


@pytest.mark.parametrize("seed", range(20))
def test_kill_9_leaves_all_complete_chunks(tmp_path, seed):
    path = tmp_path / "run.parquet"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    rows = int(np.random.default_rng(seed).integers(1, 40))
    for _ in range(rows):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    recording = Recording.open(path)
    count = len(recording)
    assert (recording["t"] == np.arange(count)).all()
    assert (recording["x"] == 2.0 * np.arange(count)).all()
    assert count % 50 == 0
    for event in recording.events:
        assert event["text"] == "é" * 10


def test_formats_agree(tmp_path):
    recording = Recording.open(record(tmp_path / "run.parquet").close())
    again = Recording.open(recording.to(tmp_path / "run.csv"))
    assert all((again[name] == recording[name]).all() for name in COLUMNS)
    assert again.unit("arm.q.elbow") == "rad"
    book = openpyxl.load_workbook(recording.to(tmp_path / "run.xlsx"), read_only=True)
    assert {"data", "events", "about", "chart"} <= set(book.sheetnames)
    rows = list(book["data"].iter_rows(min_row=1, max_row=4, values_only=True))
    assert rows[0] == tuple(COLUMNS) and rows[1] == tuple(COLUMNS.values())
    assert rows[3] == pytest.approx((1e-3, np.sin(1e-3), 1.0))
    assert next(iter(book["events"].iter_rows(min_row=2, values_only=True)))[2] == "bar held"
    with recording.to(tmp_path / "run.mcap").open("rb") as file:
        messages = list(make_reader(file).iter_messages())
    topics = {channel.topic for _, channel, _ in messages}
    assert topics == {"/arm/q", "/arm/tau", "/events"}
    first = next(json.loads(m.data) for _, c, m in messages if c.topic == "/arm/q")
    assert first == {"elbow": 0.0}


def test_long_recordings_go_on_on_further_sheets(tmp_path):
    t = np.arange(25.0)
    write_xlsx(tmp_path / "x.xlsx", {"t": (t, "s"), "y": (2 * t, "m")}, {}, [], sheet_rows=12)
    book = openpyxl.load_workbook(tmp_path / "x.xlsx", read_only=True)
    values = [
        row[1]
        for name in ("data", "data 2", "data 3")
        for row in book[name].iter_rows(min_row=3, values_only=True)
    ]
    assert values == pytest.approx(list(2 * t))


CONVERT = """
import resource, sys
import numpy as np
from brazo.recording.recording import Recording
recording = Recording.open(sys.argv[1])
import xlsxwriter
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
recording.to_xlsx(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_minute_at_a_kilohertz_in_constant_memory(tmp_path):
    """60 s x 1 kHz x 40 columns as XLSX, while another run goes on recording."""
    rows, width = 60_000, 40
    columns = {f"s.q.{i}": (np.arange(rows) * 1e-3 + i, "rad") for i in range(width)}
    Recording(columns).to_parquet(tmp_path / "long.parquet")
    process = subprocess.Popen(
        [sys.executable, "-c", CONVERT, tmp_path / "long.parquet", tmp_path / "long.xlsx"],
        stdout=subprocess.PIPE,
        text=True,
    )
    recorder = Recorder(tmp_path / "live.parquet", {"t": "s", "x": "m"})
    waits, count = [], 0
    while process.poll() is None:
        start = time.perf_counter()
        recorder.append([float(count), 1.0])
        waits.append(time.perf_counter() - start)
        count += 1
        time.sleep(1e-3)
    grown, _ = process.communicate()
    assert process.returncode == 0
    assert int(grown) < 40_000  # kB; the data alone are 19,000 and were there before
    assert np.percentile(waits, 99.9) < 1e-3
    assert len(Recording.open(recorder.close())) == count
    book = openpyxl.load_workbook(tmp_path / "long.xlsx", read_only=True)
    last = next(book["data"].iter_rows(min_row=rows + 2, max_row=rows + 2, values_only=True))
    book.close()
    assert last[0] == pytest.approx((rows - 1) * 1e-3)


@pytest.mark.parametrize("name", ["run.txt", "missing.parquet", "text.parquet"])
def test_bad_files_are_named(tmp_path, name):
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(brazo.BrazoError, match=name):
        Recording.open(tmp_path / name)
    with pytest.raises(brazo.BrazoError, match="did you mean"):
        Recording({"t": (np.zeros(1), "s"), "arm.q": (np.zeros(1), "m")})["arm.qq"]


def test_a_killed_run_is_never_written_over(tmp_path):
    path = tmp_path / "run.parquet"
    record(path, rows=10).close()
    record(path, rows=1500, chunk=500).abandon()
    assert len(Recording.open(path)) == 1500
    with pytest.raises(brazo.BrazoError, match="killed"):
        Recorder(path, COLUMNS)
    assert len(Recording.open(path)) == 1500


def test_wrong_rows_and_late_ones_are_refused(tmp_path):
    recorder = record(tmp_path / "run.parquet", rows=3)
    with pytest.raises(brazo.BrazoError, match="2 values for 3"):
        recorder.append([1.0, 2.0])
    recorder.event(np.float64(0.1), "x", "y", count=np.int64(3), at=np.zeros(2))
    recorder.close()
    with pytest.raises(brazo.BrazoError, match="closed"):
        recorder.append([1.0, 2.0, 3.0])
    assert Recording.open(tmp_path / "run.parquet").events[-1]["count"] == 3

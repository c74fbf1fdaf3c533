"""All formats have the same content, checked with independent readers."""

import json

import numpy as np
import openpyxl
import pyarrow.parquet
import pytest
from mcap.reader import make_reader

import brazo
from brazo.recording.conversion import convert
from brazo.recording.part_file import ROWS as ROWS_FRAME
from brazo.recording.part_file import frame
from brazo.recording.recording import Recording
from brazo.recording.source import memory_source
from brazo.recording.stream import Recorder
from brazo.recording.xlsx import write_xlsx

COLUMNS = {"t": "s", "arm.q.elbow": "rad", "arm.q.lift, main": "m", "arm.torque.elbow": "N m"}
ROWS = 2500


def table():
    t = np.arange(ROWS) * 1e-3
    values = np.column_stack([t, np.sin(t), 1 / (3 + t), 1e-300 * np.exp(9 * t)])
    values[10, 1], values[11, 3] = np.nan, np.inf
    return values


@pytest.fixture
def path(tmp_path):
    with Recorder(tmp_path / "run.parquet", COLUMNS, {"cell": "test"}) as recorder:
        recorder.append_block(table())
        recorder.event(1.2, "grasp", "=SUM(A1)", body="bar 1")
    return tmp_path / "run.parquet"


def test_parquet_is_exact_and_readable_by_pyarrow(path):
    read = pyarrow.parquet.read_table(path)
    assert read.column_names == list(COLUMNS)
    found = np.column_stack([read.column(name).to_numpy() for name in COLUMNS])
    assert np.array_equal(found, table(), equal_nan=True)
    assert [f.metadata[b"unit"].decode() for f in read.schema] == list(COLUMNS.values())
    assert json.loads(read.schema.metadata[b"brazo.events"])[0]["body"] == "bar 1"


def test_csv_is_exact(path):
    target = convert(path, path.with_suffix(".csv"))
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[0] == 't,arm.q.elbow,"arm.q.lift, main",arm.torque.elbow'
    assert lines[1] == "s,rad,m,N m" and len(lines) == ROWS + 2
    found = np.array([[float(x) for x in line.split(",")] for line in lines[2:]])
    assert np.array_equal(found, table(), equal_nan=True)
    again = Recording.open(target)
    assert np.array_equal(again.matrix("*"), table()[:, 1:], equal_nan=True)
    assert again.unit("arm.q.elbow") == "rad"


def test_xlsx(path):
    book = openpyxl.load_workbook(convert(path, path.with_suffix(".xlsx")), data_only=True)
    sheets = ["data", "arm joint positions", "arm torques", "events", "about", "chart data"]
    assert book.sheetnames == sheets
    rows = list(book["data"].iter_rows(values_only=True))
    assert rows[0] == tuple(COLUMNS) and rows[1] == tuple(COLUMNS.values())
    assert rows[12][1] is None and rows[13][3] == "#DIV/0!"
    wanted = np.delete(table(), [10, 11], axis=0)
    found = np.array(np.delete(np.array(rows[2:], dtype=object), [10, 11], axis=0), dtype=float)
    assert np.array_equal(found, wanted)
    assert list(book["events"].iter_rows(values_only=True))[1] == (1.2, "grasp", "=SUM(A1)")
    assert book["data"].freeze_panes == "B3"
    charted = list(book["chart data"].iter_rows(values_only=True))
    assert charted[1] == ("s", "deg", "mm", "N m") and len(charted) <= 2002
    assert charted[-1][0] == pytest.approx(2.499)
    assert charted[2][2] == pytest.approx(1000 / 3)
    (chart,) = book["arm joint positions"]._charts
    assert len(chart._charts) == 2 and [len(c.ser) for c in chart._charts] == [1, 1]
    assert f"$A$3:$A${len(charted)}" in chart.ser[0].xVal.numRef.f


def test_long_recordings_continue_on_further_sheets(tmp_path):
    t = np.arange(25.0)
    source = memory_source({"t": (t, "s"), "y": (2 * t, "m")})
    write_xlsx(tmp_path / "x.xlsx", source, sheet_rows=12)
    book = openpyxl.load_workbook(tmp_path / "x.xlsx", read_only=True)
    names = [name for name in book.sheetnames if name.split()[0] == "data"]
    assert names == ["data", "data 2", "data 3"]
    rows = [list(book[name].iter_rows(values_only=True)) for name in names]
    assert [sheet[:2] for sheet in rows] == 3 * [[("t", "y"), ("s", "m")]]
    assert [row[1] for sheet in rows for row in sheet[2:]] == list(2 * t)


def test_mcap(path):
    with convert(path, path.with_suffix(".mcap")).open("rb") as file:
        messages = list(make_reader(file).iter_messages(log_time_order=False))
    topics = {channel.topic for _, channel, _ in messages}
    assert topics == {"/arm/q", "/arm/torque", "/events"}
    joints = [(m.log_time, json.loads(m.data)) for _, c, m in messages if c.topic == "/arm/q"]
    assert len(joints) == ROWS
    assert joints[1] == (1_000_000, {"elbow": np.sin(1e-3), "lift, main": 1 / 3.001})
    assert joints[10][1]["elbow"] is None
    schema = next(json.loads(s.data) for s, c, _ in messages if c.topic == "/arm/q" and s)
    assert schema["properties"]["elbow"]["description"] == "rad"
    stamps = [m.log_time for *_, m in messages]
    assert stamps == sorted(stamps)


def test_selected_signals_and_time_range(path):
    target = convert(path, path.parent / "some.csv", signals=["*.elbow"], start=1.0, stop=1.5)
    some = Recording.open(target)
    assert some.names == ["arm.q.elbow", "arm.torque.elbow"]
    assert (some.t == table()[1000:1501, 0]).all()
    with pytest.raises(brazo.BrazoError, match="no rows from 7 s"):
        convert(path, target, start=7.0)
    with pytest.raises(brazo.BrazoError, match="no signal matches 'leg'"):
        convert(path, target, signals="leg")
    with pytest.raises(brazo.BrazoError, match="same file"):
        convert(path, path)
    with pytest.raises(brazo.BrazoError, match="unknown format"):
        convert(path, path.with_suffix(".txt"))


def test_part_file_of_a_killed_run_is_converted(tmp_path):
    path = tmp_path / "run.parquet"
    recorder = Recorder(path, COLUMNS, chunk_rows=100)
    recorder.append_block(table())
    recorder.event(0.5, "mark", "x")
    recorder.abandon()
    part = tmp_path / "run.parquet.part"
    with part.open("ab") as file:
        file.write(b"".join(frame(ROWS_FRAME, bytes(800)))[:-500])  # an incomplete frame
    convert(part, tmp_path / "run.csv")
    convert(part, tmp_path / "some.parquet", stop=1.0)
    assert part.exists()
    convert(part, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv", "run.parquet", "some.parquet"]
    assert len(Recording.open(path)) == ROWS and Recording.open(path).events[0]["kind"] == "mark"


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".xlsx", ".mcap"])
def test_empty_recording_is_written_in_every_format(tmp_path, ending):
    Recording({"t": (np.empty(0), "s"), "x": (np.empty(0), "m")}).to(tmp_path / f"run{ending}")
    if ending in (".parquet", ".csv"):
        assert len(Recording.open(tmp_path / f"run{ending}")) == 0


def test_invalid_csv_is_rejected(tmp_path):
    file = tmp_path / "x.csv"
    for text in ("", "t,x\n1,2\n3,4,5\n", "t,x\ns,m\n1,two\n", "t,t\ns,s\n1,1\n", "t\ns,m\n"):
        file.write_text(text)
        with pytest.raises(brazo.BrazoError, match=r"x\.csv"):
            Recording.open(file)


@pytest.mark.parametrize("units", ["", "s,rad,\n", "s,rad,1\n"])
def test_csv_without_units_keeps_its_first_row(tmp_path, units):
    file = tmp_path / "x.csv"
    file.write_text(f"t,arm.q.elbow,count\n{units}0,1.5,\n0.1,2.5,3\n")
    read = Recording.open(file)
    assert read.t.tolist() == [0.0, 0.1] and read["arm.q.elbow"].tolist() == [1.5, 2.5]
    assert read.unit("t") == "s" and read.unit("arm.q.elbow") == ("rad" if units else "")


def test_first_csv_row_of_ones_is_data(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("t,step\n1,1\n2,1\n")
    assert Recording.open(file).t.tolist() == [1.0, 2.0]
    file.write_text("t,step\n,1\n1,1\n2,1\n")
    assert (
        Recording.open(file).t.tolist() == [1.0, 2.0] and Recording.open(file).unit("step") == "1"
    )


def test_csv_without_names_is_rejected(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("0,1.5\n0.1,2.5\n")
    with pytest.raises(brazo.BrazoError, match=r"x\.csv:1: numbers instead of signal names"):
        Recording.open(file)


def test_rate_works_with_irregular_and_reset_time(tmp_path):
    t = np.array([0.0, 0.001, 0.0105, 0.03, 0.031, 0.0, 0.001])
    Recording({"t": (t, "s")}).to(tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.parquet", rate=100.0)
    assert Recording.open(tmp_path / "b.parquet").t.tolist() == [0.0, 0.0105, 0.03, 0.0]

"""Recordings with unusual content: figures and reports are written, or an error states why not."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import brazo
from brazo.recording import Recording
from brazo.recording.mcap import write_mcap
from brazo.recording.source import event_time, open_source

T = 0.01 * np.arange(50)


def made(values, t=T, events=(), about=None):
    columns = {"t": (t, "s")}
    for joint in ("a", "b"):
        for group, unit in (("q", "rad"), ("q_ref", "rad"), ("qd", "rad/s"), ("torque", "N m")):
            columns[f"arm.{group}.{joint}"] = (values, unit)
    for axis in "xyz":
        columns |= {f"arm.tool.{axis}": (values, "m"), f"arm.force.{axis}": (values, "N")}
    columns |= {"distance.a.b": (values, "m"), "energy.kinetic": (values, "J")}
    return Recording(columns, list(events), about or {})


@pytest.mark.parametrize(
    "values",
    [
        np.full(50, np.nan),
        np.where(np.arange(50) % 2, np.inf, -np.inf),
        np.where(np.arange(50) == 7, np.inf, np.sin(T)),
        1e308 * np.sign(np.arange(50) - 25.0),
        np.full(50, 5e-324),
    ],
    ids=["nan", "inf", "one inf", "huge", "tiny"],
)
def test_values_that_are_not_finite_are_gaps(values, tmp_path):
    limits = '{"arm.torque.a": [-50, 50], "arm.q.a": [-1, 1]}'
    run = made(values, about={"limits": limits})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = run.report(tmp_path / "run.html").read_text(encoding="utf-8")
        run.plot("arm.q", tmp_path / "run.png")
        run.plot("*", tmp_path / "run.svg")
    left_out = int((np.abs(values) > 1e150).sum())
    assert ("values left out" in page) == bool(left_out)
    assert f"<td>{left_out * (len(run.names))} " in page or not left_out


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300])
def test_time_axis_that_is_not_finite_is_rejected_with_its_row(wrong, tmp_path):
    run = made(np.sin(T), np.where(np.arange(50) == 20, wrong, T))
    message = r"time axis 't': row 21 is "
    for work in (
        lambda: run.report(tmp_path / "run.html"),
        lambda: run.plot("arm.q", tmp_path / "run.png"),
        lambda: write_mcap(tmp_path / "run.mcap", run._source()),
    ):
        with pytest.raises(brazo.BrazoError, match=message):
            work()
    assert not list(tmp_path.iterdir())


def test_events_without_a_time_or_with_any_content_are_shown(tmp_path):
    events = [
        {"t": "x", "kind": None, "text": 5},
        {"t": float("nan"), "kind": "grasped", "text": "x"},
        {"t": 10**400, "kind": "contact", "robot": [1], "body": {}},
        {"t": -float("inf"), "kind": "released", "robot": 3},
        {"kind": "edit", "t": None, "robot": "arm"},
    ]
    assert [event_time(event) for event in events] == [0.0] * 5
    run = made(np.sin(T), events=events)
    run.report(tmp_path / "run.html")
    run.plot("arm.q", tmp_path / "run.png")
    write_mcap(tmp_path / "run.mcap", run._source())


@pytest.mark.parametrize("rows", [0, 1])
def test_run_without_duration_has_a_report(rows, tmp_path):
    run = made(np.sin(T)[:rows], T[:rows])
    run.report(tmp_path / "run.html")
    run.plot("arm.q", tmp_path / "run.png")
    alone = Recording({"t": (T, "s")})
    alone.report(tmp_path / "alone.html")
    with pytest.raises(brazo.BrazoError, match="no signals to plot"):
        alone.plot([], tmp_path / "alone.png")


def test_unusual_names_are_drawn(tmp_path):
    names = [".", "..", "arm.q.", ".q.a", "$x_1^{", "a" * 300, "é.q.\u0301", "{0}", "%s"]
    names += ["energy", "distance.", "internal.", "x.grasp.body", "<b>.q.&"]
    run = Recording({"t": (T, "s"), **{name: (np.sin(T), "N") for name in names}})
    page = run.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<b>.q" not in page
    run.plot("*", tmp_path / "run.svg")


def test_metadata_that_is_not_utf_8_is_read(tmp_path):
    path = tmp_path / "foreign.parquet"
    schema = pa.schema(
        [pa.field("t", pa.float64(), metadata={b"unit": b"\xff"}), pa.field("a", pa.float64())],
        metadata={b"brazo.cell": b"\xff\xfe", b"brazo.events": b"[]", b"brazo.\xff": b"x"},
    )
    parquet.write_table(pa.table([[0.0, 1.0], [1.0, 2.0]], schema=schema), path)
    run = Recording.open(path)
    assert run.about["cell"] == "\ufffd\ufffd"
    run.report(tmp_path / "run.html")
    schema = schema.with_metadata({b"brazo.events": b"\xff["})
    parquet.write_table(pa.table([[0.0], [1.0]], schema=schema), path)
    with pytest.raises(brazo.BrazoError, match="events are not JSON"):
        open_source(path)

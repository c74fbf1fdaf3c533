"""Interface of a recording: selecting, cutting, resampling."""

import copy
import json

import numpy as np
import pytest

import brazo
from brazo.recording.names import choose
from brazo.recording.recording import Recording


@pytest.fixture
def recording():
    t = np.arange(1001) * 1e-3
    columns = {
        "t": (t, "s"),
        "arm.q.shoulder": (np.sin(t), "rad"),
        "arm.q.elbow": (np.cos(t), "rad"),
        "arm.torque.elbow": (t**2, "N m"),
        "count": (np.floor(t * 10), "1"),
    }
    events = [{"t": 0.7, "kind": "b", "text": "later"}, {"t": 0.2, "kind": "a", "text": "first"}]
    limits = {"arm.torque.elbow": [-5, 5], "arm.q.elbow": [None, 2.0]}
    return Recording(columns, events, {"cell": "test", "limits": json.dumps(limits)})


def test_content(recording):
    assert recording.names[0] == "arm.q.shoulder" and len(recording) == 1001
    assert recording.duration == 1.0 and "count" in recording and "x" not in recording
    assert recording.limits == {"arm.torque.elbow": (-5.0, 5.0), "arm.q.elbow": (-np.inf, 2.0)}
    assert [e["text"] for e in recording.events_of()] == ["first", "later"]
    assert [e["text"] for e in recording.events_of("b")] == ["later"]
    assert "4 signals, 1001 rows, 1 s" in repr(recording)
    with pytest.raises(brazo.BrazoError, match=r"did you mean arm\.q\.elbow"):
        recording["arm.q.elbo"]


def test_signals_are_selected_by_name_pattern_and_prefix(recording):
    assert recording.select("arm.q").names == ["arm.q.shoulder", "arm.q.elbow"]
    assert recording.select("*.elbow").names == ["arm.q.elbow", "arm.torque.elbow"]
    assert recording.select(["count", "arm.q.s*"]).names == ["arm.q.shoulder", "count"]
    assert recording.matrix("arm.q").shape == (1001, 2)
    with pytest.raises(brazo.BrazoError, match=r"no signal matches 'leg\.\*'; there are arm\.q"):
        recording.select(["arm.q", "leg.*"])


def test_time_range_includes_its_ends_and_events(recording):
    part = recording[0.1:0.5]
    assert part.t[0] == 0.1 and part.t[-1] == 0.5 and len(part) == 401
    assert (part["arm.q.elbow"] == np.cos(part.t)).all()
    assert [e["text"] for e in part.events] == ["first"]
    assert len(recording[0.9:]) == 101 and len(recording.between(stop=0.0)) == 1
    with pytest.raises(brazo.BrazoError, match="invalid time range"):
        recording[0.5:0.1]
    with pytest.raises(brazo.BrazoError, match="no step"):
        recording[0.0:1.0:0.1]


def test_resample(recording):
    coarse = recording.resample(0.05)
    assert len(coarse) == 21 and coarse.t[-1] == 1.0
    assert np.allclose(coarse["arm.q.elbow"], np.cos(coarse.t), rtol=0, atol=1e-15)
    fine = recording.resample(0.25e-3)
    assert len(fine) == 4001
    assert (
        np.abs(fine["arm.q.shoulder"] - np.sin(fine.t)).max() < 1e-3**2 / 8
    )  # error of linear interpolation
    steps = recording.resample(0.3e-3, "previous")
    assert set(steps["count"]) == set(range(10))
    same = recording.resample(1e-3, "previous")
    assert (same["count"] == recording["count"]).all()
    assert not set(recording.resample(0.3e-3)["count"]) <= set(range(11))
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(brazo.BrazoError, match="positive"):
            recording.resample(bad)
    with pytest.raises(brazo.BrazoError, match="'linear' or 'previous'"):
        recording.resample(0.1, "cubic")  # pyright: ignore[reportArgumentType]
    again = Recording({"t": (np.array([0.0, 1.0, 0.0]), "s")})
    with pytest.raises(brazo.BrazoError, match="reset"):
        again.resample(0.1)


def test_invalid_recordings_are_rejected():
    with pytest.raises(brazo.BrazoError, match="at least one column"):
        Recording({})
    with pytest.raises(brazo.BrazoError, match=r"'x' has shape \(3,\)"):
        Recording({"t": (np.zeros(2), "s"), "x": (np.zeros(3), "m")})
    with pytest.raises(brazo.BrazoError, match="one line"):
        Recording({"t\n": (np.zeros(2), "s")})
    with pytest.raises(brazo.BrazoError, match=r"about\.limits"):
        _ = Recording({"t": (np.zeros(2), "s")}, about={"limits": "[1]"}).limits


def test_signals_and_time_range_of_a_file(recording, tmp_path):
    recording.to_parquet(tmp_path / "run.parquet")
    some = Recording.open(tmp_path / "run.parquet", "arm.q", start=0.25, stop=0.5)
    assert some.names == ["arm.q.shoulder", "arm.q.elbow"]
    assert (some.t == recording.t[250:501]).all() and not some.events


@pytest.mark.parametrize(
    "name", ["run.txt", "missing.parquet", "text.parquet", "text.parquet.part"]
)
def test_bad_files_are_named(tmp_path, name):
    (tmp_path / "text.parquet").write_text("no")
    (tmp_path / "text.parquet.part").write_text("no")
    with pytest.raises(brazo.BrazoError, match=name):
        Recording.open(tmp_path / name)


def test_export_requires_the_suffix_of_the_format(recording, tmp_path):
    with pytest.raises(brazo.BrazoError, match=r"end in \.csv"):
        recording.to_csv(tmp_path / "run.xlsx")
    with pytest.raises(brazo.BrazoError, match=r"supported: \.parquet, \.csv"):
        recording.to(tmp_path / "run.txt")


def test_events_are_read_by_key_and_as_attributes():
    t = np.arange(3.0)
    event = Recording({"t": (t, "s")}, [{"t": 1.0, "kind": "mark", "robot": "a"}]).events[0]
    assert event.kind == event["kind"] == "mark" and event.robot == "a" and event.text == ""
    assert event.data == {"robot": "a"}
    with pytest.raises(AttributeError, match="no field 'body'; fields: t, kind, text, robot"):
        _ = event.body
    assert json.loads(json.dumps(event)) == event
    assert copy.deepcopy(event) == event


def test_hint_for_names_joined_by_a_comma(recording):
    with pytest.raises(brazo.BrazoError, match=r"separately: -s arm\.q -s count"):
        recording.select("arm.q,count")


def test_hint_for_an_unknown_prefix():
    names = [f"scara{i}.{what}.{joint}" for i in (1, 2) for what in ("q", "qd") for joint in "ab"]
    with pytest.raises(brazo.BrazoError, match=r"did you mean scara\d\.q, scara\d\.q"):
        choose(names, "scara3.q")


def test_error_for_a_folder_lists_its_recordings(tmp_path):
    (tmp_path / "run.parquet").write_bytes(b"")
    with pytest.raises(brazo.BrazoError, match=r"the folder contains .*run\.parquet"):
        Recording.open(tmp_path)

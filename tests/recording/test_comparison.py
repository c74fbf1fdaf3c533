"""Comparison of runs: synchronised, the same robot under any name, as a figure and as a table."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.recording import Recording


def run(late=0.0, gain=0.05, name="arm", rate=200.0) -> Recording:
    """A joint on a slow step and a tool on a circle, `late` s after the start of the recording."""
    t = np.arange(0.0, late + 3.0, 1.0 / rate)
    s = np.clip((t - late) / 2.0, 0.0, 1.0)
    r = s * s * (3.0 - 2.0 * s)
    phi = 2.0 * np.pi * r
    error = gain * np.sin(np.pi * s)
    dot = f"{name}." if name else ""
    columns = {"t": (t, "s")}
    columns[f"{dot}q.elbow"] = (r - error, "rad")
    columns[f"{dot}qd.elbow"] = (np.gradient(r - error, t), "rad/s")
    columns[f"{dot}q_ref.elbow"] = (r, "rad")
    columns[f"{dot}torque.elbow"] = (10.0 * error, "N m")
    for axis, value in zip("xyz", (np.cos(phi), np.sin(phi), 0 * phi), strict=True):
        columns[f"{dot}tool_ref.{axis}"] = (0.1 * value, "m")
        columns[f"{dot}tool.{axis}"] = (0.1 * value + gain * 0.01 * (axis == "x"), "m")
    return Recording(columns, [], {"method": f"gain {gain:g}, rk4"})


def test_runs_are_synchronised_at_the_start_of_their_motion():
    both = brazo.compare([run(), run(late=1.23, rate=500.0)])
    assert both.names == ["gain 0.05", "gain 0.05 2"]
    first, second = both.runs
    assert second.start == pytest.approx(1.23, abs=2e-3)
    for t in (0.0, 0.4, 1.1, 2.0):
        # One sampling period of the slower run, times its speed.
        assert first.positions_at(t) == pytest.approx(second.positions_at(t), abs=0.005)
    assert first.positions_at(-5.0) == 0.0 and first.positions_at(99.0) == pytest.approx(1.0)


def test_the_table_has_what_numpy_computes(tmp_path):
    given = {"low": run(gain=0.1), "high": run(gain=0.01, late=0.5)}
    path = brazo.compare(given).to_csv(tmp_path / "table.csv")
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert [(row["run"], row["part"]) for row in rows] == [
        (name, part) for name in given for part in ("tool", "elbow", "all joints")
    ]
    for row in rows:
        one, gain = given[row["run"]], {"low": 0.1, "high": 0.01}[row["run"]]
        start = 0.5 if row["run"] == "high" else 0.0
        inside = one.t >= start - 1e-9
        if row["part"] == "elbow":
            e = np.degrees(one["arm.q_ref.elbow"] - one["arm.q.elbow"])[inside]
            assert float(row["rms_error"]) == pytest.approx(math.sqrt((e * e).mean()), rel=1e-5)
            assert float(row["max_error"]) == pytest.approx(np.abs(e).max(), rel=1e-5)
            assert row["error_unit"] == "deg" and row["torque_unit"] == "N m"
            assert float(row["peak_torque"]) == pytest.approx(10.0 * gain, rel=1e-4)
            power = np.abs(one["arm.torque.elbow"] * one["arm.qd.elbow"])[inside]
            joule = float((0.5 * (power[1:] + power[:-1]) * np.diff(one.t[inside])).sum())
            assert float(row["energy_J"]) == pytest.approx(joule, rel=1e-5)
        elif row["part"] == "tool":
            assert float(row["rms_error"]) == pytest.approx(10.0 * gain, rel=1e-5)  # mm
            assert row["peak_torque"] == row["energy_J"] == ""


def test_signals_are_those_of_the_robot_with_derived_errors():
    one = brazo.compare([run(gain=0.02)]).runs[0]
    assert one.signals["error.elbow"] == "rad" and one.signals["tool_error"] == "m"
    expected = run(gain=0.02)["arm.q_ref.elbow"] - run(gain=0.02)["arm.q.elbow"]
    assert np.array_equal(one.values("error.elbow"), expected)
    assert one.values("tool_error") == pytest.approx(np.full(len(one.t), 2e-4), rel=1e-10)


def test_a_run_of_one_robot_is_compared_under_any_name():
    both = brazo.compare([run(), run(name="")])
    assert both.robot == "arm" and len(both.metrics) == 2
    assert both.choose("arm.q") == both.choose("q") == ["q.elbow"]


def test_one_figure_of_all_runs(tmp_path):
    both = brazo.compare({"A <b>": run(), "B": run(late=0.3, gain=0.01)})
    both.plot(path=tmp_path / "all.svg", title="Both")
    drawn = (tmp_path / "all.svg").read_text("utf-8")
    assert {"A &lt;b&gt;", "B", "reference", "tool x [mm]", "Both"} <= set(
        re.findall(r">([^<>]+)</text>", drawn)
    )
    axes = both.plot(["q", "torque.elbow"]).axes
    assert [len(ax.lines) for ax in axes] == [3, 2]  # two runs, and the reference of q
    (ax,) = both.plot_xy("tool.x", "tool.y").axes
    assert ax.get_aspect() == 1.0 and len(ax.lines) == 3


@pytest.mark.parametrize("referenced", [True, False])
def test_the_legend_shows_a_reference_only_if_one_is_drawn(referenced):
    columns = run().columns
    if not referenced:
        columns = {name: column for name, column in columns.items() if "_ref." not in name}
    (legend,) = brazo.compare({"A": Recording(columns)}).plot().legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == (["reference", "A"] if referenced else ["A"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no runs"),
        (run(), "a list or a mapping"),
        ([3], "int is not a run"),
        ({"a": Recording({"t": (np.arange(3.0), "s"), "x": (np.arange(3.0), "m")})}, "no robot"),
        ({"a": run()[9.0:9.1]}, "has 0 rows"),
    ],
)
def test_incompatible_runs_are_rejected_with_a_reason(given, message):
    with pytest.raises(BrazoError, match=message):
        brazo.compare(given)


def test_other_errors_list_the_available_names():
    both = brazo.compare([run(), run()])
    with pytest.raises(BrazoError, match=r"no signal matches 'speed'"):
        both.plot("speed")
    with pytest.raises(BrazoError, match="give one signal"):
        both.plot_xy("tool", "tool.y")
    with pytest.raises(BrazoError, match=r"after \(s\) is -1"):
        brazo.compare([run()], after=-1.0)
    with pytest.raises(BrazoError, match=r"must end in \.csv"):
        both.to_csv("table.txt")
    two = Recording({**run().columns, "other.q.a": run().columns["arm.q.elbow"]})
    with pytest.raises(BrazoError, match="has no robot 'third'; it has arm, other"):
        brazo.compare([two], robot="third")

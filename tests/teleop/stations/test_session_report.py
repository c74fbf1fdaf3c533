"""The report of a session from recordings that hold anything."""

import numpy as np
import pytest

import brazo
from brazo.recording import Recording
from brazo.teleop.stations import session_report

T = 0.01 * np.arange(50)
SIGNALS = ["state", "share", "age", "latency", "seq", "accepted", "acted", "simulated"]
SIGNALS += [f"{part}.{axis}" for part in ("tool", "target", "force") for axis in "xyz"]
SIGNALS += ["reference.a", "q.a"]


def written(path, values, rows=50, station="follower", **about):
    columns = {"t": (T[:rows], "s"), **dict.fromkeys(SIGNALS, (values[:rows], ""))}
    columns |= {"offset": (values[:rows], "s"), "round_trip": (values[:rows], "s")}
    return Recording(columns, [], {"station": station, **about}).to_parquet(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e308])
def test_values_that_are_not_finite_are_gaps(value, tmp_path):
    path = written(tmp_path / "run.parquet", np.full(50, value))
    assert "holds" in session_report(path, tmp_path / "page.html")


def test_a_recording_without_rows_or_clock_is_refused(tmp_path):
    empty = written(tmp_path / "empty.parquet", T, rows=0)
    with pytest.raises(brazo.BrazoError, match="no rows were recorded"):
        session_report(empty, tmp_path / "page.html")
    seen = written(tmp_path / "seen.parquet", T, clock_start="0.0")
    for clock in ({}, {"clock_start": "noon"}, {"clock_start": "nan"}):
        hand = written(tmp_path / f"hand{len(clock)}.parquet", T, station="master", **clock)
        with pytest.raises(brazo.BrazoError, match="clock_start"):
            session_report(seen, tmp_path / "page.html", hand)

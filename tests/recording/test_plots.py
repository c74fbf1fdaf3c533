"""Figures and reports of a run."""

import re

import numpy as np
import pytest

import brazo
from brazo.recording.plots import choose, plot, svg
from brazo.recording.recording import Recording
from brazo.recording.report import key_numbers, write_report


@pytest.fixture
def recording():
    t = np.linspace(0, 10, 20_001)
    columns = {
        "t": (t, "s"),
        "arm.q.shoulder": (np.sin(t), "rad"),
        "arm.q.<b>elbow</b>": (np.cos(t), "rad"),
        "arm.tau.shoulder": (5 * np.sin(3 * t) + (np.abs(t - 5) < 1e-4) * 40, "N m"),
    }
    return Recording(
        columns, [{"t": 2.0, "kind": "grasp", "text": "<script>x</script>"}], {"a": "b"}
    )


def test_signals_are_chosen_by_name_and_pattern(recording):
    assert choose(recording, ["arm.q.*"]) == ["arm.q.shoulder", "arm.q.<b>elbow</b>"]
    assert choose(recording, ["arm.tau.shoulder"]) == ["arm.tau.shoulder"]
    with pytest.raises(brazo.BrazoError, match="no signal matches x"):
        choose(recording, ["x"])


def test_figures_are_written_and_repeatable(recording, tmp_path):
    for name in ("a.png", "a.svg", "a.pdf"):
        assert plot(recording, ["arm.*"], tmp_path / name, "Run").stat().st_size > 5000
    assert svg(recording, ["arm.*"]) == svg(recording, ["arm.*"])
    with pytest.raises(brazo.BrazoError, match="png"):
        plot(recording, ["arm.*"], tmp_path / "a.bmp")


def test_a_spike_survives_thinning(recording):
    from brazo.recording.plots import _thinned

    t, y = _thinned(recording["t"], recording["arm.tau.shoulder"])
    assert len(t) < 5000
    assert y.max() == recording["arm.tau.shoulder"].max()


def test_the_report_is_one_safe_page(recording, tmp_path):
    path = write_report(
        recording, tmp_path / "r.html", "Run <1>", {"Positions": ["arm.q.*"]}, {"bars": "3 of 3"}
    )
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text and "<b>elbow" not in text
    assert "3 of 3" in text and "10.000 s" in text
    loads = re.findall(r'(?:src|href)="(?!#)[^"]+"', text)
    assert not loads
    assert key_numbers(recording)["greatest |arm.q|"].startswith("1 rad")


def test_names_are_drawn_as_they_stand(tmp_path):
    t = np.linspace(0, 1, 9999)
    spike = np.zeros(9999)
    spike[-3] = 7.0
    spike[100] = np.nan
    columns = {"t": (t, "s"), "a.$\\q$": (t, "m"), "a._hidden": (spike, "m")}
    text = svg(Recording(columns), ["*"])
    assert "_hidden" in text
    from brazo.recording.plots import _thinned

    assert np.nanmax(_thinned(t, spike)[1]) == 7.0

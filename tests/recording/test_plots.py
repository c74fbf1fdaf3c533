"""Figures: correct, readable and reproducible."""

import itertools
import re

import numpy as np
import pytest

import brazo
from brazo.recording.canvas import POINTS, save, spread, thinned
from brazo.recording.figures import default_figures
from brazo.recording.paths import path_figure
from brazo.recording.plots import figure, plot, svg, timeline_figure, torque_figure
from brazo.recording.recording import Recording


@pytest.fixture
def recording():
    t = np.linspace(0, 10, 20_001)
    columns = {
        "t": (t, "s"),
        "arm.q.shoulder": (np.sin(t), "rad"),
        "arm.q.<b>elbow</b>": (np.cos(t), "rad"),
        "arm.q.lift": (0.1 + 0.01 * t, "m"),
        "arm.q_ref.shoulder": (np.sin(t) + 1e-3, "rad"),
        "arm.torque.shoulder": (5 * np.sin(3 * t) + (np.abs(t - 5) < 1e-4) * 40, "N m"),
        "arm.tool.x": (np.sin(t), "m"),
        "arm.tool.y": (np.cos(t), "m"),
        "arm.tool.z": (0.1 * t, "m"),
    }
    events = [{"t": 2.0, "kind": "grasp", "text": "<script>x</script>"}]
    return Recording(columns, events, {"a": "b"})


def texts(fig):
    return [t.get_text() for ax in fig.axes for t in ax.texts if t.get_text()]


def test_figures_are_written_and_repeatable(recording, tmp_path):
    for name in ("a.png", "a.svg", "a.pdf"):
        assert plot(recording, ["arm.*"], tmp_path / name, "Run").stat().st_size > 5000
    assert svg(recording, ["arm.*"]) == svg(recording, ["arm.*"])
    with pytest.raises(brazo.BrazoError, match="png"):
        plot(recording, ["arm.*"], tmp_path / "a.bmp")
    with pytest.raises(brazo.BrazoError, match="no signal matches 'x'"):
        recording.plot("x")
    assert recording.plot("arm.q", tmp_path / "b.png").axes


def test_one_axis_per_unit_in_degrees(recording):
    fig = recording.plot("arm.q", events=False)
    assert [ax.get_ylabel() for ax in fig.axes] == ["arm.q [deg]", "arm.q [mm]"]
    line = next(line for line in fig.axes[0].lines if line.get_linewidth() == 1.2)
    assert np.max(line.get_ydata()) == pytest.approx(np.degrees(1.0), rel=1e-6)
    assert recording.plot("arm.q", degrees=False, events=False).axes[0].get_ylabel() == (
        "arm.q [rad]"
    )
    assert {"shoulder", "<b>elbow</b>"} <= set(texts(fig))


def test_reference_is_a_band_not_a_separate_line(recording):
    widths = sorted(line.get_linewidth() for line in recording.plot("arm.q*").axes[1].lines)
    assert widths.count(4.0) == 1
    fig = recording.plot("arm.q_ref", events=False)
    assert [line.get_linewidth() for line in fig.axes[0].lines] == [1.2]


def test_line_labels_do_not_overlap():
    t = np.linspace(0, 1, 50)
    columns = {"t": (t, "s")} | {f"a.signal{i}": (t * 0 + 1e-3 * i, "N") for i in range(12)}
    columns["a.signal3"] = (t * 0 + 5.0, "N")
    fig = figure(Recording(columns), "a", events=False)
    fig.draw_without_rendering()
    named = {t.get_text(): t for t in fig.axes[0].texts if t.get_text()}
    assert len(named) == 12
    boxes = sorted((t.get_window_extent() for t in named.values()), key=lambda box: box.y0)
    gaps = [b.y0 - a.y1 for a, b in itertools.pairwise(boxes)]
    assert min(gaps) > -2.5  # dots; descenders may touch the next box
    assert all(box.x1 <= fig.bbox.x1 and box.y1 <= fig.bbox.y1 for box in boxes)


def test_labels_are_spread_as_little_as_needed():
    wanted = np.array([5.0, 5.0, 50.0, 6.0])
    placed = spread(wanted, 10.0, 0.0, 100.0)
    assert np.diff(np.sort(placed)).min() >= 10 - 1e-9
    assert placed[2] == 50.0 and abs(placed[:2].mean() - 5) < 10
    assert (np.diff(np.sort(spread(np.full(9, 3.0), 20.0, 0.0, 80.0))) > 9.9).all()


def test_spike_survives_downsampling(recording):
    t, y = thinned(recording.t, recording["arm.torque.shoulder"])
    assert len(t) <= POINTS + 2
    assert y.max() == recording["arm.torque.shoulder"].max()
    y = np.zeros(9999)
    y[100], y[-3] = np.nan, 7.0
    assert np.nanmax(thinned(np.arange(9999.0), y)[1]) == 7.0


def test_names_are_drawn_literally():
    t = np.linspace(0, 1, 99)
    columns = {"t": (t, "s"), "a.$\\q$": (t, "m"), "a._hidden": (2 * t, "m")}
    text = svg(Recording(columns), ["*"])
    assert "_hidden" in text and "$\\q$" in text


def test_many_contacts_are_merged_to_one_bar():
    t = np.linspace(0, 10, 1001)
    events = []
    for k in range(2000):
        start = 2.0 + 1e-3 * k
        pair = {"first": "arm/left", "second": "bar"}
        events.append({"t": start, "kind": "contact begin", "text": "", **pair})
        events.append({"t": start + 5e-4, "kind": "contact end", "text": "", **pair})
    fig = figure(Recording({"t": (t, "s"), "x": (t, "m")}, events), "x")
    strip, below = fig.axes
    (bars,) = strip.collections
    assert len(bars.get_paths()) == 1
    low, high = bars.get_paths()[0].vertices[:, 0].min(), bars.get_paths()[0].vertices[:, 0].max()
    assert (low, high) == pytest.approx((2.0, 3.9995), abs=1e-6)
    assert len(below.lines) == 1  # the signal, no line per event
    assert [t.get_text() for t in strip.get_yticklabels()] == ["arm touches bar"]


def test_torque_figure_shows_peak_relative_to_the_limit(recording):
    about = {"limits": '{"arm.torque.shoulder": [-50, 50]}'}
    limited = Recording(recording.columns, [], about)
    (ax,) = torque_figure(limited, ["arm.torque.shoulder"]).axes
    assert re.match(r"peak 4[345].* N m, 8\d % of 50 N m", ax.get_title(loc="right"))
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == 2
    (ax,) = torque_figure(recording, ["arm.torque.shoulder"]).axes
    assert "of" not in ax.get_title(loc="right") and len(ax.lines) == 1


def test_paths_keep_their_shape(recording, tmp_path):
    fig = path_figure(recording, ["arm"])
    save(fig, tmp_path / "path.png")
    for ax in fig.axes:
        box, x, y = ax.get_window_extent(), np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
        assert box.width / x == pytest.approx(box.height / y, rel=1e-3)


def test_default_figures_are_those_with_data(recording):
    titles = [chapter.title for chapter in default_figures(recording)]
    assert titles == [
        "Events",
        "arm: joint motion",
        "arm: tracking error",
        "arm: torques",
        "Tool paths",
    ]
    t = recording.t
    plain = Recording({"t": (t, "s"), "a.x": (t, "m"), "b": (t, "N")})
    assert [chapter.title for chapter in default_figures(plain)] == ["a", "b"]
    single = Recording({"t": (t, "s"), "q.elbow": (t, "rad"), "torque.elbow": (t, "N m")})
    assert [c.title for c in default_figures(single)] == ["robot: joint motion", "robot: torques"]
    assert default_figures(Recording({"t": (np.zeros(1), "s"), "x": (np.zeros(1), "m")})) == []


def test_torque_signals_under_the_deprecated_name_tau():
    t = np.linspace(0, 1, 11)
    old = Recording({"t": (t, "s"), "q.elbow": (t, "rad"), "tau.elbow": (t, "N m")})
    with pytest.warns(DeprecationWarning, match="tau are deprecated; use torque"):
        titles = [chapter.title for chapter in default_figures(old)]
    assert titles == ["robot: joint motion", "robot: torques"]


def test_empty_recordings_can_be_plotted():
    empty = Recording({"t": (np.empty(0), "s"), "x": (np.empty(0), "m")})
    assert figure(empty, "x").axes
    t = np.linspace(0, 1, 5)
    nothing = Recording({"t": (t, "s"), "x": (np.full(5, np.nan), "m")}, [{"kind": "k"}])
    assert figure(nothing, "x").axes and timeline_figure(nothing).axes


def tick_labels(text):
    return re.findall(r">(−?\d[\d.]*)</text>", text)


def test_ticks_differ_and_rounding_errors_are_invisible():
    t = np.linspace(0, 1, 101)
    still = np.radians(50) + 1e-12 * np.sin(40 * t)
    slow = np.radians(50 + 0.2 * t)
    drawn = figure(Recording({"t": (t, "s"), "a.q.elbow": (still, "rad")}), ["a.q.elbow"])
    low, high = drawn.axes[-1].get_ylim()
    assert high - low == pytest.approx(0.05, rel=1e-2)  # a thousandth of 50 deg
    for values in (still, slow):
        text = svg(Recording({"t": (t, "s"), "a.q.elbow": (values, "rad")}), ["a.q.elbow"])
        heights = [label for label in tick_labels(text) if float(label) > 40]
        assert len(heights) >= 3 and len(set(heights)) == len(heights)


def test_timeline_has_tooltips_with_the_full_text():
    t = np.linspace(0, 1, 101)
    events = [
        {"t": 0.3, "kind": "step", "text": "a: takes <the> bar to the far end", "robot": "a"},
        {"t": 0.5, "kind": "fault", "text": "a: joint 'elbow' is locked", "robot": "a"},
    ]
    text = svg(Recording({"t": (t, "s"), "a.q.elbow": (t, "rad")}, events), ["a.q.elbow"])
    assert "<title>takes &lt;the&gt; bar to the far end</title>" in text
    assert "<title>joint &#x27;elbow&#x27; is locked</title>" in text
    assert "hover-" not in text

"""Plots of signals over time: axes by unit, labels at the lines, event lanes above.

The reference of a signal (`R.q_ref.J` for `R.q.J`) is drawn as a pale band under it, so that both
are visible where they coincide.  Limits are dashed, and shown only if the signal comes close to
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.canvas import (
    FONT,
    POINTS,
    SMALL,
    drawing,
    finish,
    hover,
    label_lines,
    new_figure,
    save,
    svg_text,
    thinned,
    widen,
)
from brazo.recording.colors import BAD, COLORS, GRID, INK, ON_COLOR, SOFT
from brazo.recording.display import display_unit, number
from brazo.recording.drawable import drawable
from brazo.recording.names import choose, common_prefix, last
from brazo.recording.recording import Recording
from brazo.recording.timeline import Lane, Span, lanes, merged

AXIS_HEIGHT = 1.7  # inches
LANE_HEIGHT = 0.145
STRIP_LANES = 6
LINES = 12  # max lines on one axis
LONGEST_NAME = 48  # characters
NEAR_LIMIT = 0.4  # a torque limit is drawn if the peak torque exceeds this share of it


def figure(
    recording: Recording,
    signals: str | Sequence[str],
    title: str = "",
    degrees: bool = True,
    events: bool | Sequence[str] = True,
    note: str = "",
    states: Sequence[str] = (),
) -> Any:
    """Return a matplotlib figure of signals over time; see `Recording.plot`.

    `note` is a remark above the first axis.  If the signals encode states as 0, 1, 2, …, `states`
    are the names of these states.
    """
    names = choose(recording.names, signals)
    if not names:
        raise BrazoError("no signals to plot")
    recording, _ = drawable(recording)
    shapes = {name: reference_of(recording, name) for name in names}
    drawn = [n for n in names if n not in shapes.values()] or names
    panels = _panels(recording, drawn, degrees)
    strip = lanes_of(recording, events)[:STRIP_LANES]
    ratios = [AXIS_HEIGHT * panel.height for panel in panels]
    if strip:
        ratios = [0.08 + LANE_HEIGHT * len(strip), *ratios]
    with drawing():
        height = sum(ratios) + 0.45 + (0.25 if title else 0.0) + 0.06 * len(ratios)
        fig = new_figure(height, title)
        axes = fig.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        if strip:
            draw_lanes(axes[0], strip, recording)
        for ax, panel in zip(axes[-len(panels) :], panels, strict=True):
            panel.draw(ax, recording, shapes)
            if states:
                for line in ax.lines:
                    line.set_drawstyle("steps-post")  # no values between two states
                ax.set_yticks(range(len(states)), states)
                ax.set_ylim(-0.3, len(states) - 0.7)
            for t in key_times(strip):
                ax.axvline(t, color=SOFT, lw=0.5, ls=(0, (1, 2)), zorder=0.5)
        if not note and any(shapes.values()):
            note = "line: measured, pale band: reference"
        if note:
            first = axes[len(axes) - len(panels)]
            first.set_title(note, loc="right", fontsize=SMALL, color=SOFT, pad=3)
        axes[-1].set_xlabel(f"{next(iter(recording.columns))} [s]")
        return finish(fig)


def plot(
    recording: Recording, signals: str | Sequence[str], path: str | Path, title: str = ""
) -> Path:
    """Write a figure of signals over time as .png, .svg or .pdf, and return the path."""
    return save(figure(recording, signals, title), path)


def svg(recording: Recording, signals: str | Sequence[str], title: str = "") -> str:
    """Return a figure of signals over time as SVG text."""
    return svg_text(figure(recording, signals, title))


def reference_of(recording: Recording, name: str) -> str | None:
    """Return the name of the reference of a signal; None if there is none."""
    parts = name.split(".")
    for k, part in enumerate(parts):
        if part in ("q", "qd", "qdd", "tool"):
            beside = ".".join([*parts[:k], f"{part}_ref", *parts[k + 1 :]])
            below = ".".join([*parts[:k], "ref", *parts[k:]])
            return next((n for n in (beside, below) if n in recording), None)
    return None


class PlotPanel:
    """Signals with the same unit, drawn on one axis."""

    def __init__(self, names: list[str], unit: str, factor: float) -> None:
        self.names = names
        self.unit = unit
        self.factor = factor
        self.height = 1.0 if len(names) <= 7 else 1.0 + 0.09 * (len(names) - 7)

    def draw(self, ax: Any, recording: Recording, references: Mapping[str, str | None]) -> None:
        """Draw references, signals, limits and labels."""
        t = recording.t
        prefix = common_prefix(self.names)
        labels = []
        for i, name in enumerate(self.names):
            color = COLORS[i % len(COLORS)]
            style = "-" if i < len(COLORS) else (0, (4, 1.5))
            reference = references.get(name)
            if reference is not None:
                x, y = thinned(t, self.factor * recording[reference])
                ax.plot(x, y, color=color, lw=4.0, alpha=0.28, zorder=1.5)
            x, y = thinned(t, self.factor * recording[name])
            ax.plot(x, y, color=color, ls=style, lw=1.2, zorder=2)
            text = name[len(prefix) + 1 :] if prefix else name
            labels.append((_short(text, LONGEST_NAME), last_value(y), color))
        self._limits(ax, recording)
        label = " ".join(part for part in (prefix, f"[{self.unit}]" if self.unit else "") if part)
        ax.set_ylabel(_short(label, LONGEST_NAME))
        ax.yaxis.set_major_locator(_ticks())
        if len(t):
            ax.set_xlim(float(t.min()), max(float(t.max()), float(t.min()) + 1e-9))
        label_lines(ax, labels)

    def _limits(self, ax: Any, recording: Recording) -> None:
        limits = recording.limits
        low, high = ax.get_ylim()
        for name in self.names:
            for limit in limits.get(name, ()):
                at = self.factor * limit
                values = self.factor * recording[name]
                near = np.fmax.reduce(values * np.sign(at), initial=0.0) if at else 0.0
                if np.isfinite(at) and near > 0.8 * abs(at):
                    i = self.names.index(name)
                    color = COLORS[i % len(COLORS)]
                    ax.axhline(at, color=color, lw=0.8, ls=(0, (5, 3)), zorder=1.2)
                    ax.annotate(
                        f"limit of {last(name)}", (0.0, at), xycoords=ax.get_yaxis_transform(),
                        xytext=(3, -2 if at > 0 else 2), textcoords="offset points",
                        va="top" if at > 0 else "bottom", fontsize=SMALL - 1, color=color,
                    )  # fmt: skip
                    low, high = min(low, at * 1.04), max(high, at * 1.04)
        ax.set_ylim(low, high)
        widen(ax)


def torque_figure(recording: Recording, names: Sequence[str], title: str = "") -> Any:
    """Return a figure with one axis per joint: torque, peak, and peak relative to the limit."""
    limits = recording.limits
    columns = 2 if len(names) > 1 else 1
    rows = -(-len(names) // columns)
    with drawing():
        fig = new_figure(1.15 * rows + 0.5 + (0.25 if title else 0), title)
        grid = fig.subplots(rows, columns, sharex=True, squeeze=False)
        for i, ax in enumerate(grid.ravel()):
            if i >= len(names):
                ax.set_visible(False)
                continue
            _torque_panel(ax, recording, names[i], limits.get(names[i]))
            if i + columns >= len(names):
                ax.tick_params(labelbottom=True)
        fig.supxlabel("t [s]", fontsize=FONT)
        fig.align_ylabels()
        return finish(fig)


def _torque_panel(
    ax: Any, recording: Recording, name: str, limits: tuple[float, float] | None
) -> None:
    values = recording[name]
    peak = float(np.fmax.reduce(np.abs(values), initial=0.0))
    raw = recording.unit(name)
    unit, factor = display_unit(raw, peak)
    x, y = thinned(recording.t, factor * values)
    ax.plot(x, y, color=COLORS[0], lw=1.0)
    text = f"peak {factor * peak:.3g} {unit}"
    if limits is not None and np.isfinite(limits).all() and any(limits):
        highest = max(abs(limits[0]), abs(limits[1]))
        text += f", {number(100 * peak / highest, 2)} % of {highest:g} {raw}"
        if peak > NEAR_LIMIT * highest:
            for limit in limits:
                ax.axhline(factor * limit, color=BAD, lw=0.9, ls=(0, (5, 3)))
            ax.set_ylim(1.08 * factor * limits[0], 1.08 * factor * limits[1])
    widen(ax)
    ax.set_title(last(name), loc="left", fontsize=SMALL + 0.5, weight="bold", pad=3)
    ax.set_title(text, loc="right", fontsize=SMALL, color=SOFT, pad=3)
    ax.set_ylabel(f"[{unit}]")
    ax.yaxis.set_major_locator(_ticks(4))


def span_figure(t: np.ndarray, signals: Mapping[str, np.ndarray], spans: Sequence[Span]) -> Any:
    """Return a figure of force signals (N) in short time spans of a run.

    There is one axis per span, and all axes have the same force scale.
    """
    peak = max(float(np.fmax.reduce(np.abs(v), initial=0.0)) for v in signals.values())
    unit, factor = display_unit("N", peak)
    with drawing():
        fig = new_figure(2.2)
        axes = fig.subplots(1, len(spans), sharey=True, squeeze=False)[0]
        labels: list[tuple[str, float, str]] = []
        for ax, span in zip(axes, spans, strict=True):
            pad = 0.15 * max(span.stop - span.start, 1e-3)
            inside = (t >= span.start - pad) & (t <= span.stop + pad)
            labels = []
            for i, (name, values) in enumerate(signals.items()):
                x, y = thinned(t[inside], factor * values[inside], POINTS // len(spans))
                ax.plot(x, y, color=COLORS[i], lw=1.0)
                labels.append((name, last_value(y), COLORS[i]))
            ax.axvspan(span.start, span.stop, color=COLORS[2], alpha=0.12, lw=0, zorder=0.2)
            ax.set_title(span.text, loc="left", fontsize=SMALL + 0.5, weight="bold", pad=3)
            ax.set_xlim(span.start - pad, span.stop + pad)
            ax.xaxis.set_major_locator(_ticks(4))
            ax.yaxis.set_major_locator(_ticks())
        axes[0].set_ylabel(f"[{unit}]")
        label_lines(axes[-1], labels)
        fig.supxlabel("t [s]", fontsize=FONT)
        return finish(fig)


def lanes_of(recording: Recording, events: bool | Sequence[str]) -> list[Lane]:
    """Return the event lanes of a recording: all (True), none (False), or those of some kinds."""
    if not events or not len(recording):
        return []
    chosen = recording.events_of(*(() if isinstance(events, bool) else events))
    return lanes(chosen, float(recording.t[-1]))


def timeline_figure(recording: Recording, title: str = "", limit: int = 24) -> Any:
    """Return a figure of the first `limit` event lanes of a run."""
    found = lanes_of(recording, True)[:limit]
    with drawing():
        height = 0.5 + 0.21 * max(1, len(found)) + (0.25 if title else 0)
        fig = new_figure(height, title)
        ax = fig.subplots()
        draw_lanes(ax, found, recording)
        ax.tick_params(labelbottom=True, bottom=True)
        ax.spines["bottom"].set_visible(True)
        ax.set_xlabel("t [s]")
        return finish(fig)


def draw_lanes(ax: Any, found: Sequence[Lane], recording: Recording) -> None:
    """Draw the spans of each lane as bars and its marks as ticks, with the lane names at the left.

    Bars with the same text that would overlap on the page are merged.
    """
    start, stop = float(recording.t.min()), float(recording.t.max())
    length = max(stop - start, 1e-9)
    ax.set_xlim(start, stop if stop > start else start + 1e-9)
    ax.set_ylim(len(found) - 0.5, -0.5)
    width = ax.get_figure().get_size_inches()[0] * 72 * 0.75  # points, approximately
    per_point = length / width
    for row, lane in enumerate(found):
        color = {"hold": COLORS[2], "contact": COLORS[1], "fault": BAD}.get(lane.kind, INK)
        if lane.kind == "sequence":
            _sequence(ax, row, lane.spans, per_point)
            continue
        if lane.spans:
            ax.axhline(row, color=GRID, lw=0.5, zorder=0)
        bars = merged(lane.spans, gap=1.5 * per_point)
        if bars:
            # At least about a point wide, so that short spans are visible.
            boxes = [(s.start, max(s.stop - s.start, 1.2 * per_point)) for s in bars]
            for box, span in zip(boxes, bars, strict=True) if lane.kind == "fault" else ():
                hover(ax.broken_barh([box], (row - 0.32, 0.64), facecolor=color, lw=0), span.text)
            if lane.kind != "fault":
                ax.broken_barh(boxes, (row - 0.32, 0.64), facecolor=color, lw=0)
        for span in bars:
            room = (span.stop - span.start) / per_point
            if span.text and room > 4.2 * len(span.text):
                _inside(ax, (span.start + span.stop) / 2, row, span.text, ON_COLOR, "center")
        _marks(ax, row, lane.marks, stop, per_point, color)
    ax.set_yticks(range(len(found)), [_short(lane.name, 30) for lane in found], fontsize=SMALL)
    ax.tick_params(left=False, bottom=False, labelbottom=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.grid(False)


def _sequence(ax: Any, row: int, spans: Sequence[Span], per_point: float) -> None:
    """Draw consecutive spans in alternating shades, each with as much of its text as fits.

    `per_point` is the time (s) per point of the page.
    """
    for k, span in enumerate(spans):
        width = span.stop - span.start
        shade = 0.16 if k % 2 else 0.28
        box = [(span.start, width)], (row - 0.42, 0.84)
        hover(ax.broken_barh(*box, facecolor=SOFT, alpha=shade, lw=0), span.text)
        room = int((width / per_point - 2) / 3.5)  # characters
        if room >= min(4, len(span.text)) and span.text:
            at = span.start + 1.5 * per_point
            hover(_inside(ax, at, row, _short(span.text, room), INK, "left"), span.text)


def _inside(ax: Any, x: float, row: int, text: str, color: str, side: str) -> Any:
    return ax.text(x, row, text, color=color, ha=side, va="center_baseline", fontsize=SMALL - 1)


def _marks(
    ax: Any, row: int, marks: Sequence[tuple[float, str]], stop: float, per_point: float, color: str
) -> None:
    if not marks:
        return
    ax.vlines([t for t, _ in marks], row - 0.34, row + 0.34, color=color, lw=1.0)
    ends = [t for t, _ in marks[1:]] + [stop]
    for (t, text), end in zip(marks, ends, strict=True):
        room = int((end - t) / per_point / 3.6) - 1  # characters
        if room >= min(8, len(text)) and text:
            note = ax.text(
                t + 2.5 * per_point, row, _short(text, room),
                fontsize=SMALL - 1, va="center", color=INK,
            )  # fmt: skip
            hover(note, text)


def key_times(found: Iterable[Lane], most: int = 8) -> list[float]:
    """Return the times (s) to be marked by a line through all axes, at most `most`.

    A lane contributes all its times, or none if there would be more than `most` times in total.
    Contacts and sequences are omitted.
    """
    times: list[float] = []
    for lane in found:
        if lane.kind in ("contact", "sequence"):
            continue
        mine = [t for t, _ in lane.marks] + [t for s in lane.spans for t in (s.start, s.stop)]
        if len(times) + len(mine) <= most:
            times += mine
    return times


def last_value(y: np.ndarray) -> float:
    """Return the last finite value of an array; NaN if there is none."""
    finite = np.flatnonzero(np.isfinite(y))
    return float(y[finite[-1]]) if len(finite) else float("nan")


def _panels(recording: Recording, names: Sequence[str], degrees: bool) -> list[PlotPanel]:
    """Return the signals grouped by unit, with at most `LINES` signals per axis."""
    units = list(dict.fromkeys(recording.unit(name) for name in names))
    panels = []
    for unit in units:
        mine = [name for name in names if recording.unit(name) == unit]
        with np.errstate(invalid="ignore"):
            sizes = [float(np.fmax.reduce(np.abs(recording[n]), initial=0.0)) for n in mine]
        text, factor = display_unit(unit, max(sizes), degrees)
        for at in range(0, len(mine), LINES):
            panels.append(PlotPanel(mine[at : at + LINES], text, factor))
    return panels


def _ticks(count: int = 5) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3)


def _short(text: str, most: int) -> str:
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"

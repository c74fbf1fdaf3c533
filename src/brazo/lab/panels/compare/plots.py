"""Overlaid plots of the compared runs: a signal over time, and an XY plot of two signals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.panels.common.feeds import columns_of, outlined
from brazo.recording.comparison import row_at
from brazo.recording.comparison_figures import reference_of, title_of
from brazo.recording.display import display_unit

if TYPE_CHECKING:
    from brazo.lab.app.panel import Panel
    from brazo.recording.comparison import ComparedRun

MOST_ROWS = 200_000  # rows of the common time axis
XY_POINTS = 1500  # max points of a curve sent to a page
NEAR = 0.02  # s; a cursor this far beside a curve shows its end
REFERENCE = 4  # colour index of references
SEEK = "compare/cursor"
_keys = count(1)

Runs = Sequence[tuple[int, "ComparedRun"]]  # with their colour indices


class TimePlot:
    """Plot of one signal of all runs over time, with a cursor; t = 0 is the start of the motion."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name
        self._key = 0
        self._t, self._y = np.empty(0), np.empty((0, 0))
        panel.on(f"{name}/part", self._tell_part, float, float, free=True, passive=True)

    def show(self, runs: Runs, signal: str, end: float) -> None:
        """Draw a signal of the runs from t = 0 (start of the motion) to t = `end` (s)."""
        self._key = next(_keys)
        found = [(k, run) for k, run in runs if signal in run.signals]
        lines: list[dict[str, Any]] = []
        columns: list[np.ndarray] = []
        unit, factor = display_unit(found[0][1].signals[signal]) if found else ("", 1.0)
        step = min((float(np.median(np.diff(run.t))) for _, run in found), default=0.01)
        rows = int(min(max(end / max(step, 1e-6), 2), MOST_ROWS)) + 1
        self._t = np.linspace(0.0, end, rows) if found else np.empty(0)
        for k, run in found:
            reference = reference_of(run, signal)
            if reference is not None and not lines:
                lines.append(_line("reference", unit, REFERENCE, dashed=True))
                columns.append(factor * self._sampled(run, reference))
            lines.append(_line(run.name, unit, k))
            columns.append(factor * self._sampled(run, signal))
        self._y = np.column_stack(columns) if columns else np.empty((0, 0))
        described = {"key": self._key, "lines": lines, "whole": True}
        if found:
            described |= {"track": [0.0, end], "seek": SEEK}
        t, y = outlined(self._t, self._y) if found else (self._t, self._y)
        self._panel.put(
            {
                f"{self._name}/lines": described,
                self._name: self._message(t, y) | {"epoch": 0, "at": 0},
            }
        )

    def values(self, cursor: float) -> dict[str, Any]:
        """Values of all lines at time `cursor` (s), as a part of the result of `Panel.values`."""
        if not len(self._t):
            return {}
        row = row_at(self._t, self._y, cursor)
        now = [float(f"{value:.6g}") if value == value else None for value in row.tolist()]
        return {f"{self._name}/now": {"key": self._key, "t": round(cursor, 4), "y": now}}

    def _sampled(self, run: ComparedRun, signal: str) -> np.ndarray:
        return np.interp(self._t, run.t, run.values(signal), left=np.nan, right=np.nan)

    def _tell_part(self, start: float, stop: float) -> None:
        page = self._panel.context.channel.page
        if page is None or not len(self._t):
            return
        low, high = np.searchsorted(self._t, [start, stop])
        rows = slice(max(int(low) - 1, 0), int(high) + 1)
        t, y = outlined(self._t[rows], self._y[rows])
        part = self._message(t, y) | {"from": start, "to": stop}
        page.send_soon({self._panel.name(f"{self._name}/part"): part})

    def _message(self, t: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        if not len(t):
            return {"key": self._key, "t": [], "y": []}
        x, *columns = columns_of(np.column_stack([t, y]))
        return {"key": self._key, "t": x, "y": columns}


class XYPlot:
    """Plot of one signal over another, with one curve per run."""

    def __init__(self, panel: Panel, name: str) -> None:
        self._panel, self._name = panel, name
        self._key = 0
        self._curves: list[np.ndarray] = []  # (rows, 3): t, x, y

    def show(self, runs: Runs, x: str, y: str, end: float) -> None:
        """Draw signal `y` over signal `x` from t = 0 (start of the motion) to t = `end` (s)."""
        self._key, self._curves = next(_keys), []
        found = [(k, run) for k, run in runs if x in run.signals and y in run.signals]
        units = [display_unit(found[0][1].signals[one]) if found else ("", 1.0) for one in (x, y)]
        lines: list[dict[str, Any]] = []
        for k, run in found:
            names = reference_of(run, x), reference_of(run, y)
            if names[0] and names[1] and not lines:
                lines.append(_line("reference", "", REFERENCE, dashed=True))
                self._curves.append(_curve(run, names[0], names[1], units, end))
            lines.append(_line(run.name, "", k))
            self._curves.append(_curve(run, x, y, units, end))
        sent = []
        for curve in self._curves:
            rows = curve[:: max(1, -(-len(curve) // XY_POINTS))]
            sent.append(columns_of(rows))
        self._panel.put(
            {
                self._name: {
                    "key": self._key,
                    "x": {"label": title_of(x), "unit": units[0][0]},
                    "y": {"label": title_of(y), "unit": units[1][0]},
                    "equal": units[0] == units[1],
                    "seek": SEEK,
                    "lines": lines,
                    "data": sent,
                }
            }
        )

    def values(self, cursor: float) -> dict[str, Any]:
        """Point of each curve at time `cursor` (s), as a part of the result of `Panel.values`."""
        points: list[list[float] | None] = []
        for curve in self._curves:
            inside = len(curve) > 1 and curve[0, 0] - NEAR < cursor < curve[-1, 0] + NEAR
            point = row_at(curve[:, 0], curve[:, 1:], cursor) if inside else np.full(2, np.nan)
            known = np.isfinite(point).all()
            points.append([float(f"{v:.6g}") for v in point] if known else None)
        return {f"{self._name}/now": {"key": self._key, "points": points}}


def _curve(
    run: ComparedRun, x: str, y: str, units: Sequence[tuple[str, float]], end: float
) -> np.ndarray:
    inside = (run.t >= 0.0) & (run.t <= end)
    columns = [f * run.values(name)[inside] for name, (_, f) in zip((x, y), units, strict=True)]
    return np.column_stack([run.t[inside], *columns])


def _line(label: str, unit: str, color: int, dashed: bool = False) -> dict[str, Any]:
    return {"label": label, "unit": unit, "dashed": dashed, "color": color}

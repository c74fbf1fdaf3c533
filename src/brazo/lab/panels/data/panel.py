"""Data panel: plots of any signal, table of current values, recordings and exports.

Live plots use a buffer with the last minute of all signals (`brazo.lab.app.live`).  A recording
contains every simulation step (`recordings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.signal_groups import CELL, Group, decimals, groups_of, label_of
from brazo.lab.panels.common.feeds import Feed, PlotLine, Track, plot
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    fixed,
    note,
    section,
    select,
    table,
)
from brazo.lab.panels.data.recordings import Recordings
from brazo.lab.panels.data.row_table import RowTable
from brazo.lab.panels.data.scope import Scope
from brazo.recording.display import display_unit

FIRST = ("q", "torque")  # signal groups of the selected robot that are plotted initially
MOST_PLOTS = 4
MOST_LINES = 16
WINDOW = 10.0  # s, time window of the min and max values in the table


class _Plot:
    def __init__(self, panel: Panel, number: int) -> None:
        self.number = number
        self.name = f"plot/{number}"
        replayed = isinstance(panel.session.shown, RecordingReplay)
        self.feed = Track(panel, self.name) if replayed else Feed(panel, self.name)
        self.shows = ""  # id of a group; empty for individually chosen signals
        self.signals: tuple[str, ...] = ()


class DataPanel(Panel):
    """Panel with plots, current values and recordings of signals."""

    id, title, icon, side, order = "data", "Data", "chart", "right", 40
    used_for = ("cell", "replay")
    scripts = (
        "panels/common/plot.js",
        "panels/common/xy.js",
        "panels/data/film.js",
        "panels/data/rows.js",
    )

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._live = context.live
        self._numbers = count(1)
        self._plots: list[_Plot] = []
        self._groups: dict[str, Group] = {}
        self.recordings = Recordings(self)
        self._stored = RowTable(self)
        self._scope = Scope(self)
        self.on("show", self._show, int, str)
        self.on("add-signal", self._add_signal, int, str)
        self.on("add-plot", self._add_plot)
        self.on("remove-plot", self._remove_plot, int)

    # ---- plots --------------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        self.recordings.simulation_changed()
        if self._replay is None:
            self._live.collect()
        self._groups = groups_of(self._columns, self.session.shown.robots)
        known = set(self._columns)
        kind = Feed if self._replay is None else Track
        kept = [
            one
            for one in self._plots
            if isinstance(one.feed, kind)
            and (one.shows in self._groups or set(one.signals) & known)
        ]
        for one in self._plots:
            if one not in kept:
                self.drop(one.name)
        if kept:
            self._plots = kept
        else:
            self._plots = [_Plot(self, next(self._numbers)) for _ in FIRST]
            robot = self.session.selection.robot
            for one, what in zip(self._plots, FIRST, strict=True):
                one.shows = f"{robot}.{what}"
        self._stored.changed(self._groups)
        self._scope.changed()
        self.put({"choices": self._choices(), "signals": self._all_signals()})
        self.refresh()
        for one in self._plots:
            self._fill(one)

    def selection_changed(self) -> None:
        self._scope.changed()

    @property
    def _replay(self) -> RecordingReplay | None:
        """Recording that is being replayed; None for a live simulation."""
        return self.session.shown if isinstance(self.session.shown, RecordingReplay) else None

    @property
    def _columns(self) -> Mapping[str, str]:
        return self._live.columns if self._replay is None else self._replay.columns

    def html(self) -> str:
        replayed = self._replay is not None
        span = "of the whole recording" if replayed else f"of the last {WINDOW:g}\u00a0s"
        return (
            section(
                "Plots",
                *(self._plot_html(one) for one in self._plots),
                buttons(button("Add plot", "add-plot", icon="plus", enabled="may-add")),
                id="plots",
            )
            + section(
                "Values",
                table(
                    "values",
                    [
                        column("name", "Signal"),
                        column("now", "now", digits=3),
                        column("unit", ""),
                        column("low", "min", digits=3),
                        column("high", "max", digits=3),
                    ],
                    label="Values",
                    empty="No signals plotted.",
                ),
                note(f"Values of the plotted signals. Min and max {span}."),
                id="values",
            )
            + self._scope.html()
            + self._stored.html()
            + self.recordings.html(replayed)
            + section(
                "Video",
                "<brazo-film></brazo-film>",
                note(
                    "Records this page's 3D view to a WebM file. To render an MP4 file of a "
                    "recording, press Video under Recordings."
                ),
                id="video",
            )
        )

    def _plot_html(self, one: _Plot) -> str:
        title = self._groups[one.shows].title if one.shows in self._groups else "Signals"
        number = one.number
        return (
            '<div class="brazo-plot-head">'
            + select(
                f"plot/{number}/shows",
                label=f"Signals of plot {number}",
                event="show",
                args=[number],
                placeholder="Custom",
                options_from="choices",
            )
            + select(
                "",
                label=f"Add a signal to plot {number}",
                event="add-signal",
                args=[number],
                placeholder="+",
                options_from="signals",
            )
            + button("", "remove-plot", number, look="quiet", icon="close", title="Remove plot")
            + "</div>"
            + plot(one.name, title, height=168, empty="Simulation paused.")
        )

    def _choices(self) -> dict[str, list[list[str]]]:
        several = len(self.session.shown.robots) > 1
        found: dict[str, list[list[str]]] = {}
        for group in self._groups.values():
            name = f"{group.owner}: {group.title}" if several and group.owner != CELL else ""
            found.setdefault(group.owner, []).append([group.id, name or group.title])
        return found

    def _all_signals(self) -> dict[str, list[list[str]]]:
        return {
            f"{group.owner}: {group.title}": [
                [name, name.replace(".", " ")] for name in group.signals
            ]
            for group in self._groups.values()
        }

    def _fill(self, one: _Plot) -> None:
        group = self._groups.get(one.shows)
        if group is not None:
            one.signals = group.signals[:MOST_LINES]
        robots = self.session.shown.robots
        one.feed.lines = [PlotLine(name, label_of(name, group, robots)) for name in one.signals]
        self.put({f"{one.name}/shows": one.shows})

    def _show(self, number: int, group: str) -> None:
        one = self._plot(number)
        if group in self._groups:
            one.shows = group
            self._fill(one)

    def _add_signal(self, number: int, signal: str) -> None:
        one = self._plot(number)
        if signal not in self._columns or signal in one.signals:
            return
        if len(one.signals) >= MOST_LINES:
            raise BrazoError(f"at most {MOST_LINES} signals per plot: add another plot")
        one.shows, one.signals = "", (*one.signals, signal)
        self._fill(one)

    def _add_plot(self) -> None:
        if len(self._plots) >= MOST_PLOTS:
            raise BrazoError(f"at most {MOST_PLOTS} plots: remove one first")
        one = _Plot(self, next(self._numbers))
        shown_now = {other.shows for other in self._plots}
        robot = self.session.selection.robot
        own = [g.id for g in self._groups.values() if g.owner == robot]
        one.shows = next((id for id in own if id not in shown_now), own[0] if own else "")
        self._plots.append(one)
        self.refresh()
        self._fill(one)

    def _remove_plot(self, number: int) -> None:
        one = self._plot(number)
        self._plots.remove(one)
        self.refresh()
        self.drop(one.name)

    def _plot(self, number: int) -> _Plot:
        for one in self._plots:
            if one.number == number:
                return one
        raise BrazoError("this plot no longer exists")

    def values(self) -> Values:
        if self._replay is None:
            self._live.collect()
        found: Values = {}
        for one in self._plots:
            found |= one.feed.values()
        found["values"] = self._rows()
        found["may-add"] = len(self._plots) < MOST_PLOTS
        return found | self._scope.values() | self._stored.values() | self.recordings.values()

    def _rows(self) -> list[dict[str, Any]]:
        live, replay, columns = self._live, self._replay, self._columns
        names = list(dict.fromkeys(name for one in self._plots for name in one.signals))
        names = [name for name in names if name in columns]
        if not names or (replay is None and live.end == live.first):
            return []
        if replay is None:
            rows = live.window(WINDOW, names)
            now, low, high = rows[-1], np.fmin.reduce(rows), np.fmax.reduce(rows)
        else:
            now, (low, high) = replay.present(names), replay.ranges(names)
        owners = {name.partition(".")[0] for name in names}
        common = f"{owners.pop()}." if len(owners) == 1 else ""
        found = []
        for k, name in enumerate(names):
            unit, factor = display_unit(columns[name])
            digits = decimals(unit)
            found.append(
                {
                    "id": name,
                    "name": name.removeprefix(common).replace(".", " "),
                    "now": _written(factor * now[k], digits),
                    "unit": unit,
                    "low": _written(factor * low[k], digits),
                    "high": _written(factor * high[k], digits),
                }
            )
        return found

    # ---- recordings ---------------------------------------------------------------------------

    def run_again(self) -> None:
        self.recordings.restart_with_run()

    def reset(self) -> None:
        self.recordings.reset()

    def recordings_changed(self) -> None:
        self.recordings.changed()

    def closed(self) -> None:
        self.recordings.close()


def _written(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else fixed(value, digits)

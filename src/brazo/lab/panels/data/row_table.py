"""Table of the samples of a signal group, from the last minute or from an open recording.

The table shows a copy of the samples.  For a simulation, the copy is updated when the user presses
*Refresh* or chooses another group, and when the simulation pauses.  The table is divided into pages
of `PAGE` rows, and only the current page is sent to the browser.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.signal_groups import Group, decimals, label_of
from brazo.lab.panels.common.html import button, buttons, note, section, select
from brazo.recording.display import display_unit

PAGE = 100  # rows sent to a page
TIME_DIGITS = 3


class RowTable:
    """Table with one row per sample of a group of signals.  Use on the lab's thread only."""

    def __init__(self, panel: Panel) -> None:
        self._panel, self._live = panel, panel.context.live
        self._groups: Mapping[str, Group] = {}
        self._group = ""
        self._names: list[str] = []  # the first is the time
        self._units: list[str] = []
        self._rows = np.empty((0, 0))
        self._first = 0  # index of the first row that is shown
        self._read_at: object = None  # what was shown when the rows were read
        self._cell = ""
        panel.on("rows-group", self._choose, str)
        panel.on("rows-refresh", self.read)
        panel.on("rows-page", self._turn, int)
        panel.on("rows-csv", self._csv)

    def html(self) -> str:
        """HTML of the section."""
        replayed = self._panel.session.replay is not None
        what = "of the recording" if replayed else "of the last minute, one every 10 ms"
        return section(
            "Stored rows",
            select("rows-group", label="Signals of the stored rows", options_from="choices"),
            '<brazo-rows name="rows" event="rows-page"></brazo-rows>',
            buttons(
                button("Refresh", "rows-refresh", icon="restart", title=f"Read the rows {what}"),
                button("Download CSV", "rows-csv", icon="download", enabled="rows-any"),
            ),
            note(f"Rows {what}. The CSV file contains all rows, in SI units and radians."),
            open=False,
            id="rows",
        )

    def changed(self, groups: Mapping[str, Group]) -> None:
        """Show the rows of another simulation or recording, whose signal groups are `groups`."""
        self._groups = groups
        if self._group not in groups:
            wanted = f"{self._panel.session.selection.robot}.q"
            self._group = wanted if wanted in groups else next(iter(groups), "")
        self.read()

    def values(self) -> Values:
        """Page values of the section, as a part of the result of `Panel.values`.

        Reads the rows again if the simulation is paused and its time has changed since they were
        read.
        """
        if self._state() != self._read_at:
            self.read()
        return {"rows-group": self._group, "rows-any": bool(len(self._rows)), "rows": self._page()}

    def read(self) -> None:
        """Read the rows again.

        If the last page of a simulation is shown, the new last page is shown afterwards.  Any other
        page stays if it still exists; otherwise the last page is shown.
        """
        newest = self._first == self._last_page
        shown = self._panel.session.shown
        group = self._groups.get(self._group)
        self._cell = shown.cell.name
        if isinstance(shown, RecordingReplay):
            columns, time = shown.columns, shown.time_name
        else:
            self._live.collect()
            columns, time = self._live.columns, next(iter(self._live.columns), "t")
        signals = () if group is None else group.signals
        self._names = [time, *(name for name in signals if name in columns and name != time)]
        self._units = [columns.get(name, "s") for name in self._names]
        if isinstance(shown, RecordingReplay):
            self._rows = shown.table(self._names)
            self._first = min(self._first, self._last_page)
        else:
            live = self._live
            empty = live.end == live.first
            rows = np.empty((0, 0)) if empty else live.rows(live.first, self._names).copy()
            self._rows = rows
            self._first = self._last_page if newest else min(self._first, self._last_page)
        self._read_at = self._state()

    def _state(self) -> object:
        """Key that changes when the rows must be read again; constant while a simulation runs."""
        shown = self._panel.session.shown
        if isinstance(shown, RecordingReplay):
            return shown, self._group
        if shown.player.running:
            return self._read_at
        return shown, self._group, self._live.epoch, shown.time

    @property
    def _last_page(self) -> int:
        return max(0, len(self._rows) - 1) // PAGE * PAGE

    def _choose(self, group: str) -> None:
        if group in self._groups:
            self._group = group
            self.read()

    def _turn(self, first: int) -> None:
        """Show the page that contains the row with this index, counted from 0."""
        self._first = min(max(first, 0) // PAGE * PAGE, self._last_page)

    def _page(self) -> dict[str, Any]:
        group, robots = self._groups.get(self._group), self._panel.session.shown.robots
        units = [display_unit(unit) for unit in self._units]
        titles = ["Time", *(label_of(name, group, robots) for name in self._names[1:])]
        digits = [TIME_DIGITS, *(decimals(unit) for unit, _ in units[1:])]
        rows = self._rows[self._first : self._first + PAGE]
        return {
            "columns": [[title, unit] for title, (unit, _) in zip(titles, units, strict=True)],
            "first": self._first,
            "count": len(self._rows),
            "page": PAGE,
            "rows": [
                [
                    _written(factor * x, n)
                    for x, (_, factor), n in zip(row, units, digits, strict=True)
                ]
                for row in rows.tolist()
            ],
        }

    def _csv(self) -> None:
        if not len(self._rows):
            raise BrazoError("no rows: run the simulation first")
        text = io.StringIO()
        written = csv.writer(text, lineterminator="\n")
        written.writerow(self._names)
        written.writerow(self._units)
        written.writerows(self._rows.tolist())
        self._panel.download(f"{self._cell}-{self._group}.csv", text.getvalue())


def _written(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}".replace("-", "−")

"""A recording as an Excel workbook, in constant memory: data, charts, events, what the run was.

`data` has the names in its first row, the units in its second, then a row a moment; the two rows
and the time stay in view.  A sheet holds at most 1,048,576 rows; a longer recording goes on on
`data 2` and so on.  Charts show the whole run from at most `CHART_ROWS` of its rows, which `chart
data` holds in degrees and millimetres: drawing a million points would stop Excel for minutes.

Numbers have sixteen digits (a double has up to seventeen).  A value that is not a number is an
empty cell; an infinite one is an Excel error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.colors import COLORS
from brazo.recording.display import shown
from brazo.recording.names import group, last
from brazo.recording.source import Event, Progress, Source, event_time

SHEET_ROWS = 1_048_576
SHEET_COLUMNS = 16_384
CELL_TEXT = 32_000  # characters; Excel drops a cell with more than 32,767
HEAD = 2  # rows: names, units
CHART_ROWS = 2_000
CHARTS = 12
CHART_LINES = 12
_CHARTED = {"q": "joint positions", "torque": "torques", "tau": "torques"}
_WRITING = 0.8  # of the time; packing takes the rest


def write_xlsx(
    path: Path,
    source: Source,
    progress: Progress | None = None,
    sheet_rows: int = SHEET_ROWS,
) -> None:
    """Write a workbook; memory does not grow with the number of rows."""
    import xlsxwriter

    if len(source.units) > SHEET_COLUMNS:
        raise BrazoError(
            f"{path}: a sheet has room for {SHEET_COLUMNS} columns, the recording has "
            f"{len(source.units)}; choose some signals"
        )
    with replacing(Path(path)) as temporary:
        book = xlsxwriter.Workbook(
            str(temporary),
            {
                "constant_memory": True,
                "nan_inf_to_errors": True,
                "strings_to_formulas": False,
                "strings_to_urls": False,
            },
        )
        writer = _Book(book)
        thinned = writer.data(source, sheet_rows, progress)
        writer.charts(source, thinned)
        writer.events(source.events)
        writer.about(source)
        writer.chart_data(source, thinned)
        book.close()
        if progress is not None:
            progress(1.0)


class _Book:
    """A workbook being filled, sheet after sheet, each from its top to its bottom."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.bold = book.add_format({"bold": True, "bottom": 1})
        self.unit = book.add_format({"font_color": "#666666", "italic": True})
        self.wrap = book.add_format({"text_wrap": True, "valign": "top"})
        self.plotted: list[str] = []

    def data(
        self, source: Source, sheet_rows: int, progress: Progress | None
    ) -> list[list[float | None]]:
        """The rows; returns those the charts are drawn from."""
        names = list(source.units)
        self.plotted = [names[0], *(n for title, lines in _charts(source) for n in lines)]
        columns = [names.index(name) for name in self.plotted]
        stride = max(1, math.ceil(source.rows / CHART_ROWS))
        thinned: list[list[float | None]] = []
        room = sheet_rows - HEAD
        sheet, done = self._data_sheet(source, 1), 0
        for block in source.read(names):
            for row in _cells(block):
                if done and done % room == 0:
                    sheet = self._data_sheet(source, 1 + done // room)
                sheet.write_row(HEAD + done % room, 0, row)
                if done % stride == 0 or done == source.rows - 1:
                    thinned.append([row[i] for i in columns])
                done += 1
            if progress is not None:
                progress(_WRITING * done / source.rows)
        return thinned

    def _data_sheet(self, source: Source, number: int) -> Any:
        sheet = self.book.add_worksheet("data" if number == 1 else f"data {number}")
        sheet.freeze_panes(HEAD, 1)
        for i, name in enumerate(source.units):
            sheet.set_column(i, i, min(40, max(10, len(name) + 2)))
        sheet.write_row(0, 0, list(source.units), self.bold)
        sheet.write_row(1, 0, list(source.units.values()), self.unit)
        return sheet

    def charts(self, source: Source, rows: Sequence[Sequence[float | None]]) -> None:
        """A sheet a chart: lines of one group over the whole run."""
        if len(rows) < 2:
            return
        taken: set[str] = set()
        for title, lines in _charts(source):
            chart = self.book.add_chart({"type": "scatter", "subtype": "straight"})
            units = list(dict.fromkeys(shown(source.units[n])[0] for n in lines))[:2]
            for k, name in enumerate(lines):
                at, unit = self.plotted.index(name), shown(source.units[name])[0]
                if unit not in units:
                    continue
                end = HEAD + len(rows) - 1
                chart.add_series(
                    {
                        "name": f"{last(name)} [{unit}]",
                        "categories": ["chart data", HEAD, 0, end, 0],
                        "values": ["chart data", HEAD, at, end, at],
                        "line": {"width": 1.5, "color": COLORS[k % len(COLORS)]},
                        "y2_axis": unit != units[0],
                    }
                )
            grid = {"visible": True, "line": {"color": "#dddddd", "width": 0.5}}
            axis = {"name": f"time [{source.units[source.time]}]", "label_position": "low"}
            ends = {"min": rows[0][0], "max": rows[-1][0]}
            chart.set_x_axis({**axis, **ends, "num_format": "General", "major_gridlines": grid})
            chart.set_y_axis({"name": f"[{units[0]}]", "major_gridlines": grid})
            if len(units) > 1:
                chart.set_y2_axis({"name": f"[{units[1]}]"})
            chart.set_title({"name": title, "name_font": {"size": 14}})
            chart.set_legend({"position": "bottom"})
            self.book.add_chartsheet(_sheet_name(title, taken)).set_chart(chart)

    def chart_data(self, source: Source, rows: Sequence[Sequence[float | None]]) -> None:
        """What the charts show."""
        if len(self.plotted) < 2 or len(rows) < 2:
            return
        sheet = self.book.add_worksheet("chart data")
        units = [("s", 1.0), *(shown(source.units[name]) for name in self.plotted[1:])]
        sheet.freeze_panes(HEAD, 1)
        sheet.write_row(0, 0, self.plotted, self.bold)
        sheet.write_row(1, 0, [unit for unit, _ in units], self.unit)
        for i, row in enumerate(rows):
            scaled = [v if v is None else v * k for v, (_, k) in zip(row, units, strict=True)]
            sheet.write_row(HEAD + i, 0, scaled)

    def events(self, events: Sequence[Event]) -> None:
        """A row an event."""
        sheet = self.book.add_worksheet("events")
        sheet.freeze_panes(1, 0)
        sheet.set_column(1, 1, 18)
        sheet.set_column(2, 2, 90)
        sheet.write_row(0, 0, ["t [s]", "kind", "what"], self.bold)
        for i, event in enumerate(sorted(events, key=event_time)[: SHEET_ROWS - 1], start=1):
            sheet.write_number(i, 0, event_time(event))
            sheet.write_string(i, 1, _short(event.get("kind", "")))
            sheet.write_string(i, 2, _short(event.get("text", "")))

    def about(self, source: Source) -> None:
        """What the run was."""
        sheet = self.book.add_worksheet("about")
        sheet.set_column(0, 0, 22)
        sheet.set_column(1, 1, 100)
        for i, (key, value) in enumerate(source.about.items()):
            sheet.write_string(i, 0, _short(key), self.bold)
            sheet.write_string(i, 1, _short(value), self.wrap)


def _charts(source: Source) -> list[tuple[str, list[str]]]:
    """Titles and signals of the charts: joints and torques of each robot, else what there is."""
    groups: dict[str, list[str]] = {}
    for name in list(source.units)[1:]:
        groups.setdefault(group(name), []).append(name)
    found = []
    for prefix, members in groups.items():
        *thing, what = prefix.split(".")
        if what in _CHARTED and "ref" not in thing:
            title = " ".join([*thing, _CHARTED[what]])
            found.append((title, members[:CHART_LINES]))
    if not found:
        found = [(prefix, members[:CHART_LINES]) for prefix, members in groups.items()]
    return found[:CHARTS]


def _cells(block: list[np.ndarray]) -> list[list[float | None]]:
    """Rows of a block; None (an empty cell) where there is no number."""
    table = np.column_stack(block)
    missing = np.isnan(table)
    if missing.any():
        cells = table.astype(object)
        cells[missing] = None
        return cells.tolist()
    return table.tolist()


def _sheet_name(title: str, taken: set[str]) -> str:
    """A name Excel takes: short, without its own signs, never twice."""
    base = "".join(" " if c in "[]:*?/\\'" else c for c in title)[:28].strip() or "chart"
    name, number = base, 1
    while name.lower() in taken:
        number += 1
        name = f"{base[:26]} {number}"
    taken.add(name.lower())
    return name


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= CELL_TEXT else text[: CELL_TEXT - 1] + "…"

"""A recording as an Excel workbook, in constant memory: data, units, events and a chart.

A sheet holds at most 1,048,576 rows; a longer recording goes on on further sheets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.files import replacing

SHEET_ROWS = 1_048_576
HEAD = 2  # names, units
_CHART_POINTS = 20_000


def write_xlsx(
    path: Path,
    columns: Mapping[str, tuple[np.ndarray, str]],
    about: Mapping[str, str],
    events: Sequence[Mapping[str, Any]],
    sheet_rows: int = SHEET_ROWS,
) -> None:
    """Write a workbook; memory does not grow with the number of rows."""
    import xlsxwriter

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
        bold = book.add_format({"bold": True})
        grey = book.add_format({"font_color": "#666666"})
        names = list(columns)
        rows = len(next(iter(columns.values()))[0]) if columns else 0
        room = sheet_rows - HEAD
        for part, start in enumerate(range(0, max(rows, 1), room)):
            sheet = book.add_worksheet("data" if part == 0 else f"data {part + 1}")
            sheet.freeze_panes(HEAD, 1)
            sheet.write_row(0, 0, names, bold)
            sheet.write_row(1, 0, [unit for _, unit in columns.values()], grey)
            stop = min(start + room, rows)
            for block in range(start, stop, 1000):
                end = min(block + 1000, stop)
                values = np.column_stack([v[block:end] for v, _ in columns.values()]).tolist()
                for i, row in enumerate(values):
                    sheet.write_row(HEAD + block - start + i, 0, row)
        _events(book, bold, events)
        _about(book, bold, about)
        _chart(book, names, min(rows, room, _CHART_POINTS))
        book.close()


def _events(book: Any, bold: Any, events: Sequence[Mapping[str, Any]]) -> None:
    sheet = book.add_worksheet("events")
    sheet.write_row(0, 0, ["t [s]", "kind", "what"], bold)
    for i, event in enumerate(events, start=1):
        sheet.write_row(i, 0, [event.get("t", 0.0)])
        sheet.write_string(i, 1, str(event.get("kind", "")))
        sheet.write_string(i, 2, str(event.get("text", "")))


def _about(book: Any, bold: Any, about: Mapping[str, str]) -> None:
    sheet = book.add_worksheet("about")
    for i, (key, value) in enumerate(about.items()):
        sheet.write_string(i, 0, key, bold)
        sheet.write_string(i, 1, value)


def _chart(book: Any, names: list[str], points: int) -> None:
    """Joint positions over time, on a sheet of its own."""
    shown = [i for i, name in enumerate(names) if ".q." in f".{name}" and i > 0][:8]
    if not shown or points < 2:
        return
    chart = book.add_chart({"type": "scatter", "subtype": "straight"})
    last = HEAD + points - 1
    for i in shown:
        chart.add_series(
            {
                "name": ["data", 0, i],
                "categories": ["data", HEAD, 0, last, 0],
                "values": ["data", HEAD, i, last, i],
                "line": {"width": 1.25},
            }
        )
    chart.set_title({"name": "Joint positions"})
    chart.set_x_axis({"name": "time [s]"})
    chart.set_y_axis({"name": "position [rad, m]"})
    sheet = book.add_chartsheet("chart")
    sheet.set_chart(chart)

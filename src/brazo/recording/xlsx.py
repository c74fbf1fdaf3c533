"""Writer of recordings as Excel workbooks with sheets of data, charts, events and description.

The memory use does not depend on the length of the recording.

The sheet `data` has names in its first row, units in the second, then one row per sample; the
header rows and the time column are frozen.  A sheet has at most 1,048,576 rows; longer recordings
continue on `data 2` and so on.  Charts show the whole run with at most `CHART_ROWS` points,
because Excel needs minutes to draw a million points.  These points are stored in `chart data`, in
degrees and millimetres.

Numbers are written with the fewest digits that read back the same double.  NaN is an empty cell; an
infinite value is an Excel error.

XlsxWriter creates the workbook without the rows of the run.  The rows are inserted here into the
XML of the sheets, a whole row at a time, which is four times as fast as cell by cell.
"""

from __future__ import annotations

import io
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.colors import COLORS
from brazo.recording.display import display_unit
from brazo.recording.names import group, last
from brazo.recording.origin import SOURCE
from brazo.recording.source import ColumnSource, Event, Progress, event_time
from brazo.text import one_line, printable

SHEET_ROWS = 1_048_576
SHEET_COLUMNS = 16_384
CELL_TEXT = 32_000  # characters; Excel drops a cell with more than 32,767
HEAD = 2  # rows: names, units
CHART_ROWS = 2_000
CHARTS = 12
CHART_LINES = 12
_CHARTED = {"q": "joint positions", "torque": "torques", "tau": "torques"}
_END = b"</sheetData>"
_QUICK = 1  # compression level: files 10 % larger than with 6, in a third of the time


def write_xlsx(
    path: Path,
    source: ColumnSource,
    progress: Progress | None = None,
    sheet_rows: int = SHEET_ROWS,
) -> None:
    """Write a recording as an Excel workbook in constant memory.

    `sheet_rows` is the max number of rows of a data sheet, including its header.
    """
    import xlsxwriter

    if len(source.units) > SHEET_COLUMNS:
        raise BrazoError(
            f"{path}: a sheet has at most {SHEET_COLUMNS} columns, the recording has "
            f"{len(source.units)}; select fewer signals"
        )
    # XlsxWriter does not remove its temporary files when it fails, so they get their own folder.
    with replacing(Path(path)) as temporary, tempfile.TemporaryDirectory() as scratch:
        frame = io.BytesIO()
        book = xlsxwriter.Workbook(
            frame,
            {
                "constant_memory": True,
                "nan_inf_to_errors": True,
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "tmpdir": scratch,
            },
        )
        writer = _Book(book)
        sheets = max(1, math.ceil(source.rows / (sheet_rows - HEAD)))
        for number in range(1, sheets + 1):
            writer.data_sheet(source, number)
        thinned = writer.thinned(source)
        writer.charts(source, thinned)
        writer.events(source.events)
        writer.about(source)
        writer.chart_data(source, thinned)
        book.close()
        _fill(frame, temporary, sheets, _rows(source, sheet_rows - HEAD, progress))
    if progress is not None:
        progress(1.0)


def _fill(frame: io.BytesIO, path: Path, sheets: int, rows: Iterator[bytes | None]) -> None:
    """Write the workbook `frame`, with the XML of the `rows` inserted, to `path`.

    The first `sheets` sheets of the workbook are data sheets; None in `rows` starts the next one.
    """
    data = [f"xl/worksheets/sheet{number}.xml" for number in range(1, sheets + 1)]
    with (
        zipfile.ZipFile(frame) as given,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as made,
    ):
        for entry in given.infolist():
            if entry.filename not in data:
                with given.open(entry) as here, made.open(entry, "w") as there:
                    shutil.copyfileobj(here, there)
        for name in data:
            head, end, tail = given.read(name).partition(_END)
            # The size of the sheet is optional, and not known yet.
            head = re.sub(rb"<dimension[^>]*/>", b"", head, count=1)
            with made.open(name, "w", force_zip64=True) as sheet:
                sheet.write(head)
                for some in rows:
                    if some is None:
                        break
                    sheet.write(some)
                sheet.write(end + tail)


def _rows(source: ColumnSource, room: int, progress: Progress | None) -> Iterator[bytes | None]:
    """Yield the rows as XML, in blocks; yield None after every `room` rows, for the next sheet."""
    names = list(source.units)
    columns = [_letters(i) for i in range(len(names))]
    # The character \0 is a placeholder for the row number.
    cells = "".join(f'<c r="{column}\0"><v>%r</v></c>' for column in columns)
    form = f'<row r="\0">{cells}</row>'
    done = 0
    for block in source.read(names):
        table = np.column_stack(block).astype(float)
        finite = np.asarray(np.isfinite(table).all(axis=1))
        lines: list[str] = []
        for row, whole in zip(table.tolist(), finite, strict=True):
            if done and done % room == 0:
                yield "".join(lines).encode()
                yield None
                lines.clear()
            number = str(1 + HEAD + done % room)
            if whole:
                lines.append(form.replace("\0", number) % tuple(row))
            else:
                lines.append(_with_gaps(row, columns, number))
            done += 1
        yield "".join(lines).encode()
        if progress is not None:
            progress(0.99 * done / source.rows)


def _with_gaps(row: list[float], columns: Sequence[str], number: str) -> str:
    """Return the XML of a row of values, some of which are NaN or infinite."""
    cells = []
    for column, value in zip(columns, row, strict=True):
        if math.isfinite(value):
            cells.append(f'<c r="{column}{number}"><v>{value!r}</v></c>')
        elif math.isinf(value):
            cells.append(f'<c r="{column}{number}" t="e"><v>#DIV/0!</v></c>')
    return f'<row r="{number}">{"".join(cells)}</row>'


def _letters(column: int) -> str:
    """Return the Excel name of a column: A, B … Z, AA, AB …"""
    text, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


class _Book:
    """Writer of a workbook; sheets are filled one after another, from top to bottom."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.bold = book.add_format({"bold": True, "bottom": 1})
        self.unit = book.add_format({"font_color": "#666666", "italic": True})
        self.wrap = book.add_format({"text_wrap": True, "valign": "top"})
        self.plotted: list[str] = []

    def thinned(self, source: ColumnSource) -> list[list[float | None]]:
        """Return the rows that the charts show: the time and the signals of all charts.

        The names of these columns are stored in `plotted`.  Values that are not finite are None.
        """
        self.plotted = [source.time, *(n for _, lines in _charts(source) for n in lines)]
        stride = max(1, math.ceil(source.rows / CHART_ROWS))
        kept: list[list[float | None]] = []
        done = 0
        for block in source.read(self.plotted):
            table = np.column_stack(block).astype(float)
            at = np.arange(done, done + len(table))
            for row in table[(at % stride == 0) | (at == source.rows - 1)].tolist():
                kept.append([v if math.isfinite(v) else None for v in row])
            done += len(table)
        return kept

    def data_sheet(self, source: ColumnSource, number: int) -> None:
        """Add a data sheet with its header."""
        sheet = self.book.add_worksheet("data" if number == 1 else f"data {number}")
        sheet.freeze_panes(HEAD, 1)
        for i, name in enumerate(source.units):
            sheet.set_column(i, i, min(40, max(10, len(name) + 2)))
        sheet.write_row(0, 0, map(_cell, source.units), self.bold)
        sheet.write_row(1, 0, map(_cell, source.units.values()), self.unit)

    def charts(self, source: ColumnSource, rows: Sequence[Sequence[float | None]]) -> None:
        """Add one sheet for each chart; none if there are fewer than two rows."""
        if len(rows) < 2:
            return
        taken: set[str] = set()
        for title, lines in _charts(source):
            chart = self.book.add_chart({"type": "scatter", "subtype": "straight"})
            units = list(dict.fromkeys(display_unit(source.units[n])[0] for n in lines))[:2]
            for k, name in enumerate(lines):
                at, unit = self.plotted.index(name), display_unit(source.units[name])[0]
                if unit not in units:
                    continue
                end = HEAD + len(rows) - 1
                chart.add_series(
                    {
                        "name": _title(f"{last(name)} [{unit}]"),
                        "categories": ["chart data", HEAD, 0, end, 0],
                        "values": ["chart data", HEAD, at, end, at],
                        "line": {"width": 1.5, "color": COLORS[k % len(COLORS)]},
                        "y2_axis": unit != units[0],
                    }
                )
            grid = {"visible": True, "line": {"color": "#dddddd", "width": 0.5}}
            axis = {"name": _title(f"time [{source.units[source.time]}]"), "label_position": "low"}
            ends = {"min": rows[0][0], "max": rows[-1][0]}
            chart.set_x_axis({**axis, **ends, "num_format": "General", "major_gridlines": grid})
            chart.set_y_axis({"name": _title(f"[{units[0]}]"), "major_gridlines": grid})
            if len(units) > 1:
                chart.set_y2_axis({"name": _title(f"[{units[1]}]")})
            chart.set_title({"name": _title(title), "name_font": {"size": 14}})
            chart.set_legend({"position": "bottom"})
            self.book.add_chartsheet(_sheet_name(title, taken)).set_chart(chart)

    def chart_data(self, source: ColumnSource, rows: Sequence[Sequence[float | None]]) -> None:
        """Add the sheet with the data of the charts."""
        if len(self.plotted) < 2 or len(rows) < 2:
            return
        sheet = self.book.add_worksheet("chart data")
        units = [("s", 1.0), *(display_unit(source.units[name]) for name in self.plotted[1:])]
        sheet.freeze_panes(HEAD, 1)
        sheet.write_row(0, 0, map(_cell, self.plotted), self.bold)
        sheet.write_row(1, 0, [_cell(unit) for unit, _ in units], self.unit)
        for i, row in enumerate(rows):
            scaled = [v if v is None else v * k for v, (_, k) in zip(row, units, strict=True)]
            sheet.write_row(HEAD + i, 0, scaled)

    def events(self, events: Sequence[Event]) -> None:
        """Add the sheet of events, one row each."""
        sheet = self.book.add_worksheet("events")
        sheet.freeze_panes(1, 0)
        sheet.set_column(1, 1, 18)
        sheet.set_column(2, 2, 90)
        sheet.write_row(0, 0, ["t [s]", "kind", "event"], self.bold)
        for i, event in enumerate(sorted(events, key=event_time)[: SHEET_ROWS - 1], start=1):
            sheet.write_number(i, 0, event_time(event))
            sheet.write_string(i, 1, _cell(event.get("kind", "")))
            sheet.write_string(i, 2, _cell(event.get("text", "")))

    def about(self, source: ColumnSource) -> None:
        """Add the sheet with the description of the run."""
        sheet = self.book.add_worksheet("about")
        sheet.set_column(0, 0, 22)
        sheet.set_column(1, 1, 100)
        shown = {key: value for key, value in source.about.items() if key != SOURCE}
        for i, (key, value) in enumerate(shown.items()):
            sheet.write_string(i, 0, _cell(key), self.bold)
            sheet.write_string(i, 1, _cell(value), self.wrap)


def _charts(source: ColumnSource) -> list[tuple[str, list[str]]]:
    """Return the title and the signals of each chart.

    The charts show joint positions and torques; if there are none, all groups of signals.  There
    are at most `CHARTS` charts of at most `CHART_LINES` signals.
    """
    groups: dict[str, list[str]] = {}
    for name in list(source.units)[1:]:
        groups.setdefault(group(name), []).append(name)
    found = []
    for prefix, members in groups.items():
        *owner, kind = prefix.split(".")
        if kind in _CHARTED and "ref" not in owner:
            title = " ".join([*owner, _CHARTED[kind]])
            found.append((title, members[:CHART_LINES]))
    if not found:
        found = [(prefix, members[:CHART_LINES]) for prefix, members in groups.items()]
    return found[:CHARTS]


def _sheet_name(title: str, taken: set[str]) -> str:
    """Return a valid and unique sheet name for Excel."""
    base = "".join(" " if c in "[]:*?/\\'" else c for c in one_line(title))[:28].strip() or "chart"
    name, number = base, 1
    while name.lower() in taken:
        number += 1
        name = f"{base[:26]} {number}"
    taken.add(name.lower())
    return name


def _title(text: str) -> str:
    """Return the text of a chart title with a space after each "!".

    XlsxWriter would parse `Name!A1` as a cell reference.
    """
    return one_line(text).replace("!", "! ")


def _cell(value: object) -> str:
    """Return the text of a cell, truncated to the length limit of Excel."""
    text = printable(value)
    return text if len(text) <= CELL_TEXT else text[: CELL_TEXT - 1] + "…"

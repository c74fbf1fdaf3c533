"""Tables of columns with units as CSV (or Parquet, depending on the suffix of the path).

CSV has two header rows, names and units, then one row per sample.  Numbers are written with enough
digits to read back the same double; missing values are `nan`.  Events and the description are not
written, so keep the Parquet file if they are needed.

Spreadsheets interpret a cell that begins with `=`, `+`, `-` or `@` as a formula.  A name or unit
that begins with one of these or an apostrophe is written with a leading apostrophe, which
`read_csv` removes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing, require_file
from brazo.recording.names import check_names
from brazo.recording.source import Columns, ColumnSource, Progress, memory_source
from brazo.text import one_line

SUFFIXES = (".parquet", ".csv")
TIME_UNIT = "s"
_FORMULA = tuple("=+-@＝＋－＠'")  # the wide forms are formulas in East Asian versions


def write_table(
    columns: Mapping[str, tuple[np.ndarray, str]],
    path: Path,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write columns to a .parquet or .csv file, depending on its suffix."""
    from brazo.recording.parquet import write_parquet

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BrazoError(f"{path}: unknown table format; use {' or '.join(SUFFIXES)}")
    write = write_parquet if suffix == ".parquet" else write_csv
    write(path, memory_source(columns, (), about))


def write_csv(path: Path, source: ColumnSource, progress: Progress | None = None) -> None:
    """Write a CSV file in constant memory: names, units, then the rows."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    head = io.StringIO()
    writer = csv.writer(head, lineterminator="\n")
    writer.writerows(
        [[as_text(one_line(cell)) for cell in row] for row in (source.units, source.units.values())]
    )
    keys = [str(i) for i in range(len(source.units))]
    options = arrow_csv.WriteOptions(include_header=False)
    done = 0
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        file.write(head.getvalue().encode("utf-8"))
        for columns in source.read(list(source.units)):
            arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
            arrow_csv.write_csv(pa.table(arrays, names=keys), file, options)
            done += len(columns[0])
            if progress is not None:
                progress(done / source.rows)


def read_csv(path: Path) -> Columns:
    """Read a file written by `write_csv`, or a table without a row of units.

    Without units the first column is in seconds and the others have no unit.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    want = "expected a row of names, an optional row of units, then numbers"
    what = f"{path}: not a table of a run: {want}"
    require_file(path)
    try:
        with path.open("rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            rows = csv.reader(text)
            names, units = ([_from_text(cell) for cell in next(rows, [])] for _ in range(2))
            if not names or len(names) != len(units):
                raise BrazoError(what)
            if _are_numbers(names):
                raise BrazoError(f"{path}:1: numbers instead of signal names; {want}")
            if len(set(names)) < len(names):
                raise BrazoError(f"{path}:1: duplicate signal name")
            check_names(names, f"{path}:1: ")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BrazoError(f"{what} ({error})") from None
    headings = 2
    if _are_numbers(units):  # no row of units, this row is data
        headings, units = 1, [TIME_UNIT, *[""] * (len(names) - 1)]
    keys = [str(i) for i in range(len(names))]
    try:
        table = arrow_csv.read_csv(
            path,
            # Names and units contain no line breaks, so rows are lines.
            arrow_csv.ReadOptions(skip_rows=headings, column_names=keys),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.float64())
            ),
        )
    except (pa.ArrowException, OSError) as error:
        if "Empty CSV" in str(error):
            return {n: (np.empty(0), u) for n, u in zip(names, units, strict=True)}
        raise BrazoError(f"{what} ({error})") from None
    return {
        name: (table.column(key).to_numpy(), unit)
        for key, name, unit in zip(keys, names, units, strict=True)
    }


def as_text(cell: str) -> str:
    """Return the text of a cell, changed so that spreadsheets do not interpret it as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _from_text(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _are_numbers(row: list[str]) -> bool:
    """Return whether a row contains values, not names or units.

    A row whose first cell (time) is empty and whose other cells are `1` contains units.
    """
    cells = [cell.strip() for cell in row if cell.strip()]
    if not cells or (set(cells) == {"1"} and not row[0].strip()):
        return False
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return True

"""Columns with units as CSV (or Parquet, by the ending of the path).

CSV has two heading rows, the names and then the units; every further row is a moment.  Numbers are
written with as many digits as it takes to read the same double again, `nan` where there is none.
Events and the description do not fit into a table: keep the Parquet file.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula.  A name or unit that
begins so, or with an apostrophe, gets an apostrophe in front; `read_csv` removes it again.
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
from brazo.recording.source import Columns, Progress, Source, memory_source, open_source
from brazo.text import one_line

SUFFIXES = (".parquet", ".csv")
TIME_UNIT = "s"
_FORMULA = tuple("=+-@＝＋－＠'")  # the wide forms are formulas in East Asian versions


def write_table(
    columns: Mapping[str, tuple[np.ndarray, str]],
    path: Path,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write columns to a .parquet or .csv file, by its ending."""
    from brazo.recording.parquet import write_parquet

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BrazoError(f"{path}: unknown kind of table; use {' or '.join(SUFFIXES)}")
    write = write_parquet if suffix == ".parquet" else write_csv
    write(path, memory_source(columns, (), about))


def read_table(path: Path) -> Columns:
    """Read back what `write_table` wrote."""
    return open_source(path).columns()


def write_csv(path: Path, source: Source, progress: Progress | None = None) -> None:
    """Write names, units, then a row a moment; memory does not grow with the number of rows."""
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
    """Read what `write_csv` wrote, or a table with names alone.

    Without a row of units the first column is in seconds and the others have no unit.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    want = "a row of names, a row of units (may be left out), then numbers"
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
                raise BrazoError(f"{path}:1: numbers where the names of the signals belong; {want}")
            if len(set(names)) < len(names):
                raise BrazoError(f"{path}:1: a name stands twice")
            check_names(names, f"{path}:1: ")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BrazoError(f"{what} ({error})") from None
    headings = 2
    if _are_numbers(units):  # no row of units: these numbers are data
        headings, units = 1, [TIME_UNIT, *[""] * (len(names) - 1)]
    keys = [str(i) for i in range(len(names))]
    try:
        table = arrow_csv.read_csv(
            path,
            # Names and units have no line breaks, so rows are lines.
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
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _from_text(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _are_numbers(row: list[str]) -> bool:
    """Whether a row holds values, not names or units.

    `1` is the unit of a bare number, but never that of the first column, the time.
    """
    cells = [cell.strip() for cell in row if cell.strip()]
    if not cells or (set(cells) == {"1"} and not row[0].strip()):
        return False
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return True

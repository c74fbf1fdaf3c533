"""Columns with units as CSV (or Parquet, by the ending of the path).

CSV has two heading rows, the names and then the units; every further row is a moment.  Numbers are
written with as many digits as it takes to read the same double again, `nan` where there is none.
Events and the description do not fit into a table: keep the Parquet file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.source import Columns, Progress, Source, memory_source, open_source

SUFFIXES = (".parquet", ".csv")


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
    writer.writerows([list(source.units), list(source.units.values())])
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
    """Read what `write_csv` wrote."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    what = f"{path}: not a table of a run: two heading rows (names, units), then numbers"
    try:
        with path.open("rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            rows = csv.reader(text)
            names, units = next(rows, []), next(rows, [])
            if not names or len(names) != len(units):
                raise BrazoError(what)
            if len(set(names)) < len(names):
                raise BrazoError(f"{path}:1: a name stands twice")
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BrazoError(f"{what} ({error})") from None
    keys = [str(i) for i in range(len(names))]
    try:
        table = arrow_csv.read_csv(
            path,
            # Names and units have no line breaks, so rows are lines.
            arrow_csv.ReadOptions(skip_rows=2, column_names=keys),
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

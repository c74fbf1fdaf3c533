"""Columns with units as CSV or Parquet.

CSV has two heading rows, names and units.  Parquet keeps the unit of each column in its metadata
(`unit`), exactly as written, and is what other exports are made from.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.files import replacing

Columns = Mapping[str, tuple[np.ndarray, str]]
SUFFIXES = (".parquet", ".csv")


def write_table(columns: Columns, path: Path, about: Mapping[str, str] | None = None) -> None:
    """Write columns to a .parquet or .csv file, by its ending."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BrazoError(f"{path}: unknown kind of table; use {' or '.join(SUFFIXES)}")
    with replacing(path) as temporary:
        if suffix == ".csv":
            _write_csv(columns, temporary)
        else:
            _write_parquet(columns, temporary, about or {})


def read_table(path: Path) -> dict[str, tuple[np.ndarray, str]]:
    """Read back what `write_table` wrote."""
    if not path.is_file():
        raise BrazoError(f"{path}: no such file")
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    import pyarrow.parquet as parquet
    from pyarrow import ArrowInvalid

    try:
        table = parquet.read_table(path)
    except (ArrowInvalid, OSError) as error:
        raise BrazoError(f"{path}: not a Parquet file: {error}") from None
    return {
        field.name: (
            table.column(field.name).to_numpy(),
            (field.metadata or {}).get(b"unit", b"").decode(),
        )
        for field in table.schema
    }


def _write_csv(columns: Columns, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerow(unit for _, unit in columns.values())
        writer.writerows(zip(*(values.tolist() for values, _ in columns.values()), strict=True))


def _read_csv(path: Path) -> dict[str, tuple[np.ndarray, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        try:
            names, units = next(rows), next(rows)
            values = np.array([[float(x) for x in row] for row in rows]).reshape(-1, len(names))
        except (StopIteration, ValueError) as error:
            raise BrazoError(
                f"{path}: not a table of a run: two heading rows (names, units), then numbers"
            ) from error
    return {n: (values[:, i], u) for i, (n, u) in enumerate(zip(names, units, strict=True))}


def _write_parquet(columns: Columns, path: Path, about: Mapping[str, str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    fields = [
        pa.field(name, pa.float64(), metadata={"unit": unit}) for name, (_, unit) in columns.items()
    ]
    schema = pa.schema(fields, metadata={f"brazo.{key}": value for key, value in about.items()})
    arrays = [pa.array(np.ascontiguousarray(values)) for values, _ in columns.values()]
    parquet.write_table(pa.table(arrays, schema=schema), path, compression="zstd")

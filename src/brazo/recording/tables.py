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
from brazo.files import replacing
from brazo.recording.stream import read_parquet, write_parquet

Columns = Mapping[str, tuple[np.ndarray, str]]
SUFFIXES = (".parquet", ".csv")


def write_table(columns: Columns, path: Path, about: Mapping[str, str] | None = None) -> None:
    """Write columns to a .parquet or .csv file, by its ending."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BrazoError(f"{path}: unknown kind of table; use {' or '.join(SUFFIXES)}")
    if suffix == ".parquet":
        write_parquet(path, columns, about or {}, [])
        return
    with replacing(path) as temporary:
        _write_csv(columns, temporary)


def read_table(path: Path) -> dict[str, tuple[np.ndarray, str]]:
    """Read back what `write_table` wrote."""
    if not path.is_file():
        raise BrazoError(f"{path}: no such file")
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    return read_parquet(path)[0]


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
            if len(names) != len(units):
                raise ValueError("rows of names and units differ in length")
            values = np.array([[float(x) for x in row] for row in rows]).reshape(-1, len(names))
        except (StopIteration, ValueError) as error:
            raise BrazoError(
                f"{path}: not a table of a run: two heading rows (names, units), then numbers"
            ) from error
    return {n: (values[:, i], u) for i, (n, u) in enumerate(zip(names, units, strict=True))}

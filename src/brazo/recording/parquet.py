"""Recordings as Parquet, the primary format.

Each signal is a float64 column with its unit in the column metadata (`unit`).  The description
(`brazo.KEY`) and the events (`brazo.events`, a JSON list) are in the file metadata.  Values are
encoded as byte-stream split and compressed: lossless, and half the size of plain doubles.

Pages have the checksums of the Parquet format, which every reader can verify.  These do not cover
page headers and the footer.  The file metadata `brazo.checksums` therefore contains a CRC-32 of
each decoded column of each row group, and a CRC-32 of names, units, description and events.  In a
file of another program, which has no `brazo.checksums`, only the page checksums are verified.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing, require_file
from brazo.recording.names import check_names
from brazo.recording.source import (
    BLOCK_ROWS,
    ColumnSource,
    Event,
    Progress,
    about_of,
    units_of,
)

GROUP_ROWS = 16_384
CHECKSUMS = "checksums"
# The exceptions of pyarrow derive from these; a damaged file can raise any of them.
_ERRORS = (OSError, ValueError, KeyError, MemoryError, NotImplementedError, TypeError, RuntimeError)


def write_parquet(
    path: Path, source: ColumnSource, progress: Progress | None = None, *, exclusive: bool = False
) -> None:
    """Write a recording as Parquet in constant memory.

    With `exclusive`, an existing file is never replaced.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    about = {**source.about, "events": json.dumps(list(source.events), ensure_ascii=False)}
    schema = schema_of(source.units, about)
    sums: dict[str, list[int]] = {name: [] for name in source.units}
    done = 0
    with (
        replacing(Path(path), exclusive=exclusive) as temporary,
        parquet.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            use_dictionary=False,
            column_encoding=dict.fromkeys(source.units, "BYTE_STREAM_SPLIT"),
            write_page_checksum=True,
        ) as writer,
    ):
        for columns in _groups(source.read(list(source.units)), GROUP_ROWS):
            arrays = [np.ascontiguousarray(column, dtype=float) for column in columns]
            writer.write_table(
                pa.table([pa.array(a) for a in arrays], schema=schema), row_group_size=GROUP_ROWS
            )
            for name, array in zip(source.units, arrays, strict=True):
                sums[name].append(zlib.crc32(array.data))
            done += len(columns[0])
            if progress is not None:
                progress(done / source.rows)
        found = {"columns": sums, "about": _about_sum(source.units, about)}
        writer.add_key_value_metadata({f"brazo.{CHECKSUMS}": json.dumps(found)})


def schema_of(columns: Mapping[str, str], about: Mapping[str, str]) -> Any:
    """Return the Arrow schema of float64 columns, given as name -> unit.

    `about` becomes metadata of the file.
    """
    import pyarrow as pa

    return pa.schema(
        [pa.field(name, pa.float64(), metadata={"unit": unit}) for name, unit in columns.items()],
        metadata={f"brazo.{key}": value for key, value in about.items()},
    )


def parquet_source(path: Path, salvage: bool = False) -> ColumnSource:
    """Open a file written by `write_parquet`, or any Parquet file with numeric columns.

    Damaged metadata raises BrazoError.  Damaged rows raise BrazoError when they are read.  With
    `salvage`, damaged rows are skipped, and all damage is listed in `damage` of the source.
    """
    import pyarrow as pa

    with _opened(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        for field in schema:
            if not pa.types.is_floating(field.type) and not pa.types.is_integer(field.type):
                raise BrazoError(f"{path}: column '{field.name}' is not numeric: not a recording")
        if not len(schema):
            raise BrazoError(f"{path}: no columns: not a recording")
        about, units = about_of(metadata.metadata), units_of(schema)
        check_names(units, f"{path}: ")
        if len(units) < len(schema):
            raise BrazoError(f"{path}: two columns have the same name: not a recording")
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    sums = _sums(path, about.pop(CHECKSUMS, None))
    damage: list[str] = []
    if sums is not None and sums.about != _about_sum(units, about):
        if not salvage:
            raise BrazoError(_advice(path, "its names, description or events are damaged"))
        damage.append("names, description or events")
    events = _events(path, about.pop("events", "[]"))
    groups = list(range(len(sizes)))
    if salvage:
        groups, lost = _intact(path, sizes, list(units), sums)
        damage += lost

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        with _opened(path) as file:
            for i in groups:
                yield from _blocks(path, file, i, sizes, names, sums)

    rows = sum(sizes[i] for i in groups)
    return ColumnSource(units, about, events, rows, read, damage=tuple(damage))


def parquet_span(path: Path) -> tuple[dict[str, str], int, float, float]:
    """Return description, number of rows, and min and max time (s), read from the footer.

    The description does not contain the events.
    """
    with _opened(path) as file:
        metadata = file.metadata
        about = about_of(metadata.metadata)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        found = [g.column(0).statistics for g in groups if g.num_columns and g.num_rows]
    known = [s for s in found if s is not None and s.has_min_max]
    times = [float(v) for s in known for v in (s.min, s.max) if isinstance(v, (int, float))]
    for bulky in (CHECKSUMS, "events"):
        about.pop(bulky, None)
    return about, metadata.num_rows, min(times, default=0.0), max(times, default=0.0)


@dataclass(frozen=True)
class _Sums:
    """Checksums: `columns` for each column and row group, `about` for the metadata."""

    columns: Mapping[str, Sequence[int]]
    about: int


class _Damaged(BrazoError):
    """Raised for rows that do not match their checksum or cannot be decoded."""


def _sums(path: Path, text: str | None) -> _Sums | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=_Sums)
    except msgspec.DecodeError:
        raise BrazoError(f"{path}: its table of checksums is damaged") from None


def _blocks(
    path: Path, file: Any, i: int, sizes: Sequence[int], names: Sequence[str], sums: _Sums | None
) -> Iterator[list[np.ndarray]]:
    """Yield the columns of row group `i` in blocks; raise at the end if a checksum differs.

    `sizes` are the numbers of rows of all row groups.
    """
    first = sum(sizes[:i])
    place = f"rows {first + 1} to {first + sizes[i]}"
    found = [0] * len(names)
    batches = file.iter_batches(BLOCK_ROWS, [i], list(names), use_threads=False)
    while True:
        try:
            batch = next(batches, None)
            if batch is None:
                break
            columns = [
                batch.column(name).to_numpy(zero_copy_only=False).astype(float, copy=False)
                for name in names
            ]
        except _ERRORS as error:
            raise _Damaged(_advice(path, f"{place} are damaged ({_first_line(error)})")) from None
        found = [
            zlib.crc32(np.ascontiguousarray(column).data, crc)
            for column, crc in zip(columns, found, strict=True)
        ]
        yield columns
    if sums is None:  # written by another program
        return
    for name, crc in zip(names, found, strict=True):
        known = sums.columns.get(name, ())
        if i >= len(known) or known[i] != crc:
            raise _Damaged(_advice(path, f"{place} of '{name}' are damaged"))


def _intact(
    path: Path, sizes: Sequence[int], names: Sequence[str], sums: _Sums | None
) -> tuple[list[int], list[str]]:
    """Return the indices of the intact row groups, and descriptions of the damaged rows."""
    good, lost = [], []
    with _opened(path) as file:
        for i in range(len(sizes)):
            try:
                for _ in _blocks(path, file, i, sizes, names, sums):
                    pass
                good.append(i)
            except _Damaged:
                first = sum(sizes[:i])
                lost.append(f"rows {first + 1} to {first + sizes[i]}")
    return good, lost


def _advice(path: Path, what: str) -> str:
    command = f"brazo convert {path} REST.parquet --salvage"
    return f"{path}: {what}; save the intact rows with `{command}`"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as parquet

    require_file(path)
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
    except _ERRORS as error:
        raise BrazoError(f"{path}: not a Parquet file, or damaged: {_first_line(error)}") from None
    with file:
        yield file


def _events(path: Path, text: str) -> list[Event]:
    try:
        events = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrazoError(f"{path}: its events are not JSON ({error}): not a recording") from None
    if not isinstance(events, list):
        raise BrazoError(f"{path}: its events are not a JSON list: not a recording")
    return [event for event in events if isinstance(event, dict)]


def _groups(blocks: Iterator[list[np.ndarray]], rows: int) -> Iterator[list[np.ndarray]]:
    """Yield the same rows in blocks of exactly `rows` rows; the last block may be shorter."""
    held: list[list[np.ndarray]] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block[0])
        while count >= rows:
            joined = _concatenated(held)
            yield [column[:rows] for column in joined]
            held = [[column[rows:].copy() for column in joined]]
            del joined
            count -= rows
    if count:
        yield _concatenated(held)


def _concatenated(blocks: list[list[np.ndarray]]) -> list[np.ndarray]:
    if len(blocks) == 1:
        return blocks[0]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _about_sum(units: Mapping[str, str], about: Mapping[str, str]) -> int:
    """Return the CRC-32 of names, units, description and events."""
    return zlib.crc32(json.dumps([list(units.items()), sorted(about.items())]).encode())

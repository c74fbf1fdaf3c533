"""Recordings as Parquet, the form every other one is made from.

A column of float64 a signal, with its unit in the column's metadata (`unit`); what the run was
(`brazo.KEY`) and its events (`brazo.events`, a JSON list) in the file's.  Values are stored by byte
planes, then compressed: exact, and half as large as plain doubles.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.source import (
    BLOCK_ROWS,
    Event,
    Progress,
    Source,
    about_of,
    units_of,
)
from brazo.recording.stream import schema_of

GROUP_ROWS = 16_384


def write_parquet(path: Path, source: Source, progress: Progress | None = None) -> None:
    """Write a recording; memory does not grow with the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    about = {**source.about, "events": json.dumps(list(source.events), ensure_ascii=False)}
    schema = schema_of(source.units, about)
    done = 0
    with (
        replacing(Path(path)) as temporary,
        parquet.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            use_dictionary=False,
            column_encoding=dict.fromkeys(source.units, "BYTE_STREAM_SPLIT"),
        ) as writer,
    ):
        for columns in _joined(source.read(list(source.units)), GROUP_ROWS):
            arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=GROUP_ROWS)
            done += len(columns[0])
            if progress is not None:
                progress(done / source.rows)


def parquet_source(path: Path) -> Source:
    """Read what `write_parquet` wrote, or any Parquet file whose columns are numbers."""
    import pyarrow as pa

    file = _open(path)
    schema = file.schema_arrow
    rows = file.metadata.num_rows
    file.close()
    for field in schema:
        if not pa.types.is_floating(field.type) and not pa.types.is_integer(field.type):
            raise BrazoError(f"{path}: column '{field.name}' is not of numbers: not a recording")
    if not len(schema):
        raise BrazoError(f"{path}: no columns: not a recording")
    about = about_of(schema)
    events = _events(path, about.pop("events", "[]"))

    def read(names: Sequence[str]) -> Iterator[list[np.ndarray]]:
        try:
            with _open(path) as file:
                for batch in _batches(file, list(names)):
                    columns = [batch.column(name) for name in names]
                    yield [
                        column.to_numpy(zero_copy_only=False).astype(float, copy=False)
                        for column in columns
                    ]
        except (pa.ArrowException, OSError) as error:
            raise BrazoError(f"{path}: cannot be read to its end: {error}") from None

    return Source(units_of(schema), about, events, rows, read)


def _open(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise BrazoError(f"{path}: not a Parquet file: {error}") from None


def _batches(file: Any, names: list[str]) -> Iterator[Any]:
    # Group by group: asked for all, the reader keeps what it has read of the file until the end.
    for i in range(file.num_row_groups):
        yield from file.iter_batches(BLOCK_ROWS, [i], names)


def _events(path: Path, text: str) -> list[Event]:
    try:
        events = json.loads(text)
    except json.JSONDecodeError as error:
        raise BrazoError(f"{path}: its events are not JSON ({error}): not a recording") from None
    return [event for event in events if isinstance(event, dict)]


def _joined(blocks: Iterator[list[np.ndarray]], rows: int) -> Iterator[list[np.ndarray]]:
    """Small blocks put together until they have at least so many rows."""
    held: list[list[np.ndarray]] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block[0])
        if count >= rows:
            yield _concatenated(held)
            held, count = [], 0
    if held:
        yield _concatenated(held)


def _concatenated(blocks: list[list[np.ndarray]]) -> list[np.ndarray]:
    if len(blocks) == 1:
        return blocks[0]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]

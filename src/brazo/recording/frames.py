"""Rows of a recording at the times of video frames, read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from brazo.recording.source import ColumnSource

Array = np.ndarray


def elapsed(source: ColumnSource) -> Array:
    """Return the time (rows,) in s since the first row; backward jumps count as 0 s."""
    blocks = [block[0] for block in source.read([source.time])]
    t = np.concatenate(blocks) if blocks else np.empty(0)
    return np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(t), 0.0))])[: len(t)]


def rows_at(source: ColumnSource, names: Sequence[str], rows: Array) -> Iterator[Array]:
    """Yield the values (names,) of the rows with the indices `rows` (ascending, may repeat)."""
    at, k = 0, 0
    for block in source.read(names):
        count = len(block[0])
        table = np.column_stack(block)
        while k < len(rows) and rows[k] < at + count:
            yield table[rows[k] - at]
            k += 1
        at += count


def values_at(source: ColumnSource, names: Sequence[str], times: Array) -> Iterator[Array]:
    """Yield the values (names,) at ascending `times` (s from the first row).

    Between two rows, values are interpolated linearly, so quaternions must be normalised
    afterwards.  The source must have at least two rows.
    """
    t = elapsed(source)
    after = np.searchsorted(t, times).clip(1, len(t) - 1)
    before = after - 1
    span = t[after] - t[before]
    share = np.where(span > 0.0, (times - t[before]) / np.where(span > 0.0, span, 1.0), 1.0)
    # The pairs of two frames may overlap, so their union is read once, in order.
    wanted, where = np.unique([before, after], return_inverse=True)
    first, second = where.reshape(2, -1)
    held: dict[int, Array] = {}
    rows = enumerate(rows_at(source, names, wanted))
    for k, fraction in enumerate(share.clip(0.0, 1.0)):
        while second[k] not in held:
            i, values = next(rows)
            held[i] = values
        for old in [i for i in held if i < first[k]]:
            del held[old]
        low, high = held[first[k]], held[second[k]]
        yield low + fraction * (high - low)

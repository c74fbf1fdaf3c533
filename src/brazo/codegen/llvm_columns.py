"""Loads and stores that transpose rows of C-contiguous (rows, n) arrays to SIMD lanes and back.

Lane k contains row k, so a *column* of the array is one SIMD vector. Rows are read in pieces of 4,
2 and 1 doubles, and four rows at a time are transposed by shuffles in registers. Copying the array
to another layout first would cost more than most kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brazo.codegen.emitter import Emitter

__all__ = ["load_columns", "row_pointers", "store_buffer", "store_columns"]


def row_pointers(e: Emitter, base: str, first: str, step: str) -> list[str]:
    """Emit the addresses of ``e.width`` rows from row ``first`` on; return their LLVM names.

    ``step`` is the distance between rows in doubles.
    """
    offset = e.emit(f"mul i64 {first}, {step}")
    pointers = [e.emit(f"getelementptr double, ptr {base}, i64 {offset}")]
    for _ in range(1, e.width):
        pointers.append(e.emit(f"getelementptr double, ptr {pointers[-1]}, i64 {step}"))
    return pointers


def load_columns(e: Emitter, rows: Sequence[str], size: int) -> list[str]:
    """Emit the load of ``size`` columns; return the name of one SIMD vector per column.

    ``rows`` are the row addresses, one per lane.
    """
    if e.width == 1:
        return [_load(e, rows[0], j, 1) for j in range(size)]
    columns: list[str] = []
    for start, count in _chunks(size):
        parts: list[list[str]] = []
        for group in range(0, e.width, 4):
            loaded = [_load(e, row, start, count) for row in rows[group : group + 4]]
            parts.append(_rows_to_columns(e, loaded, count))
        columns += [_join(e, [part[c] for part in parts]) for c in range(count)]
        e.limit_block()
    return columns


def store_columns(e: Emitter, rows: Sequence[str], size: int, column: Callable[[int], str]) -> None:
    """Emit the store of ``size`` columns; ``rows`` are the row addresses, one per lane.

    ``column(j)`` emits the values of column j and is called just before they are stored.
    """
    if e.width == 1:
        for j in range(size):
            _store(e, rows[0], j, 1, column(j))
            e.limit_block()
        return
    for start, count in _chunks(size):
        columns = [column(j) for j in range(start, start + count)]
        for group in range(0, e.width, 4):
            four = columns
            if e.width > 4:
                picks = _mask(range(group, group + 4))
                four = [
                    e.emit(f"shufflevector {e.type} {c}, {e.type} poison, {picks}") for c in columns
                ]
            for lane, row in enumerate(_columns_to_rows(e, four, count)):
                _store(e, rows[group + lane], start, count, row)
        e.limit_block()


def store_buffer(e: Emitter, rows: Sequence[str], size: int, buffer: str) -> None:
    """Emit a loop that stores the first ``size`` values of a buffer to rows.

    It is used where unrolled code would be too long. The time of LLVM's code generator grows with
    the square of the number of loads and stores in a block.
    """
    step = min(size, 4)

    def chunk(i: str) -> None:
        first = e.emit(f"mul i64 {i}, {step}")
        source = e.emit(f"getelementptr {e.type}, ptr {buffer}, i64 {first}")
        targets = [e.emit(f"getelementptr double, ptr {row}, i64 {first}") for row in rows]
        store_columns(e, targets, step, lambda j: e.load(source, j))

    e.repeat(size // step, chunk)
    done = size - size % step
    rest = [e.emit(f"getelementptr double, ptr {row}, i64 {done}") for row in rows]
    store_columns(e, rest, size % step, lambda j: e.load(buffer, done + j))


def _load(e: Emitter, row: str, start: int, count: int) -> str:
    p = e.emit(f"getelementptr double, ptr {row}, i64 {start}")
    kind = "double" if e.width == 1 else f"<{count} x double>"
    return e.emit(f"load {kind}, ptr {p}, align 8")


def _store(e: Emitter, row: str, start: int, count: int, value: str) -> None:
    p = e.emit(f"getelementptr double, ptr {row}, i64 {start}")
    kind = "double" if e.width == 1 else f"<{count} x double>"
    e.put(f"store {kind} {value}, ptr {p}, align 8")


def _chunks(size: int) -> list[tuple[int, int]]:
    """Split a row into pieces of 4, 2 and 1 columns; return a list of (start, count)."""
    pieces, start = [], 0
    while start < size:
        count = 4 if size - start >= 4 else 2 if size - start >= 2 else 1
        pieces.append((start, count))
        start += count
    return pieces


def _rows_to_columns(e: Emitter, rows: list[str], count: int) -> list[str]:
    """Transpose 4 rows of ``count`` columns into ``count`` vectors of 4."""
    if count == 4:
        return _transpose4(e, rows)
    if count == 2:
        a = _shuffle(e, 2, rows[0], rows[2], (0, 1, 2, 3))
        b = _shuffle(e, 2, rows[1], rows[3], (0, 1, 2, 3))
        return [_shuffle(e, 4, a, b, (0, 4, 2, 6)), _shuffle(e, 4, a, b, (1, 5, 3, 7))]
    a = _shuffle(e, 1, rows[0], rows[1], (0, 1))
    b = _shuffle(e, 1, rows[2], rows[3], (0, 1))
    return [_shuffle(e, 2, a, b, (0, 1, 2, 3))]


def _columns_to_rows(e: Emitter, columns: list[str], count: int) -> list[str]:
    if count == 4:
        return _transpose4(e, columns)
    if count == 2:
        low = _shuffle(e, 4, columns[0], columns[1], (0, 4, 2, 6))
        high = _shuffle(e, 4, columns[0], columns[1], (1, 5, 3, 7))
        return [_shuffle(e, 4, v, v, pick) for pick in ((0, 1), (2, 3)) for v in (low, high)]
    return [_shuffle(e, 4, columns[0], columns[0], (lane,)) for lane in range(4)]


def _transpose4(e: Emitter, v: list[str]) -> list[str]:
    t0, t1 = (_shuffle(e, 4, v[0], v[1], m) for m in ((0, 4, 2, 6), (1, 5, 3, 7)))
    t2, t3 = (_shuffle(e, 4, v[2], v[3], m) for m in ((0, 4, 2, 6), (1, 5, 3, 7)))
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return [
        _shuffle(e, 4, t0, t2, low),
        _shuffle(e, 4, t1, t3, low),
        _shuffle(e, 4, t0, t2, high),
        _shuffle(e, 4, t1, t3, high),
    ]


def _join(e: Emitter, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else _shuffle(e, 4, parts[0], parts[1], range(8))


def _shuffle(e: Emitter, lanes: int, a: str, b: str, picks: Sequence[int] | range) -> str:
    t = f"<{lanes} x double>"
    return e.emit(f"shufflevector {t} {a}, {t} {b}, {_mask(picks)}")


def _mask(picks: Sequence[int] | range) -> str:
    return f"<{len(picks)} x i32> <{', '.join(f'i32 {p}' for p in picks)}>"

"""Builtin function of a kernel: generated machine code, called like a function of a C extension.

Its Python type is ``builtin_function_or_method``, hence the name. It handles float64 C-contiguous
arrays of shape (n,), and batches (N, n) that are too small for multi-threading. If there is one
result array, it also accepts ``out=``. The generated code checks the arguments, allocates the
results and runs the kernel; the overhead is some tens of nanoseconds. All other calls, and calls
with NaN or infinite inputs, go to the kernel's Python method. This method converts and broadcasts
the arguments, and raises errors.

Several results of the same shape may be *stacked*: they are one array with the results along its
first axis. This array is stored in the only slot of an object, whose properties return the single
results. Stacking needs one allocation instead of several.

The code reads the headers of Python and NumPy objects, as compiled extensions do. The offsets in
these headers, and a check of the offsets, are in `brazo.internals.cpython`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from brazo.internals.cpython import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    DIMS,
    DOUBLE,
    FLAGS,
    ITEMS,
    NDIM,
    SIZE,
    SLOT,
    TABLE,
    TYPE,
    WRITEABLE,
)

__all__ = ["EntryText", "entry_function"]


def entry_function(
    name: str,
    in_sizes: Sequence[int],
    out_shapes: Sequence[tuple[int, ...]],
    finite: bool,
    row_limit: int,
    stacked: bool = False,
) -> str:
    """Return the LLVM IR of ``PyObject *name_call(self, args, nargs, kwnames)``.

    A single call runs ``name_one``, a batch of fewer than ``row_limit`` rows runs ``name_many``. If
    ``finite``, calls for which these functions return NaN (see :mod:`llvm`) go to the Python
    method. If ``stacked``, all results are in one array, which is returned in a result object.
    """
    return _KernelEntry(name, in_sizes, out_shapes, finite, row_limit, stacked).text()


class EntryText:
    """Writer of the LLVM IR of a builtin function (see the module docstring).

    Every failed check branches to the label ``slow``, which calls the Python method.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, line: str) -> None:
        self.lines.append(line)

    def field(self, name: str, base: str, offset: int, kind: str = "ptr") -> None:
        self.put(f"  {name}.at = getelementptr i8, ptr {base}, i64 {offset}")
        self.put(f"  {name} = load {kind}, ptr {name}.at")

    def require(self, condition: str, label: str) -> None:
        self.put(f"  %{label}.ok = {condition}")
        self.put(f"  br i1 %{label}.ok, label %{label}, label %slow")
        self.put(f"{label}:")

    def check_array(self, key: str, flags: int) -> None:
        """Emit the check that argument ``key`` is a float64 ndarray with the given NumPy flags.

        Subclasses of ndarray fail the check.
        """
        base = f"%{key}"
        self.field(f"{base}.type", base, TYPE)
        self.require(f"icmp eq ptr {base}.type, %array_type", f"{key}.is_array")
        self.field(f"{base}.descr", base, DESCR)
        self.require(f"icmp eq ptr {base}.descr, %float64", f"{key}.is_float")
        self.field(f"{base}.flags", base, FLAGS, "i32")
        self.put(f"  {base}.masked = and i32 {base}.flags, {flags}")
        self.require(f"icmp eq i32 {base}.masked, {flags}", f"{key}.is_plain")
        self.field(f"{base}.ndim", base, NDIM, "i32")
        self.field(f"{base}.dims", base, DIMS)

    def check_shape(self, base: str, dims: Sequence[str]) -> None:
        self.require(f"icmp eq i32 {base}.ndim, {len(dims)}", f"{base[1:]}.has_rank")
        for i, size in enumerate(dims):
            self.field(f"{base}.dim{i}", f"{base}.dims", 8 * i, "i64")
            self.require(f"icmp eq i64 {base}.dim{i}, {size}", f"{base[1:]}.has_dim{i}")

    def begin(self, name: str, more: Sequence[str] = ()) -> None:
        """Write the function head, and load each entry of the address table into a named value.

        ``more`` are the names of the entries after those in `TABLE`.
        """
        self.put(f"define ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %kw) #0 {{")
        self.put("entry:")
        self.field("%table_array", "%self", ITEMS)
        self.field("%table", "%table_array", DATA)
        for i, key in enumerate((*TABLE, *more)):
            self.field(f"%{key}", "%table", 8 * i)

    def end(self) -> str:
        """Write the end of the function, which calls the fallback at ``slow``; return the IR."""
        self.put("slow:")
        self.put(
            "  %slow_result = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kw)"
        )
        self.put("  ret ptr %slow_result")
        self.put("}")
        return "\n".join(self.lines)

    def new_array(self, result: str, shape: str, rank: int) -> None:
        """Emit the allocation of a float64 array; ``result.none`` is true if it failed."""
        arguments = f"ptr %array_type, i32 {rank}, ptr {shape}, i32 {DOUBLE}"
        defaults = "ptr null, ptr null, i32 0, i32 0, ptr null"
        self.put(f"  {result} = call ptr %array_new({arguments}, {defaults})")
        self.put(f"  {result}.none = icmp eq ptr {result}, null")


class _KernelEntry(EntryText):
    """Writer of ``name_call`` for single calls and batches, into new arrays or into ``out``."""

    def __init__(
        self,
        name: str,
        in_sizes: Sequence[int],
        out_shapes: Sequence[tuple[int, ...]],
        finite: bool,
        row_limit: int,
        stacked: bool,
    ):
        super().__init__()
        self.name, self.in_sizes, self.finite = name, in_sizes, finite
        self.row_limit, self.stacked = row_limit, stacked
        # Shapes of the result arrays; for a batch the number of rows is written at run time.
        self.out_shapes, self.parts, self.lead = out_shapes, [1] * len(out_shapes), 0
        if stacked:
            self.out_shapes, self.parts, self.lead = out_shapes[:1], [len(out_shapes)], 1

    def text(self) -> str:
        ins = range(len(self.in_sizes))
        self.begin(f"{self.name}_call")
        for i, shape in enumerate(self.out_shapes):
            self.put(f"  %shape{i} = alloca [{1 + self.lead + len(shape)} x i64]")
        self.require(f"icmp eq i64 %nargs, {len(self.in_sizes)}", "counted")
        for i in ins:
            self.field(f"%a{i}", "%args", 8 * i)
            self.check_array(f"a{i}", CONTIGUOUS_ALIGNED)
            self.check_vector(f"%a{i}", self.in_sizes[i], f"a{i}.is_vector")
        self.put("  %no_keywords = icmp eq ptr %kw, null")
        batch = "%a0.is_batch"
        for i in ins[1:]:
            self.put(f"  %batch{i} = or i1 {batch}, %a{i}.is_batch")
            batch = f"%batch{i}"
        self.put(f"  br i1 {batch}, label %many, label %one")

        self.put("one:")
        self.put("  br i1 %no_keywords, label %one_new, label %one_out")
        self.into_out("one_out", None)
        self.into_new("one_new", None)

        self.put("many:")
        rows = "%a0.rows"
        for i in ins[1:]:
            self.put(f"  %fewer{i} = icmp ult i64 {rows}, %a{i}.rows")
            self.put(f"  %rows{i} = select i1 %fewer{i}, i64 %a{i}.rows, i64 {rows}")
            rows = f"%rows{i}"
        self.require(f"icmp ult i64 {rows}, {self.row_limit}", "few_rows")
        for i in ins:
            self.put(f"  %a{i}.same = icmp eq i64 %a{i}.rows, {rows}")
            self.put(f"  %a{i}.shared = xor i1 %a{i}.is_batch, true")
            self.require(f"or i1 %a{i}.same, %a{i}.shared", f"a{i}.has_rows")
            self.put(f"  %a{i}.step = select i1 %a{i}.is_batch, i64 {self.in_sizes[i]}, i64 0")
        self.put("  br i1 %no_keywords, label %many_new, label %many_out")
        self.into_out("many_out", rows)
        self.into_new("many_new", rows)

        return self.end()

    def into_out(self, label: str, rows: str | None) -> None:
        """Write the block for calls with ``out=``.

        If there are several result arrays, the block only branches to ``slow``.
        """
        self.put(f"{label}:")
        if len(self.out_shapes) > 1:
            self.put("  br label %slow")
            return
        given = f"%{label}.given"
        self.field(f"%{label}.count", "%kw", SIZE, "i64")
        self.require(f"icmp eq i64 %{label}.count, 1", f"{label}.alone")
        self.field(f"%{label}.word", "%kw", ITEMS)
        self.require(f"icmp eq ptr %{label}.word, %out", f"{label}.named")
        self.field(given, "%args", 8 * len(self.in_sizes))
        self.check_array(given[1:], CONTIGUOUS_ALIGNED | WRITEABLE)
        self.check_shape(given, self.dims(0, rows))
        if rows is not None:
            self.check_apart(given, rows)
        self.run([given], rows, f"{label}.ran", "slow")
        self.put(f"  call void %incref(ptr {given})")
        if self.stacked:
            self.hold(label, given)
        else:
            self.put(f"  ret ptr {given}")

    def into_new(self, label: str, rows: str | None) -> None:
        """Write the block for calls that allocate their results."""
        self.put(f"{label}:")
        results = [f"%{label}.r{i}" for i in range(len(self.out_shapes))]
        for i in range(len(self.out_shapes)):
            dims = self.dims(i, rows)
            for j, size in enumerate(dims):
                at = f"%{label}.dim{i}.{j}"
                self.put(f"  {at} = getelementptr i64, ptr %shape{i}, i64 {j}")
                self.put(f"  store i64 {size}, ptr {at}")
            self.new_array(results[i], f"%shape{i}", len(dims))
            undo, made = f"{label}.undo{i}", f"{label}.made{i}"
            self.put(f"  br i1 {results[i]}.none, label %{undo}, label %{made}")
            self.put(f"{made}:")
        self.run(results, rows, f"{label}.ran", f"{label}.drop")
        if self.stacked:
            self.hold(label, results[0])
        elif len(results) == 1:
            self.put(f"  ret ptr {results[0]}")
        else:
            self.pack(label, results)
        self.drops(label, results)

    def dims(self, i: int, rows: str | None) -> list[str]:
        """Return the dimensions of result array i.

        ``rows`` is the name of the value with the number of rows, or None for a single call.
        """
        lead = [str(self.parts[i])] if self.stacked else []
        return [*lead, *(() if rows is None else (rows,)), *map(str, self.out_shapes[i])]

    def hold(self, label: str, array: str) -> None:
        """Emit the return of a new result object, which takes over the reference to ``array``."""
        held = f"%{label}.held"
        self.put(f"  {held} = call ptr %object_new(ptr %result_type, i64 0)")
        self.put(f"  {held}.none = icmp eq ptr {held}, null")
        self.put(f"  br i1 {held}.none, label %{label}.unheld, label %{label}.holds")
        self.put(f"{label}.unheld:")
        self.put(f"  call void %decref(ptr {array})")
        self.put("  ret ptr null")
        self.put(f"{label}.holds:")
        self.put(f"  {held}.slot = getelementptr i8, ptr {held}, i64 {SLOT}")
        self.put(f"  store ptr {array}, ptr {held}.slot")
        self.put(f"  ret ptr {held}")

    def pack(self, label: str, results: list[str]) -> None:
        pack = f"%{label}.pack"
        self.put(f"  {pack} = call ptr %tuple_new(i64 {len(results)})")
        self.put(f"  {pack}.none = icmp eq ptr {pack}, null")
        self.put(f"  br i1 {pack}.none, label %{label}.unpacked, label %{label}.fill")
        self.put(f"{label}.unpacked:")
        self.put(f"  call void %decref(ptr {results[-1]})")
        self.put(f"  br label %{label}.undo{len(results) - 1}")
        self.put(f"{label}.fill:")
        for i, r in enumerate(results):
            self.put(f"  {pack}.slot{i} = getelementptr i8, ptr {pack}, i64 {ITEMS + 8 * i}")
            self.put(f"  store ptr {r}, ptr {pack}.slot{i}")
        self.put(f"  ret ptr {pack}")

    def drops(self, label: str, results: list[str]) -> None:
        """Write the blocks that release result arrays.

        ``drop`` is reached if the kernel returns NaN. It releases all results and continues at
        ``slow``, which calls the Python method; the method checks the values and raises the error.
        ``undo_i`` is reached if the allocation of result i failed. It releases the results before i
        and returns NULL.
        """
        self.put(f"{label}.drop:")
        for r in results:
            self.put(f"  call void %decref(ptr {r})")
        self.put("  br label %slow")
        for i in reversed(range(len(results))):
            self.put(f"{label}.undo{i}:")
            if i > 0:
                self.put(f"  call void %decref(ptr {results[i - 1]})")
                self.put(f"  br label %{label}.undo{i - 1}")
        self.put("  ret ptr null")

    def check_vector(self, base: str, size: int, label: str) -> None:
        """Emit the check for shape (size,) or (rows, size); define ``is_batch`` and ``rows``."""
        self.put(f"  {base}.less = sub i32 {base}.ndim, 1")
        self.require(f"icmp ult i32 {base}.less, 2", f"{label}.rank")
        self.put(f"  {base}.is_batch = icmp eq i32 {base}.less, 1")
        self.put(f"  {base}.last = zext i32 {base}.less to i64")
        self.put(f"  {base}.size.at = getelementptr i64, ptr {base}.dims, i64 {base}.last")
        self.put(f"  {base}.size = load i64, ptr {base}.size.at")
        self.require(f"icmp eq i64 {base}.size, {size}", label)
        self.put(f"  {base}.first = load i64, ptr {base}.dims")
        self.put(f"  {base}.rows = select i1 {base}.is_batch, i64 {base}.first, i64 0")

    def check_apart(self, given: str, rows: str) -> None:
        """Emit the check that ``out``, the array named ``given``, does not overlap any input.

        With an overlap, writing one row of results could change input rows that are read later.
        """
        out_bytes = 8 * self.parts[0] * math.prod(self.out_shapes[0])
        self.extent(given, rows, str(out_bytes))
        for i, size in enumerate(self.in_sizes):
            array, key = f"%a{i}", f"{given[1:]}.a{i}"
            self.put(f"  %{key}.count = select i1 {array}.is_batch, i64 {rows}, i64 1")
            self.extent(array, f"%{key}.count", str(8 * size))
            self.put(f"  %{key}.below = icmp ule ptr {array}.end, {given}.begin")
            self.put(f"  %{key}.above = icmp ule ptr {given}.end, {array}.begin")
            self.require(f"or i1 %{key}.below, %{key}.above", f"{key}.apart")

    def extent(self, array: str, rows: str, row_bytes: str) -> None:
        self.field(f"{array}.begin", array, DATA)
        self.put(f"  {array}.bytes = mul i64 {rows}, {row_bytes}")
        self.put(f"  {array}.end = getelementptr i8, ptr {array}.begin, i64 {array}.bytes")

    def run(self, results: list[str], rows: str | None, label: str, on_nan: str) -> None:
        """Emit the kernel call; continue at ``label``.

        If ``finite`` and the kernel returns NaN (see :mod:`llvm`), continue at ``on_nan``.
        """
        arguments = []
        for i, array in enumerate([*(f"%a{i}" for i in range(len(self.in_sizes))), *results]):
            pointer = f"%{label}.data{i}"
            self.field(pointer, array, DATA)
            arguments.append(f"ptr {pointer}")
            if rows is not None and i < len(self.in_sizes):
                arguments.append(f"i64 {array}.step")
        if self.stacked:  # the second and further results, in the same array
            part, size = f"%{label}.part", 8 * math.prod(self.out_shapes[0])
            self.put(f"  {part} = mul i64 {1 if rows is None else rows}, {size}")
            for k in range(1, self.parts[0]):
                before = arguments[-1].removeprefix("ptr ")
                self.put(f"  {part}{k} = getelementptr i8, ptr {before}, i64 {part}")
                arguments.append(f"ptr {part}{k}")
        function = f"{self.name}_one"
        if rows is not None:
            function = f"{self.name}_many"
            arguments.insert(0, f"i64 {rows}")
        self.put(f"  %{label}.flag = call double @{function}({', '.join(arguments)})")
        wanted = "ord" if self.finite else "true"
        self.put(f"  %{label}.fine = fcmp {wanted} double %{label}.flag, 0.0")
        self.put(f"  br i1 %{label}.fine, label %{label}, label %{on_nan}")
        self.put(f"{label}:")

"""A builtin function compiled with each kernel: what C extensions have, without shipping one.

For the common calls (float64, C-contiguous arrays of shape (n,), or batches (N, n) too small for
threads, optionally ``out=`` for a single output) the generated code checks the arguments, makes the
results and runs the kernel in some tens of nanoseconds. Any other call, an error or a NaN goes to
the kernel's Python method, which converts, broadcasts and explains.

The code reads the heads of Python and NumPy objects, as compiled extensions do. The offsets below
hold for 64-bit CPython with a global lock and NumPy 2; they are checked against live objects once
per process, and where they do not hold there is simply no builtin and the Python method serves
every call.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MethodType
from typing import Any

import numpy as np

__all__ = ["available", "bound_as", "entry_function", "make_builtin"]

# struct PyArrayObject: head, data, nd, dimensions, strides, base, descr, flags
_TYPE, _DATA, _NDIM, _DIMS, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_SIZE = 16  # of a tuple
_ITEMS = tuple.__basicsize__  # where a tuple's items begin
_CONTIGUOUS_ALIGNED, _WRITEABLE = 0x0001 | 0x0100, 0x0400
_DOUBLE = 12  # NPY_DOUBLE
_PYARRAY_NEW = 93  # index in NumPy's table of C functions
_FASTCALL_KEYWORDS = 0x0080 | 0x0002

# What generated code finds in the table behind its self argument.
_TABLE = (
    "fallback",
    "array_type",
    "float64",
    "out",
    "vectorcall",
    "array_new",
    "tuple_new",
    "incref",
    "decref",
)


def entry_function(
    name: str,
    in_sizes: Sequence[int],
    out_shapes: Sequence[tuple[int, ...]],
    finite: bool,
    row_limit: int,
) -> str:
    """IR of ``PyObject *name_call(self, args, nargs, kwnames)`` around ``name_one`` and, for
    batches of fewer than ``row_limit`` rows, ``name_many``."""
    return _EntryText(name, in_sizes, out_shapes, finite, row_limit).text()


def make_builtin(
    address: int,
    name: str,
    fallback: Callable[..., Any],
    keep: object,
    doc: str | None = None,
) -> Callable[..., Any]:
    """The Python builtin for a compiled ``name_call``; ``keep`` lives as long as it does.

    ``doc`` may begin with ``name(arguments)``, a line ``--`` and an empty line: the signature.
    """
    objects = _objects()
    table = np.array([id(fallback), *(objects[key] for key in _TABLE[1:])], dtype=np.uint64)
    text = None if doc is None else doc.encode()
    definition = _MethodDef(name.encode(), address, _FASTCALL_KEYWORDS, text)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.py_object),
    )
    context = CompiledCall((table, fallback, keep, definition))
    return new(ctypes.addressof(definition), context, getattr(fallback, "__module__", None))


def bound_as(function: Callable[..., Any], method: MethodType, doc: str) -> Callable[..., Any]:
    """A builtin of this module under a method's name, with the method taking all other calls;
    the method itself where ``function`` is no such builtin."""
    context = getattr(function, "__self__", None)
    if type(context) is not CompiledCall:
        return method
    _, _, keep, definition = context
    return make_builtin(definition.ml_meth, method.__name__, method, keep, doc)


class CompiledCall(tuple):
    """The self argument of a builtin: table, fallback, what must live as long, definition.

    To the outside it is the object whose method the fallback is: `help` names that object's class,
    and pickle, which stores a builtin as ``getattr(self, name)``, stores that object.
    """

    __slots__ = ()

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        owner = getattr(self[1], "__self__", None)
        return CompiledCall if owner is None else type(owner)

    def __reduce__(self) -> tuple:
        return _itself, (self[1].__self__,)


def _itself(owner: Any) -> Any:
    return owner


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether the object layouts this module relies on hold in this interpreter."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return False
    sample = np.arange(6.0).reshape(2, 3)
    at = id(sample)
    flags = _CONTIGUOUS_ALIGNED | _WRITEABLE
    marker = CompiledCall((sample, sample))
    return (
        _word(at + _TYPE) == id(np.ndarray)
        and _word(at + _DATA) == sample.__array_interface__["data"][0]
        and _word(at + _NDIM) & 0xFFFFFFFF == 2
        and (_word(_word(at + _DIMS)), _word(_word(at + _DIMS) + 8)) == (2, 3)
        and _word(at + _DESCR) == id(np.dtype(np.float64))
        and _word(at + _FLAGS) & flags == flags
        and _word(id(sample[:, ::2]) + _FLAGS) & 1 == 0
        and _word(id(marker) + _SIZE) == 2
        and _word(id(marker) + _ITEMS) == id(sample)
    )


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    )


class _EntryText:
    """Writes the entry; every check that fails branches to ``slow``.

    The calls come in four kinds: one set of vectors or a batch, into new arrays or into ``out``.
    """

    def __init__(
        self,
        name: str,
        in_sizes: Sequence[int],
        out_shapes: Sequence[tuple[int, ...]],
        finite: bool,
        row_limit: int,
    ):
        self.name, self.in_sizes, self.out_shapes, self.finite = name, in_sizes, out_shapes, finite
        self.row_limit = row_limit
        self.lines: list[str] = []

    def text(self) -> str:
        ins = range(len(self.in_sizes))
        self.put(f"define ptr @{self.name}_call(ptr %self, ptr %args, i64 %nargs, ptr %kw) #0 {{")
        self.put("entry:")
        for i, shape in enumerate(self.out_shapes):
            self.put(f"  %shape{i} = alloca [{1 + len(shape)} x i64]")
        self.field("%table_array", "%self", _ITEMS)
        self.field("%table", "%table_array", _DATA)
        for i, key in enumerate(_TABLE):
            self.field(f"%{key}", "%table", 8 * i)
        self.require(f"icmp eq i64 %nargs, {len(self.in_sizes)}", "counted")
        for i in ins:
            self.field(f"%a{i}", "%args", 8 * i)
            self.check_array(f"a{i}", _CONTIGUOUS_ALIGNED)
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

        self.put("slow:")
        self.put(
            "  %slow_result = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kw)"
        )
        self.put("  ret ptr %slow_result")
        self.put("}")
        return "\n".join(self.lines)

    def into_out(self, label: str, rows: str | None) -> None:
        """A block for calls with ``out=``, for one output only."""
        self.put(f"{label}:")
        if len(self.out_shapes) > 1:
            self.put("  br label %slow")
            return
        given = f"%{label}.given"
        self.field(f"%{label}.count", "%kw", _SIZE, "i64")
        self.require(f"icmp eq i64 %{label}.count, 1", f"{label}.alone")
        self.field(f"%{label}.word", "%kw", _ITEMS)
        self.require(f"icmp eq ptr %{label}.word, %out", f"{label}.named")
        self.field(given, "%args", 8 * len(self.in_sizes))
        self.check_array(given[1:], _CONTIGUOUS_ALIGNED | _WRITEABLE)
        dims = [str(d) for d in self.out_shapes[0]]
        self.check_shape(given, dims if rows is None else [rows, *dims])
        if rows is not None:
            self.check_apart(given, rows)
        self.run([given], rows, f"{label}.ran", "slow")
        self.put(f"  call void %incref(ptr {given})")
        self.put(f"  ret ptr {given}")

    def into_new(self, label: str, rows: str | None) -> None:
        """A block for calls that make their results."""
        self.put(f"{label}:")
        results = [f"%{label}.r{i}" for i in range(len(self.out_shapes))]
        for i, shape in enumerate(self.out_shapes):
            dims = [*(() if rows is None else (rows,)), *map(str, shape)]
            for j, size in enumerate(dims):
                at = f"%{label}.dim{i}.{j}"
                self.put(f"  {at} = getelementptr i64, ptr %shape{i}, i64 {j}")
                self.put(f"  store i64 {size}, ptr {at}")
            arguments = f"ptr %array_type, i32 {len(dims)}, ptr %shape{i}, i32 {_DOUBLE}"
            defaults = "ptr null, ptr null, i32 0, i32 0, ptr null"
            self.put(f"  {results[i]} = call ptr %array_new({arguments}, {defaults})")
            self.put(f"  {results[i]}.none = icmp eq ptr {results[i]}, null")
            undo, made = f"{label}.undo{i}", f"{label}.made{i}"
            self.put(f"  br i1 {results[i]}.none, label %{undo}, label %{made}")
            self.put(f"{made}:")
        self.run(results, rows, f"{label}.ran", f"{label}.drop")
        if len(results) == 1:
            self.put(f"  ret ptr {results[0]}")
        else:
            self.pack(label, results)
        self.drops(label, results)

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
            self.put(f"  {pack}.slot{i} = getelementptr i8, ptr {pack}, i64 {_ITEMS + 8 * i}")
            self.put(f"  store ptr {r}, ptr {pack}.slot{i}")
        self.put(f"  ret ptr {pack}")

    def drops(self, label: str, results: list[str]) -> None:
        """Give back what was made: ``drop`` all and take the slow way, which complains of the NaN;
        ``undo_i`` all before result i, for which there was no memory, and raise that."""
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
        """An exact ndarray of doubles with the given flags."""
        base = f"%{key}"
        self.field(f"{base}.type", base, _TYPE)
        self.require(f"icmp eq ptr {base}.type, %array_type", f"{key}.is_array")
        self.field(f"{base}.descr", base, _DESCR)
        self.require(f"icmp eq ptr {base}.descr, %float64", f"{key}.is_float")
        self.field(f"{base}.flags", base, _FLAGS, "i32")
        self.put(f"  {base}.masked = and i32 {base}.flags, {flags}")
        self.require(f"icmp eq i32 {base}.masked, {flags}", f"{key}.is_plain")
        self.field(f"{base}.ndim", base, _NDIM, "i32")
        self.field(f"{base}.dims", base, _DIMS)

    def check_vector(self, base: str, size: int, label: str) -> None:
        """Shape (size,) or (rows, size); says which in ``is_batch`` and ``rows`` (0 for one)."""
        self.put(f"  {base}.less = sub i32 {base}.ndim, 1")
        self.require(f"icmp ult i32 {base}.less, 2", f"{label}.rank")
        self.put(f"  {base}.is_batch = icmp eq i32 {base}.less, 1")
        self.put(f"  {base}.last = zext i32 {base}.less to i64")
        self.put(f"  {base}.size.at = getelementptr i64, ptr {base}.dims, i64 {base}.last")
        self.put(f"  {base}.size = load i64, ptr {base}.size.at")
        self.require(f"icmp eq i64 {base}.size, {size}", label)
        self.put(f"  {base}.first = load i64, ptr {base}.dims")
        self.put(f"  {base}.rows = select i1 {base}.is_batch, i64 {base}.first, i64 0")

    def check_shape(self, base: str, dims: Sequence[str]) -> None:
        self.require(f"icmp eq i32 {base}.ndim, {len(dims)}", f"{base[1:]}.has_rank")
        for i, size in enumerate(dims):
            self.field(f"{base}.dim{i}", f"{base}.dims", 8 * i, "i64")
            self.require(f"icmp eq i64 {base}.dim{i}, {size}", f"{base[1:]}.has_dim{i}")

    def check_apart(self, given: str, rows: str) -> None:
        """Rows are written while others are still to be read, so ``out`` must be no input."""
        out_bytes = 8 * math.prod(self.out_shapes[0])
        self.extent(given, rows, str(out_bytes))
        for i, size in enumerate(self.in_sizes):
            array, key = f"%a{i}", f"{given[1:]}.a{i}"
            self.put(f"  %{key}.count = select i1 {array}.is_batch, i64 {rows}, i64 1")
            self.extent(array, f"%{key}.count", str(8 * size))
            self.put(f"  %{key}.below = icmp ule ptr {array}.end, {given}.begin")
            self.put(f"  %{key}.above = icmp ule ptr {given}.end, {array}.begin")
            self.require(f"or i1 %{key}.below, %{key}.above", f"{key}.apart")

    def extent(self, array: str, rows: str, row_bytes: str) -> None:
        self.field(f"{array}.begin", array, _DATA)
        self.put(f"  {array}.bytes = mul i64 {rows}, {row_bytes}")
        self.put(f"  {array}.end = getelementptr i8, ptr {array}.begin, i64 {array}.bytes")

    def run(self, results: list[str], rows: str | None, label: str, on_nan: str) -> None:
        """Call the kernel on the checked arrays; continue at a label unless an input was NaN."""
        arguments = []
        for i, array in enumerate([*(f"%a{i}" for i in range(len(self.in_sizes))), *results]):
            pointer = f"%{label}.data{i}"
            self.field(pointer, array, _DATA)
            arguments.append(f"ptr {pointer}")
            if rows is not None and i < len(self.in_sizes):
                arguments.append(f"i64 {array}.step")
        function = f"{self.name}_one"
        if rows is not None:
            function = f"{self.name}_many"
            arguments.insert(0, f"i64 {rows}")
        self.put(f"  %{label}.flag = call double @{function}({', '.join(arguments)})")
        wanted = "ord" if self.finite else "true"
        self.put(f"  %{label}.fine = fcmp {wanted} double %{label}.flag, 0.0")
        self.put(f"  br i1 %{label}.fine, label %{label}, label %{on_nan}")
        self.put(f"{label}:")


@lru_cache(maxsize=1)
def _objects() -> dict[str, int]:
    api = ctypes.pythonapi
    get = api.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    numpy_table = get(_numpy_capsule(), None)
    objects = {
        "array_type": id(np.ndarray),
        "float64": id(np.dtype(np.float64)),
        "out": id(sys.intern("out")),
        "array_new": _word(numpy_table + 8 * _PYARRAY_NEW),
    }
    functions = {
        "vectorcall": api.PyObject_Vectorcall,
        "tuple_new": api.PyTuple_New,
        "incref": api.Py_IncRef,
        "decref": api.Py_DecRef,
    }
    for key, function in functions.items():
        objects[key] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return objects


def _numpy_capsule() -> Any:
    """NumPy's table of C functions, where extensions find it."""
    return importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value

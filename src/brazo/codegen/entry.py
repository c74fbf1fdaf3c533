"""A builtin function compiled with each kernel: what C extensions have, without shipping one.

For the common call (float64, C-contiguous, one-dimensional arrays of the right size, optionally
``out=`` for a single output) the generated code checks the arguments, makes the results and runs
the kernel in some tens of nanoseconds. Any other call, an error or a NaN goes to the kernel's
Python method, which converts, broadcasts and explains.

The code reads the heads of Python and NumPy objects, as compiled extensions do. The offsets below
hold for 64-bit CPython with a global lock and NumPy 2; they are checked against live objects once
per process, and where they do not hold there is simply no builtin and the Python method serves
every call.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["available", "entry_function", "make_builtin"]

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
    name: str, in_sizes: Sequence[int], out_shapes: Sequence[tuple[int, ...]], finite: bool
) -> str:
    """IR of ``PyObject *name_call(self, args, nargs, kwnames)`` around ``name_one``."""
    return _EntryText(name, in_sizes, out_shapes, finite).text()


def make_builtin(
    address: int, name: str, fallback: Callable[..., Any], keep: object
) -> Callable[..., Any]:
    """The Python builtin for a compiled ``name_call``; ``keep`` lives as long as it does."""
    objects = _objects()
    table = np.array([id(fallback), *(objects[key] for key in _TABLE[1:])], dtype=np.uint64)
    definition = _MethodDef(name.encode(), address, _FASTCALL_KEYWORDS, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p),
    )
    return new(ctypes.addressof(definition), (table, fallback, keep, definition), None)


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
    marker = (sample, sample)
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
    """Writes the entry; every check that fails branches to ``slow``."""

    def __init__(
        self,
        name: str,
        in_sizes: Sequence[int],
        out_shapes: Sequence[tuple[int, ...]],
        finite: bool,
    ):
        self.name, self.in_sizes, self.out_shapes, self.finite = name, in_sizes, out_shapes, finite
        self.lines: list[str] = []

    def text(self) -> str:
        n_in, n_out = len(self.in_sizes), len(self.out_shapes)
        constants = [
            f"@{self.name}_shape{i} = private constant [{len(s)} x i64] "
            f"[{', '.join(f'i64 {d}' for d in s)}]"
            for i, s in enumerate(self.out_shapes)
        ]
        self.put(f"define ptr @{self.name}_call(ptr %self, ptr %args, i64 %nargs, ptr %kw) #0 {{")
        self.put("entry:")
        self.field("%table_array", "%self", _ITEMS)
        self.field("%table", "%table_array", _DATA)
        for i, key in enumerate(_TABLE):
            self.field(f"%{key}", "%table", 8 * i)
        self.require(f"icmp eq i64 %nargs, {n_in}", "counted")
        for i, size in enumerate(self.in_sizes):
            self.field(f"%a{i}", "%args", 8 * i)
            self.check_array(f"a{i}", (size,), _CONTIGUOUS_ALIGNED)
        self.put("  %no_keywords = icmp eq ptr %kw, null")
        self.put("  br i1 %no_keywords, label %allocate, label %keywords")

        self.put("keywords:")
        if n_out == 1:
            self.field("%kw_count", "%kw", _SIZE, "i64")
            self.require("icmp eq i64 %kw_count, 1", "one_keyword")
            self.field("%kw_name", "%kw", _ITEMS)
            self.require("icmp eq ptr %kw_name, %out", "named_out")
            self.field("%given", "%args", 8 * n_in)
            self.check_array("given", self.out_shapes[0], _CONTIGUOUS_ALIGNED | _WRITEABLE)
            self.run(["%given"], "into_given", "slow")
            self.put("  call void %incref(ptr %given)")
            self.put("  ret ptr %given")
        else:
            self.put("  br label %slow")

        self.put("allocate:")
        results = [f"%r{i}" for i in range(n_out)]
        for i, shape in enumerate(self.out_shapes):
            arguments = (
                f"ptr %array_type, i32 {len(shape)}, ptr @{self.name}_shape{i}, i32 {_DOUBLE}"
            )
            defaults = "ptr null, ptr null, i32 0, i32 0, ptr null"
            self.put(f"  %r{i} = call ptr %array_new({arguments}, {defaults})")
            self.put(f"  %none{i} = icmp eq ptr %r{i}, null")
            self.put(f"  br i1 %none{i}, label %undo{i}, label %made{i}")
            self.put(f"made{i}:")
        self.run(results, "into_new", "drop")
        if n_out == 1:
            self.put("  ret ptr %r0")
        else:
            self.put(f"  %pack = call ptr %tuple_new(i64 {n_out})")
            self.put("  %no_pack = icmp eq ptr %pack, null")
            self.put("  br i1 %no_pack, label %unpacked, label %fill")
            self.put("unpacked:")
            self.put(f"  call void %decref(ptr {results[-1]})")
            self.put(f"  br label %undo{n_out - 1}")
            self.put("fill:")
            for i, r in enumerate(results):
                self.put(f"  %slot{i} = getelementptr i8, ptr %pack, i64 {_ITEMS + 8 * i}")
                self.put(f"  store ptr {r}, ptr %slot{i}")
            self.put("  ret ptr %pack")
        self.drops(results)

        self.put("slow:")
        self.put(
            "  %slow_result = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kw)"
        )
        self.put("  ret ptr %slow_result")
        self.put("}")
        return "\n".join([*constants, *self.lines])

    def put(self, line: str) -> None:
        self.lines.append(line)

    def field(self, name: str, base: str, offset: int, kind: str = "ptr") -> None:
        self.put(f"  {name}.at = getelementptr i8, ptr {base}, i64 {offset}")
        self.put(f"  {name} = load {kind}, ptr {name}.at")

    def require(self, condition: str, label: str) -> None:
        self.put(f"  %{label}.ok = {condition}")
        self.put(f"  br i1 %{label}.ok, label %{label}, label %slow")
        self.put(f"{label}:")

    def check_array(self, key: str, shape: tuple[int, ...], flags: int) -> None:
        base = f"%{key}"
        self.field(f"{base}.type", base, _TYPE)
        self.require(f"icmp eq ptr {base}.type, %array_type", f"{key}.is_array")
        self.field(f"{base}.descr", base, _DESCR)
        self.require(f"icmp eq ptr {base}.descr, %float64", f"{key}.is_float")
        self.field(f"{base}.flags", base, _FLAGS, "i32")
        self.put(f"  {base}.masked = and i32 {base}.flags, {flags}")
        self.require(f"icmp eq i32 {base}.masked, {flags}", f"{key}.is_plain")
        self.field(f"{base}.ndim", base, _NDIM, "i32")
        self.require(f"icmp eq i32 {base}.ndim, {len(shape)}", f"{key}.has_rank")
        self.field(f"{base}.dims", base, _DIMS)
        for i, size in enumerate(shape):
            self.field(f"{base}.dim{i}", f"{base}.dims", 8 * i, "i64")
            self.require(f"icmp eq i64 {base}.dim{i}, {size}", f"{key}.has_dim{i}")

    def run(self, results: list[str], label: str, on_nan: str) -> None:
        """Call the kernel on the checked arrays; continue at a label unless an input was NaN."""
        arguments = []
        for array in [*(f"%a{i}" for i in range(len(self.in_sizes))), *results]:
            pointer = f"%{label}{array.replace('%', '.')}"
            self.field(pointer, array, _DATA)
            arguments.append(f"ptr {pointer}")
        self.put(f"  %{label}.flag = call double @{self.name}_one({', '.join(arguments)})")
        wanted = "ord" if self.finite else "true"
        self.put(f"  %{label}.fine = fcmp {wanted} double %{label}.flag, 0.0")
        self.put(f"  br i1 %{label}.fine, label %{label}, label %{on_nan}")
        self.put(f"{label}:")

    def drops(self, results: list[str]) -> None:
        """Give back what was made: ``drop`` all and take the slow way, which complains of the NaN;
        ``undo_i`` all before result i, for which there was no memory, and raise that."""
        self.put("drop:")
        for r in results:
            self.put(f"  call void %decref(ptr {r})")
        self.put("  br label %slow")
        for i in reversed(range(len(results))):
            self.put(f"undo{i}:")
            if i > 0:
                self.put(f"  call void %decref(ptr {results[i - 1]})")
                self.put(f"  br label %undo{i - 1}")
        self.put("  ret ptr null")


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

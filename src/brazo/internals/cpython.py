"""Memory layout of CPython and NumPy objects, and function objects that call compiled code.

In this module a *builtin* is a function object of type `builtin_function_or_method`, made from
compiled code at run time.

The offsets are valid for 64-bit CPython with a global interpreter lock and NumPy 2.  They are
compared with live objects once per process (`unusable`).  If they are not valid,
`brazo.codegen.call_route` chooses ctypes: the same machine code and the same results, some
microseconds slower per call.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from types import MethodType
from typing import Any

import numpy as np

from brazo.internals import Checked

CHECKED = (Checked("python", "3.11", "3.11"), Checked("numpy", "2.4.6", "2.4.6"))

# struct PyArrayObject: head, data, nd, dimensions, strides, base, descr, flags
TYPE, DATA, NDIM, DIMS, BASE, DESCR, FLAGS = 8, 16, 24, 32, 48, 56, 64
SIZE = 16  # of a tuple
ITEMS = tuple.__basicsize__  # where a tuple's items begin
SLOT = object.__basicsize__  # of an object whose class has one slot and no dict
CONTIGUOUS_ALIGNED, WRITEABLE = 0x0001 | 0x0100, 0x0400
DOUBLE = 12  # NPY_DOUBLE
_NUMPY_ABI = 0x02000000  # what the first function of NumPy's table of C functions returns
_PYARRAY_NEW = 93  # index in that table
_LOWEST_ADDRESS = 0x10000  # that a pointer can have; a smaller number is none
_FASTCALL_KEYWORDS = 0x0080 | 0x0002

# What generated code finds in the table behind its self argument.
TABLE = (
    "fallback",
    "array_type",
    "float64",
    "out",
    "vectorcall",
    "array_new",
    "tuple_new",
    "incref",
    "decref",
    "object_new",
    "result_type",
)


def make_builtin(
    address: int,
    name: str,
    fallback: Callable[..., Any],
    keep: object,
    doc: str | None = None,
    result: type | None = None,
    more: tuple[Any, ...] = (),
) -> Callable[..., Any]:
    """Return a function object ``name`` that calls the compiled function at ``address``.

    The function object is a builtin (see the module docstring).  The compiled function calls
    ``fallback`` for arguments that it does not handle.  The builtin holds a reference to ``keep``,
    for example the library that contains the compiled function.  ``doc`` may begin with the
    signature: ``name(arguments)``, a line ``--`` and an empty line.  ``result`` is the class of the
    returned objects, which store the array of results in a slot; None if arrays are returned.  The
    compiled function receives a table with the entries `TABLE` and then ``more``: integers are
    stored as they are, other objects as their addresses.
    """
    objects = _objects() | {"result_type": id(result)}
    words = [id(fallback), *(objects[key] for key in TABLE[1:])]
    words += [x if isinstance(x, int) else id(x) for x in more]
    table = np.array(words, dtype=np.uint64)
    text = None if doc is None else doc.encode()
    definition = _MethodDef(name.encode(), address, _FASTCALL_KEYWORDS, text)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.py_object),
    )
    context = CompiledCall((table, fallback, keep, definition, result, more))
    return new(ctypes.addressof(definition), context, getattr(fallback, "__module__", None))


def bound_as(function: Callable[..., Any], method: MethodType, doc: str) -> Callable[..., Any]:
    """Return a copy of ``function`` with the name of ``method``, and ``method`` as its fallback.

    Returns ``method`` itself if ``function`` was not made by `make_builtin`.
    """
    context = getattr(function, "__self__", None)
    if type(context) is not CompiledCall:
        return method
    _, _, keep, definition, result, more = context
    return make_builtin(definition.ml_meth, method.__name__, method, keep, doc, result, more)


def slot_offset(kind: type, name: str) -> int:
    """Return the offset (bytes) of the slot `name` in instances of the class `kind`."""
    one, value = object.__new__(kind), object()
    setattr(one, name, value)
    places = range(SLOT, kind.__basicsize__, 8)
    return next(at for at in places if _word(id(one) + at) == id(value))


class CompiledCall(tuple):
    """Tuple that is the `__self__` of a function made by `make_builtin`, with its data.

    The items are (table, fallback, keep, definition, result, more).  The tuple imitates the object
    that owns the fallback method: its `__class__` is the class of the owner, for `help`.  Pickle
    stores a builtin as ``getattr(self, name)``; instead of the tuple, it stores the owner as self.
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
def unusable() -> str | None:
    """Return the reason why the layouts of this file are not valid here; None if they are valid."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8:
        return "not a 64-bit CPython"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this CPython has no global lock"
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return f"NumPy {np.__version__} is older than 2.0"
    if not _layouts_hold():
        return "objects of this CPython or NumPy have an unexpected layout"
    return None if _makes_arrays() else "NumPy's table of C functions has an unexpected layout"


def _layouts_hold() -> bool:
    sample = np.arange(6.0).reshape(2, 3)
    at = id(sample)
    flags = CONTIGUOUS_ALIGNED | WRITEABLE
    marker = CompiledCall((sample, sample))
    slotted = _Slotted()
    slotted.array = sample
    return (
        _word(at + TYPE) == id(np.ndarray)
        and _word(at + DATA) == sample.__array_interface__["data"][0]
        and _word(at + NDIM) & 0xFFFFFFFF == 2
        and _word(id(sample[:1]) + BASE) in (id(sample), id(sample.base))
        and _word(at + DESCR) == id(np.dtype(np.float64))
        and _word(at + FLAGS) & flags == flags
        and (dims := _word(at + DIMS)) > _LOWEST_ADDRESS
        and (_word(dims), _word(dims + 8)) == (2, 3)
        and _word(id(sample[:, ::2]) + FLAGS) & 1 == 0
        and _word(id(marker) + SIZE) == 2
        and _word(id(marker) + ITEMS) == id(sample)
        and _word(id(slotted) + SLOT) == id(sample)
    )


class _Slotted:
    """Class with the same memory layout as the results that generated code creates."""

    __slots__ = ("array",)
    array: Any


def _makes_arrays() -> bool:
    """Call `PyArray_New` by its index in NumPy's function table; return whether it makes an array.

    Return False without the call if NumPy's ABI version is not the expected one.
    """
    try:
        table = _numpy_table()
    except (ImportError, AttributeError, ValueError):
        return False
    if ctypes.PYFUNCTYPE(ctypes.c_uint)(_word(table))() != _NUMPY_ABI:
        return False
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    arguments = (pointer, integer, pointer, integer, pointer, pointer, integer, integer, pointer)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(_word(table + 8 * _PYARRAY_NEW))
    dims = (ctypes.c_int64 * 2)(2, 3)
    made = new(id(np.ndarray), 2, ctypes.addressof(dims), DOUBLE, None, None, 0, 0, None)
    return type(made) is np.ndarray and (made.shape, made.dtype) == ((2, 3), np.float64)


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    )


@lru_cache(maxsize=1)
def _objects() -> dict[str, int]:
    api = ctypes.pythonapi
    objects = {
        "array_type": id(np.ndarray),
        "float64": id(np.dtype(np.float64)),
        "out": id(sys.intern("out")),
        "array_new": _word(_numpy_table() + 8 * _PYARRAY_NEW),
    }
    functions = {
        "vectorcall": api.PyObject_Vectorcall,
        "tuple_new": api.PyTuple_New,
        "incref": api.Py_IncRef,
        "decref": api.Py_DecRef,
        "object_new": api.PyType_GenericAlloc,
    }
    for key, function in functions.items():
        objects[key] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return objects


def _numpy_table() -> int:
    """Return the address of NumPy's table of C functions, from the capsule for C extensions."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return get(importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API, None)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value

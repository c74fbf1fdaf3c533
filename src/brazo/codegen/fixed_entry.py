"""Builtin function (see :mod:`entry`) of the first input of a kernel; its other inputs are fixed.

The kernel must have one output vector, whose last element is positive if the computation succeeded.
The function takes one C-contiguous float64 array of a fixed shape. It returns an object with three
slots: the output vector, a matrix that is a view of the first elements of this vector, and the
*context*, an object that is the same for all calls (for inverse kinematics: the solver and the
reference configuration). If the arguments are different, or if the computation fails, a Python
function is called instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from brazo.codegen.entry import EntryText
from brazo.internals.cpython import BASE, CONTIGUOUS_ALIGNED, DATA, DOUBLE, WRITEABLE

__all__ = ["FixedEntry"]


@dataclass(frozen=True, slots=True)
class FixedEntry:
    """Generator of the builtin function; ``first`` is the shape of the first input.

    ``view`` is the shape of the matrix view of the output vector.
    """

    first: tuple[int, ...]
    view: tuple[int, int]

    def function(self, name: str, fixed: int, size: int) -> str:
        """Return the LLVM IR of ``PyObject *name_fixed(self, args, nargs, kwnames)``.

        It calls ``name_one``. ``fixed`` is the number of fixed inputs, ``size`` the length of the
        output vector. The address table of the function contains the entries of `TABLE`
        (`brazo.internals.cpython`), the arrays of the fixed inputs, the context, and the offsets of
        the slots for the output vector, the view and the context.
        """
        e = EntryText()
        others = [f"fixed{i}" for i in range(fixed)]
        e.begin(f"{name}_fixed", (*others, "context", "result_slot", "view_slot", "context_slot"))
        e.put("  %shape = alloca [1 x i64]")
        e.put("  %view_shape = alloca [2 x i64]")
        e.require("icmp eq i64 %nargs, 1", "counted")
        e.require("icmp eq ptr %kw, null", "no_keywords")
        e.field("%a0", "%args", 0)
        e.check_array("a0", CONTIGUOUS_ALIGNED)
        e.check_shape("%a0", [str(n) for n in self.first])
        e.put(f"  store i64 {size}, ptr %shape")
        e.new_array("%array", "%shape", 1)
        e.put("  br i1 %array.none, label %failed, label %made")

        e.put("made:")
        arrays = ["%a0", *(f"%{key}" for key in others), "%array"]
        for array in arrays:
            e.field(f"{array}.data", array, DATA)
        arguments = ", ".join(f"ptr {array}.data" for array in arrays)
        e.put(f"  %flag = call double @{name}_one({arguments})")
        e.field("%usable", "%array.data", 8 * (size - 1), "double")
        e.put("  %is_usable = fcmp ogt double %usable, 0.0")
        e.put("  br i1 %is_usable, label %hold, label %drop")

        e.put("hold:")
        e.put("  %held = call ptr %object_new(ptr %result_type, i64 0)")
        e.put("  %held.none = icmp eq ptr %held, null")
        e.put("  br i1 %held.none, label %unheld, label %holds")

        # From here on the object owns the contents of its slots and releases them.
        e.put("holds:")
        _store(e, "result_slot", "%array")
        e.put("  call void %incref(ptr %context)")
        _store(e, "context_slot", "%context")
        e.put(f"  store i64 {self.view[0]}, ptr %view_shape")
        e.put("  %columns = getelementptr i64, ptr %view_shape, i64 1")
        e.put(f"  store i64 {self.view[1]}, ptr %columns")
        arguments = f"ptr %array_type, i32 2, ptr %view_shape, i32 {DOUBLE}, ptr null"
        flags = CONTIGUOUS_ALIGNED | WRITEABLE
        more = f"ptr %array.data, i32 0, i32 {flags}, ptr null"
        e.put(f"  %view = call ptr %array_new({arguments}, {more})")
        e.put("  %view.none = icmp eq ptr %view, null")
        e.put("  br i1 %view.none, label %unviewed, label %viewed")

        e.put("viewed:")
        e.put("  call void %incref(ptr %array)")
        e.put(f"  %base = getelementptr i8, ptr %view, i64 {BASE}")
        e.put("  store ptr %array, ptr %base")
        _store(e, "view_slot", "%view")
        e.put("  ret ptr %held")

        e.put("unviewed:")
        e.put("  call void %decref(ptr %held)")
        e.put("  br label %failed")
        e.put("unheld:")
        e.put("  call void %decref(ptr %array)")
        e.put("  br label %failed")
        e.put("failed:")
        e.put("  ret ptr null")
        e.put("drop:")
        e.put("  call void %decref(ptr %array)")
        e.put("  br label %slow")
        return e.end()


def _store(e: EntryText, slot: str, value: str) -> None:
    e.put(f"  %{slot}.offset = ptrtoint ptr %{slot} to i64")
    e.put(f"  %{slot}.place = getelementptr i8, ptr %held, i64 %{slot}.offset")
    e.put(f"  store ptr {value}, ptr %{slot}.place")

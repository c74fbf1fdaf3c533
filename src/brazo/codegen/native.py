"""Loaded machine code of a kernel, called through ctypes or as a builtin function (`entry`)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.call_route import route
from brazo.codegen.jit import load_or_compile
from brazo.codegen.sharing import share
from brazo.internals.cpython import make_builtin, slot_offset

if TYPE_CHECKING:
    from brazo.codegen.kernel import Kernel

__all__ = ["Native", "address"]


class Native:
    """Loaded machine code of a kernel: ``NAME_one``, ``NAME_many``, builtin functions."""

    def __init__(self, kernel: Kernel):
        n_in, n_out = len(kernel.inputs), len(kernel.outputs)
        library = load_or_compile(kernel.signature(), kernel.llvm_ir)
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        one = ctypes.CFUNCTYPE(ctypes.c_double, *[pointer] * (n_in + n_out))
        many = ctypes.CFUNCTYPE(
            ctypes.c_double, integer, *[pointer, integer] * n_in, *[pointer] * n_out
        )
        self.library = library  # keeps the addresses below valid
        self.address = library.address(f"{kernel.name}_one")
        self._one = one(self.address)
        self._many = many(library.address(f"{kernel.name}_many"))
        self._result = kernel.result
        self._name, self._rows_per_thread = kernel.name, kernel.rows_per_thread
        self.entry: Callable[..., Any] = self.builtin(kernel._evaluate)

    def builtin(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel's builtin function; unsupported calls are passed to ``fallback``.

        Returns ``fallback`` itself if the route of calls (`call_route`) is not "builtin".
        """
        if route() != "builtin":
            return fallback
        function = self.library.address(f"{self._name}_call")
        return make_builtin(function, self._name, fallback, self.library, result=self._result)

    def fixed_builtin(
        self,
        fixed: Sequence[np.ndarray],
        result: type,
        slots: tuple[str, str, str],
        context: object,
        fallback: Callable[..., Any],
    ) -> Callable[..., Any]:
        """Return a builtin function of the first input; see `Kernel.fixed_entry`.

        ``fixed`` are the values of the other inputs. Returns ``fallback`` itself if the route of
        calls (`call_route`) is not "builtin".
        """
        if route() != "builtin":
            return fallback
        function = self.library.address(f"{self._name}_fixed")
        plain = [np.array(a, dtype=float, order="C") for a in fixed]
        more = (*plain, context, *(slot_offset(result, name) for name in slots))
        return make_builtin(function, self._name, fallback, self.library, result=result, more=more)

    def one(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> bool:
        """Evaluate the kernel for one set of input vectors.

        Returns False if the sum of the inputs is not finite. If the kernel has an ``explain``
        function, also returns False if the sum of the results is not finite. A sum of finite values
        near 1e308 can overflow; then it is not finite either.
        """
        flag = self._one(*map(address, arrays), *map(address, results))
        return flag == flag

    def many(
        self,
        lead: tuple[int, ...],
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        threads: int | None,
    ) -> bool:
        """Evaluate the kernel for every row of a batch; return False in the same cases as `one`.

        An input with a single row is used for all rows.
        """
        rows = math.prod(lead)
        inputs = []
        for array in arrays:
            size = array.shape[-1]
            step = 0 if array.size == size else size
            if step and array.shape[:-1] != lead:
                array = np.ascontiguousarray(np.broadcast_to(array, (*lead, size)))
            inputs.append((array, address(array), step))  # keeps the array alive with its address
        outputs = [(address(r), r.size // rows if rows else 0) for r in results]

        def run(start: int, stop: int) -> float:
            arguments: list[int] = [stop - start]
            for _, pointer, step in inputs:
                arguments += [pointer + 8 * start * step, step]
            arguments += [pointer + 8 * start * size for pointer, size in outputs]
            return self._many(*arguments)

        flag = sum(share(run, rows, self._rows_per_thread, threads))
        return flag == flag


def address(array: np.ndarray) -> int:
    """Return the memory address of an array's data."""
    return array.__array_interface__["data"][0]


def doubles(place: int, size: int) -> np.ndarray:
    """Return an array (size,) that is a view of the doubles at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(place))

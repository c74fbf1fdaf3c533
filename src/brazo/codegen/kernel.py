"""Compiled functions of arrays (*kernels*), made from an expression graph.

    g = Graph()
    q = g.inputs("q", 2)
    s, c = sincos(q[0])
    f = compile_kernel("demo", g, {"x": [c * q[1], s * q[1]]})
    f([0.5, 2.0])                  # (2,)  -> (2,)
    f(np.zeros((1000, 2)))         # (1000, 2) -> (1000, 2), bit-identical to single calls

Leading dimensions are batch dimensions and broadcast against each other. Machine code is generated
at the first call. Kernels are thread-safe: they share no scratch memory. A large batch runs on all
CPUs, without the interpreter lock (GIL).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.buffers import empty
from brazo.codegen.call_route import native, route
from brazo.codegen.evaluation import evaluate
from brazo.codegen.graph import Graph, op_counts, signature
from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.codegen.fixed_entry import FixedEntry
    from brazo.codegen.interpreted import Interpreted
    from brazo.codegen.native import Native

__all__ = ["Kernel", "compile_kernel"]

Explain = Callable[..., None]

_WORK_PER_THREAD = (
    5_000_000  # operations: some hundred microseconds, several times the cost of a thread
)
_ANGLE_COST = 22  # operations that a sine, a cosine or an angle counts for


def compile_kernel(
    name: str,
    graph: Graph,
    outputs: Mapping[str, Sequence[Any]],
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    finite: bool = True,
    explain: Explain | None = None,
    interpreted: bool = False,
    result: type | None = None,
    fixed: FixedEntry | None = None,
    fused: bool = False,
    lanes: bool = True,
) -> Kernel:
    """Make a kernel whose arguments are the graph's inputs and whose results are the outputs.

    The kernel is compiled at its first call.

    - ``outputs`` maps names to flat lists of expressions or numbers.
    - ``shapes`` sets the shape of an output, e.g. ``{"T": (4, 4)}``; the default is a vector.
    - ``finite``: raise an error if an input is NaN or infinite. If False, results may contain NaN.
    - ``explain`` is called if finite inputs give a result that is not finite; it requires
      ``finite``. Its arguments are the input vectors of the first such row. It should raise an
      error that names the cause; if it does not, the result is returned.
    - ``interpreted``: never compile; for large graphs that are evaluated only a few times.
    - ``result`` is a class whose ``__slots__`` has one name. The outputs must have equal shapes.
      They are stacked along the first axis of one array, and a call returns ``result(array)``.
    - ``fixed`` describes calls with the first input only (:meth:`Kernel.fixed_entry`).
    - ``fused``: use fused multiply-adds (see :mod:`llvm`). The code is faster, but its rounding
      differs from the interpreted graph.
    - ``lanes``: compute several rows of a batch at once in SIMD lanes. Otherwise rows are computed
      one after another, and less code is compiled.
    """
    more = (interpreted, result, fixed, fused, lanes)
    return Kernel(name, graph, outputs, shapes or {}, finite, explain, *more)


class Kernel:
    """Function of arrays, compiled at its first call; made by :func:`compile_kernel`."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        outputs: Mapping[str, Sequence[Any]],
        shapes: Mapping[str, tuple[int, ...]],
        finite: bool,
        explain: Explain | None = None,
        interpreted: bool = False,
        result: type | None = None,
        fixed: FixedEntry | None = None,
        fused: bool = False,
        lanes: bool = True,
    ):
        if not name.isidentifier() or not name.isascii():
            raise BrazoError(f"kernel name {name!r}: it must be an ASCII identifier")
        if not outputs or not all(len(v) for v in outputs.values()):
            raise BrazoError(f"kernel {name}: every output needs at least one expression")
        if not graph.input_sizes:
            raise BrazoError(f"kernel {name}: the graph has no inputs; declare them first")
        self.name, self.graph, self.finite = name, graph, finite
        self.explain, self.interpreted, self.result = explain, interpreted, result
        self.fixed, self.fused, self.lanes = fixed, fused, lanes
        self.inputs = dict(graph.input_sizes)
        self.outputs = {k: [graph.expression(x) for x in v] for k, v in outputs.items()}
        self.shapes = {k: tuple(shapes.get(k, (len(v),))) for k, v in self.outputs.items()}
        for key, shape in self.shapes.items():
            if math.prod(shape) != len(self.outputs[key]):
                raise BrazoError(
                    f"kernel {name}: output {key!r} has {len(self.outputs[key])} expressions, "
                    f"which do not fill the shape {shape}"
                )
        if result is not None and len(set(self.shapes.values())) > 1:
            raise BrazoError(
                f"kernel {name}: stacked outputs must have equal shapes, not {self.shapes}"
            )
        self._lock = threading.Lock()
        self._code: Native | Interpreted | None = None

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None) -> Any:
        """Evaluate the kernel for input arrays of shape (..., n).

        Returns one array per output (a tuple if there are several), or an object of the class
        ``result`` if the outputs are stacked. ``out`` is an array for the result, or a tuple of
        arrays for several outputs that are not stacked. ``threads`` is the max number of threads
        for a large batch (default: see :class:`sharing.threads`).
        """
        if threads is not None:
            return self._evaluate(*inputs, out=out, threads=threads)
        return self.entry(*inputs) if out is None else self.entry(*inputs, out=out)

    @property
    def entry(self) -> Callable[..., Any]:
        """The kernel as a function with minimal overhead.

        This is its builtin function, which consists of machine code (:mod:`entry`). Without machine
        code, or on the route ``ctypes``, it is a Python method instead. Accessing this property
        compiles the kernel.
        """
        return (self._code or self._build()).entry

    def entry_or(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Like `entry`, but calls that the builtin function does not handle go to ``otherwise``.

        :mod:`entry` describes the calls that the builtin function handles. ``otherwise`` may call
        the kernel. If there is no builtin function, return ``otherwise``.
        """
        return (self._code or self._build()).builtin(otherwise)

    def fixed_entry(
        self,
        fixed: Sequence[np.ndarray],
        result: type,
        slots: tuple[str, str, str],
        context: object,
        otherwise: Callable[..., Any],
    ) -> Callable[..., Any]:
        """Return a function of the first input only; the other inputs are ``fixed``.

        A successful call returns a ``result`` object created by machine code. Its three ``slots``
        contain the vector of results, the matrix view of this vector, and ``context``. All other
        calls go to ``otherwise``. If there is no builtin function, return ``otherwise``. See
        :mod:`fixed_entry`.
        """
        more = (fixed, result, slots, context)
        return (self._code or self._build()).fixed_builtin(*more, otherwise)

    @property
    def address(self) -> int | None:
        """Address of ``NAME_one`` (see :mod:`llvm`), for calls from other machine code.

        It is valid while the kernel exists, and None if the kernel has no machine code.
        """
        return getattr(self._code or self._build(), "address", None)

    def _evaluate(self, *inputs: Any, out: Any = None, threads: int | None = None) -> Any:
        """Evaluate the kernel for any inputs: convert, broadcast and raise errors."""
        code = self._code or self._build()
        arrays = self._arrays(inputs)
        lead = self._lead([a.shape[:-1] for a in arrays])
        stack = None
        if self.result is None:
            results = self._results(lead, out, arrays)
        else:
            stack = self._stack(lead, out, arrays)
            results = list(stack)
        fine = code.many(lead, arrays, results, threads) if lead else code.one(arrays, results)
        if not fine and self.finite:
            self._complain_about_nonfinite(arrays)
            self._explain_nonfinite(lead, arrays, results)
        if self.result is not None:
            return self.result(stack)
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def reference(self, *inputs: Any) -> Any:
        """Interpret the kernel in Python for one set of input vectors, without compiled code.

        The results have the scalar type of the inputs (float or longdouble).
        """
        values = dict(zip(self.inputs, inputs, strict=True))
        results = []
        for key, expressions in self.outputs.items():
            value = np.array(evaluate(expressions, values))
            results.append(value.reshape(self.shapes[key]))
        return results[0] if len(results) == 1 else tuple(results)

    def op_counts(self) -> dict[str, int]:
        """Count the operations of each kind in one evaluation, after simplification."""
        return dict(op_counts(x for v in self.outputs.values() for x in v))

    @property
    def rows_per_thread(self) -> int:
        """Min number of batch rows for which another thread is worth its cost."""
        counts = self.op_counts()
        angles = sum(counts.get(op, 0) for op in ("sin", "cos", "atan2"))
        cost = sum(counts.values()) + _ANGLE_COST * angles
        return max(64, _WORK_PER_THREAD // max(cost, 20))

    def llvm_ir(self, width: int | None = None) -> str:
        """Return the LLVM IR for ``width`` SIMD lanes (default: the width of this CPU).

        A kernel with ``lanes=False`` always has width 1.
        """
        from brazo.codegen import entry
        from brazo.codegen.emitter import Module
        from brazo.codegen.jit import host
        from brazo.codegen.llvm import lower_kernel

        module = Module(self.fused)
        probed = self.explain is not None
        width = (width or host().width) if self.lanes else 1
        lower_kernel(module, self.name, self.graph, self.outputs, width, probed)
        if route() == "builtin":
            shapes = list(self.shapes.values())
            sizes = list(self.inputs.values())
            limit = 2 * self.rows_per_thread
            stacked = self.result is not None
            text = entry.entry_function(self.name, sizes, shapes, self.finite, limit, stacked)
            module.definitions[f"{self.name}_call"] = text
            if self.fixed is not None:
                (size,) = (math.prod(shape) for shape in shapes)
                text = self.fixed.function(self.name, len(sizes) - 1, size)
                module.definitions[f"{self.name}_fixed"] = text
        return module.text()

    def signature(self) -> str:
        """Return a key that is equal only for kernels with the same machine code."""
        shape = f"{self.name} {self.inputs} {self.shapes} {self.finite} {route()}"
        shape += " explained" * (self.explain is not None) + " stacked" * (self.result is not None)
        shape += " fused" * self.fused + " no lanes" * (not self.lanes)
        shape += "" if self.fixed is None else f" {self.fixed}"
        return f"kernel {shape}\n{signature(x for v in self.outputs.values() for x in v)}"

    def _build(self) -> Native | Interpreted:
        with self._lock:
            if self._code is None:
                if native() and not self.interpreted:
                    from brazo.codegen.native import Native

                    self._code = Native(self)
                else:
                    from brazo.codegen.interpreted import Interpreted

                    self._code = Interpreted(self)
            return self._code

    def _arrays(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        if len(inputs) != len(self.inputs):
            wanted = ", ".join(f"{k} (..., {n})" for k, n in self.inputs.items())
            raise BrazoError(f"{self.name}: {len(inputs)} arguments given; expected {wanted}")
        arrays = []
        for (key, size), value in zip(self.inputs.items(), inputs, strict=True):
            try:
                array = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise BrazoError(f"{self.name}: {key}: not an array of numbers ({error})") from None
            if array.ndim == 0 or array.shape[-1] != size:
                raise BrazoError(
                    f"{self.name}: {key} has shape {array.shape}; expected (..., {size}), with "
                    "any leading batch dimensions"
                )
            arrays.append(np.ascontiguousarray(array))
        return arrays

    def _lead(self, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
        if all(s == shapes[0] for s in shapes):
            return shapes[0]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(
                f"{key} {(*s, n)}" for (key, n), s in zip(self.inputs.items(), shapes, strict=True)
            )
            raise BrazoError(
                f"{self.name}: batch dimensions do not broadcast: {listed}; all but the last "
                "dimension must be equal or 1"
            ) from None

    def _results(self, lead: tuple[int, ...], out: Any, arrays: list[np.ndarray]) -> list[Any]:
        shapes = [(*lead, *s) for s in self.shapes.values()]
        if out is None:
            return [empty(s) for s in shapes]
        given = out if isinstance(out, (tuple, list)) else (out,)
        if len(given) != len(shapes):
            raise BrazoError(
                f"{self.name}: out has {len(given)} arrays; expected {len(shapes)}, one per output"
            )
        for key, array, shape in zip(self.outputs, given, shapes, strict=True):
            self._check_out(f"out for {key}", array, shape, arrays)
        return list(given)

    def _stack(self, lead: tuple[int, ...], out: Any, arrays: list[np.ndarray]) -> np.ndarray:
        """Return the array for stacked outputs: ``out`` (checked) or, if None, a new array."""
        shape = (len(self.shapes), *lead, *next(iter(self.shapes.values())))
        if out is None:
            return empty(shape)
        self._check_out("out", out, shape, arrays)
        return out

    def _check_out(
        self, what: str, array: Any, shape: tuple[int, ...], arrays: list[np.ndarray]
    ) -> None:
        """Raise if results cannot be written to ``array``; copy the inputs that overlap it."""
        if (
            not isinstance(array, np.ndarray)
            or array.dtype != np.float64
            or array.shape != shape
            or not array.flags.c_contiguous
            or not array.flags.writeable
        ):
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
            raise BrazoError(
                f"{self.name}: {what} is {got}; expected a writeable C-contiguous float64 array of "
                f"shape {shape}"
            )
        for i, source in enumerate(arrays):
            if np.may_share_memory(array, source):
                arrays[i] = source.copy()

    def _explain_nonfinite(
        self, lead: tuple[int, ...], arrays: list[np.ndarray], results: list[np.ndarray]
    ) -> None:
        if self.explain is None:
            return
        rows = math.prod(lead)
        fine = [np.isfinite(r.reshape(rows, -1)).all(axis=1) for r in results]
        bad = np.flatnonzero(~np.logical_and.reduce(fine))
        if len(bad):
            index = np.unravel_index(int(bad[0]), lead)
            self.explain(*(np.broadcast_to(a, (*lead, a.shape[-1]))[index] for a in arrays))

    def _complain_about_nonfinite(self, arrays: list[np.ndarray]) -> None:
        for key, array in zip(self.inputs, arrays, strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                index = tuple(int(i) for i in bad[0])
                where = ", ".join(map(str, index))
                raise BrazoError(
                    f"{self.name}: {key}[{where}] is {array[index]}; every value must be finite"
                )

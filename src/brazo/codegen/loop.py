"""A step that is repeated many times in native code: x ← f(x, constants, stream_k).

    g = Graph()
    x, p, u = g.inputs("x", 2), g.inputs("p", 1), g.inputs("u", 1)
    loop = compile_loop("swing", g, {"x": [...], "force": [...]}, streams=["u"])
    run = loop(1000, x=x0, p=p0, u=forces, every=10)
    run.x                       # (..., 2) after 1000 steps
    run.record                  # (..., 100, 3): x and force after steps 10, 20, ...

The first input is the state, and the first output is its next value. Further outputs are only
recorded. Inputs named in ``streams`` have one row per step, or one row for all steps. The other
inputs are constant during a run. Leading dimensions are independent runs. Several runs are computed
at a time in SIMD lanes; the results are bit-identical to single runs.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.call_route import native
from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.evaluation import GraphEvaluation
from brazo.codegen.graph import Graph, op_counts, signature
from brazo.codegen.llvm import lower_body
from brazo.codegen.llvm_columns import load_columns, row_pointers, store_columns
from brazo.codegen.native import address
from brazo.codegen.sharing import share
from brazo.errors import BrazoError

__all__ = ["Loop", "LoopRun", "compile_loop"]

_WORK_PER_THREAD = 2_000_000  # min operations per thread


@dataclass(frozen=True, slots=True, eq=False)
class LoopRun:
    """Result of a loop: the final state of each run and, if requested, the recorded outputs."""

    x: np.ndarray  # (..., n)
    record: np.ndarray | None  # (..., rows, all outputs)


def compile_loop(
    name: str, graph: Graph, outputs: Mapping[str, Sequence[Any]], streams: Sequence[str] = ()
) -> Loop:
    """Make a loop whose step is given by a graph; it is compiled at the first call."""
    return Loop(name, graph, outputs, streams)


class Loop:
    """A step repeated in native code; made by :func:`compile_loop`."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        outputs: Mapping[str, Sequence[Any]],
        streams: Sequence[str],
    ):
        sizes = dict(graph.input_sizes)
        self.name, self.graph, self.inputs = name, graph, sizes
        self.outputs = {k: [graph.expression(x) for x in v] for k, v in outputs.items()}
        self.state = next(iter(sizes))
        self.streams = [key for key in sizes if key in streams]
        self.constants = [key for key in sizes if key not in streams and key != self.state]
        if len(self.streams) != len(streams) or self.state in streams:
            raise BrazoError(
                f"loop {name}: streams {list(streams)} must be inputs other than the first"
            )
        if len(next(iter(self.outputs.values()))) != sizes[self.state]:
            raise BrazoError(
                f"loop {name}: the first output must have the size of the state {self.state}"
            )
        self._results = [x for v in self.outputs.values() for x in v]
        self._lock = threading.Lock()
        self._native: _NativeLoop | None = None

    def __call__(
        self, steps: int, *, every: int = 0, threads: int | None = None, **inputs: Any
    ) -> LoopRun:
        """Run ``steps`` steps and record the outputs after every ``every`` steps (0: no record).

        A stream has shape (..., steps, n), or (..., 1, n) if all steps share one row. The other
        inputs have shape (..., n).
        """
        if set(inputs) != set(self.inputs):
            raise BrazoError(
                f"{self.name}: pass exactly these inputs as keywords: {', '.join(self.inputs)}"
            )
        if steps < 0 or every < 0:
            raise BrazoError(f"{self.name}: steps={steps}, every={every}; both must be at least 0")
        arrays = {key: self._array(key, inputs[key], steps) for key in self.inputs}
        lead = self._lead(arrays)
        arrays = {key: self._spread(key, a, lead) for key, a in arrays.items()}
        x = np.empty((*lead, self.inputs[self.state]))
        rows = steps // every if every else 0
        record = np.empty((*lead, rows, len(self._results)))
        count = math.prod(lead)
        if native():
            code = self._native or self._build()

            def run(start: int, stop: int) -> None:
                code.run(start, stop, steps, every, arrays, x, record)

            if count == 1:
                run(0, 1)
            else:
                least = max(1, _WORK_PER_THREAD // max(code.cost * max(steps, 1), 1))
                least += -least % code.width  # whole lanes
                share(run, count, least, threads)
        else:
            self._interpret(count, steps, every, arrays, x, record)
        if np.isnan(x).any():
            self._refuse_nan_inputs(arrays)
        return LoopRun(x, record if every else None)

    def llvm_ir(self, width: int) -> str:
        """Return the LLVM IR of ``NAME_runs1`` (single runs) and ``NAME_runsW`` (W lanes)."""
        module = Module()
        for w in sorted({1, width}):
            self._lower(module, w)
        return module.text()

    def signature(self) -> str:
        """Return a key that is equal only for loops with the same machine code."""
        sizes = [len(v) for v in self.outputs.values()]
        shape = f"{self.name} {self.inputs} {self.streams} {sizes}"
        return f"loop {shape}\n{signature(self._results)}"

    def _build(self) -> _NativeLoop:
        with self._lock:
            if self._native is None:
                self._native = _NativeLoop(self)
            return self._native

    def _array(self, key: str, value: Any, steps: int) -> np.ndarray:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BrazoError(f"{self.name}: {key}: not an array of numbers ({error})") from None
        size = self.inputs[key]
        wanted = f"(..., {size})"
        good = array.ndim >= 1 and array.shape[-1] == size
        if key in self.streams:
            wanted = f"(..., {steps}, {size}), or (..., 1, {size}) for all steps"
            good = good and array.ndim >= 2 and array.shape[-2] in (1, steps)
        if not good:
            raise BrazoError(f"{self.name}: {key} has shape {array.shape}; expected {wanted}")
        return array

    def _lead(self, arrays: Mapping[str, np.ndarray]) -> tuple[int, ...]:
        leads = [a.shape[: -2 if k in self.streams else -1] for k, a in arrays.items()]
        if not any(leads):
            return ()
        try:
            return np.broadcast_shapes(*leads)
        except ValueError:
            listed = ", ".join(f"{k} {a.shape}" for k, a in arrays.items())
            raise BrazoError(
                f"{self.name}: batch dimensions do not broadcast: {listed}; leading dimensions "
                "must be equal or 1"
            ) from None

    def _refuse_nan_inputs(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise if an input contains NaN.

        Without NaN in the inputs, a NaN in the results means that the run has diverged.
        """
        for key, array in arrays.items():
            if np.isnan(array).any():
                raise BrazoError(f"{self.name}: {key} has values that are not numbers (NaN)")

    def _spread(self, key: str, array: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
        """Reshape an array to (runs, ...), or to (1, ...) if all runs share its values."""
        tail = array.shape[-2 if key in self.streams else -1 :]
        if not lead and array.flags.c_contiguous:
            return array.reshape(1, *tail)
        if array.size != math.prod(tail):
            array = np.broadcast_to(array, (*lead, *tail))
        return np.ascontiguousarray(array).reshape(-1, *tail)

    def _interpret(
        self,
        count: int,
        steps: int,
        every: int,
        arrays: Mapping[str, np.ndarray],
        x: np.ndarray,
        record: np.ndarray,
    ) -> None:
        """Run the loop in Python, vectorised over the runs; fills ``x`` and ``record``."""
        n = self.inputs[self.state]
        columns: dict[str, Any] = {
            key: [np.broadcast_to(c, count) for c in arrays[key].T]
            for key in (self.state, *self.constants)
        }
        rows = record.reshape(count, record.shape[-2], record.shape[-1])
        evaluate = GraphEvaluation(self._results)
        with np.errstate(all="ignore"):
            for k in range(steps):
                for key in self.streams:
                    array = arrays[key]
                    columns[key] = list(array[:, min(k, array.shape[1] - 1)].T)
                values = evaluate(columns)
                columns[self.state] = values[:n]
                if every and (k + 1) % every == 0:
                    for j, value in enumerate(values):
                        rows[:, (k + 1) // every - 1, j] = value
        for j, value in enumerate(columns[self.state]):
            x.reshape(count, n)[:, j] = value

    def _lower(self, module: Module, width: int) -> None:
        """Define ``void NAME_runsW`` in a module, for W = ``width`` lanes.

        Its arguments are (rows, steps, every, [pointer, run step, time step] of each input, final,
        record, record step). ``rows`` is the number of runs, a multiple of W. The run step, time
        step and record step are distances in doubles.
        """
        n, size = self.inputs[self.state], len(self._results)
        setup, body = Emitter(width, module, "s", "setup"), Emitter(width, module, "b", "body")
        state = setup.buffer(n)

        def lanes(e: Emitter, i: int) -> list[str]:
            return row_pointers(e, f"%in{i}", "%i", f"%step{i}")

        known: dict[tuple[str, int], str] = {}
        pointers: dict[str, list[str]] = {}
        for i, key in enumerate(self.inputs):
            rows = lanes(setup, i)
            if key in self.streams:
                pointers[key] = rows
                continue
            for j, value in enumerate(load_columns(setup, rows, self.inputs[key])):
                if key == self.state:
                    setup.store(value, state, j)
                else:
                    known[key, j] = value
        records = row_pointers(setup, "%record", "%i", "%record_step")
        for j in range(n):
            known[self.state, j] = body.load(state, j)
        for i, key in enumerate(self.inputs):
            if key in self.streams:
                ahead = body.emit(f"mul i64 %k, %time{i}")
                rows = [
                    body.emit(f"getelementptr double, ptr {p}, i64 {ahead}") for p in pointers[key]
                ]
                for j, value in enumerate(load_columns(body, rows, self.inputs[key])):
                    known[key, j] = value
        values = lower_body(body, self._results, known)
        for j in range(n):
            body.store(values[self._results[j]], state, j)
        write = Emitter(width, module, "w", "write")
        offset = write.emit(f"mul i64 %row, {size}")
        rows = [write.emit(f"getelementptr double, ptr {p}, i64 {offset}") for p in records]
        recorded = [values[x] for x in self._results]
        store_columns(write, rows, size, lambda j: recorded[j])
        finish = Emitter(width, module, "f", "finish")
        ends = row_pointers(finish, "%final", "%i", str(n))
        store_columns(finish, ends, n, lambda j: finish.load(state, j))

        ins = range(len(self.inputs))
        parameters = ["i64 %rows", "i64 %steps", "i64 %every"]
        parameters += [f"ptr %in{i}, i64 %step{i}, i64 %time{i}" for i in ins]
        parameters += ["ptr %final", "ptr %record", "i64 %record_step"]
        symbol = f"{self.name}_runs{width}"
        lines = [
            f"define void @{symbol}({', '.join(parameters)}) #0 {{",
            "entry:",
            *(line for e in (setup, body, write, finish) for line in e.entry_lines),
            "  br label %runs",
            "runs:",
            f"  %i = phi i64 [ 0, %entry ], [ %i_next, %{finish.label} ]",
            "  %more_runs = icmp slt i64 %i, %rows",
            "  br i1 %more_runs, label %setup, label %done",
            "setup:",
            *setup.lines,
            "  br label %steps_left",
            "steps_left:",
            f"  %k = phi i64 [ 0, %{setup.label} ], [ %k_next, %stepped ]",
            f"  %wait = phi i64 [ %every, %{setup.label} ], [ %wait_next, %stepped ]",
            f"  %row = phi i64 [ 0, %{setup.label} ], [ %row_next, %stepped ]",
            "  %more_steps = icmp slt i64 %k, %steps",
            "  br i1 %more_steps, label %body, label %finish",
            "body:",
            *body.lines,
            "  %k_next = add i64 %k, 1",
            "  %waited = sub i64 %wait, 1",  # starts at -1 when nothing is recorded
            "  %due = icmp eq i64 %waited, 0",
            "  br i1 %due, label %write, label %stepped",
            "write:",
            *write.lines,
            "  %row_up = add i64 %row, 1",
            "  br label %stepped",
            "stepped:",
            f"  %wait_next = phi i64 [ %waited, %{body.label} ], [ %every, %{write.label} ]",
            f"  %row_next = phi i64 [ %row, %{body.label} ], [ %row_up, %{write.label} ]",
            "  br label %steps_left",
            "finish:",
            *finish.lines,
            f"  %i_next = add i64 %i, {width}",
            "  br label %runs",
            "done:",
            "  ret void",
            "}",
        ]
        module.definitions[symbol] = "\n".join(lines)


class _NativeLoop:
    """Loaded machine code of a loop."""

    def __init__(self, loop: Loop):
        from brazo.codegen.jit import host, load_or_compile

        self.width = host().width
        counts = op_counts(loop._results)
        self.cost = sum(counts.values()) + 22 * (counts["sin"] + counts["cos"])
        self._library = load_or_compile(loop.signature(), lambda: loop.llvm_ir(self.width))
        self._streams = [key in loop.streams for key in loop.inputs]
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        kind = ctypes.CFUNCTYPE(
            None,
            *[integer] * 3,
            *[pointer, integer, integer] * len(loop.inputs),
            *[pointer, pointer, integer],
        )
        self._runs = {
            w: kind(self._library.address(f"{loop.name}_runs{w}")) for w in (1, self.width)
        }

    def run(
        self,
        start: int,
        stop: int,
        steps: int,
        every: int,
        arrays: Mapping[str, np.ndarray],
        x: np.ndarray,
        record: np.ndarray,
    ) -> None:
        """Compute the runs ``start`` to ``stop - 1``.

        Runs that do not fill all lanes are computed one at a time.
        """
        middle = stop - (stop - start) % self.width
        for width, first, last in ((self.width, start, middle), (1, middle, stop)):
            if first == last:
                continue
            arguments: list[int] = [last - first, steps, every]
            for array, stream in zip(arrays.values(), self._streams, strict=True):
                step = 0 if array.shape[0] == 1 else math.prod(array.shape[1:])
                time = array.shape[2] if stream and array.shape[1] > 1 else 0
                arguments += [address(array) + 8 * first * step, step, time]
            record_step = record.shape[-2] * record.shape[-1]
            arguments.append(address(x) + 8 * first * x.shape[-1])
            arguments += [address(record) + 8 * first * record_step, record_step]
            self._runs[width](*arguments)

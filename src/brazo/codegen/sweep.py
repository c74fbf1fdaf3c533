"""Recursions along a tree as compiled loops, for trees that are too large for unrolled code.

A tree has rows (links) 0 … L-1. The parent of a row is an earlier row or the base (-1). Each row
has *fields* (vectors that passes compute) and *constants* (from a table). A pass visits all rows,
outward (base to tips) or inward (tips to base), and evaluates a graph at each row. The inputs of
the graph are

    link_c   constants c of the row           own_f   field f of the row
    in_x     the row's part of input x        up_f    field f of the parent

and its outputs are

    own_f    sets field f of the row          up_f    is added to field f of the parent
    out_y    is the row's part of output y

The initial fields of the base are zero, unless they are named in ``base``: field f is then the
input ``base_f``. The fields of a row must be set before they are read. The machine code is one loop
per pass, for any number of rows, and supports SIMD lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.emitter import MOST_STACK, Emitter, Module, hex_double
from brazo.codegen.evaluation import GraphEvaluation
from brazo.codegen.flow import WORD, Flow
from brazo.codegen.function import Function
from brazo.codegen.graph import Expr, Graph, live_nodes, op_counts, signature

__all__ = ["Pass", "Sweep"]


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over all rows of a tree; see the module docstring."""

    graph: Graph
    outputs: Mapping[str, Sequence[Any]]
    inward: bool = False


class Sweep(Function):
    """Function that runs passes over a tree; see the module docstring.

    Each input x and each output y is a vector that contains the parts of all rows. The inputs
    ``base_f``, each with the size of one field, follow the inputs x.
    """

    def __init__(
        self,
        name: str,
        parents: Sequence[int],
        constants: Mapping[str, np.ndarray],
        passes: Sequence[Pass],
        base: Sequence[str] = (),
    ):
        self.name, self.parents, self.passes, self.base = name, list(parents), passes, list(base)
        self.constants = {
            k: np.asarray(v, float).reshape(len(parents), -1) for k, v in constants.items()
        }
        parts: dict[str, int] = {}
        self.fields: dict[str, int] = {}
        results: dict[str, int] = {}
        for each in passes:
            sizes = {k: len(v) for k, v in each.outputs.items()} | each.graph.input_sizes
            for key, size in sizes.items():
                kind, _, word = key.partition("_")
                known = {"own": self.fields, "up": self.fields, "in": parts, "out": results}
                if kind in known:
                    known[kind][word] = size
        rows = len(self.parents)
        self.parts = parts
        self.inputs = {k: rows * size for k, size in parts.items()}
        self.inputs |= {f"base_{k}": self.fields[k] for k in self.base}
        self.outputs = {k: rows * size for k, size in results.items()}

    def op_counts(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self.passes:
            counts = op_counts(_expressions(each))
            total += Counter({k: v * len(self.parents) for k, v in counts.items()})
        return total

    def signature(self) -> str:
        lines = [f"sweep {self.name} {self.parents} {self.base}"]
        lines += [f"{key} {table.tobytes().hex()}" for key, table in self.constants.items()]
        for each in self.passes:
            sizes = {k: len(v) for k, v in each.outputs.items()}
            lines.append(f"pass {each.inward} {each.graph.input_sizes} {sizes}")
            lines.append(signature(_expressions(each)))
        return "\n".join(lines)

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        inputs, start = {}, 0
        for key, size in self.inputs.items():
            inputs[key] = list(values[start : start + size])
            start += size
        rows = len(self.parents)
        fields = {k: [[0.0] * size for _ in range(rows + 1)] for k, size in self.fields.items()}
        for key in self.base:
            fields[key][-1] = inputs[f"base_{key}"]  # row -1: the base
        results: dict[str, list[Any]] = {k: [0.0] * size for k, size in self.outputs.items()}
        for each in self.passes:
            evaluate = GraphEvaluation(_expressions(each))
            for i in reversed(range(rows)) if each.inward else range(rows):
                self._visit(each, evaluate, i, inputs, fields, results)
        return [x for v in results.values() for x in v]

    def _visit(
        self, each: Pass, evaluate: GraphEvaluation, i: int, inputs: Any, fields: Any, results: Any
    ) -> None:
        parent = self.parents[i]
        known = {}
        for key, size in each.graph.input_sizes.items():
            kind, _, word = key.partition("_")
            if kind == "link":
                known[key] = self.constants[word][i].tolist()
            elif kind == "in":
                known[key] = inputs[word][i * size : (i + 1) * size]
            else:
                known[key] = fields[word][i if kind == "own" else parent]
        values = iter(evaluate(known))
        for key, expressions in each.outputs.items():
            kind, _, word = key.partition("_")
            new = [next(values) for _ in expressions]
            if kind == "own":
                fields[word][i] = new
            elif kind == "up":
                fields[word][parent] = [
                    a + b for a, b in zip(fields[word][parent], new, strict=True)
                ]
            else:
                results[word][i * len(new) : (i + 1) * len(new)] = new

    def _text(self, symbol: str, module: Module, width: int) -> str:
        size = 8 * width * (len(self.parents) + 1) * sum(self.fields.values())
        if width > 1 and size > MOST_STACK:
            return _lane_by_lane(self, module, symbol, width)
        return _Loops(self, module, width).text(symbol)


class _Loops:
    """Writer of the LLVM IR of a sweep, one loop per pass."""

    def __init__(self, sweep: Sweep, module: Module, width: int):
        self.sweep, self.width = sweep, width
        self.module = module
        self.row_size = sum(sweep.fields.values())
        self.field_at, self.constant_at = {}, {}
        at = 0
        for key, size in sweep.fields.items():
            self.field_at[key] = at
            at += size
        at = 0
        for key, table in sweep.constants.items():
            self.constant_at[key] = at
            at += table.shape[1]
        self.table_size = at

    def text(self, symbol: str) -> str:
        sweep, rows = self.sweep, len(self.sweep.parents)
        table = np.hstack(list(sweep.constants.values())).ravel().tolist()
        numbers = ", ".join(f"double {hex_double(x)}" for x in table)
        above = ", ".join(f"i64 {p + 1}" for p in sweep.parents)
        globals_ = [
            f"@{symbol}_table = private constant [{len(table)} x double] [{numbers}]",
            f"@{symbol}_parents = private constant [{rows} x i64] [{above}]",
        ]
        start = Emitter(self.width, self.module, "s")
        fields = start.buffer((rows + 1) * self.row_size)
        given = 0
        places = {}
        for key, size in sweep.inputs.items():
            places[key] = given
            given += size
        for key, size in sweep.fields.items():
            for j in range(size):
                value = start.number(0.0)
                if key in sweep.base:
                    value = start.load("%in", places[f"base_{key}"] + j)
                start.store(value, fields, self.field_at[key] + j)
        lines = [
            f"define internal void @{symbol}(ptr %in, ptr %out) #0 {{",
            "entry:",
            *start.entry_lines,
            *start.lines,
        ]
        bodies: list[str] = []
        before = "entry"
        entry_lines: list[str] = []
        for number, each in enumerate(sweep.passes):
            block, loop_entry, before = self._loop(number, each, before, fields, places, symbol)
            bodies += block
            entry_lines += loop_entry
        lines[2:2] = entry_lines
        return "\n".join([*globals_, *lines, "  br label %loop0", *bodies, "  ret void", "}"])

    def _loop(
        self,
        number: int,
        each: Pass,
        before: str,
        fields: str,
        places: Mapping[str, int],
        symbol: str,
    ) -> tuple[list[str], list[str], str]:
        """Return the IR of a pass: its lines, lines for the function's entry, and its last label.

        ``number`` is the index of the pass ``each``, ``before`` the label of the block before it.
        ``fields`` points to the fields of all rows. ``places`` maps each input to its offset.
        """
        from brazo.codegen.llvm import lower_body

        rows = len(self.sweep.parents)
        first, step = (rows - 1, -1) if each.inward else (0, 1)
        e = Emitter(self.width, self.module, f"p{number}_", f"loop{number}")
        i = f"%i{number}"
        own_row = e.emit(f"add i64 {i}, 1")
        own = self._row(e, fields, own_row, self.row_size)
        at = e.emit(f"getelementptr i64, ptr @{symbol}_parents, i64 {i}")
        parent = e.emit(f"load i64, ptr {at}")
        up = self._row(e, fields, parent, self.row_size)
        offset = e.emit(f"mul i64 {i}, {self.table_size}")
        constants = e.emit(f"getelementptr double, ptr @{symbol}_table, i64 {offset}")
        inputs: dict[tuple[str, int], str] = {}
        needed = {n.value for n in live_nodes(_expressions(each)) if n.op == "input"}
        for key, size in each.graph.input_sizes.items():
            kind, _, word = key.partition("_")
            part = self._row(e, "%in", i, size) if kind == "in" else ""
            for j in range(size):
                if (key, j) not in needed:
                    continue
                if kind == "link":
                    p = e.emit(
                        f"getelementptr double, ptr {constants}, i64 {self.constant_at[word] + j}"
                    )
                    inputs[key, j] = e.splat(e.emit(f"load double, ptr {p}"))
                elif kind == "in":
                    inputs[key, j] = e.load(part, places[word] + j)
                else:
                    inputs[key, j] = e.load(own if kind == "own" else up, self.field_at[word] + j)
        values = lower_body(e, _expressions(each), inputs)
        start = 0
        outputs_at = {}
        for key, size in self.sweep.outputs.items():
            outputs_at[key] = start
            start += size
        for key, expressions in each.outputs.items():
            kind, _, word = key.partition("_")
            target = own
            if kind == "up":
                target = up
            elif kind == "out":
                target = self._row(e, "%out", i, len(expressions))
            for j, expression in enumerate(expressions):
                value = values[each.graph.expression(expression)]
                if kind == "out":
                    e.store(value, target, outputs_at[word] + j)
                    continue
                place = self.field_at[word] + j
                if kind == "up":
                    value = e.fadd(e.load(target, place), value)
                e.store(value, target, place)
        return (
            [
                f"loop{number}:",
                f"  {i} = phi i64 [ {first}, %{before} ], [ {i}_next, %{e.label} ]",
                *e.lines,
                f"  {i}_next = add i64 {i}, {step}",
                f"  {i}_end = icmp eq i64 {i}, {rows - 1 - first}",
                f"  br i1 {i}_end, label %{self._after(number)}, label %loop{number}",
                *(["done:"] if number + 1 == len(self.sweep.passes) else []),
            ],
            e.entry_lines,
            e.label,
        )

    def _after(self, number: int) -> str:
        return f"loop{number + 1}" if number + 1 < len(self.sweep.passes) else "done"

    def _row(self, e: Emitter, base: str, row: str, size: int) -> str:
        offset = e.emit(f"mul i64 {row}, {size}")
        return e.emit(f"getelementptr {e.type}, ptr {base}, i64 {offset}")


def _lane_by_lane(sweep: Sweep, module: Module, symbol: str, width: int) -> str:
    """LLVM IR that computes one lane at a time, if the fields of all lanes exceed the stack."""
    given, made = sum(sweep.inputs.values()), sum(sweep.outputs.values())
    f = Flow(f"define internal void @{symbol}(ptr %in, ptr %out)")
    ins, outs = f.room(given), f.room(made)
    with f.each(width) as lane:
        first, to = f.item("%in", lane), f.item("%out", lane)
        with f.each(given) as i:
            f.store("double", f.load("double", f.item(first, i, WORD * width)), f.item(ins, i))
        f.call("void", f"@{sweep.define(module, 1)}", f"ptr {ins}", f"ptr {outs}")
        with f.each(made) as i:
            f.store("double", f.load("double", f.item(outs, i)), f.item(to, i, WORD * width))
    f.result()
    return f.text()


def _expressions(each: Pass) -> list[Expr]:
    return [each.graph.expression(x) for v in each.outputs.values() for x in v]

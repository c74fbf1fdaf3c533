"""Functions that a graph calls instead of inlining them.

The four slopes of a Runge-Kutta step, or the columns of a mass matrix, are one function at several
points. Its machine code then exists once: it compiles in a fraction of the time and stays in the
instruction cache. Arguments and results pass through stack memory as whole lanes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.evaluation import Evaluation
from brazo.codegen.graph import Graph, op_counts, signature

__all__ = ["Columns", "Function", "GraphFunction"]


class Function(ABC):
    """Vectors in, vectors out: ``inputs`` and ``outputs`` give their sizes by name.

    The outputs of a function ``in_place`` are its first inputs, which it changes in memory.
    """

    in_place = False
    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]

    def define(self, module: Module, width: int) -> str:
        """Put ``void @symbol(ptr in, ptr out)`` for lanes of a width into a module, unless it is
        there; returns the symbol. Both pointers are to consecutive lanes, all vectors in order."""
        symbol = f"{self.name}_lanes{width}"
        if symbol not in module.definitions:
            module.definitions[symbol] = ""  # keeps its place before functions that call it
            module.definitions[symbol] = self._text(symbol, module, width)
        return symbol

    @abstractmethod
    def _text(self, symbol: str, module: Module, width: int) -> str:
        """The definition."""

    @abstractmethod
    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        """All outputs for all inputs in order, in the ring of the inputs."""

    @abstractmethod
    def op_counts(self) -> Counter[str]:
        """Operations of one evaluation."""

    @abstractmethod
    def signature(self) -> str:
        """A key that is equal only for functions with the same machine code."""


class GraphFunction(Function):
    """A function given by the expressions of a graph over its inputs."""

    def __init__(self, name: str, graph: Graph, outputs: Mapping[str, Sequence[Any]]):
        self.name, self.graph = name, graph
        self.inputs = dict(graph.input_sizes)
        self.outputs = {key: len(v) for key, v in outputs.items()}
        self.named_results = {k: [graph.expression(x) for x in v] for k, v in outputs.items()}
        self.results = [x for v in self.named_results.values() for x in v]

    def _text(self, symbol: str, module: Module, width: int) -> str:
        from brazo.codegen.llvm import lower_lanes

        return lower_lanes(self, symbol, module, width)

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        inputs, start = {}, 0
        for key, size in self.inputs.items():
            inputs[key] = values[start : start + size]
            start += size
        return self._evaluation(inputs)

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation(self.results)

    def op_counts(self) -> Counter[str]:
        return op_counts(self.results)

    def signature(self) -> str:
        return f"graph {self.name} {self.inputs} {self.outputs}\n{signature(self.results)}"


class Columns(Function):
    """The matrix of a function that is linear in its last input, row by row: its results for every
    unit vector of that input."""

    def __init__(self, name: str, function: Function):
        self.name, self.function = name, function
        *others, (_, self.count) = function.inputs.items()
        self.inputs = dict(others)
        self.height = sum(function.outputs.values())
        self.outputs = {f"row_{i}": self.count for i in range(self.height)}

    def _text(self, symbol: str, module: Module, width: int) -> str:
        called = self.function.define(module, width)
        given = sum(self.inputs.values())
        e = Emitter(width, module)
        values, column = e.buffer(given + self.count), e.buffer(self.height)
        e.repeat(given, lambda i: e.store(e.load("%in", i), values, i))
        units = e.emit(f"getelementptr {e.type}, ptr {values}, i64 {given}")
        e.repeat(self.count, lambda i: e.store(e.number(0.0), units, i))

        def one(j: str) -> None:
            e.store(e.number(1.0), units, j)
            e.put(f"call void @{called}(ptr {values}, ptr {column})")
            e.store(e.number(0.0), units, j)

            def scatter(i: str) -> None:
                place = e.emit(f"add i64 {e.emit(f'mul i64 {i}, {self.count}')}, {j}")
                e.store(e.load(column, i), "%out", place)

            e.repeat(self.height, scatter)

        e.repeat(self.count, one)
        return e.text(symbol)

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        units = [[1.0 if i == j else 0.0 for i in range(self.count)] for j in range(self.count)]
        columns = [self.function.evaluate([*values, *unit]) for unit in units]
        return [x for row in zip(*columns, strict=True) for x in row]

    def op_counts(self) -> Counter[str]:
        return Counter({k: v * self.count for k, v in self.function.op_counts().items()})

    def signature(self) -> str:
        return f"columns {self.name}\n{self.function.signature()}"

"""Functions that a graph calls instead of inlining their expressions.

An example is the derivative function that a Runge-Kutta step evaluates four times. The machine code
of a function exists only once. Compilation is therefore much faster than with inlined expressions,
and the code stays in the instruction cache. Arguments and results are passed in stack memory; the
SIMD lanes of a value are adjacent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from brazo.codegen.emitter import Emitter, Module
from brazo.codegen.evaluation import GraphEvaluation
from brazo.codegen.graph import Graph, op_counts, signature

__all__ = ["Columns", "Function", "GraphFunction"]


class Function(ABC):
    """Function of vectors that a graph can call.

    ``inputs`` and ``outputs`` map the name of each vector to its size. If ``in_place`` is true, the
    function overwrites its first inputs with the outputs.
    """

    in_place = False
    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]

    def define(self, module: Module, width: int) -> str:
        """Define ``void @symbol(ptr in, ptr out)`` in a module if it is missing; return the symbol.

        The function computes ``width`` SIMD lanes at once. Each pointer refers to one array with
        the elements of all vectors in order; an element is ``width`` adjacent doubles.
        """
        symbol = f"{self.name}_lanes{width}"
        if symbol not in module.definitions:
            module.definitions[symbol] = ""  # keeps its place before functions that call it
            module.definitions[symbol] = self._text(symbol, module, width)
        return symbol

    @abstractmethod
    def _text(self, symbol: str, module: Module, width: int) -> str:
        """Return the LLVM IR of the definition."""

    @abstractmethod
    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        """Interpret the function in Python; return the elements of all outputs as one list.

        ``values`` contains the elements of all inputs in order, of any scalar type.
        """

    @abstractmethod
    def op_counts(self) -> Counter[str]:
        """Return the number of operations of each kind in one evaluation.

        For a function with a data-dependent loop or condition, this is a lower bound.
        """

    @abstractmethod
    def signature(self) -> str:
        """Return a key that is equal only for functions with the same machine code."""


class GraphFunction(Function):
    """A function defined by expressions of a graph; its arguments are the graph's inputs."""

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
    def _evaluation(self) -> GraphEvaluation:
        return GraphEvaluation(self.results)

    def op_counts(self) -> Counter[str]:
        return op_counts(self.results)

    def signature(self) -> str:
        return f"graph {self.name} {self.inputs} {self.outputs}\n{signature(self.results)}"


class Columns(Function):
    """Function that computes the matrix A of another function y = A x.

    ``function`` computes y, and x is the last input of ``function``. A depends on the remaining
    inputs of ``function``, which are the inputs of this object. Output ``row_i`` is row i of A.
    Column j of A is the value y for the unit vector j as x.
    """

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

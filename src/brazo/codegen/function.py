"""Functions that a graph calls instead of copying them in.

The four slopes of a Runge-Kutta step, or the columns of a mass matrix, are one function at several
points. Called, its machine code exists once: it compiles in a fraction of the time and stays in the
CPU's instruction cache. Arguments and results pass through stack memory as whole lanes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from brazo.codegen.emitter import Module
from brazo.codegen.graph import Graph, evaluate, op_counts

__all__ = ["Function", "GraphFunction"]


class Function(ABC):
    """Vectors in, vectors out: ``inputs`` and ``outputs`` give their sizes by name."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]

    @abstractmethod
    def define(self, module: Module, width: int) -> str:
        """Put ``void @symbol(ptr in, ptr out)`` for lanes of a width into a module, unless it is
        there; returns the symbol. Both pointers are to consecutive lanes, all vectors in order."""

    @abstractmethod
    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        """All outputs for all inputs in order, in the ring of the inputs."""

    @abstractmethod
    def op_counts(self) -> Counter[str]:
        """Operations of one evaluation."""


class GraphFunction(Function):
    """A function given by the expressions of a graph over its inputs."""

    def __init__(self, name: str, graph: Graph, outputs: Mapping[str, Sequence[Any]]):
        self.name, self.graph = name, graph
        self.inputs = dict(graph.input_sizes)
        self.outputs = {key: len(v) for key, v in outputs.items()}
        self.results = [graph.expression(x) for v in outputs.values() for x in v]

    def define(self, module: Module, width: int) -> str:
        from brazo.codegen.llvm import lower_lanes

        return lower_lanes(self, module, width)

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        inputs, start = {}, 0
        for key, size in self.inputs.items():
            inputs[key] = values[start : start + size]
            start += size
        return evaluate(self.results, inputs)

    def op_counts(self) -> Counter[str]:
        return op_counts(self.results)

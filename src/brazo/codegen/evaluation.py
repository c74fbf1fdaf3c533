"""Interpreter of expression graphs for any scalar type (float, longdouble, NumPy columns).

It serves as an independent check of compiled code. On systems where machine code cannot be
generated, it replaces compiled code. The graph is traversed once: every node gets an index, and the
operations form a list. Further evaluations only run through this list.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brazo.codegen import ring
from brazo.codegen.graph import Expr, live_nodes

__all__ = ["GraphEvaluation", "evaluate"]


def evaluate(outputs: Sequence[Any], inputs: Mapping[str, Any]) -> list[Any]:
    """Return the values of the outputs; outputs that are plain numbers are returned unchanged."""
    return GraphEvaluation(outputs)(inputs)


class GraphEvaluation:
    """Operations that compute outputs from inputs, prepared for repeated evaluation."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        place: dict[Expr, int] = {}
        self._start: list[Any] = []  # constants in their places
        self._inputs: list[tuple[int, str, int]] = []
        self._steps: list[tuple[int, Callable[..., Any], int, int, tuple[int, ...]]] = []
        for i, node in enumerate(live_nodes(o for o in outputs if isinstance(o, Expr))):
            place[node] = i
            self._start.append(node.value if node.op == "const" else None)
            args = tuple(place[a] for a in node.args)
            if node.op == "input":
                self._inputs.append((i, *node.value))
            elif node.op == "call":
                self._steps.append((i, _called(node.value), -1, -1, args))
            elif node.op == "pick":
                self._steps.append((i, operator.itemgetter(node.value), args[0], -1, ()))
            elif len(args) == 1:
                self._steps.append((i, _RULES[node.op], args[0], -1, ()))
            elif len(args) == 2:
                self._steps.append((i, _RULES[node.op], args[0], args[1], ()))
            elif node.op != "const":
                self._steps.append((i, _RULES[node.op], -1, -1, args))
        self._outputs = [(place[o], None) if isinstance(o, Expr) else (-1, o) for o in outputs]

    def __call__(self, inputs: Mapping[str, Any]) -> list[Any]:
        values = self._start.copy()
        for i, name, k in self._inputs:
            values[i] = inputs[name][k]
        for i, rule, a, b, others in self._steps:
            if b >= 0:
                values[i] = rule(values[a], values[b])
            elif a >= 0:
                values[i] = rule(values[a])
            else:
                values[i] = rule(*[values[k] for k in others])
        return [number if i < 0 else values[i] for i, number in self._outputs]


def _called(function: Any) -> Callable[..., Any]:
    return lambda *values: function.evaluate(list(values))


def _divide(a: Any, b: Any) -> Any:
    if type(b) in (float, int) and b == 0 and type(a) in (float, int):
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


_RULES: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _divide,
    "neg": operator.neg,
    "sin": lambda x: ring.sincos(x)[0],
    "cos": lambda x: ring.sincos(x)[1],
    "atan2": ring.atan2,
    "sqrt": ring.sqrt,
    "min": ring.minimum,
    "max": ring.maximum,
    "select": ring.where,
}

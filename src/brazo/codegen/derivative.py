"""Exact derivatives of a graph, as more nodes of the same graph.

Forward mode, by one input element or along a direction: each node's derivative follows from its
arguments' by the chain rule.  Shared terms stay shared, and what does not depend on the input folds
to zero.  A selection has the derivative of what it selects, so a step has slope zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brazo.codegen.graph import Expr, live_nodes
from brazo.errors import BrazoError

__all__ = ["derivative", "directional"]


def derivative(outputs: Sequence[Any], x: Expr) -> list[Any]:
    """The derivative of each output with respect to one input element."""
    return directional(outputs, {x: 1.0})


def directional(outputs: Sequence[Any], direction: Mapping[Expr, Any]) -> list[Any]:
    """The rate of each output while the input elements change at the rates given."""
    d = dict(direction)  # the nodes that depend on these inputs
    for node in live_nodes(o for o in outputs if isinstance(o, Expr)):
        for a in node.args:
            if a in d:
                break
        else:
            continue
        rate = 1.0 if node.op == "call" else _rule(node, [d.get(a, 0.0) for a in node.args])
        if not _zero(rate):
            d[node] = rate
    return [d.get(o, 0.0) if isinstance(o, Expr) else 0.0 for o in outputs]


def _rule(node: Expr, d: list[Any]) -> Any:
    a = node.args
    if node.op == "add":
        return d[0] + d[1]
    if node.op == "sub":
        return d[0] - d[1]
    if node.op == "neg":
        return -d[0]
    if node.op == "mul":
        if _zero(d[0]):
            return a[0] * d[1]
        return d[0] * a[1] if _zero(d[1]) else d[0] * a[1] + a[0] * d[1]
    if node.op == "div":
        return (d[0] - node * d[1]) / a[1]
    if node.op == "sin":
        return a[0].cos() * d[0]
    if node.op == "cos":
        return -(a[0].sin() * d[0])
    if node.op == "atan2":
        y, x = a
        return (d[0] * x - y * d[1]) / (x * x + y * y)
    if node.op == "sqrt":
        return d[0] / (2.0 * node)
    if node.op == "select":
        return a[0].where(d[1], d[2])
    if node.op == "pick":
        raise BrazoError(f"no derivative of the called function {a[0].value.name}")
    raise BrazoError(f"no derivative of '{node.op}': it is not smooth")


def _zero(rate: Any) -> bool:
    return type(rate) is float and rate == 0.0

"""Exact derivatives of a graph, as more nodes of the same graph.

Forward mode, one input element at a time: each node's derivative follows from its arguments' by the
chain rule.  Shared terms stay shared, and what does not depend on the input folds to zero.  A
selection has the derivative of what it selects, so a step has slope zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.graph import Expr, live_nodes
from brazo.errors import BrazoError

__all__ = ["derivative"]


def derivative(outputs: Sequence[Any], x: Expr) -> list[Any]:
    """The derivative of each output with respect to one input element."""
    d: dict[Expr, Any] = {}
    for node in live_nodes(o for o in outputs if isinstance(o, Expr)):
        if node is x:
            d[node] = 1.0
        elif node.op in ("const", "input"):
            d[node] = 0.0
        elif node.op == "call":
            d[node] = 0.0 if _constant([d[a] for a in node.args]) else 1.0
        else:
            d[node] = _rule(node, [d[a] for a in node.args])
    return [d[o] if isinstance(o, Expr) else 0.0 for o in outputs]


def _rule(node: Expr, d: list[Any]) -> Any:
    if _constant(d):
        return 0.0
    a = node.args
    if node.op == "add":
        return d[0] + d[1]
    if node.op == "sub":
        return d[0] - d[1]
    if node.op == "neg":
        return -d[0]
    if node.op == "mul":
        return d[0] * a[1] + a[0] * d[1]
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


def _constant(derivatives: list[Any]) -> bool:
    return all(isinstance(x, float) and x == 0.0 for x in derivatives)

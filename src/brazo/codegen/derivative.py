"""Exact derivatives of graph outputs, as new nodes of the same graph.

The method is forward-mode differentiation, by the chain rule from node to node. Equal terms are one
node. The derivative of a term that does not depend on the input is the constant zero. The
derivative of a selection (:func:`ring.where`) is the derivative of the selected value. The
derivative of a step function is therefore zero, also for rounding (:func:`ring.rint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brazo.codegen.graph import ROUND, Expr, live_nodes
from brazo.errors import BrazoError

__all__ = ["derivative", "directional"]


def derivative(outputs: Sequence[Any], x: Expr) -> list[Any]:
    """Return the derivative of each output with respect to the input element x."""
    return directional(outputs, {x: 1.0})


def directional(outputs: Sequence[Any], direction: Mapping[Expr, Any]) -> list[Any]:
    """Return the derivative of each output along a direction in the space of the inputs.

    ``direction`` maps input elements to the components of the direction; missing components are
    zero. If the components are the time derivatives of the inputs, the results are the time
    derivatives of the outputs.
    """
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
    if node.op in ("add", "sub") and any(x.op == "const" and x.value == ROUND for x in a):
        return 0.0  # the sum is rounded to an integer: a step function
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
        raise BrazoError(
            f"the called function {a[0].value.name} cannot be differentiated; use dual numbers "
            "(brazo.codegen.dual)"
        )
    raise BrazoError(f"no derivative of '{node.op}': this operation is not smooth")


def _zero(rate: Any) -> bool:
    return type(rate) is float and rate == 0.0

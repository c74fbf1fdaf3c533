"""Conversion of SymPy expressions to nodes of the expression graph; equal terms share a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from brazo.codegen.graph import Expr as Node
from brazo.codegen.graph import Graph
from brazo.codegen.ring import sign
from brazo.errors import BrazoError

Expr = Any


class Lowering:
    """Converts SymPy expressions to nodes of one graph.

    `names` maps symbols to nodes or numbers.
    """

    def __init__(self, graph: Graph, names: Mapping[Expr, Any]) -> None:
        self.graph = graph
        self._known: dict[Expr, Any] = dict(names)

    def define(self, symbol: Expr, value: Expr) -> None:
        """Define a symbol that later expressions may contain."""
        self._known[symbol] = self.lower(value)

    def lower(self, value: Expr) -> Any:
        """Return the graph node of an expression, or a number if it is constant."""
        if isinstance(value, (int, float)):
            return value
        value = sp.sympify(value)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._lower(value)
        return found

    def _lower(self, value: Expr) -> Any:
        if value.is_number:
            return float(value)
        if value.is_Add:
            return self._sum(value)
        if value.is_Mul:
            return self._product(value)
        if value.is_Pow:
            return self._power(value)
        if isinstance(value, (sp.sin, sp.cos, sp.Abs, sp.tan, sp.sign)):
            x = self.graph.expression(self.lower(value.args[0]))
            if isinstance(value, sp.Abs):
                return abs(x)
            if isinstance(value, sp.sign):
                return sign(x)
            if isinstance(value, sp.tan):
                return x.sin() / x.cos()
            return x.sin() if isinstance(value, sp.sin) else x.cos()
        raise BrazoError(
            f"'{value}' cannot be converted to code; supported are sums, products, powers, roots, "
            "sin, cos, tan, abs and sign"
        )

    def _sum(self, value: Expr) -> Any:
        # Plain numbers meet first, so that they fold.
        parts = sorted((self.lower(x) for x in value.args), key=_is_node)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _product(self, value: Expr) -> Any:
        numerator, denominator = [], []
        for x in value.args:
            if x.is_Pow and x.exp.is_number and x.exp.is_negative:
                denominator.append(self.lower(1 / x))
            else:
                numerator.append(self.lower(x))
        numerator.sort(key=_is_node)
        product: Any = 1.0
        for factor in numerator:
            product = product * factor
        for factor in denominator:
            product = product / factor
        return product

    def _power(self, value: Expr) -> Any:
        base = self.graph.expression(self.lower(value.base))
        exponent = value.exp
        if not (2 * exponent).is_Integer:
            raise BrazoError(
                f"'{value}' cannot be converted to code: its exponent must be a multiple of 1/2"
            )
        if exponent.is_Integer:
            power = self._whole_power(base, abs(int(exponent)))
        else:
            power = self._whole_power(base.sqrt(), abs(int(2 * exponent)))
        return power if exponent > 0 else 1.0 / power

    def _whole_power(self, base: Node, exponent: int) -> Any:
        result: Any = 1.0
        square: Any = base
        while exponent:
            if exponent & 1:
                result = result * square
            exponent >>= 1
            if exponent:
                square = square * square
        return result


def _is_node(x: Any) -> bool:
    return isinstance(x, Node) and x.op != "const"

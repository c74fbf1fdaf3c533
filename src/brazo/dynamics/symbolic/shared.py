"""The recursive form of the equations: derived on the expression graph, with named shared terms.

The expanded equations of an arm with seven joints have a hundred thousand terms.  In the recursive
form every sum, product, quotient or root that is used more than once gets a symbol x₁, x₂, …:

    x₁ = L₁ cos q₂,   x₂ = x₁ + L₂,   …          M₁₁ = m₂ x₂² + …

The result has only a few thousand operations, so it can also be compiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp

from brazo.codegen.derivative import derivative
from brazo.codegen.graph import Expr as Node
from brazo.codegen.graph import Graph, live_nodes
from brazo.dynamics.symbolic.lowering import Lowering
from brazo.dynamics.symbolic.mechanism import Mechanism
from brazo.dynamics.symbolic.polynomial import Angle

Expr = Any


class GraphRing:
    """`Ring` whose elements are nodes of an expression graph."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.graph = Graph()
        self.q = self.graph.inputs("q", mechanism.n)
        self.qd = self.graph.inputs("qd", mechanism.n)
        letters = list(mechanism.values)
        p = self.graph.inputs("p", len(letters)) if letters else []
        names = {
            **dict(zip(mechanism.q, self.q, strict=True)),
            **dict(zip(letters, p, strict=True)),
        }
        self.lowering = Lowering(self.graph, names)
        self.symbols: dict[tuple[str, int], Expr] = {}
        for name, symbols in (("q", mechanism.q), ("qd", mechanism.qd), ("p", letters)):
            for i, symbol in enumerate(symbols):
                self.symbols[name, i] = symbol

    def embed(self, value: Any) -> Any:
        # Zeros and ones stay plain numbers, which cost nothing.
        return value if isinstance(value, (int, float)) else self.lowering.lower(value)

    def cos_sin(self, angle: Angle) -> tuple[Any, Any]:
        node = self.lowering.lower(angle.expression)
        return node.cos(), node.sin()

    def coordinate(self, symbol: Expr, k: int) -> Any:
        return self.q[k]

    def derivatives(self, values: Sequence[Any], k: int) -> list[Any]:
        return derivative(values, self.q[k])


class Naming:
    """Converts graph nodes to SymPy expressions; terms used more than once get a name.

    `steps` lists the named terms as (symbol, expression) in the order of evaluation.  `taken` are
    names that must not be used.
    """

    def __init__(self, ring: GraphRing, outputs: Iterable[Any], taken: Iterable[str]) -> None:
        self.ring = ring
        self.steps: list[tuple[Expr, Expr]] = []
        self._taken = set(taken)
        self._known: dict[Node, Expr] = {}
        outputs = [x for x in outputs if isinstance(x, Node)]
        nodes = live_nodes(outputs)
        uses = Counter(argument for node in nodes for argument in node.args)
        for node in nodes:
            value = self._expression(node)
            if uses[node] > 1 and node.op not in ("const", "input", "neg", "sin", "cos"):
                symbol = self._name()
                self.steps.append((symbol, value))
                value = symbol
            self._known[node] = value

    def __getitem__(self, value: Any) -> Expr:
        return self._known[value] if isinstance(value, Node) else _number(value)

    def _name(self) -> Expr:
        name = f"x{len(self.steps) + 1}"
        while name in self._taken:
            name += "_"
        return sp.Symbol(name)

    def _expression(self, node: Node) -> Expr:
        if node.op == "const":
            return _number(node.value)
        if node.op == "input":
            return self.ring.symbols[node.value]
        a = [self._known[x] for x in node.args]
        if node.op == "add":
            return a[0] + a[1]
        if node.op == "sub":
            return a[0] - a[1]
        if node.op == "mul":
            return a[0] * a[1]
        if node.op == "div":
            return a[0] / a[1]
        if node.op == "neg":
            return -a[0]
        return {"sin": sp.sin, "cos": sp.cos, "sqrt": sp.sqrt}[node.op](a[0])


def _number(x: float) -> Expr:
    return sp.Integer(int(x)) if float(x).is_integer() else sp.Float(x)

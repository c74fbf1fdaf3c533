"""Expression graph in which equal expressions are one node (hash-consing).

A node (:class:`Expr`) is the scalar type from which machine code is generated. Building ``a*b + c``
twice gives the same node, so common terms are computed once. An algorithm that runs on nodes
instead of numbers yields straight-line code that is specialised to the algorithm's constants.

Simplification is limited to identities that are exact in IEEE arithmetic. For finite inputs and
results, a simplified graph gives the same bits as the original, except for the sign of a zero.
``0*x``, ``0/x`` and ``x - x`` become ``0``. ``(a + b) + c`` is never re-associated. Signs are moved
outwards (``(-a)*b`` becomes ``-(a*b)``, ``a + (-b)`` becomes ``a - b``), so that terms that are
equal up to sign are shared too. Sines, cosines and angles of constants are computed by :mod:`math`;
they may differ from compiled code in the last bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from brazo.errors import BrazoError

ROUND = 1.5 * 2.0**52  # adding it leaves an integer in a double's mantissa

__all__ = ["Expr", "Graph", "live_nodes", "op_counts", "signature", "transplant"]


class Expr:
    """A node of an expression graph.

    ``op`` is the name of the operation and ``args`` are the argument nodes. ``value`` is the number
    of a constant, the ``(name, index)`` of an input, the function of a call, or the index of a
    call's output. Compare nodes with ``is``: equal expressions are one object.
    """

    __slots__ = ("args", "graph", "id", "op", "value")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...], value: Any):
        self.graph, self.op, self.args, self.value = graph, op, args, value
        self.id = len(graph.nodes)
        graph.nodes.append(self)

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        if self.op == "input":
            return f"{self.value[0]}[{self.value[1]}]"
        return f"{self.op}({', '.join(f'#{a.id}' for a in self.args)})"

    def __bool__(self) -> bool:
        raise BrazoError("an expression has no truth value; use brazo.codegen.ring.where")

    def __add__(self, other: Any) -> Any:
        return self.graph._binary(_add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self.graph._binary(_add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self.graph._binary(_sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.graph._binary(_sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self.graph._binary(_mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.graph._binary(_mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.graph._binary(_div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.graph._binary(_div, other, self)

    def __pow__(self, exponent: Any) -> Any:
        return self * self if type(exponent) is int and exponent == 2 else NotImplemented

    def __neg__(self) -> Expr:
        return _neg(self.graph, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return _max(self.graph, self, -self)

    def sin(self) -> Expr:
        """Sine."""
        return _sin(self.graph, self)

    def cos(self) -> Expr:
        """Cosine."""
        return _cos(self.graph, self)

    def sincos(self) -> tuple[Expr, Expr]:
        """Sine and cosine."""
        return self.sin(), self.cos()

    @staticmethod
    def atan2(y: Any, x: Any) -> Any:
        """The angle of the point (x, y) in rad; at least one of x and y is an expression."""
        return (y if isinstance(y, Expr) else x).graph._binary(_atan2, y, x)

    def rint(self) -> Any:
        """Nearest integer, halves to even."""
        return (self + ROUND) - ROUND

    def sqrt(self) -> Expr:
        """Square root."""
        if self.op == "const" and self.value >= 0:
            return self.graph.constant(math.sqrt(self.value))
        return self.graph._node("sqrt", (self,))

    def minimum(self, other: Any) -> Any:
        """The smaller of this value and another value."""
        return self.graph._binary(_min, self, other)

    def maximum(self, other: Any) -> Any:
        """The larger of this value and another value."""
        return self.graph._binary(_max, self, other)

    def where(self, a: Any, b: Any) -> Any:
        """``a`` where this value is >= 0, otherwise ``b``."""
        a, b = self.graph._coerce(a), self.graph._coerce(b)
        if a is None or b is None:
            return NotImplemented
        if a is b:
            return a
        if self.op == "const":
            return a if self.value >= 0 else b
        return self.graph._node("select", (self, a, b))


class Graph:
    """The nodes and the input vectors of one computation."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self.input_sizes: dict[str, int] = {}
        self._table: dict[tuple[Any, ...], Expr] = {}

    def inputs(self, name: str, size: int) -> list[Expr]:
        """Declare an input vector and return its elements.

        A kernel takes its arguments in the order of declaration.
        """
        if not name.isidentifier() or not name.isascii():
            raise BrazoError(f"graph input {name!r}: the name must be an ASCII identifier")
        if name in self.input_sizes:
            raise BrazoError(
                f"graph input {name!r} is declared twice; give each input its own name"
            )
        if size < 1:
            raise BrazoError(f"graph input {name!r}: size {size}; the size must be at least 1")
        self.input_sizes[name] = size
        return [Expr(self, "input", (), (name, i)) for i in range(size)]

    def constant(self, value: float) -> Expr:
        """Return the node of a finite number (0 and −0 give the same node)."""
        value = float(value) + 0.0
        key = ("const", value)
        node = self._table.get(key)
        if node is None:
            if not math.isfinite(value):
                raise BrazoError(f"a constant of an expression graph is {value}; it must be finite")
            node = self._table[key] = Expr(self, "const", (), value)
        return node

    def expression(self, x: Any) -> Expr:
        """Convert a number to a node; an expression of this graph is returned unchanged."""
        node = self._coerce(x)
        if node is None:
            raise BrazoError(f"expected an expression or a number, not {type(x).__name__}")
        return node

    def call(self, function: Any, *inputs: Sequence[Any]) -> list[list[Expr]]:
        """Add a call of a :class:`~brazo.codegen.function.Function`; return one list per output.

        The code of the function exists once, for any number of calls.
        """
        sizes = [len(x) for x in inputs]
        if sizes != list(function.inputs.values()):
            raise BrazoError(
                f"{function.name}: the arguments have sizes {sizes}; expected {function.inputs}"
            )
        args = tuple(self.expression(x) for vector in inputs for x in vector)
        node = self._node("call", args, function)
        results, start = [], 0
        for size in function.outputs.values():
            results.append([self._node("pick", (node,), start + i) for i in range(size)])
            start += size
        return results

    def _node(self, op: str, args: tuple[Expr, ...], value: Any = None) -> Expr:
        key = (op, *args) if value is None else (op, value, *args)
        node = self._table.get(key)
        if node is None:
            node = self._table[key] = Expr(self, op, args, value)
        return node

    def _commutative(self, op: str, a: Expr, b: Expr) -> Expr:
        return self._node(op, (a, b) if a.id <= b.id else (b, a))

    def _coerce(self, x: Any) -> Expr | None:
        if isinstance(x, Expr):
            if x.graph is not self:
                raise BrazoError("expressions of two different graphs cannot be combined")
            return x
        if isinstance(x, (float, int)):
            return self.constant(x)
        if getattr(x, "ndim", None) == 0 and hasattr(x, "__float__"):  # other NumPy scalars
            return self.constant(float(x))
        return None

    def _binary(self, rule: Callable[[Graph, Expr, Expr], Expr], a: Any, b: Any) -> Any:
        if type(a) is Expr and type(b) is Expr and a.graph is b.graph is self:  # most calls
            return rule(self, a, b)
        x, y = self._coerce(a), self._coerce(b)
        return NotImplemented if x is None or y is None else rule(self, x, y)


def live_nodes(outputs: Iterable[Expr]) -> list[Expr]:
    """Return the nodes that the outputs depend on; arguments come before their users."""
    alive: set[Expr] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in alive:
            alive.add(node)
            stack.extend(node.args)
    return sorted(alive, key=attrgetter("id"))


def op_counts(outputs: Iterable[Expr]) -> Counter[str]:
    """Count the operations of each kind.

    Inputs and constants do not count. A call counts as the ``op_counts()`` of its function.
    """
    counts: Counter[str] = Counter()
    for node in live_nodes(outputs):
        if node.op == "call":
            counts += node.value.op_counts()
        elif node.op not in ("input", "const", "pick"):
            counts[node.op] += 1
    return counts


def signature(outputs: Iterable[Expr]) -> str:
    """Return a key that is equal only for equal computations (the cache key of machine code)."""
    outputs = list(outputs)
    number: dict[Expr, int] = {}
    lines = []
    for node in live_nodes(outputs):
        number[node] = len(lines)
        value = node.value
        if node.op == "const":
            value = value.hex()
        elif node.op == "call":
            value = value.signature()
        lines.append(f"{node.op} {value} {[number[a] for a in node.args]}")
    lines.append(str([number[o] for o in outputs]))
    return "\n".join(lines)


def transplant(expressions: Iterable[Any], graph: Graph) -> list[Expr]:
    """Rebuild expressions in another graph, which must have inputs of the same names and sizes."""
    expressions = list(expressions)
    inputs = {node.value: node for node in graph.nodes if node.op == "input"}
    moved: dict[Expr, Expr] = {}
    for node in live_nodes(x for x in expressions if isinstance(x, Expr)):
        if node.op == "const":
            moved[node] = graph.constant(node.value)
        elif node.op == "input":
            moved[node] = inputs[node.value]
        else:
            moved[node] = graph._node(node.op, tuple(moved[a] for a in node.args), node.value)
    return [moved[x] if isinstance(x, Expr) else graph.expression(x) for x in expressions]


# Folding rules. Each returns the node of one operation on nodes of the same graph.


def _neg(g: Graph, a: Expr) -> Expr:
    if a.op == "const":
        return g.constant(-a.value)
    if a.op == "neg":
        return a.args[0]
    if a.op == "sub":
        return g._node("sub", (a.args[1], a.args[0]))
    return g._node("neg", (a,))


def _add(g: Graph, a: Expr, b: Expr) -> Expr:
    if a.op == "const" and b.op == "const":
        return _fold(g, a.value + b.value, "add", a, b)
    if a.op == "const" and a.value == 0:
        return b
    if b.op == "const" and b.value == 0:
        return a
    if b.op == "neg":
        return _sub(g, a, b.args[0])
    if a.op == "neg":
        return _sub(g, b, a.args[0])
    if b.op == "const" and b.value < 0:
        return _sub(g, a, g.constant(-b.value))
    if a.op == "const" and a.value < 0:
        return _sub(g, b, g.constant(-a.value))
    if a is b:
        return _mul(g, g.constant(2.0), a)
    return g._commutative("add", a, b)


def _sub(g: Graph, a: Expr, b: Expr) -> Expr:
    if a is b:
        return g.constant(0.0)
    if a.op == "const" and b.op == "const":
        return _fold(g, a.value - b.value, "sub", a, b)
    if b.op == "const" and b.value == 0:
        return a
    if a.op == "const" and a.value == 0:
        return _neg(g, b)
    if b.op == "neg":
        return _add(g, a, b.args[0])
    if a.op == "neg":
        return _neg(g, _add(g, a.args[0], b))
    if b.op == "const" and b.value < 0:
        return _add(g, a, g.constant(-b.value))
    if a.op == "const" and a.value < 0:
        return _neg(g, _add(g, g.constant(-a.value), b))
    return g._node("sub", (a, b))


def _mul(g: Graph, a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        c = a.value
        if b.op == "const":
            return _fold(g, c * b.value, "mul", a, b)
        if c == 0:
            return a
        if c == 1:
            return b
        if c < 0:
            return _neg(g, _mul(g, g.constant(-c), b))
    if a.op == "neg":
        return _neg(g, _mul(g, a.args[0], b))
    if b.op == "neg":
        return _neg(g, _mul(g, a, b.args[0]))
    return g._commutative("mul", a, b)


def _div(g: Graph, a: Expr, b: Expr) -> Expr:
    if b.op == "const":
        c = b.value
        if c == 0:
            raise BrazoError("an expression is divided by the constant 0")
        if a.op == "const":
            return _fold(g, a.value / c, "div", a, b)
        if abs(math.frexp(c)[0]) == 0.5 and math.isfinite(1.0 / c):
            return _mul(g, a, g.constant(1.0 / c))  # a power of two: the reciprocal is exact
        if c < 0:
            return _neg(g, _div(g, a, g.constant(-c)))
    elif a.op == "const" and a.value <= 0:
        return a if a.value == 0 else _neg(g, _div(g, g.constant(-a.value), b))
    if a.op == "neg":
        return _neg(g, _div(g, a.args[0], b))
    if b.op == "neg":
        return _neg(g, _div(g, a, b.args[0]))
    return g._node("div", (a, b))


def _sin(g: Graph, a: Expr) -> Expr:
    if a.op == "const":
        return g.constant(math.sin(a.value))
    if a.op == "neg":
        return _neg(g, _sin(g, a.args[0]))
    return g._node("sin", (a,))


def _cos(g: Graph, a: Expr) -> Expr:
    if a.op == "const":
        return g.constant(math.cos(a.value))
    return g._node("cos", (a.args[0] if a.op == "neg" else a,))


def _atan2(g: Graph, y: Expr, x: Expr) -> Expr:
    if y.op == "const" and x.op == "const":
        return g.constant(math.atan2(y.value, x.value))
    return g._node("atan2", (y, x))


def _min(g: Graph, a: Expr, b: Expr) -> Expr:
    if a.op == "const" and b.op == "const":
        return a if a.value < b.value else b
    return a if a is b else g._commutative("min", a, b)


def _max(g: Graph, a: Expr, b: Expr) -> Expr:
    if a.op == "const" and b.op == "const":
        return a if a.value > b.value else b
    return a if a is b else g._commutative("max", a, b)


def _fold(g: Graph, value: float, op: str, a: Expr, b: Expr) -> Expr:
    if not math.isfinite(value):
        raise BrazoError(f"constants overflow: {op}({a.value}, {b.value}) is {value}")
    return g.constant(value)

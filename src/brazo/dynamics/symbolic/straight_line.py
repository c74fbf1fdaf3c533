"""Conversion of graph nodes to lines of source code in a programming language.

A node that is used more than once, every sine and cosine, and every expression longer than
`MAX_LENGTH` characters becomes a local variable: c23 for cos(q2 + q3), otherwise t1, t2, ….  Other
nodes are written as subexpressions.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from brazo.codegen.graph import Expr as Node
from brazo.codegen.graph import live_nodes

MAX_LENGTH = 76  # of an expression on one line

_SUM, _NEGATIVE, _PRODUCT, _ATOM = range(4)  # how tightly an expression holds together
# Words no language of the exports takes for a name.
_RESERVED = set(keyword.kwlist) | {
    "auto", "case", "catch", "char", "classdef", "const", "default", "do", "double", "elseif",
    "end", "enum", "extern", "float", "function", "goto", "inline", "int", "long", "otherwise",
    "parfor", "persistent", "register", "restrict", "short", "signed", "sizeof", "static",
    "struct", "switch", "typedef", "union", "unsigned", "until", "void", "volatile",
}  # fmt: skip


@dataclass(frozen=True)
class Syntax:
    """Syntax of a programming language: functions that write inputs, assignments and so on."""

    input: Callable[[str, int], str]  # name and index of an input's element
    assign: Callable[[str, str], str]  # a local variable's line
    select: Callable[[str, str, str], str]  # a where the test is >= 0, else b
    functions: dict[str, str]  # sin, cos, sqrt, min, max


def lines_of(outputs: Sequence[Node], syntax: Syntax) -> tuple[list[str], list[str]]:
    """Return the lines that define local variables, and the expression of each output."""
    writer = _LineWriter(outputs, syntax)
    return writer.lines, [writer.text(node) for node in outputs]


def identifier(name: str) -> str:
    """Convert a name to one that is valid in every language: letters, digits and _, no keyword."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    text = re.sub(r"__+", "_", text) or "robot"
    if text[0].isdigit() or text[0] == "_":
        text = "r" + text
    return text + "_" if text in _RESERVED else text


def identifiers(names: Sequence[str]) -> dict[str, str]:
    """Map each name to a valid and unique identifier."""
    given: dict[str, str] = {}
    for name in names:
        text = identifier(name)
        while text in given.values():
            text += "_"
        given[name] = text
    return given


def uses(outputs: Sequence[Node], name: str) -> bool:
    """Whether the outputs depend on the input `name`."""
    return any(node.op == "input" and node.value[0] == name for node in live_nodes(outputs))


class _LineWriter:
    def __init__(self, outputs: Sequence[Node], syntax: Syntax) -> None:
        self.syntax = syntax
        self.lines: list[str] = []
        self._written: dict[Node, tuple[str, int]] = {}
        self._names: set[str] = set()
        self._count = 0
        nodes = live_nodes(outputs)
        used = Counter(argument for node in nodes for argument in node.args)
        used.update(set(outputs))
        for node in nodes:
            text, level = self._expression(node)
            plain = node.op in ("const", "input")
            shared = used[node] > 1 or node.op in ("sin", "cos")
            if not plain and (shared or len(text) > MAX_LENGTH) and node.op != "neg":
                name = self._name(node)
                self.lines.append(syntax.assign(name, text))
                text, level = name, _ATOM
            self._written[node] = text, level

    def text(self, node: Node) -> str:
        return self._written[node][0]

    def _at(self, node: Node, level: int) -> str:
        text, own = self._written[node]
        return text if own >= level else f"({text})"

    def _expression(self, node: Node) -> tuple[str, int]:
        op, a = node.op, node.args
        if op == "const":
            return repr(node.value), _ATOM if node.value >= 0 else _NEGATIVE
        if op == "input":
            return self.syntax.input(*node.value), _ATOM
        if op == "add":
            return f"{self._at(a[0], _SUM)} + {self._at(a[1], _PRODUCT)}", _SUM
        if op == "sub":
            return f"{self._at(a[0], _SUM)} - {self._at(a[1], _PRODUCT)}", _SUM
        if op == "mul":
            return f"{self._at(a[0], _PRODUCT)}*{self._at(a[1], _ATOM)}", _PRODUCT
        if op == "div":
            return f"{self._at(a[0], _PRODUCT)}/{self._at(a[1], _ATOM)}", _PRODUCT
        if op == "neg":
            return f"-{self._at(a[0], _PRODUCT)}", _NEGATIVE
        if op == "select":
            return self.syntax.select(*(self._at(x, _SUM) for x in a)), _ATOM
        arguments = ", ".join(self._at(x, _SUM) for x in a)
        return f"{self.syntax.functions[op]}({arguments})", _ATOM

    def _name(self, node: Node) -> str:
        name = ""
        if node.op in ("sin", "cos"):
            name = _trig_name(node)
        if not name or name in self._names:
            self._count += 1
            name = f"t{self._count}"
        self._names.add(name)
        return name


def _trig_name(node: Node) -> str:
    """Variable name such as c23 for cos(q2 + q3) or s2m4 for sin(q2 - q4).

    The result is empty for other angles, for joint numbers above 9, and if the factor of a joint
    angle is above 2.
    """
    signs: Counter[int] = Counter()
    todo: list[tuple[Any, int]] = [(node.args[0], 1)]
    while todo:
        x, sign = todo.pop()
        if x.op == "input" and x.value[0] == "q":
            signs[x.value[1] + 1] += sign
        elif x.op in ("add", "sub"):
            todo += [(x.args[0], sign), (x.args[1], sign if x.op == "add" else -sign)]
        elif x.op == "neg":
            todo.append((x.args[0], -sign))
        else:
            return ""
    if not signs or max(signs) > 9 or any(abs(k) > 2 for k in signs.values()):
        return ""
    plus = "".join(str(i) * k for i, k in sorted(signs.items()) if k > 0)
    minus = "".join(f"m{i}" * -k for i, k in sorted(signs.items()) if k < 0)
    return node.op[0] + plus + minus

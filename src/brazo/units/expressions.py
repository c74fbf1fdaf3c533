"""Parser of expressions such as `90deg`, `-L1/2` or `sqrt(2)*5 cm` into a tree.

    sum      product (('+' | '-') product)*
    product  signed (('*' | '/') signed)*
    signed   ('-' | '+') signed | power
    power    atom (('^' | '**') signed)?
    atom     number [unit ['/s']] | name | function '(' sum ')' | '(' sum ')'

The tree can be evaluated with different types of scalars.  With `Quantity`, the result is a float
in SI units and dimensions are checked.  With SymPy (`brazo.dynamics.symbolic`), it is a formula of
the parameters.  No text is ever passed to Python's `eval`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, Protocol

from brazo.errors import BrazoError
from brazo.units.dimensions import UNITS
from brazo.units.quantities import Quantity, QuantityScalars, UndefinedResult

FUNCTIONS = ("sin", "cos", "tan", "sqrt", "abs")
RESERVED = ("pi", *FUNCTIONS)  # names that no parameter may have

_MAX_LENGTH = 400  # characters of one expression
_MAX_DEPTH = 40  # nested parentheses and signs
_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:[ \t]*(?P<unit>[A-Za-z]+))?"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|[-+*/^()]))",
    re.ASCII,
)
_QUANTITIES = QuantityScalars()


class Scalars(Protocol):
    """Protocol for evaluating literals and functions with one type of scalar.

    The scalars must support Python's arithmetic operators.
    """

    pi: Any

    def literal(self, number: str, unit: str | None, per_second: bool) -> Any:
        """Value of a literal in SI units; `per_second` is True for units such as `deg/s`."""
        ...

    def call(self, function: str, argument: Any) -> Any:
        """Value of a function at an argument; `function` is one of `FUNCTIONS`."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """Tree node of a number with an optional unit."""

    number: str
    unit: str | None = None
    per_second: bool = False

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        return scalars.literal(self.number, self.unit, self.per_second)


@dataclass(frozen=True, slots=True)
class Name:
    """Tree node of a parameter, or of pi."""

    name: str

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        if self.name in names:
            return names[self.name]
        if self.name == "pi":
            return scalars.pi
        raise _UnknownName(self.name)


@dataclass(frozen=True, slots=True)
class Negative:
    """Tree node of a negated operand."""

    operand: Node

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        return -self.operand.over(scalars, names)


@dataclass(frozen=True, slots=True)
class Operation:
    """Tree node of a sum, difference, product, quotient or power."""

    op: str  # one of _OPERATORS
    left: Node
    right: Node

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        left, right = self.left.over(scalars, names), self.right.over(scalars, names)
        return _OPERATORS[self.op](left, right)


@dataclass(frozen=True, slots=True)
class Call:
    """Tree node of a function with one argument."""

    function: str  # one of FUNCTIONS
    argument: Node

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        return scalars.call(self.function, self.argument.over(scalars, names))


Node = Literal | Name | Negative | Operation | Call


class _UnknownName(BrazoError):
    """Raised if an expression contains a name that has no value."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: its text, its tree, and the names that occur in it.

    `names` contains parameters and `pi`, but no function that is called.
    """

    text: str
    tree: Node
    names: frozenset[str]

    def evaluate(self, names: Mapping[str, Quantity] | None = None) -> Quantity:
        """Evaluate to a quantity in SI units; dimensions are checked."""
        result = self.over(_QUANTITIES, names or {})
        if not math.isfinite(result.value):
            raise BrazoError(f"'{_short(self.text)}' is not a finite number")
        return result

    def over(self, scalars: Scalars, names: Mapping[str, Any]) -> Any:
        """Evaluate with the scalar type of `scalars`; `names` maps parameter names to values."""
        try:
            return self.tree.over(scalars, names)
        except UndefinedResult as error:
            raise BrazoError(f"'{_short(self.text)}'{error}") from error
        except _UnknownName as error:
            known = f"parameters: {', '.join(sorted(names))}"
            wanted = known if names else "expected a number, such as 0.4, 30deg or 5cm"
            raise BrazoError(f"unknown name '{error}' in '{_short(self.text)}'; {wanted}") from None


def parse_expression(text: str, names: Container[str] = ()) -> Expression:
    """Parse an expression; unknown names are not reported before the evaluation.

    `names` are the names of the parameters.  `/s` after a unit, as in `180deg/s`, is part of the
    unit unless `s` is a parameter.
    """
    return _parse(text, "s" in names)


def names_in(text: str) -> set[str]:
    """Return all names in a text, including functions but not units that follow a number.

    The text may be an invalid expression.
    """
    return {match["name"] for match in _TOKEN.finditer(text) if match["name"]}


@lru_cache(maxsize=1024)
def _parse(text: str, s_is_parameter: bool) -> Expression:
    if len(text) > _MAX_LENGTH:
        raise BrazoError(
            f"the expression has {len(text)} characters; at most {_MAX_LENGTH} are allowed"
        )
    parser = _Parser(text, s_is_parameter)
    return Expression(text, parser.read(), frozenset(parser.names))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


class _Parser:
    """Recursive-descent parser of the tokens of one expression."""

    def __init__(self, text: str, s_is_parameter: bool) -> None:
        self.text = text
        self.s_is_parameter = s_is_parameter
        self.tokens = self._tokens(text)
        self.names: set[str] = set()
        self.at = 0
        self.depth = 0

    @staticmethod
    def _tokens(text: str) -> list[re.Match[str]]:
        tokens, position = [], 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                rest = text[position : position + 10].strip()
                hint = "; write degrees as deg" if rest.startswith("°") else ""
                raise BrazoError(
                    f"'{_short(text)}' is not a number or expression: cannot read '{rest}'{hint}"
                )
            tokens.append(match)
            position = match.end()
        return tokens

    def read(self) -> Node:
        if not self.tokens:
            raise BrazoError("the expression is empty; a number is missing")
        tree = self._sum()
        if self.at < len(self.tokens):
            self._fail(f": unexpected '{self.tokens[self.at].group().strip()}'")
        return tree

    def _fail(self, message: str) -> NoReturn:
        raise BrazoError(f"'{_short(self.text)}'{message}")

    def _take(self, *ops: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at]["op"] in ops:
            self.at += 1
            return self.tokens[self.at - 1]["op"]
        return None

    def _sum(self) -> Node:
        left = self._product()
        while op := self._take("+", "-"):
            left = Operation(op, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._signed()
        while op := self._take("*", "/"):
            left = Operation(op, left, self._signed())
        return left

    def _signed(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self._fail(f" has more than {_MAX_DEPTH} nested parentheses and signs")
        try:
            if self._take("-"):
                return Negative(self._signed())
            if self._take("+"):
                return self._signed()
            base = self._atom()
            return Operation("^", base, self._signed()) if self._take("^", "**") else base
        finally:
            self.depth -= 1

    def _atom(self) -> Node:
        if self._take("("):
            return self._closed()
        if self.at >= len(self.tokens):
            self._fail(" ends too early: a number is missing")
        token = self.tokens[self.at]
        self.at += 1
        if token["number"]:
            return self._literal(token["number"], token["unit"])
        name = token["name"]
        if not name:
            self._fail(f": unexpected '{token['op']}'")
        if name in FUNCTIONS and self._take("("):
            return Call(name, self._closed())
        self.names.add(name)
        return Name(name)

    def _closed(self) -> Node:
        """Parse an expression after an opening parenthesis, up to the closing one."""
        inner = self._sum()
        if not self._take(")"):
            self._fail(": a ')' is missing")
        return inner

    def _literal(self, number: str, unit: str | None) -> Literal:
        if unit is None:
            return Literal(number)
        if unit not in UNITS:
            known = ", ".join(UNITS)
            raise BrazoError(
                f"unknown unit '{unit}' in '{_short(self.text)}'; known units: {known}"
            )
        return Literal(number, unit, self._per_second())

    def _per_second(self) -> bool:
        following = self.tokens[self.at : self.at + 2]
        if self.s_is_parameter or [token.group().strip() for token in following] != ["/", "s"]:
            return False
        self.at += 2
        return True

"""Expressions of a xacro file, `${...}` and `$(eval ...)`, evaluated without Python's `eval`.

The expressions are written in Python and could contain anything.  They are therefore parsed and
evaluated here node by node.  Only what a robot description needs is allowed:

* numbers, strings, lists, tuples and dictionaries, and the operators on them;
* comparisons, `and`, `or`, `not`, `a if c else b`, subscripts, comprehensions;
* calls of a `XacroFunction`, which only this package creates (see `functions`), and of a few
  methods of strings and dictionaries;
* `a.b`, where a is a namespace or data read from YAML: the entry of a with the name b.

Every value is plain data.  No class, frame or module can be reached, because no node type gives
access to one.  Evaluation is charged to a `Budget`, which limits time and memory.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from brazo.errors import BrazoError
from brazo.formats.urdf.budget import Budget, pay

MAX_EXPRESSION = 4000  # characters
MAX_TEXT = 100_000  # characters of one value
MAX_BITS = 4096  # of a whole number
_EACH = 20  # cost of any expression, for parsing

Data = None | bool | int | float | str | list | tuple | dict


@dataclass(frozen=True, slots=True)
class XacroFunction:
    """Function that an expression can call; its arguments are plain data."""

    name: str
    call: Callable[..., Any]
    keywords: frozenset[str] | None = frozenset()  # None: any, as for `dict`

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.call(*arguments, **keywords)


def evaluate(expression: str, names: Mapping[str, Any], budget: Budget) -> Data:
    """Return the value of an expression; `names` are the properties, functions and namespaces.

    Raises BrazoError for an expression that is not allowed or exceeds the budget.  Other errors of
    the expression raise the exception that Python would raise.
    """
    expression = expression.strip()
    if len(expression) > MAX_EXPRESSION:
        raise BrazoError(
            f"the expression has {len(expression)} characters; at most {MAX_EXPRESSION} are allowed"
        )
    budget.spend(_EACH)
    value = _Walk(expression, names, budget).value(ast.parse(expression, mode="eval").body)
    if not is_data(value):
        raise BrazoError(f"'{expression[:60]}' is a function, not a value; call it with ()")
    pay(value, budget)
    return value


def is_data(value: Any) -> bool:
    """Return whether a value is plain data: a number, text, list, tuple, dictionary or None.

    The exact type is compared, because xacro's tables of names derive from `dict`.
    """
    return type(value) in _data_types()


def _require_short(text: str, times: int = 1) -> None:
    """Raise BrazoError if `times` copies of a text have more than `MAX_TEXT` characters."""
    if len(text) * times > MAX_TEXT:
        raise BrazoError(f"a text value has more than {MAX_TEXT} characters, the maximum")


class _Walk:
    """Evaluator of one expression; `local` contains the variables of comprehensions."""

    def __init__(self, expression: str, names: Mapping[str, Any], budget: Budget) -> None:
        self.expression = expression
        self.names = names
        self.budget = budget
        self.local: dict[str, Any] = {}

    def value(self, node: ast.AST) -> Any:
        self.budget.spend(2)
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            self._refuse()
        return method(node)

    def _refuse(
        self, why: str = "only numbers, texts, lists, dictionaries and known functions can be used"
    ) -> NoReturn:
        raise BrazoError(f"'{self.expression[:60]}' is not allowed: {why}")

    def _data(self, node: ast.AST) -> Any:
        """Return the value of a node; reject it if it is a function or a namespace."""
        value = self.value(node)
        if not is_data(value):
            self._refuse("a function is not a value; call it with ()")
        return value

    def _paid(self, value: Any) -> Any:
        """Subtract the size of a value from the budget and return the value."""
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            self._refuse(f"a whole number of more than {MAX_BITS} bits")
        if isinstance(value, str):
            _require_short(value)
        pay(value, self.budget)
        return value

    def _key(self, node: ast.AST | None) -> Any:
        """Return the value of a node that is a dictionary key or an index.

        Lists, tuples and dictionaries are rejected, because hashing them is slow.
        """
        key = None if node is None else self._data(node)
        if node is None or isinstance(key, list | tuple | dict):
            self._refuse("a key must be a number or a text")
        return key

    # -- names and values -----------------------------------------------------------------------

    def _Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, str | bool | int | float | None):
            self._refuse()
        return self._paid(node.value)

    def _Name(self, node: ast.Name) -> Any:
        if node.id in self.local:
            return self.local[node.id]
        if node.id.startswith("__"):
            self._refuse()
        try:
            return self._known(self.names[node.id])
        except KeyError:
            raise NameError(f"name '{node.id}' is not defined") from None

    def _known(self, value: Any) -> Any:
        if not (is_data(value) or isinstance(value, XacroFunction) or _is_namespace(value)):
            self._refuse()
        return value

    def _Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if node.attr.startswith("_"):
            self._refuse()
        if _is_namespace(owner):
            try:
                return self._known(owner[node.attr])
            except KeyError:
                raise NameError(f"name '{node.attr}' is not defined") from None
        if _is_dotted(owner):
            return self._known(owner[node.attr])
        self._refuse(f"the value before '.{node.attr}' has no such entry")

    def _Subscript(self, node: ast.Subscript) -> Any:
        owner = self._data(node.value)
        if isinstance(node.slice, ast.Slice):
            if not isinstance(owner, str | list | tuple):
                self._refuse("only strings and lists can be sliced")
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            return self._paid(owner[slice(*(part and self._data(part) for part in parts))])
        if not isinstance(owner, str | list | tuple | dict):
            self._refuse("only strings, lists and dictionaries have entries")
        return self._known(owner[self._key(node.slice)])

    def _List(self, node: ast.List) -> list[Any]:
        return self._paid([self._data(item) for item in node.elts])

    def _Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return self._paid(tuple(self._data(item) for item in node.elts))

    def _Dict(self, node: ast.Dict) -> dict[Any, Any]:
        pairs = zip(node.keys, node.values, strict=True)
        return self._paid({self._key(k): self._data(v) for k, v in pairs})

    # -- operators ------------------------------------------------------------------------------

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._paid(_UNARY[type(node.op)](self._data(node.operand)))

    def _BinOp(self, node: ast.BinOp) -> Any:
        a, b = self._data(node.left), self._data(node.right)
        match node.op:
            case ast.Pow() | ast.LShift() if isinstance(a, int) and isinstance(b, int):
                size = a.bit_length() * abs(b) if isinstance(node.op, ast.Pow) else abs(b)
                if size > MAX_BITS:
                    self._refuse(f"a whole number of more than {MAX_BITS} bits")
            case ast.Mult():
                for text, times in ((a, b), (b, a)):
                    length = len(text) if isinstance(text, str | list | tuple) else 0
                    if isinstance(times, int) and length * times > MAX_TEXT:
                        self._refuse(f"more than {MAX_TEXT} repetitions")
            case ast.Mod() if isinstance(a, str):
                self._refuse("no formatting with %; use str() and +")
            case ast.MatMult():
                self._refuse()
        return self._paid(_BINARY[type(node.op)](a, b))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        decides = isinstance(node.op, ast.Or)
        value: Any = None
        for part in node.values:
            value = self._data(part)
            if bool(value) is decides:
                break
        return value

    def _Compare(self, node: ast.Compare) -> bool:
        left = self._data(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._data(part)
            pay((left, right), self.budget)  # comparing takes time in proportion to both
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _IfExp(self, node: ast.IfExp) -> Any:
        return self._data(node.body if self._data(node.test) else node.orelse)

    # -- calls ----------------------------------------------------------------------------------

    def _Call(self, node: ast.Call) -> Any:
        function = self._callee(node.func)
        arguments = [self._data(argument) for argument in node.args]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            allowed = function.keywords
            if keyword.arg is None or not (allowed is None or keyword.arg in allowed):
                self._refuse(f"{function.name}() has no argument '{keyword.arg or '**'}'")
            keywords[keyword.arg] = self._data(keyword.value)
        pay(arguments, self.budget)  # the time of a call depends on the size of its arguments
        value = function(*arguments, **keywords)
        if not is_data(value):
            self._refuse()
        return self._paid(value)

    def _callee(self, node: ast.AST) -> XacroFunction:
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            kinds = [kind for kind in _METHODS if is_data(owner) and isinstance(owner, kind)]
            table = _METHODS[kinds[0]] if kinds else {}
            if node.attr in table:
                method = table[node.attr]
                return XacroFunction(node.attr, lambda *arguments: method(owner, *arguments))
            if not (_is_namespace(owner) or _is_dotted(owner)):
                self._refuse(f"the value before '.{node.attr}()' has no such method")
        elif not isinstance(node, ast.Name):
            self._refuse("only functions can be called, by their name")
        function = self.value(node)
        if not isinstance(function, XacroFunction):
            self._refuse("only functions can be called, by their name")
        return function

    # -- comprehensions -------------------------------------------------------------------------

    def _ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        found: list[Any] = []
        self._loop(node.generators, lambda: found.append(self._data(node.elt)))
        return self._paid(found)

    _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> dict[Any, Any]:
        found: dict[Any, Any] = {}

        def add() -> None:
            found[self._key(node.key)] = self._data(node.value)

        self._loop(node.generators, add)
        return self._paid(found)

    def _loop(self, generators: list[ast.comprehension], each: Callable[[], None]) -> None:
        if not generators:
            each()
            return
        first, *rest = generators
        outer = dict(self.local)
        for item in self._data(first.iter):
            self._bind(first.target, item)
            if all(self._data(test) for test in first.ifs):
                self._loop(rest, each)
        self.local = outer

    def _bind(self, target: ast.AST, item: Any) -> None:
        self.budget.spend(2)
        if isinstance(target, ast.Name):
            self.local[target.id] = item
        elif isinstance(target, ast.Tuple | ast.List):
            for part, value in zip(target.elts, item, strict=True):
                self._bind(part, value)
        else:
            self._refuse()


@cache
def _data_types() -> frozenset[type]:
    from xacro import YamlDictWrapper, YamlListWrapper

    plain = (type(None), bool, int, float, str, list, tuple, dict)
    return frozenset([*plain, YamlDictWrapper, YamlListWrapper])


def _is_namespace(value: Any) -> bool:
    from xacro import NameSpace

    return type(value) is NameSpace


def _is_dotted(value: Any) -> bool:
    from xacro import YamlDictWrapper

    return type(value) is YamlDictWrapper


def _replace(text: str, old: str, new: str) -> str:
    _require_short(new, text.count(old))
    return text.replace(old, new)


def _get(owner: dict[Any, Any], key: Any, other: Any = None) -> Any:
    if key not in owner:
        return other
    return owner[key]  # not `owner.get`, which would lose the dotted access of the data


def _join(text: str, parts: Any) -> str:
    _require_short(text, len(parts))
    return text.join(parts)


_METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    str: {
        **{name: getattr(str, name) for name in ("lower", "upper", "title", "capitalize")},
        **{name: getattr(str, name) for name in ("strip", "lstrip", "rstrip", "split", "rsplit")},
        **{name: getattr(str, name) for name in ("startswith", "endswith", "isdigit", "isalpha")},
        **{name: getattr(str, name) for name in ("find", "rfind", "index", "count")},
        "replace": _replace,
        "join": _join,
    },
    dict: {
        "keys": lambda owner: list(owner.keys()),
        "values": lambda owner: [owner[key] for key in owner],
        "items": lambda owner: [(key, owner[key]) for key in owner],
        "get": _get,
    },
    list: {"index": list.index, "count": list.count},
    tuple: {"index": tuple.index, "count": tuple.count},
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}

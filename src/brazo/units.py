"""Numbers as people write them: `90deg`, `20cm`, `9in`, `L1/2`, evaluated to SI and radians.

A value is a float with an optional dimension (powers of length, mass, time and angle).  A literal
without a unit is *free*: it takes whatever dimension the field asks for.  The grammar is small
arithmetic on purpose: numbers with units, names of parameters, `pi`, `+ - * / ^`, parentheses and
a few functions.  Nothing is ever handed to Python's own evaluator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from brazo.errors import BrazoError

Dimension = tuple[int, int, int, int]  # powers of length, mass, time, angle

NUMBER: Dimension = (0, 0, 0, 0)
LENGTH: Dimension = (1, 0, 0, 0)
MASS: Dimension = (0, 1, 0, 0)
TIME: Dimension = (0, 0, 1, 0)
ANGLE: Dimension = (0, 0, 0, 1)
SPEED: Dimension = (1, 0, -1, 0)
ANGULAR_SPEED: Dimension = (0, 0, -1, 1)
ACCELERATION: Dimension = (1, 0, -2, 0)
FORCE: Dimension = (1, 1, -2, 0)
TORQUE: Dimension = (2, 1, -2, 0)
INERTIA: Dimension = (2, 1, 0, 0)

_NAMES = {
    NUMBER: "a plain number",
    LENGTH: "a length",
    MASS: "a mass",
    TIME: "a time",
    ANGLE: "an angle",
    SPEED: "a speed",
    ANGULAR_SPEED: "an angular speed",
    ACCELERATION: "an acceleration",
    FORCE: "a force",
    TORQUE: "a torque",
    INERTIA: "an inertia",
}

UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, LENGTH),
    "cm": (1e-2, LENGTH),
    "mm": (1e-3, LENGTH),
    "um": (1e-6, LENGTH),
    "in": (0.0254, LENGTH),
    "ft": (0.3048, LENGTH),
    "rad": (1.0, ANGLE),
    "deg": (math.pi / 180.0, ANGLE),
    "kg": (1.0, MASS),
    "g": (1e-3, MASS),
    "lb": (0.45359237, MASS),
    "s": (1.0, TIME),
    "ms": (1e-3, TIME),
    "N": (1.0, FORCE),
    "kN": (1e3, FORCE),
    "Nm": (1.0, TORQUE),
    "mNm": (1e-3, TORQUE),
    "rpm": (2.0 * math.pi / 60.0, ANGULAR_SPEED),
}

_FUNCTIONS = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sqrt": math.sqrt,
    "abs": abs,
}
_MAX_LENGTH = 400  # characters of one expression
_MAX_DEPTH = 40  # nested parentheses and signs

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:[ \t]*(?P<unit>[A-Za-z]+))?"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|[-+*/^()]))",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A float in SI with its dimension; `dimension=None` means free (no unit was written)."""

    value: float
    dimension: Dimension | None = None


def dimension_name(dimension: Dimension | None) -> str:
    """Name a dimension in words, for messages."""
    if dimension is None:
        return "a plain number"
    return _NAMES.get(dimension, f"length^{dimension[0]} mass^{dimension[1]} time^{dimension[2]}")


def units_of(dimension: Dimension) -> list[str]:
    """List the unit names one may write for a dimension."""
    return [name for name, (_, d) in UNITS.items() if d == dimension]


def parse(text: str, names: Mapping[str, Quantity] | None = None) -> Quantity:
    """Evaluate an expression such as `90deg`, `-L1/2` or `sqrt(2)*5cm`."""
    if len(text) > _MAX_LENGTH:
        raise BrazoError(f"expression of {len(text)} characters; at most {_MAX_LENGTH} are read")
    result = _Parser(text, names or {}).read()
    if not math.isfinite(result.value):
        raise BrazoError(f"'{_short(text)}' is not a finite number")
    return result


def quantity(
    text: str, dimension: Dimension = NUMBER, names: Mapping[str, Quantity] | None = None
) -> float:
    """Evaluate an expression to a float in SI and refuse a unit of another dimension."""
    result = parse(text, names)
    if result.dimension is None or result.dimension == dimension:
        return result.value
    allowed = ", ".join(units_of(dimension)) or "no unit"
    raise BrazoError(
        f"'{_short(text)}' is {dimension_name(result.dimension)}, "
        f"expected {dimension_name(dimension)} (units: {allowed})"
    )


def names_in(text: str) -> set[str]:
    """The names an expression mentions (parameters and functions alike)."""
    return {match["name"] for match in _TOKEN.finditer(text) if match["name"]}


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, names: Mapping[str, Quantity]) -> None:
        self.text = text
        self.names = names
        self.tokens = self._tokens(text)
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

    def read(self) -> Quantity:
        if not self.tokens:
            raise BrazoError("a number is missing")
        value = self._sum()
        if self.at < len(self.tokens):
            extra = self.tokens[self.at].group().strip()
            raise BrazoError(f"'{_short(self.text)}': unexpected '{extra}'")
        return value

    def _take(self, *ops: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at]["op"] in ops:
            self.at += 1
            return self.tokens[self.at - 1]["op"]
        return None

    def _sum(self) -> Quantity:
        left = self._product()
        while op := self._take("+", "-"):
            right = self._product()
            if (
                left.dimension is not None
                and right.dimension is not None
                and left.dimension != right.dimension
            ):
                raise BrazoError(
                    f"'{_short(self.text)}' adds {dimension_name(left.dimension)} "
                    f"and {dimension_name(right.dimension)}"
                )
            value = left.value + right.value if op == "+" else left.value - right.value
            left = Quantity(value, left.dimension if left.dimension else right.dimension)
        return left

    def _product(self) -> Quantity:
        left = self._signed()
        while op := self._take("*", "/"):
            right = self._signed()
            if op == "/" and right.value == 0.0:
                raise BrazoError(f"'{_short(self.text)}' divides by zero")
            value = left.value * right.value if op == "*" else left.value / right.value
            left = Quantity(value, _product_dimension(left, right, 1 if op == "*" else -1))
        return left

    def _signed(self) -> Quantity:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise BrazoError(f"'{_short(self.text)}' is nested more than {_MAX_DEPTH} deep")
        try:
            if self._take("-"):
                inner = self._signed()
                return Quantity(-inner.value, inner.dimension)
            if self._take("+"):
                return self._signed()
            return self._power()
        finally:
            self.depth -= 1

    def _power(self) -> Quantity:
        base = self._atom()
        if not self._take("^", "**"):
            return base
        exponent = self._signed()
        if exponent.dimension is not None:
            raise BrazoError(f"'{_short(self.text)}': an exponent cannot carry a unit")
        dimension = base.dimension
        if dimension is not None:
            if abs(exponent.value) > 9 or exponent.value != int(exponent.value):
                raise BrazoError(f"'{_short(self.text)}': a unit needs a whole exponent")
            k = int(exponent.value)
            dimension = tuple(k * d for d in dimension)
        try:
            value = base.value**exponent.value
        except (OverflowError, ZeroDivisionError) as error:
            raise BrazoError(f"'{_short(self.text)}' is not a finite number") from error
        if isinstance(value, complex):
            raise BrazoError(f"'{_short(self.text)}' is not a real number")
        return Quantity(value, dimension)  # type: ignore[arg-type]

    def _atom(self) -> Quantity:
        if self._take("("):
            inner = self._sum()
            if not self._take(")"):
                raise BrazoError(f"'{_short(self.text)}': a ')' is missing")
            return inner
        if self.at >= len(self.tokens):
            raise BrazoError(f"'{_short(self.text)}' ends too early: a number is missing")
        token = self.tokens[self.at]
        self.at += 1
        if token["number"]:
            return self._number(token)
        if token["name"]:
            return self._name(token["name"])
        raise BrazoError(f"'{_short(self.text)}': unexpected '{token['op']}'")

    def _number(self, token: re.Match[str]) -> Quantity:
        value, unit = float(token["number"]), token["unit"]
        if unit is None:
            return Quantity(value)
        if unit not in UNITS:
            raise BrazoError(f"unknown unit '{unit}' in '{_short(self.text)}'; {_unit_list()}")
        scale, dimension = UNITS[unit]
        if self._per_second():
            dimension = (dimension[0], dimension[1], dimension[2] - 1, dimension[3])
        return Quantity(value * scale, dimension)

    def _per_second(self) -> bool:
        """Read `/s` behind a unit, as in `180deg/s`, unless `s` is a parameter."""
        if (
            "s" not in self.names
            and self.at + 1 < len(self.tokens)
            and self.tokens[self.at]["op"] == "/"
            and self.tokens[self.at + 1]["name"] == "s"
        ):
            self.at += 2
            return True
        return False

    def _name(self, name: str) -> Quantity:
        if name in self.names:
            return self.names[name]
        if name == "pi":
            return Quantity(math.pi)
        if name in _FUNCTIONS and self._take("("):
            inner = self._sum()
            if not self._take(")"):
                raise BrazoError(f"'{_short(self.text)}': a ')' is missing")
            if name == "abs":
                return Quantity(abs(inner.value), inner.dimension)
            try:
                return Quantity(_FUNCTIONS[name](inner.value))
            except ValueError as error:
                raise BrazoError(f"'{_short(self.text)}' is not a real number") from error
        known = f"parameters: {', '.join(sorted(self.names))}"
        wanted = known if self.names else "wanted a number, such as 0.4, 30deg or 5cm"
        raise BrazoError(f"unknown name '{name}' in '{_short(self.text)}'; {wanted}")


def _product_dimension(left: Quantity, right: Quantity, sign: int) -> Dimension | None:
    """Dimension of a product; a free factor takes no part (`2*L1`, `L1/2`)."""
    if right.dimension is None:
        return left.dimension
    if left.dimension is None and sign > 0:
        return right.dimension
    a = left.dimension or NUMBER
    b = right.dimension
    return (a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2], a[3] + sign * b[3])


def _unit_list() -> str:
    return "known units: " + ", ".join(UNITS)

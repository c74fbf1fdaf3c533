"""Options of controllers in programs and controller files: types, reading and construction.

The gains of a controller are numbers.  Every other option has the type of its default value in the
constructor: a boolean, text or a number.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from brazo import units
from brazo.control import Controller
from brazo.errors import BrazoError
from brazo.formats.document import SWITCH, Field

#: `bool`, `str` or `float` (a number or a list of numbers); None if the type is not known.
OptionType = type[bool] | type[str] | type[float] | None


def option_types(kind: type[Controller]) -> dict[str, OptionType]:
    """Return the types of all gains and other options of a controller by name, gains first.

    The type is None if the option has no default value, or a default value of another type.
    """
    types: dict[str, OptionType] = {gain.name: float for gain in kind.GAINS}
    for one in inspect.signature(kind).parameters.values():
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            types.setdefault(one.name, _type_of(one.default))
    return types


def read_option(field: Field, kind: OptionType) -> float | bool | str | tuple[float, ...]:
    """Read a gain or another option of type `kind`.

    If `kind` is None, the value determines the type.  `on`, `off`, `true` and `false` are booleans.
    Quoted values and words that are not expressions are text.  Other values are numbers or lists of
    numbers.
    """
    if kind is bool:
        return field.switch()
    if kind is str:
        return field.text()
    text = field.node.value
    if kind is None and isinstance(text, str):
        if field.node.quoted:
            return text
        if text in SWITCH:
            return field.switch()
        if (text[:1].isalpha() or text[:1] == "_") and not _is_expression(text):
            return text
    if field.is_list:
        return tuple(item.number() for item in field.items(100))
    return field.number()


def option_mistake(name: str, value: Any, kind: OptionType) -> str:
    """Return a message if the value of a gain or option has the wrong type; "" if it is valid."""
    if kind is bool and not isinstance(value, bool):
        return f"option '{name}' is {value!r}; it must be on or off"
    if kind is str and not isinstance(value, str):
        return f"option '{name}' is {value!r}; it must be text"
    if kind is float:
        entries = value if isinstance(value, tuple) else (value,)
        if any(isinstance(one, str | bool) for one in entries):
            return f"gain '{name}' is {value!r}; it must be a number or a list of numbers"
    return ""


def make_controller(kind: type[Controller], options: Mapping[str, Any]) -> Controller:
    """Return `kind(**options)`; raise `BrazoError` if the constructor rejects the options."""
    try:
        return kind(**options)
    except BrazoError:
        raise
    except (TypeError, ValueError, LookupError) as error:
        # the message of a KeyError is only the key
        raise BrazoError(f"{kind.__name__}: {type(error).__name__}: {error}") from None


def _type_of(default: Any) -> OptionType:
    for kind in (bool, str):
        if isinstance(default, kind):
            return kind
    return float if isinstance(default, int | float) else None


def _is_expression(text: str) -> bool:
    try:
        units.parse_expression(text, ()).evaluate()
    except BrazoError:
        return False
    return True

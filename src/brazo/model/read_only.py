"""Read-only values that a description shares with its users.

Everything derived from a robot (machine code, limits, bodies) is computed once from its
description. A change in place would make the derived values inconsistent. `frozen` returns
read-only arrays, and `ReadOnlyDict` is a read-only mapping. `freeze_arrays` restores the read-only
flags, which pickling loses.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import numpy as np

from brazo.errors import BrazoError


def frozen(values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a read-only float64 copy of an array, reshaped if `shape` is given."""
    array = np.array(values, dtype=np.float64)
    if shape is not None:
        array = array.reshape(shape)
    array.flags.writeable = False
    return array


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise BrazoError("this mapping is read-only; dict(...) makes a copy that can be changed")


class ReadOnlyDict(dict):
    """Read-only dict; `dict(x)` is a mutable copy.

    Unlike `types.MappingProxyType` it can be pickled and written as JSON.
    """

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple:
        return ReadOnlyDict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> ReadOnlyDict:
        return self  # its values are read-only as well

    def __copy__(self) -> ReadOnlyDict:
        return self


def refuse_assignment(owner: object, what: str, name: str, advice: Mapping[str, str]) -> NoReturn:
    """Raise BrazoError for an assignment to the attribute `name` of the read-only object `owner`.

    `what` is the name of the object in the message. `advice` maps attribute names to a sentence
    that is added to the message; the key "" is used for all other attributes. If the object has no
    such attribute, the message suggests the closest name.
    """
    instead = advice.get(name, advice[""])
    kind = type(owner)
    if not hasattr(kind, name):
        refuse_unknown(what, name, dir(kind), advice[""])
    if inspect.isfunction(getattr(kind, name)):
        raise BrazoError(f"{what}: {name} is a method and cannot be assigned. {instead}")
    raise BrazoError(f"{what}: {name} is read-only. {instead}")


def refuse_unknown(what: str, name: str, known: Iterable[str], advice: str = "") -> NoReturn:
    """Raise BrazoError for an unknown attribute `name` and suggest the closest name in `known`.

    `what` is the name of the object in the message.
    """
    names = sorted(one for one in known if not one.startswith("_"))
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else "." if advice else ""
    raise BrazoError(f"{what} has no attribute '{name}'{hint} {advice}".rstrip())


def freeze_arrays(value: Any) -> None:
    """Make every array in a tree of dataclasses, mappings and sequences read-only."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for item in value.values():
            freeze_arrays(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            freeze_arrays(item)
    elif is_dataclass(value):
        for field in fields(value):
            freeze_arrays(getattr(value, field.name))

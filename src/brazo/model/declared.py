"""`Declared`: objects that reject attributes that their class does not declare.

Python accepts `robot.contoller = "PID"` without any effect.  A class of brazo that derives from
`Declared` raises `BrazoError` instead.  It declares its public attributes as annotations in the
class body; properties and methods count as declared, and private attributes (`_name`) are free.
Classes outside brazo that derive from one of these can set any attribute.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from brazo.model.read_only import refuse_unknown

_PACKAGE = __name__.partition(".")[0]


class Declared:
    """Base class that accepts only declared attributes; see the module."""

    _declared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == _PACKAGE:
            annotated = (inspect.get_annotations(base) for base in cls.__mro__)
            cls._declared = frozenset(dir(cls)).union(*annotated)
        elif cls.__setattr__ is Declared.__setattr__:
            cls.__setattr__ = object.__setattr__

    def _unknown(self, name: str) -> tuple[str, Sequence[str], str]:
        """Return the object's name in messages, further names to suggest, and advice."""
        return type(self).__name__, (), ""

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in self._declared and not name.startswith("_"):
                what, more, advice = self._unknown(name)
                refuse_unknown(what, name, (*self._declared, *more), advice)
            object.__setattr__(self, name, value)

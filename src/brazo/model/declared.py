"""`Declared`: base class of objects that reject undeclared attributes.

By default, Python accepts an assignment with a typo, such as `robot.contoller = "PID"`, which has
no effect. A brazo class derived from `Declared` raises `BrazoError` instead. Such a class declares
its public attributes as annotations in the class body. Properties and methods count as declared,
and private attributes (`_name`) are always accepted. Classes outside brazo that derive from such a
class accept any attribute.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from brazo.model.read_only import refuse_unknown

_PACKAGE = __name__.partition(".")[0]


class Declared:
    """Base class that accepts only declared attributes; see the module docstring."""

    _declared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == _PACKAGE:
            annotated = (inspect.get_annotations(base) for base in cls.__mro__)
            cls._declared = frozenset(dir(cls)).union(*annotated)
        elif cls.__setattr__ is Declared.__setattr__:
            cls.__setattr__ = object.__setattr__

    def _unknown(self, name: str) -> tuple[str, Sequence[str], str]:
        """Return texts for the message about an unknown attribute `name`.

        They are the name of the object, further names that may be suggested, and advice.
        """
        return type(self).__name__, (), ""

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in self._declared and not name.startswith("_"):
                what, more, advice = self._unknown(name)
                refuse_unknown(what, name, (*self._declared, *more), advice)
            object.__setattr__(self, name, value)

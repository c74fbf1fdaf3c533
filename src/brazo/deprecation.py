"""Support for renamed API names: the old name works for one release with a `DeprecationWarning`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, cast

RELEASE = "the next release"
T = TypeVar("T")


def warn_renamed(old: str, new: str, where: str = "", stacklevel: int = 2) -> None:
    """Warn that `old` was renamed to `new`.

    `where` is a prefix of the message, such as `file:line: field: `.  `stacklevel` is counted
    as if the caller called `warnings.warn` directly.
    """
    text = f"{where}'{old}' is now '{new}'; '{old}' will be removed in {RELEASE}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)


def renamed_names(
    module: str, names: Mapping[str, str], stacklevel: int = 2
) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module, which accepts old names and returns the renamed objects.

    `names` maps old names to new names in the module.  Use `stacklevel=3` if another `__getattr__`
    of the module calls the returned function, so that the warning shows the user's line.
    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        new = names[name]
        warn_renamed(f"{module}.{name}", f"{module}.{new}", stacklevel=stacklevel)
        return getattr(sys.modules[module], new)

    return __getattr__


def renamed_attributes(names: Mapping[str, str]) -> Callable[[Any, str], Any]:
    """Return a `__getattr__` for a class, which accepts old attribute names.

    `names` maps old names to new names.  A new name may be a path of attributes, such as
    `tasks.add`.
    """

    def __getattr__(self: Any, name: str) -> Any:
        if name not in names:
            text = f"'{type(self).__name__}' object has no attribute '{name}'"
            raise AttributeError(text, name=name, obj=self)
        warn_renamed(name, names[name])
        return attrgetter(names[name])(self)

    return __getattr__


def renamed_option(options: dict[str, Any], old: str, new: str, what: str) -> None:
    """Rename a keyword argument in `options` from `old` to `new` and warn, if it is present.

    `what` is the name of the function in the warning.
    """
    if old in options:
        warn_renamed(f"{what}({old}=…)", f"{what}({new}=…)", stacklevel=3)
        options[new] = options.pop(old)


def renamed_fields(**names: str) -> Callable[[type[T]], type[T]]:
    """Class decorator for a dataclass with renamed fields.

    The constructor accepts the old names, and the attributes can be read by their old names.
    `names` maps old field names to new ones.
    """

    def decorate(cls: type[T]) -> type[T]:
        initialize = cls.__init__

        @wraps(initialize)
        def __init__(self: T, *given: Any, **options: Any) -> None:
            for old, new in names.items():
                renamed_option(options, old, new, cls.__name__)
            initialize(self, *given, **options)

        cls.__init__ = __init__
        cast(Any, cls).__getattr__ = renamed_attributes(names)
        return cls

    return decorate


def renamed_property(old: str, new: str) -> Any:
    """Return a property for the old name, which warns and reads or writes the attribute `new`."""

    def read(self: Any) -> Any:
        warn_renamed(old, new)
        return getattr(self, new)

    def write(self: Any, value: Any) -> None:
        warn_renamed(old, new)
        setattr(self, new, value)

    return property(read, write, doc=f"Old name of `{new}`.")

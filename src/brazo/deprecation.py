"""Old names that still work for one release, with a `DeprecationWarning` that gives the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

RELEASE = "the next release"


def warn_renamed(old: str, new: str, where: str = "", stacklevel: int = 2) -> None:
    """Warn that `old` is now `new`; `where` is a prefix such as `file:line: field: `."""
    text = f"{where}'{old}' is now '{new}'; '{old}' will be removed in {RELEASE}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that reads old names (keys) as new ones (values).

    A value is a name of the module itself, or `package.module.name` elsewhere.
    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        new = names[name]
        warn_renamed(f"{module}.{name}", f"{module}.{new}")
        return getattr(sys.modules[module], new)

    return __getattr__


def renamed_option(options: dict[str, Any], old: str, new: str, what: str) -> None:
    """Move a keyword argument given under its old name to the new one, with a warning.

    `what` is the function, for the message.
    """
    if old in options:
        warn_renamed(f"{what}({old}=…)", f"{what}({new}=…)", stacklevel=3)
        options.setdefault(new, options[old])
        del options[old]

"""Functions of xacro that are replaced while a file is expanded.

xacro evaluates the expressions of a file as Python and has no limits.  `brazo` therefore replaces
some of xacro's functions.  This is effective only as long as xacro calls them by these names and
with these arguments.  A self-check therefore expands a small file and requires that every
replacement is called.

If the self-check fails, xacro files are rejected, because xacro alone would run the Python code of
a robot file.  A file that was expanded elsewhere (``xacro arm.xacro > arm.urdf``) can be read as
URDF.

xacro keeps its state in module globals, so a lock is needed.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from brazo.internals import Checked

CHECKED = (Checked("xacro", "2.1.1", "2.1.1"), Checked("xacrodoc", "2.0.1", "2.0.1"))

LOCK = threading.RLock()

# Replaced functions and the number of arguments they are called with.
FUNCTIONS = {
    "eval_all": 3,
    "eval_text": 2,
    "get_include_files": 2,
    "grab_macro": 2,
    "parse": 2,
    "print_location": 0,
    "replace_node": 3,
    "safe_eval": 3,
}
SUBSTITUTIONS = {"_eval": 2, "_eval_find": 1}  # of xacro.substitution_args
# Replaced values, and what is used as it is.
VALUES = ("_global_symbols", "re_macro_arg", "warning")
USED = (
    *("NameSpace", "XacroException", "YamlDictWrapper"),
    *("abs_filename_spec", "filestack", "init_stacks", "substitution_args_context"),
)

_PROBE = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="probe">
<xacro:macro name="m" params="a"><link name="${a + 1}$(eval 1 + 1)$(find p)"/></xacro:macro>
<xacro:include filename="absent.xacro"/><xacro:m a="1"/></robot>"""
_FOUND = "222/p"  # by the replaced functions, in the probe's only link
_NOT_PROBED = {"print_location"}  # called for messages only


@contextmanager
def replaced(functions: Mapping[str, Any], substitutions: Mapping[str, Any]) -> Iterator[None]:
    """Replace functions and values of xacro inside a `with` block (context manager).

    `functions` are replaced in the module `xacro`, `substitutions` in `xacro.substitution_args`.
    """
    import xacro
    from xacro import substitution_args

    names = [(xacro, name) for name in functions]
    names += [(substitution_args, name) for name in substitutions]
    originals = [(module, name, getattr(module, name)) for module, name in names]
    values = [*functions.values(), *substitutions.values()]
    try:
        for (module, name), value in zip(names, values, strict=True):
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in originals:
            setattr(module, name, value)


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Return the reason why the replacements are not effective here; None if they are effective."""
    import xacro
    from xacro import substitution_args

    for module, functions in ((xacro, FUNCTIONS), (substitution_args, SUBSTITUTIONS)):
        for name, count in functions.items():
            if not _takes(getattr(module, name, None), count):
                return f"xacro has no function {name} of {count} arguments"
    if missing := [name for name in (*VALUES, *USED) if not hasattr(xacro, name)]:
        return f"xacro has no {', '.join(missing)}"
    with LOCK:
        return _not_called(xacro, substitution_args)


def _takes(function: Any, count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _not_called(xacro: Any, substitution_args: Any) -> str | None:
    """Expand a test file with replaced functions; return an error message or None.

    The result is None if the replacements were called and their results were used.
    """
    from xacrodoc import XacroDoc

    called: set[str] = set()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            called.add(name)
            return function(*arguments, **options)

        return call

    own: dict[str, Any] = {
        "safe_eval": lambda text, names, local=None: names[text.split()[0]] + 1,
        "get_include_files": lambda spec, symbols: [spec],
        "parse": lambda text, name=None: xacro_parse(text or "<robot/>"),
    }
    xacro_parse = xacro.parse
    functions = {
        name: counted(name, own.get(name, getattr(xacro, name))) for name in sorted(FUNCTIONS)
    }
    substitutions = {
        "_eval": counted("_eval", lambda text, context: "2"),
        "_eval_find": counted("_eval_find", lambda package: f"2/{package}"),
    }
    try:
        with replaced(functions, substitutions):
            xacro.init_stacks("probe.xacro")
            text = XacroDoc.from_string(_PROBE, resolve_packages=False).dom.toxml()
    except Exception as error:  # whatever another release does
        return f"xacro cannot expand a small file: {type(error).__name__}: {error}"
    finally:
        xacro.init_stacks(None)
    if missed := sorted({*FUNCTIONS, *SUBSTITUTIONS} - _NOT_PROBED - called):
        return f"xacro does not call {', '.join(missed)}"
    return None if f'name="{_FOUND}"' in text else "xacro does not use what the replacements return"

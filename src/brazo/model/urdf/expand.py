"""Xacro to plain URDF, offline, with expressions that cannot reach beyond arithmetic.

The macros are expanded by xacro itself (through xacrodoc, which repeats it until nothing changes).
Two things are replaced while it runs:

* `$(find pkg)` asks `Packages`, so that no ROS installation is needed;
* `${...}` and `$(eval ...)` are Python to xacro.  Here an expression is checked first: names and
  attributes with leading underscores, and those that lead to frames and classes, are refused.

xacro keeps its state in module globals, hence the lock.
"""

from __future__ import annotations

import ast
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError, at
from brazo.model.urdf.packages import Packages

_LOCK = threading.RLock()
_MAX_EXPRESSION = 4000  # characters
_FORBIDDEN_ATTRIBUTES = frozenset(
    [
        "format",
        "format_map",
        "mro",
        "gi_frame",
        "gi_code",
        "cr_frame",
        "cr_code",
        "ag_frame",
        "ag_code",
        "tb_frame",
    ]
)


def expand_xacro(
    text: str, path: Path, packages: Packages, arguments: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """Return the plain URDF text and xacro's own warnings."""
    import xacro
    from xacrodoc import XacroDoc

    warnings: list[str] = []
    with _LOCK, _replaced(packages, warnings):
        xacro.init_stacks(str(path))  # relative includes start at the file
        try:
            document = XacroDoc.from_string(
                text, subargs=dict(arguments or {}), resolve_packages=False
            )
            return document.dom.toxml(), warnings
        # An expression of the file may raise anything at all.
        except Exception as error:
            raise BrazoError(_explain(path, error, xacro.filestack)) from error
        finally:
            xacro.init_stacks(None)


@contextmanager
def _replaced(packages: Packages, warnings: list[str]) -> Iterator[None]:
    import xacro
    from xacro import substitution_args

    def find(name: str) -> str:
        folder = packages.find(name)
        if folder is None:
            raise BrazoError(
                f"package '{name}' of $(find {name}) is not found beside the file nor in "
                f"ROS_PACKAGE_PATH; say where it is: packages={{'{name}': folder}}"
            )
        return folder.as_posix()

    def warn(*words: object, **_: object) -> None:
        warnings.append(" ".join(str(word) for word in words))

    def evaluate_substitution(expression: str, context: dict[str, Any]) -> str:
        return str(_evaluate(expression, _substitution_names(context, find)))

    replacements = [
        (xacro, "safe_eval", _evaluate),
        (xacro, "warning", warn),
        (xacro, "print_location", lambda: None),
        (substitution_args, "_eval", evaluate_substitution),
        (substitution_args, "_eval_find", find),
    ]
    originals = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    for module, name, value in replacements:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in originals:
            setattr(module, name, value)


def _evaluate(expression: str, names: Any, more: Any = None) -> Any:
    """Evaluate a checked expression with no builtins but those in `names`."""
    expression = expression.strip()
    if len(expression) > _MAX_EXPRESSION:
        raise BrazoError(f"expression of {len(expression)} characters; at most {_MAX_EXPRESSION}")
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        name = getattr(node, "attr", None) or getattr(node, "id", None) or ""
        if (
            name.startswith("__")
            or (isinstance(node, ast.Attribute) and name.startswith("_"))
            or name in _FORBIDDEN_ATTRIBUTES
            or isinstance(node, ast.Lambda | ast.Await | ast.NamedExpr)
            or _tower(node)
        ):
            raise BrazoError(f"'{expression[:60]}' is not allowed: only plain expressions are")
    names.update(__builtins__={})
    return eval(compile(tree, "<xacro>", "eval"), names, more)


def _tower(node: ast.AST) -> bool:
    """A power of whole numbers so large that working it out would never end: 9**9**9."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift)):
        return False
    exponent = node.right
    if isinstance(exponent, ast.UnaryOp):
        exponent = exponent.operand
    small = isinstance(exponent, ast.Constant) and isinstance(exponent.value, int | float)
    return not small or abs(exponent.value) > 64  # type: ignore[union-attr, operator]


def _substitution_names(context: dict[str, Any], find: Any) -> dict[str, Any]:
    """What `$(eval ...)` may name: the arguments, `arg()`, `find()`, and the functions of math."""
    from xacro.substitution_args import convert_value

    arguments = {key: convert_value(str(v), "auto") for key, v in context.get("arg", {}).items()}
    names = {key: value for key, value in vars(math).items() if not key.startswith("_")}
    names |= {"true": True, "false": False, "str": str, "float": float, "int": int}
    names |= {"arg": arguments.__getitem__, "find": find}
    return names | arguments


def _explain(path: Path, error: Exception, stack: list[str | None] | None) -> str:
    """One line from a chain of xacro errors: the file it was in and the words of its cause."""
    inner: BaseException = error
    while (cause := getattr(inner, "exc", None) or inner.__cause__) and cause is not inner:
        inner = cause
    words = str(inner if isinstance(inner, BrazoError) else error).split()
    reason = " ".join(words) or type(error).__name__
    included = stack[-1] if stack and stack[-1] and Path(stack[-1]) != path else None
    within = f"in {included}: " if included else ""
    return at(path, None) + f"xacro cannot expand the file: {within}{reason[:400]}"

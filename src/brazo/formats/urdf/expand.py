"""Expansion of xacro to plain URDF, offline, with expressions limited to arithmetic.

The macros are expanded by xacro itself (through xacrodoc, which repeats the expansion until nothing
changes).  During the expansion, some functions of xacro are replaced:

* `$(find pkg)` uses `Packages`, so that no ROS installation is needed;
* `${...}` and `$(eval ...)`, which xacro evaluates as Python, are evaluated by the module
  `expressions`, with the names that the module `functions` defines;
* reading a file, evaluating an element and evaluating a text are counted and limited, because a
  short file can expand to a huge one: if each of thirty macros calls the next macro twice, the last
  macro is expanded half a billion times.

The replacement needs undocumented parts of xacro: `brazo.internals.xacro`.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError, at
from brazo.formats.urdf.budget import Budget
from brazo.formats.urdf.expressions import evaluate
from brazo.formats.urdf.functions import global_symbols, substitution_symbols
from brazo.formats.urdf.packages import Packages
from brazo.internals import xacro as internals

MAX_BYTES = 20_000_000  # of the file, of an included file, and of the result
_MAX_DEPTH = 32  # of nested includes
_MAX_LENGTH = 10_000  # characters of a text with expressions in it
_SIBLINGS = 50  # sibling nodes to search at the cost of one character
_TEXT = 10  # cost of any text
_LITERAL = 8  # characters of plain text with the cost of one character of an expression
# The pattern of xacro for a macro parameter backtracks over every split of a text with an odd
# quote.
_MACRO_PARAMETER = re.compile(
    r"""^\s*([^\s:=]+?)\s*:?=\s*(\^\|?)?"""
    r"""(\$\{.*?\}|\$\(.*?\)|(?:'[^'\n]*'|"[^"\n]*"|[^\s'"]+)++|)(?:\s+|$)(.*)"""
)


def expand_xacro(
    text: str, path: Path, packages: Packages, arguments: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """Return the plain URDF text of a xacro file, and the warnings of xacro.

    `text` is the content of the file `path`; `arguments` are its xacro arguments.
    """
    import xacro
    from xacrodoc import XacroDoc

    if (reason := internals.unusable()) is not None:
        raise BrazoError(
            at(path, None) + f"xacro files cannot be read with the xacro that is installed: "
            f"{reason}; install {internals.CHECKED[0]}, or expand the file elsewhere "
            f"(xacro {path.name} > {path.stem}.urdf) and load the result"
        )
    warnings: list[str] = []
    with internals.LOCK, _replaced(packages, warnings, Budget()):
        xacro.init_stacks(str(path))  # relative includes start at the file
        try:
            document = XacroDoc.from_string(
                text, subargs=dict(arguments or {}), resolve_packages=False
            )
            plain = document.dom.toxml()
            if len(plain) > MAX_BYTES:
                raise BrazoError(
                    f"the expanded file has {len(plain)} characters; at most {MAX_BYTES} are "
                    "allowed"
                )
            return plain, warnings
        # An expression of the file can raise any exception.
        except Exception as error:
            raise BrazoError(_explain(path, error, xacro.filestack)) from error
        finally:
            xacro.init_stacks(None)


def _replaced(
    packages: Packages, warnings: list[str], budget: Budget
) -> AbstractContextManager[None]:
    import xacro

    def find(name: str) -> str:
        folder = packages.find(name)
        if folder is None:
            raise BrazoError(
                f"package '{name}' of $(find {name}) was found neither beside the file nor in "
                f"ROS_PACKAGE_PATH; add its parent folder to this variable "
                f"(in Python, brazo.formats.urdf.reader.read_urdf accepts "
                f"packages={{'{name}': folder}})"
            )
        return folder.as_posix()

    def warn(*words: object, **_: object) -> None:
        warnings.append(" ".join(str(word) for word in words))

    def evaluate_text(expression: str, names: Any, _: Any = None) -> Any:
        return evaluate(expression, names, budget)

    def evaluate_substitution(expression: str, context: dict[str, Any]) -> str:
        names = substitution_symbols(context.get("arg", {}), find)
        return str(evaluate(expression, names, budget))

    functions = {
        "safe_eval": evaluate_text,
        "_global_symbols": global_symbols(packages, find, warn, budget),
        "warning": warn,
        "print_location": lambda: None,
        "re_macro_arg": _MACRO_PARAMETER,
        **_counted(xacro, budget),
    }
    return internals.replaced(functions, {"_eval": evaluate_substitution, "_eval_find": find})


def _counted(xacro: Any, budget: Budget) -> dict[str, Any]:
    """Return replacements, by name, for the xacro functions that can enlarge a file.

    They subtract the cost of each call from the budget and raise BrazoError if a limit is exceeded.
    """
    eval_all, eval_text, grab_macro, parse = (
        getattr(xacro, name) for name in ("eval_all", "eval_text", "grab_macro", "parse")
    )

    def counted_elements(node: Any, macros: Any, symbols: Any) -> None:
        if node.parentNode is None:  # a new copy, with all its content
            _pay_copy(node, budget)
        budget.spend_elements(1)
        eval_all(node, macros, symbols)

    def counted_text(text: str, symbols: Any) -> Any:
        if len(text) > _MAX_LENGTH and "$" in text:
            raise BrazoError(
                f"a text with expressions has {len(text)} characters; at most {_MAX_LENGTH} are "
                "allowed"
            )
        if not text.isspace():
            budget.spend(_TEXT + (len(text) if "$" in text else len(text) // _LITERAL))
        return eval_text(text, symbols)

    def checked_macro(element: Any, macros: Any) -> None:
        if (length := len(element.getAttribute("params"))) > _MAX_LENGTH:
            raise BrazoError(
                f"the parameters of a macro have {length} characters; at most {_MAX_LENGTH} are "
                "allowed"
            )
        grab_macro(element, macros)

    def counted_file(text: str | None, filename: str | None = None) -> Any:
        if text is None:
            budget.spend_include()
            if len(xacro.filestack) > _MAX_DEPTH:
                raise BrazoError(f"includes are nested more than {_MAX_DEPTH} levels deep")
            try:
                text = _read(Path(str(filename)))
            except OSError as error:
                xacro.filestack.pop()  # as xacro does, which then checks whether it was optional
                raise xacro.XacroException(
                    f"{filename}: cannot be read: {error.strerror}", exc=error
                ) from error
            budget.spend(len(text) // _LITERAL)
        return parse(text)

    def replace_node(node: Any, by: Any, content_only: bool = False) -> None:
        budget.spend(len(node.parentNode.childNodes) // _SIBLINGS)
        _replace_node(node, by, content_only)

    def include_files(spec: str, symbols: Any) -> Iterable[str]:
        spec = xacro.abs_filename_spec(str(xacro.eval_text(spec, symbols)))
        return _matching(spec) if re.search(r"[*[?]", spec) else [spec]

    return {
        "eval_all": counted_elements,
        "eval_text": counted_text,
        "grab_macro": checked_macro,
        "parse": counted_file,
        "get_include_files": include_files,
        "replace_node": replace_node,
    }


def _pay_copy(node: Any, budget: Budget) -> None:
    """Subtract the cost of a copy of a macro or block from the budget.

    Elements, attributes and text are counted.
    """
    budget.spend_copy()
    elements, text, waiting = 0, 0, [node]
    while waiting:
        item = waiting.pop()
        waiting += item.childNodes
        if item.nodeType == item.ELEMENT_NODE:
            elements += 1
            text += item.attributes.length * _LITERAL
        else:
            text += len(item.nodeValue or "")
    budget.spend_elements(elements)
    budget.spend(text // _LITERAL)


def _replace_node(node: Any, by: Any, content_only: bool) -> None:
    """Replace a node by the node or list of nodes `by`, or remove it if `by` is None.

    With `content_only`, the children of these nodes are inserted instead of the nodes.  The
    original function of xacro is slow, because it searches all existing nodes for every node that
    it moves.
    """
    parent = node.parentNode
    news = [] if by is None else by if isinstance(by, list) else [by]
    if content_only:
        held = [list(new.childNodes) for new in news]
        for new in news:
            del new.childNodes[:]
        news = [item for items in held for item in items]
    index = parent.childNodes.index(node)
    row = [node.previousSibling, *news, node.nextSibling]
    for item in news:
        item.parentNode = parent
    for before, after in itertools.pairwise(row):
        if before is not None:
            before.nextSibling = after
        if after is not None:
            after.previousSibling = before
    parent.childNodes[index : index + 1] = news
    node.parentNode = node.previousSibling = node.nextSibling = None


def _read(path: Path) -> str:
    """Return the text of an included file; a file that declares entities is rejected."""
    if path.exists() and not path.is_file():
        raise BrazoError(f"{path} is not a file")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise BrazoError(f"{path}: larger than {MAX_BYTES} bytes, the maximum")
    if b"<!ENTITY" in data:
        raise BrazoError(f"{path}: declares entities, which are not supported; use their values")
    return data.decode("utf-8-sig")


def _matching(spec: str) -> list[str]:
    """Return the files that match the path `spec`, which may have wildcards in the file name.

    Wildcards in the folder are rejected, because they could match the whole disk.
    """
    path = Path(spec)
    if re.search(r"[*[?]", str(path.parent)):
        raise BrazoError(
            f"include '{spec}': wildcards are allowed in file names, not in folder names"
        )
    try:
        names = sorted(other.name for other in path.parent.iterdir())
    except OSError:
        names = []
    return [str(path.parent / name) for name in fnmatch.filter(names, path.name)]


def _explain(path: Path, error: Exception, stack: list[str | None] | None) -> str:
    """Return a one-line message for an error of xacro: the file and the reason.

    The reason is the original cause if it is a BrazoError, otherwise the text of `error`.  `stack`
    lists the nested files that xacro was reading; the innermost file is the last entry.
    """
    inner: BaseException = error
    while (cause := getattr(inner, "exc", None) or inner.__cause__) and cause is not inner:
        inner = cause
    words = str(inner if isinstance(inner, BrazoError) else error).split()
    reason = " ".join(words) or type(error).__name__
    included = stack[-1] if stack and stack[-1] and Path(stack[-1]) != path else None
    within = f"in {included}: " if included else ""
    return at(path, None) + f"xacro cannot expand the file: {within}{reason[:400]}"

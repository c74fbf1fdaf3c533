"""Collection of all mistakes in a file: each one is corrected in memory, then reading is repeated.

A reader raises at the first mistake.  To find the next mistake, the wrong value is replaced by a
valid value (a number, or the nearest allowed word), a misspelt field is renamed, and a missing
field gets a value.  If this does not help, the field is removed, and then the field that contains
it.  Further mistakes in a changed field, in its parents or children, and in values computed from it
are only consequences.  They are not reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.document import GONE, Field, Mistake, Node

MAX_REPORTED = 100  # max number of reported mistakes
READINGS = 4 * MAX_REPORTED


def mistakes(root: Field, read: Callable[[Field], Any]) -> list[str]:
    """Return the messages of the mistakes in a document, in line order.

    `read` reads the document and raises a `Mistake` at the first mistake.  The document `root` is
    modified to find the next one.  If there are more than `MAX_REPORTED` mistakes, the last message
    states that there are more.
    """
    found: list[tuple[int, str]] = []
    touched: set[str] = set()
    for _ in range(READINGS):
        if len(found) > MAX_REPORTED:
            break
        try:
            read(root)
        except Mistake as mistake:
            name = mistake.field.name
            if not _follows(mistake, touched):
                found.append((mistake.field.line, str(mistake)))
            mended = name not in touched and _mend(mistake)
            aside = mistake.field if mended else _put_aside(mistake.field)
            if aside is None:
                break
            touched |= {name, aside.name}
            touched |= _computed(root, touched)
        except BrazoError as error:
            if not found:
                return [str(error)]
            break
        else:
            break
    texts = [text for _, text in sorted(found, key=lambda one: one[0])]
    return (
        [*texts[:MAX_REPORTED], "there are more mistakes: correct these first"]
        if len(texts) > MAX_REPORTED
        else texts
    )


def _follows(mistake: Mistake, touched: set[str]) -> bool:
    """Return whether a mistake may be only a consequence of earlier mistakes.

    `touched` are the names of the fields that were changed to correct the earlier mistakes.
    """
    names = {mistake.field.name, *mistake.rests}
    names |= {f"parameters.{name}" for name in _mentioned(mistake.field.node)}
    return any(_within(a, b) or _within(b, a) for a in names for b in touched)


def _computed(root: Field, touched: set[str]) -> set[str]:
    """Return the field names of the changed parameters and of all parameters computed from them.

    `touched` are the names of all changed fields.  A parameter can be computed from a changed one
    directly or through other parameters.
    """
    given = root.node.value
    entry = given.get("parameters") if isinstance(given, dict) else None
    parameters = entry[1].value if entry is not None else None
    if not isinstance(parameters, dict):
        return set()
    mentioned = {
        f"parameters.{name}": {f"parameters.{one}" for one in _mentioned(node)}
        for name, (_, node) in parameters.items()
    }
    found = touched & mentioned.keys()
    while more := {name for name, others in mentioned.items() if others & found} - found:
        found |= more
    return found


def _within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _mentioned(node: Node) -> set[str]:
    """Return the names in the expression of a field, or in the expressions of a list field."""
    nodes = node.value if isinstance(node.value, list) else [node]
    texts = (one.value for one in nodes if isinstance(one.value, str))
    return {name for text in texts for name in units.names_in(text)}


def _mend(mistake: Mistake) -> bool:
    """Correct a mistake in the document; return False if the correction is not known.

    `mistake.value` replaces the wrong value, or becomes the value of a missing field.  If it is
    None, `mistake.key` replaces the wrong field name.
    """
    field, parent = mistake.field, mistake.field.parent
    if mistake.value is not None:
        field.node.value = mistake.value
        if parent is not None and isinstance(parent.node.value, dict):
            key = field.name.removeprefix(f"{parent.name}.")
            parent.node.value.setdefault(key, (field.line, field.node))
        return True
    if mistake.key is not None and parent is not None and isinstance(parent.node.value, dict):
        parent.node.value = {
            mistake.key if node is field.node else key: (line, node)
            for key, (line, node) in parent.node.value.items()
        }
        return True
    return False


def _put_aside(field: Field | None) -> Field | None:
    """Remove a field from the document; if that is impossible, remove a field that contains it.

    An entry of a list is first replaced by an empty mapping, and removed at the next call.  Returns
    the changed field, or None if nothing can be removed.
    """
    while field is not None and (parent := field.parent) is not None:
        node, around = field.node, parent.node.value
        if isinstance(around, dict):
            kept = {key: entry for key, entry in around.items() if entry[1] is not node}
            if len(kept) < len(around):
                parent.node.value = kept
                return field
        elif isinstance(around, list) and node.value != {}:
            node.value = {}  # may be valid, and keeps the number of entries
            return field
        elif isinstance(around, list) and any(item is node for item in around):
            parent.node.value = [GONE if item is node else item for item in around]
            return field
        field = parent
    return None

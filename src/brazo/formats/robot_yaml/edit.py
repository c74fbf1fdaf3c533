"""Edits of a parsed robot file: values are written into its tree of nodes.

An edited file is read again as a whole.  The new values are therefore checked by the same rules as
those of any file, and every derived number is updated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.document import Field, Node

_FIELD = re.compile(r"([A-Za-z_]\w*)((?:\[\d+\])*)", re.ASCII)


def edited(root: Field, fields: Mapping[str, Any]) -> Field:
    """Return a copy of a file with new values for some fields.

    `fields` maps field paths such as `joints[1].mass` to new values.  A value is a number, a text,
    a list, a mapping, or None to remove the field.
    """
    node = root.node
    for name, value in fields.items():
        node = written(node, place(name), None if value is None else node_of(value, name), name)
    return Field(node, root.name, root.path)


def place(name: str) -> list[str | int]:
    """Split a field path such as `joints[1].friction.coulomb` into keys and indices."""
    keys: list[str | int] = []
    for part in name.split("."):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise BrazoError(
                f"'{name[:80]}' is not a field of a robot file; write a path such as joints[1].mass"
            )
        keys += [match[1], *(int(i) for i in re.findall(r"\d+", match[2]))]
    return keys


def written(node: Node, keys: Sequence[str | int], value: Node | None, name: str = "") -> Node:
    """Return a copy of a tree with a new value for one field; None removes the field.

    `keys` is the path of the field (see `place`), and `name` is its name in error messages.
    """
    if not keys:
        assert value is not None
        return value
    key, deeper = keys[0], keys[1:]
    if isinstance(key, int):
        items = list(node.value) if isinstance(node.value, list) else []
        if key >= len(items):
            raise BrazoError(f"{name}: there is no entry {key}; the list has {len(items)} entries")
        items[key] = written(items[key], deeper, value, name)
        return Node(node.line, items)
    fields = dict(node.value) if isinstance(node.value, dict) else {}
    if value is None and key not in fields:
        return node
    if value is None and not deeper:
        del fields[key]
        return Node(node.line, fields)
    line, child = fields.get(key, (node.line, Node(node.line, None)))
    fields[key] = (line, written(child, deeper, value, name))
    return Node(node.line, fields)


def node_of(value: Any, name: str = "value") -> Node:
    """Return a value (number, text, array, list or mapping) as a node; numbers keep all digits."""
    if value is None:
        return Node(1, None)
    if isinstance(value, str):
        return Node(1, value)
    if isinstance(value, Mapping):
        below = f"{name}." if name else ""
        return Node(
            1, {str(key): (1, node_of(item, f"{below}{key}")) for key, item in value.items()}
        )
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (list, tuple, np.ndarray)):
        return Node(1, [node_of(item, f"{name}[{i}]") for i, item in enumerate(value)])
    number = isinstance(value, (int, float, np.integer, np.floating))
    if not number or isinstance(value, bool) or not np.isfinite(value):
        raise BrazoError(f"{name}: expected a finite number, got {value!r}")
    return Node(1, repr(float(value)))

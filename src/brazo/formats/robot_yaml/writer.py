"""Writer of robot files: the fields as they were read, with the edited values.

The original fields are written, not the model derived from them: `a: L1` stays `a: L1`, `80mm`
stays `80mm`, and only edited values become numbers.  The number of an edited parameter has a unit
if the original value has one, because expressions such as `L1/250mm` depend on it.  Comments are
lost, because the reader ignores them.  The layout is that of the shipped files: a list or mapping
below the first level is on one line, or wrapped if it is too long.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from brazo import units
from brazo.formats.document import Field, Node
from brazo.formats.robot_yaml.robot_file import RobotFile

WIDTH = 100  # columns
_PROSE = 60  # characters; longer text is written as a folded paragraph
# Text that YAML reads back unchanged, also inside brackets.
_PLAIN = re.compile(r"[A-Za-z0-9_(.][A-Za-z0-9_ ./()+*^°-]*|-[A-Za-z0-9_(.][A-Za-z0-9_ ./()+*^°-]*")
_WORDS = re.compile(r"\S+( \S+)*\n?")


def robot_yaml(root: Field, parameters: Mapping[str, float] | None = None) -> str:
    """Return the text of a robot file; `parameters` (SI) replace parameter values of the file."""
    fields = root.node.value
    if not isinstance(fields, dict):
        root.fail("expected a robot file: fields such as name, joints, parameters")
    lines = []
    for key, (_, node) in fields.items():
        if key == "parameters" and parameters:
            values = RobotFile(Field(root.node, root.name, root.path)).names(parameters)
            node = _with_values(node, {name: values[name] for name in parameters})
        lines += _field(key, node)
    return "\n".join(lines) + "\n"


def _with_values(block: Node, values: Mapping[str, units.Quantity]) -> Node:
    assert isinstance(block.value, dict)
    given = dict(block.value)
    for name, value in values.items():
        given[name] = (given[name][0], Node(block.line, _quantity(value)))
    return Node(block.line, given)


def _quantity(given: units.Quantity) -> str:
    """Return a quantity as text: `0.3m`, or `0.3` if no unit was given."""
    number = repr(given.value)
    powers = given.dimension or units.NUMBER
    for unit, (scale, dimension) in units.UNITS.items():
        if scale == 1.0 and dimension == powers:
            return number + unit
    bases = zip(("m", "kg", "s", "rad", "A"), powers, strict=True)
    return number + "".join(f"*(1{base})^{power}" for base, power in bases if power)


def _field(key: str, node: Node) -> list[str]:
    """Return the lines of a first-level field; a list of mappings has each entry on a new line."""
    name, value = _scalar(key), node.value
    if isinstance(value, list) and any(isinstance(item.value, dict) for item in value):
        return [f"{name}:", *(f"  - {_inline(item, 4)}" for item in value)]
    if key == "poses" and isinstance(value, dict) and value:
        rows = ((_scalar(pose), child) for pose, (_, child) in value.items())
        return [f"{name}:", *(f"  {pose}: {_inline(q, 4 + len(pose))}" for pose, q in rows)]
    if isinstance(value, str) and len(value) > _PROSE and _is_prose(value):
        fold = ">" if value.endswith("\n") else ">-"
        words = textwrap.wrap(value, WIDTH - 2, break_long_words=False, break_on_hyphens=False)
        return [f"{name}: {fold}", *(f"  {line}" for line in words)]
    return [f"{name}: {_inline(node, len(name) + 2)}"]


def _is_prose(text: str) -> bool:
    """Return whether a text can be folded: words separated by single spaces."""
    return _WORDS.fullmatch(text) is not None and text.removesuffix("\n").isprintable()


def _inline(node: Node, column: int, tail: int = 0) -> str:
    """Return the text of a value that starts at `column`; long lists and mappings are wrapped.

    `tail` is the number of characters that follow the value on its last line.
    """
    value = node.value
    if isinstance(value, list):
        tails = _tails(len(value), tail)
        items = [_inline(item, column + 1, t) for item, t in zip(value, tails, strict=True)]
        return _filled("[", items, "]", column, tail)
    if isinstance(value, dict):
        named = [(_scalar(key), child) for key, (_, child) in value.items()]
        items = [
            f"{key}: {_inline(child, column + 3 + len(key), t)}"
            for (key, child), t in zip(named, _tails(len(named), tail), strict=True)
        ]
        return _filled("{", items, "}", column, tail)
    return _scalar(value)


def _tails(count: int, tail: int) -> list[int]:
    """Return, for each of `count` items in brackets, the number of characters directly after it.

    A comma follows each item except the last.  The closing bracket and `tail` further characters
    follow the last item.
    """
    return [1] * (count - 1) + [1 + tail] * min(count, 1)


def _filled(opening: str, items: list[str], closing: str, column: int, tail: int) -> str:
    text, at = opening, column + 1
    for i, (item, follows) in enumerate(zip(items, _tails(len(items), tail), strict=True)):
        end = "," if i + 1 < len(items) else closing
        first, last = item.partition("\n")[0], item.rpartition("\n")[2]
        if i:
            if at + 1 + len(first) + (follows if first == item else 0) > WIDTH:
                text, at = text + "\n" + " " * (column + 1), column + 1
            else:
                text, at = text + " ", at + 1
        text += item + end
        at = (at if last == item else 0) + len(last) + len(end)
    return text if items else opening + closing


def _scalar(value: str | None) -> str:
    if value is None:
        return "null"
    if _PLAIN.fullmatch(value) and not value.endswith(" ") and value.lower() != "null":
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'

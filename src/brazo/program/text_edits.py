"""Edits of single steps in the text of a program file; comments and layout elsewhere are kept.

A step consists of the lines from its dash to its last value, and the comment lines directly above
it.  A text whose lists of steps are not in block style (one dash per line) has to be rewritten
first (`editable`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import yaml

from brazo.errors import BrazoError
from brazo.program import steps as s
from brazo.program.flow import plain_text
from brazo.program.step_paths import StepPath, after_delete
from brazo.program.writer import step_lines

INDENT = 2
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def editable(text: str) -> bool:
    """Return whether all lists of steps are in block style, so that single steps can be edited."""
    try:
        robots = _robots(text)
        if robots is None or _is_empty(robots[1]):
            return True
        if not isinstance(robots[1], yaml.MappingNode) or robots[1].flow_style:
            return False
        lines = text.splitlines()
        return all(_is_block(block, lines) for _, block in robots[1].value)
    except (BrazoError, yaml.YAMLError):
        return False


def has_steps(text: str) -> bool:
    """Return whether a text has an entry below `robots`; True if the text cannot be parsed.

    A text cannot be parsed if it is not valid YAML, or if its root is not a mapping in block style.
    """
    try:
        robots = _robots(text)
    except (BrazoError, yaml.YAMLError):
        return True
    return robots is not None and not _is_empty(robots[1])


def insert(text: str, robot: str, path: StepPath, step: s.Step) -> str:
    """Return the text with a step inserted at `path`.

    If the list is too short, the step is added at the end of the list.  If the robot has no step
    list, one is added.
    """
    return _insert_lines(text, robot, path, step_lines(step))


def delete(text: str, robot: str, path: StepPath) -> str:
    """Return the text without the step at `path`, the comments above it and the steps inside it."""
    place = _find(text, robot, path)
    lines = text.splitlines()
    del lines[place.first : place.last + 1]
    if place.alone:
        lines[place.key] = re.sub(
            r":\s*(#.*)?$", lambda m: f": [] {m[1] or ''}".rstrip(), lines[place.key]
        )
    return _joined(lines)


def replace(text: str, robot: str, path: StepPath, step: s.Step) -> str:
    """Return the text with the step at `path` replaced by `step`.

    A comment at the end of a one-line step is kept.
    """
    place = _find(text, robot, path)
    lines = text.splitlines()
    new = [" " * place.indent + line for line in step_lines(step)]
    if place.start == place.last:
        behind = lines[place.last][place.column :].strip()
        if behind.startswith("#"):
            new[0] += f"  {behind}"
    lines[place.start : place.last + 1] = new
    return _joined(lines)


def move(
    text: str, robot: str, path: StepPath, to: StepPath, other: str = ""
) -> tuple[str, StepPath]:
    """Move the step at `path` before the step at `to`.

    If the list that `to` points into is too short, the step is moved to the end of this list.
    `other` is the robot to whose step list `to` refers; default: the same robot.  Returns the new
    text and the new path of the step.
    """
    own_list = not other or other == robot
    if own_list and to[: len(path)] == path and len(to) > len(path):
        raise BrazoError("a loop cannot be moved into itself")
    place = _find(text, robot, path)
    own = text.splitlines()[place.first : place.last + 1]
    target = to if to == path or not own_list else after_delete(to, path)
    assert target is not None
    shorter = delete(text, robot, path)
    stripped = [line[place.indent :] if line[: place.indent].isspace() else line for line in own]
    return _insert_lines(shorter, other or robot, target, stripped), target


def duplicate(text: str, robot: str, path: StepPath) -> str:
    """Return the text with a copy of a step, without the comments above it, inserted after it."""
    place = _find(text, robot, path)
    lines = text.splitlines()
    lines[place.last + 1 : place.last + 1] = lines[place.start : place.last + 1]
    return _joined(lines)


# ---- places ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines of a step in the text, counted from 0."""

    first: int  # with the comments above it
    start: int  # of the dash
    last: int
    column: int  # behind the last character of the last line
    indent: int  # of the dash
    alone: bool  # the only step of its list
    key: int  # line of the key of its list


@lru_cache(maxsize=4)
def _composed(text: str) -> yaml.Node | None:
    return yaml.compose(text, Loader=_LOADER)


def _robots(text: str) -> tuple[yaml.Node, yaml.Node] | None:
    root = _composed(text)
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise BrazoError("the program is not in YAML block style; write one field or step per line")
    return _entry(root, "robots")


def _entry(node: yaml.Node, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    assert isinstance(node, yaml.MappingNode)
    return next(((k, v) for k, v in node.value if k.value == key), None)


def _is_empty(node: yaml.Node) -> bool:
    return not node.value if isinstance(node, yaml.CollectionNode) else node.value == ""


def _is_block(node: yaml.Node, lines: list[str]) -> bool:
    """Return whether a list of steps and the lists of all loops in it are in block style."""
    if _is_empty(node):
        return True
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return False
    for item in node.value:
        start = item.start_mark
        if lines[start.line][: start.column].strip() != "-":
            return False
        inner = _inner(item)
        if inner is not None and not _is_block(inner[1], lines):
            return False
        loop = isinstance(item, yaml.MappingNode) and item.value[0][0].value in (
            "repeat",
            "for_each",
        )
        if loop and item.value[0][1].flow_style:
            return False
    return True


def _inner(item: yaml.Node) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the nodes of the key `do` and of the step list of a loop; None for other steps."""
    if not isinstance(item, yaml.MappingNode) or not item.value:
        return None
    value = item.value[0][1]
    return _entry(value, "do") if isinstance(value, yaml.MappingNode) else None


def _list(text: str, robot: str, above: StepPath) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the nodes of the key and the step list of a robot, or of its loop at path `above`.

    Returns None if there is no such list.
    """
    robots = _robots(text)
    if robots is None or _is_empty(robots[1]):
        return None
    found = _entry(robots[1], robot)
    for i in above:
        if found is None or _is_empty(found[1]) or i >= len(found[1].value):
            raise BrazoError("that step no longer exists")
        found = _inner(found[1].value[i])
    return found


def _find(text: str, robot: str, path: StepPath) -> _Place:
    found = _list(text, robot, path[:-1])
    if found is None or _is_empty(found[1]) or not 0 <= path[-1] < len(found[1].value):
        raise BrazoError("that step no longer exists")
    key, items = found[0], found[1].value
    item, lines = items[path[-1]], text.splitlines()
    start = item.start_mark.line
    indent = lines[start].index("-")
    line, column = _end(item)
    above = _end(items[path[-1] - 1])[0] if path[-1] else key.start_mark.line
    first = start
    while first - 1 > above and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return _Place(first, start, line, column, indent, len(items) == 1, key.start_mark.line)


def _end(node: yaml.Node) -> tuple[int, int]:
    """Return the line and column after the last character of a node.

    The end mark of a block collection cannot be used: it is at the next token, after blank lines
    and comments.
    """
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end, start = node.end_mark, node.start_mark
    if end.column == 0 and end.line > start.line:  # a block scalar
        return end.line - 1, 1 << 30
    return end.line, end.column


def _insert_lines(text: str, robot: str, path: StepPath, new: Sequence[str]) -> str:
    """Return the text with the lines `new` of a step inserted at `path`.

    `new` has no indentation; it is indented like the other steps.
    """
    lines = text.splitlines()
    found = _list(text, robot, path[:-1])
    if found is None:
        return _joined(_with_robot(text, lines, robot, new))
    key, node = found
    if _is_empty(node):
        at, indent = key.start_mark.line, key.start_mark.column + INDENT
        lines[at] = re.sub(
            r":\s*(?:\[\s*\]|\{\s*\})?\s*(#.*)?$", lambda m: f": {m[1] or ''}".rstrip(), lines[at]
        )
        at += 1
    else:
        index = min(path[-1], len(node.value))
        here = _find(text, robot, (*path[:-1], min(index, len(node.value) - 1)))
        indent = here.indent
        at = here.first if index < len(node.value) else here.last + 1
    lines[at:at] = [" " * indent + line if line.strip() else line for line in new]
    return _joined(lines)


def _with_robot(text: str, lines: list[str], robot: str, new: Sequence[str]) -> list[str]:
    """Return `lines` with a step list for `robot` added after the last robot.

    `new` are the lines of the steps.
    """
    robots = _robots(text)
    if robots is None:
        lines = [*lines, "robots:"]
        at, indent = len(lines), INDENT
    elif _is_empty(robots[1]):
        at = robots[0].start_mark.line
        lines[at] = re.sub(r":\s*(?:\[\s*\]|\{\s*\})\s*", ":", lines[at]).rstrip()
        at, indent = at + 1, INDENT
    else:
        at, indent = _end(robots[1])[0] + 1, robots[1].start_mark.column
    block = [f"{plain_text(robot)}:", *(" " * INDENT + line for line in new)]
    return [*lines[:at], *(" " * indent + line for line in block), *lines[at:]]


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"

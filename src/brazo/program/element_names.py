"""Renaming of a robot or another element of a cell in the text of a program.

An element is a robot, body, fixture, chute or frame.  Names are replaced where the file refers to
an element: the keys of `robots` and `points`, and the fields that name frames, bodies, chutes and
robots that hold a body.  Comments and layout are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from brazo.program.flow import plain_text

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIELDS = {"in", "by", "of", "body", "held", "free", "touching", "through", "on"}
_BY_ROBOT = ("robots", "points")  # fields with an entry for each robot


def with_element_renamed(text: str, old: str, new: str) -> str:
    """Return the text of a program with an element renamed from `old` to `new`.

    The text is returned unchanged if it is not valid YAML, or if it already has steps or points for
    a robot named `new`.
    """
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError:
        return text
    if not isinstance(root, yaml.MappingNode):
        return text
    blocks = [value for key, value in root.value if key.value in _BY_ROBOT]
    keys = [key for block in blocks for key, _ in _entries(block)]
    if any(key.value == new for key in keys):
        return text
    nodes = [key for key in keys if key.value == old]
    nodes += [node for node in _references(root) if _refers(node, old)]
    for node in sorted(nodes, key=lambda one: one.start_mark.index, reverse=True):
        name = plain_text(new + node.value[len(old) :])
        text = text[: node.start_mark.index] + name + text[node.end_mark.index :]
    return text


def _references(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the scalar nodes of the fields that refer to elements by name."""
    for key, value in _entries(node):
        if key.value in _FIELDS:
            listed = value.value if isinstance(value, yaml.SequenceNode) else [value]
            yield from (one for one in listed if isinstance(one, yaml.ScalarNode))
        yield from _references(value)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _references(item)


def _entries(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _refers(node: yaml.ScalarNode, name: str) -> bool:
    """Return whether a scalar is the name of an element, or of one of its parts (`arm/hand`)."""
    return node.value == name or node.value.startswith(f"{name}/")

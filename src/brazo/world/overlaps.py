"""Overlaps: bodies and robot parts that penetrate each other and should not.

A body placed on a table touches it, and rounding may cause a penetration of some micrometres.  A
penetration deeper than `ALLOWED` is a mistake in the cell, and the engine would separate the bodies
with forces far above those of any drive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from brazo.model.description import Finding
from brazo.world.cell import Cell
from brazo.world.contacts import Contact

ALLOWED = 1e-3  # m


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two elements of a cell that overlap; `first` is the one to move."""

    first: str  # `robot/part`, or the name of a body
    second: str
    depth: float  # m
    finding: Finding  # the same as a message with file, line and field

    def __str__(self) -> str:
        return str(self.finding)


def overlaps(cell: Cell, contacts: Iterable[Contact]) -> tuple[Overlap, ...]:
    """Return the deepest overlap of each pair of elements, deepest first."""
    deepest: dict[tuple[str, str], Contact] = {}
    for contact in contacts:
        pair = (_owner(contact.first), _owner(contact.second))
        if contact.depth > ALLOWED and contact.depth > getattr(deepest.get(pair), "depth", 0.0):
            deepest[pair] = contact
    found = [_overlap(cell, contact) for contact in deepest.values()]
    return tuple(sorted(found, key=lambda one: -one.depth))


def _overlap(cell: Cell, contact: Contact) -> Overlap:
    """Return the overlap of a contact, with the element to move as `first`.

    This is the later of two robots or two bodies, and the body in an overlap of a robot and a body;
    it is never a fixture.
    """
    first, second = contact.first, contact.second
    if contact.kind in ("robot-robot", "robot-object", "object-object"):
        first, second = second, first
    owner = _owner(first)
    field, line = "", None
    for block, things in (("robots", cell.robots), ("bodies", cell.bodies)):
        for i, thing in enumerate(things):
            if thing.name == owner:
                field, line = f"{block}[{i}]", thing.line
    text = f"{_text(first)} starts {1e3 * contact.depth:.0f} mm inside {_text(second)}"
    return Overlap(first, second, contact.depth, Finding(text, cell.path, line, field))


def _owner(name: str) -> str:
    return name.partition("/")[0]


def _text(name: str) -> str:
    owner, _, part = name.partition("/")
    return f"'{owner}' ({part})" if part else f"'{owner}'"

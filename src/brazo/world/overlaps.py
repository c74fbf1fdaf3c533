"""Detection of unintended overlaps of bodies and robot parts.

A body on a table touches the table, and rounding may cause a penetration of some micrometres.  A
penetration deeper than `ALLOWED` is an error in the cell: the engine would push the bodies apart
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
    """Two robots, bodies or fixtures that overlap; the user should move `first`."""

    first: str  # `robot/part`, or the name of a body
    second: str
    depth: float  # m
    finding: Finding  # the same as a message with file, line and field

    def __str__(self) -> str:
        return str(self.finding)


def overlaps(cell: Cell, contacts: Iterable[Contact]) -> tuple[Overlap, ...]:
    """Return one `Overlap` for each overlapping pair of robots, bodies or fixtures, deepest first.

    An `Overlap` describes the deepest contact point of its pair.  Penetrations up to `ALLOWED` are
    not overlaps.
    """
    deepest: dict[tuple[str, str], Contact] = {}
    for contact in contacts:
        pair = (_owner(contact.first), _owner(contact.second))
        if contact.depth > ALLOWED and contact.depth > getattr(deepest.get(pair), "depth", 0.0):
            deepest[pair] = contact
    found = [_overlap(cell, contact) for contact in deepest.values()]
    return tuple(sorted(found, key=lambda one: -one.depth))


def _overlap(cell: Cell, contact: Contact) -> Overlap:
    """Return the overlap of a contact; its field `first` is the robot or body to move.

    Of two robots or two bodies, `first` is the one listed later in the cell.  Of a robot and a
    body, it is the body.  It is never a fixture.
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

"""Friction that applies in a contact, and detection of friction values without effect.

    a gripper pad and anything          contact.pad_friction
    a fixture, chute or floor and       the friction of the fixture, chute or floor
        a body or a link
    two bodies, a body and a link,      the larger of the two, coefficient by coefficient
        two links

The engine selects by priority (`brazo.world.robot_elements`): the values of the geom with the
higher priority apply; for equal priorities, the larger value applies.
"""

from __future__ import annotations

from brazo.model.description import Finding
from brazo.world.cell import Cell, FreeBody, sliding

_USUAL = sliding(0.5)  # default of a body


def idle_frictions(cell: Cell) -> list[Finding]:
    """Return warnings for bodies whose specified friction affects no contact of the cell."""
    return [
        Finding(
            f"the friction of body '{body.name}' ({body.friction[0]:g}) has no effect in this cell:"
            " contacts with fixtures and the floor use their friction, contacts with a gripper use "
            f"contact.pad_friction, contacts with links ({cell.contact.link_friction[0]:g}) and "
            "other bodies use the larger friction of the two; change those values instead",
            cell.path,
            body.line,
        )
        for body in cell.bodies
        if body.friction != _USUAL and not _decides(cell, body)
    ]


def _decides(cell: Cell, body: FreeBody) -> bool:
    others = [other.friction for other in cell.bodies if other is not body]
    if cell.robots:
        others.append(cell.contact.link_friction)
    return any(
        mine != usual and mine >= its
        for other in others
        for mine, its, usual in zip(body.friction, other, _USUAL, strict=True)
    )

"""Rules for the friction of a contact, and detection of friction values without effect.

    contact between                     friction used
    a gripper pad and anything          contact.pad_friction of the cell
    a fixture, chute or floor and       the friction of the fixture, chute or floor
        a body or a link
    two bodies, a body and a link,      the larger of the two values, for each coefficient
        two links

The engine selects the friction by priority (`brazo.world.robot_elements`): it uses the values of
the geom with the higher priority, or the larger values if the priorities are equal.
"""

from __future__ import annotations

from brazo.model.description import Finding
from brazo.world.cell import Cell, FreeBody, sliding

_USUAL = sliding(0.5)  # default of a body


def idle_frictions(cell: Cell) -> list[Finding]:
    """Return a warning for each body whose friction has no effect on any contact of the cell.

    Bodies with the default friction are skipped.
    """
    return [
        Finding(
            f"the friction of body '{body.name}' ({body.friction[0]:g}) has no effect in this cell:"
            " contacts with a fixture or the floor use the friction of the fixture or floor, "
            "contacts with a gripper use "
            f"contact.pad_friction, contacts with links ({cell.contact.link_friction[0]:g}) and "
            "other bodies use the larger of the two values; change one of these values instead",
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

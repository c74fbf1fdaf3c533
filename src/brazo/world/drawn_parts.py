"""Parts to draw for the bodies of a world; links without parts are drawn as stick figures."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.body.stick_figure import visible_parts
from brazo.model.description import Part
from brazo.world.world import World


def drawn_parts(world: World) -> list[Sequence[Part]]:
    """Return the parts to draw for each body of `world.drawn`.

    Links without parts are drawn as stick figures.
    """
    found: list[Sequence[Part]] = [one.parts for one in world.drawn]
    for robot in world.robots.values():
        own = tuple(parts for _, parts in robot.model.solids)
        if all(own):
            continue
        for i, parts in zip(robot.drawn, visible_parts(robot.model, own), strict=True):
            found[i] = (found[i] or parts) if any(own) else parts
    return found

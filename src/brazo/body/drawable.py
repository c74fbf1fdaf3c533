"""Whether every part of a robot can be drawn: sizes that make a solid, mesh files that are read."""

from __future__ import annotations

from brazo.body.solids import mesh
from brazo.errors import BrazoError
from brazo.model.description import Model


def undrawable(model: Model) -> list[str]:
    """A message for each part that cannot be drawn: its body, its name and the reason."""
    found = []
    for body, parts in model.solids:
        for part in parts:
            try:
                mesh(part.shape)
            except BrazoError as error:
                found.append(f"{body}: part '{part.name}' cannot be drawn: {error}")
    return found


def require_drawable(model: Model) -> None:
    """Refuse a model with a part that cannot be drawn."""
    if found := undrawable(model):
        more = f" (and {len(found) - 1} more parts)" if len(found) > 1 else ""
        raise BrazoError(f"robot '{model.name}', {found[0]}{more}")

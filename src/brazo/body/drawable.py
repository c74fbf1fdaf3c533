"""Whether every part of a robot can be drawn: sizes that make a solid, mesh files that are read."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.body.solids import mesh
from brazo.errors import BrazoError
from brazo.model.description import DeltaModel, Model, Part, TreeModel


def undrawable(model: Model) -> list[str]:
    """A message for each part that cannot be drawn: its body, its name and the reason."""
    bodies: list[tuple[str, Sequence[Part]]] = []
    if isinstance(model, TreeModel):
        bodies = [(body.name, body.parts) for body in model.bodies]
    elif isinstance(model, DeltaModel):
        bodies = [(name, tuple(parts)) for name, parts in model.parts.items()]
    found = []
    for body, parts in bodies:
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

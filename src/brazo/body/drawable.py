"""Check whether every part of a robot can be drawn: valid sizes and readable mesh files."""

from __future__ import annotations

from brazo.body.solids import mesh
from brazo.errors import BrazoError
from brazo.model.description import Model
from brazo.model.shapes import Mesh


def undrawable(model: Model) -> list[str]:
    """Return a message for each part that cannot be drawn: its body, its name and the reason.

    The collision meshes of a part are checked too.
    """
    found = []
    for body, parts in model.solids:
        for part in parts:
            try:
                mesh(part.shape)
                for path in part.shape.pieces if isinstance(part.shape, Mesh) else ():
                    mesh(Mesh(path))
            except BrazoError as error:
                found.append(f"{body}: part '{part.name}' cannot be drawn: {error}")
    return found


def require_drawable(model: Model) -> None:
    """Raise BrazoError if a part of the model cannot be drawn."""
    if found := undrawable(model):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BrazoError(f"robot '{model.name}', {found[0]}{more}")

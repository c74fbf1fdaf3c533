"""A robot's equations worked out in a process of their own, as plain data a panel can show.

What goes in is the model without its solids; what comes out is a sheet of HTML and every export as
text, so that nothing of the computer algebra stays in the lab.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from brazo.model.description import Model, TreeModel

if TYPE_CHECKING:
    from brazo.dynamics.symbolic.equations import Form
    from brazo.dynamics.symbolic.mechanism import Parameters

EXPORTS = ("latex", "c", "python", "octave")


@dataclass(frozen=True, slots=True)
class Sheet:
    """What was derived: the page's HTML, and for each export its files by name."""

    html: str
    form: str
    files: dict[str, dict[str, str]]


def without_solids(model: Model) -> Model:
    """A model that is cheap to send: equations need no shapes."""
    if not isinstance(model, TreeModel):
        return model
    return replace(model, bodies=tuple(replace(body, parts=()) for body in model.bodies))


def derive(
    progress: Callable[[float, str], Any],
    model: Model,
    parameters: Parameters,
    form: Form | Literal["auto"],
) -> Sheet:
    """Derive the equations and write them down in every way."""
    from brazo.dynamics.symbolic import derive as derive_equations
    from brazo.dynamics.symbolic.straight_line import identifier

    def told(fraction: float, text: str) -> None:
        progress(0.8 * fraction, text)

    found = derive_equations(model, parameters, form, told)
    progress(0.8, "writing the sheet")
    html = found.html()
    name = identifier(found.name.lower())
    files: dict[str, dict[str, str]] = {}
    for i, export in enumerate(EXPORTS):
        progress(0.85 + 0.03 * i, f"writing {export}")
        written = getattr(found, export)()
        ending = {"latex": "tex", "python": "py"}.get(export)
        files[export] = {f"{name}.{ending}": written} if ending else written
    progress(1.0, "")
    return Sheet(html, found.form, files)

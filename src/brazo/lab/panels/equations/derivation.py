"""Derivation of a robot's equations of motion in a separate process.

The input is the robot model without its solids.  The output is HTML and the text of every export,
so that the lab's own process does not load the computer algebra system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from brazo.model.description import Model

if TYPE_CHECKING:
    from brazo.dynamics.symbolic.equations import Form
    from brazo.dynamics.symbolic.mechanism import Parameters

EXPORTS = ("latex", "c", "python", "octave")


@dataclass(frozen=True, slots=True)
class Sheet:
    """Derived equations: HTML for the page, and the exported files.

    `files` maps each export format to a dict from file name to text.
    """

    html: str
    form: str
    files: dict[str, dict[str, str]]


def derive(
    progress: Callable[[float, str], Any],
    model: Model,
    parameters: Parameters,
    form: Form | Literal["auto"],
) -> Sheet:
    """Derive the equations of motion of a robot model as HTML and in every export format.

    Calls `progress(fraction, text)` with fractions from 0 to 1.
    """
    from brazo.dynamics.symbolic import derive as derive_equations
    from brazo.dynamics.symbolic.straight_line import identifier

    def scaled(fraction: float, text: str) -> None:
        progress(0.8 * fraction, text)

    found = derive_equations(model, parameters, form, scaled)
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

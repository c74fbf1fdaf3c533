"""Export of the equations as text for a terminal."""

from __future__ import annotations

from typing import Any

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.notation import UnicodeNotation, broken
from brazo.text import one_line

Expr = Any

_INDENT = " " * 6
FORMS = {
    "expanded": "products multiplied out, then sums of angles and brackets restored",
    "recursive": "products not multiplied out; shared terms x1, x2, … in order of evaluation",
}
ROUNDED = "numbers are shown with six digits"


def text(equations: Equations, width: int) -> str:
    """Text of `Equations.steps`, M, C, G, friction and tool position, entry by entry.

    Zero entries of M, C, G and friction are left out.  Equal entries of M are written once.
    """
    notation = UnicodeNotation(equations)
    n = equations.n

    def entry(name: str, value: Expr) -> str:
        lines = broken(f"{name} = {notation.write(value)}", width - len(_INDENT))
        return f"\n{_INDENT}".join(lines)

    def index(i: int, j: int) -> str:
        return f"{i + 1}{j + 1}" if n < 10 else f"{i + 1},{j + 1}"

    blocks = [
        f"{one_line(equations.name)}: M(q) q̈ + C(q, q̇) q̇ + G(q) + friction = τ + Jᵀ F\n"
        f"{equations.form} form: {FORMS[equations.form]}"
        + ("" if equations.values else f"; {ROUNDED}")
    ]
    blocks += [f"Note: {note}." for note in equations.notes]
    body = []
    if equations.steps:
        body.append(
            "Shared terms\n" + "\n".join(entry(s.name, value) for s, value in equations.steps)
        )
    M = [
        entry(f"M{index(i, j)}" + (f" = M{index(j, i)}" if i != j else ""), equations.M[i, j])
        for i in range(n)
        for j in range(i, n)
        if equations.M[i, j] != 0
    ]
    C = [
        entry(f"C{index(i, j)}", equations.C[i, j])
        for i in range(n)
        for j in range(n)
        if equations.C[i, j] != 0
    ]
    G = [entry(f"G{i + 1}", x) for i, x in enumerate(equations.G) if x != 0]
    friction = [entry(f"F{i + 1}", x) for i, x in enumerate(equations.friction) if x != 0]
    for title, lines in (
        ("Mass matrix M(q)", M),
        ("Coriolis and centrifugal matrix C(q, q̇)", C),
        ("Gravity G(q)", G),
        ("Friction F(q̇)", friction),
    ):
        body.append(title + "\n" + ("\n".join(lines) or "0"))
    tool = [entry(name, value) for name, value in zip("xyz", equations.fk[:3, 3], strict=True)]
    body.append("Tool position\n" + "\n".join(tool))
    if notation.abbreviations:
        legend = [
            f"{short} = {value.func.__name__}({notation.write(value.args[0])})"
            for short, value in sorted(notation.abbreviations.items())
        ]
        blocks.append(_columns(legend, width))
    return "\n\n".join([*blocks, *body, "Entries that are not listed are zero."]) + "\n"


def _columns(items: list[str], width: int) -> str:
    lines, line = [], ""
    for item in items:
        if line and len(line) + 3 + len(item) > width:
            lines.append(line)
            line = ""
        line = f"{line}   {item}" if line else item
    return "\n".join([*lines, line])

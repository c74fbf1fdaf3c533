"""Export of the equations as a complete LaTeX document for pdflatex.

The document has the D-H table, symbols with their values, M, C, G, friction, forward kinematics and
energy.  Long entries are broken over lines and never scaled down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sympy as sp

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.export_text import FORMS, ROUNDED
from brazo.dynamics.symbolic.notation import LatexNotation, broken

Expr = Any

_WIDTH = 462  # of a line in points, of the 483 of the page


def latex(equations: Equations) -> str:
    """LaTeX source of the document."""
    return _Document(equations).text()


class _Document:
    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.notation = LatexNotation(equations)

    def text(self) -> str:
        equations = self.equations
        body = [
            self._section("Mass matrix", self._matrix("M", equations.M, symmetric=True)),
            self._section(
                "Coriolis and centrifugal matrix",
                r"$\dot M - 2 C$ is skew-symmetric." + "\n" + self._matrix("C", equations.C),
            ),
            self._section("Gravity", self._vector("G", equations.G)),
            self._section("Friction", self._friction()),
            self._section("Forward kinematics", self._kinematics()),
            self._section("Energy", self._energy()),
        ]
        if equations.steps:
            steps = "\n".join(self._entry(self.notation.symbol(s), x) for s, x in equations.steps)
            body.insert(0, self._section("Shared terms", steps))
        # Written last: only now is it known which abbreviations were used.
        front = [
            self._section("Robot", self._table()),
            self._section("Symbols", self._symbols()),
        ]
        return "\n".join([_HEAD % _escaped(equations.name), self._intro(), *front, *body, _FOOT])

    # -- parts ------------------------------------------------------------------------------

    def _intro(self) -> str:
        equations = self.equations
        notes = "".join(f"\n\n\\textbf{{Note.}} {_escaped(note)}." for note in equations.notes)
        return (
            "By Lagrange--Euler, SI units and radians:\n"
            r"\[ M(q)\,\ddot q + C(q,\dot q)\,\dot q + G(q) + F(\dot q) = \tau + J^{T} F_{e} \]"
            f"\nForm: {equations.form}, {_escaped(FORMS[equations.form])}"
            + ("" if equations.values else f"; {ROUNDED}")
            + ". Entries that are not listed are zero."
            + notes
        )

    def _section(self, title: str, body: str) -> str:
        return f"\n\\section{{{title}}}\n{body}"

    def _table(self) -> str:
        equations = self.equations
        kinds = equations.mechanism.joint_kinds
        joints = [
            f"{i + 1} & {_escaped(name)} & {kind}"
            for i, (name, kind) in enumerate(zip(equations.joint_names, kinds, strict=True))
        ]
        if not equations.dh:
            head = r"\begin{tabular}{rll}" + "\n" + r"joint & name & type \\ \hline"
            return "\n".join([head, *(f"{row} \\\\" for row in joints), r"\end{tabular}"])
        rows = [
            " & ".join(
                [joint, *(f"${self.notation.write(x)}$" for x in (r.theta, r.d, r.a, r.alpha))]
            )
            for joint, r in zip(joints, equations.dh, strict=True)
        ]
        return "\n".join(
            [
                f"Denavit--Hartenberg table, {equations.convention} convention.\n",
                r"\begin{tabular}{rll|cccc}",
                r"joint & name & type & $\theta$ & $d$ & $a$ & $\alpha$ \\ \hline",
                *(f"{row} \\\\" for row in rows),
                r"\end{tabular}",
            ]
        )

    def _symbols(self) -> str:
        rows = []
        for entry in self.equations.symbols.values():
            formula = "" if entry.formula is None else f", ${self.notation.write(entry.formula)}$"
            rows.append(
                f"${self.notation.symbol(entry.symbol)}$ & ${self.notation.float(entry.value)}$ & "
                f"{_escaped(entry.unit)} & {_escaped(entry.meaning)}{formula} \\\\"
            )
        table = ""
        if rows:
            table = "\n".join(
                [
                    r"\begin{longtable}{p{16mm}p{26mm}p{20mm}p{90mm}}",
                    r"symbol & value & unit & meaning \\ \hline \endhead",
                    *rows,
                    r"\end{longtable}",
                ]
            )
        short = ", ".join(
            f"${text} = \\{value.func.__name__}({self.notation.write(value.args[0])})$"
            for text, value in sorted(self.notation.abbreviations.items())
        )
        return table + (f"\n\nSines and cosines are abbreviated: {short}." if short else "")

    def _matrix(self, name: str, matrix: Any, symmetric: bool = False) -> str:
        n = self.equations.n
        entries = []
        for i in range(n):
            for j in range(i if symmetric else 0, n):
                if matrix[i, j] != 0:
                    left = f"{name}_{{{_index(n, i, j)}}}"
                    if symmetric and i != j:
                        left += f" = {name}_{{{_index(n, j, i)}}}"
                    entries.append(self._entry(left, matrix[i, j]))
        return "\n".join(entries) or f"${name} = 0$."

    def _vector(self, name: str, vector: Iterable[Expr]) -> str:
        entries = [self._entry(f"{name}_{{{i + 1}}}", x) for i, x in enumerate(vector) if x != 0]
        return "\n".join(entries) or f"${name} = 0$."

    def _friction(self) -> str:
        K = self.equations.K
        diagonal = ", ".join(self.notation.write(x) for x in K.diagonal())
        return (
            rf"Viscous: $K = \operatorname{{diag}}({diagonal})$. With Coulomb friction:"
            "\n" + self._vector("F", self.equations.friction)
        )

    def _kinematics(self) -> str:
        equations = self.equations
        parts = ["Pose of the tool in the base frame, $T = [R\\ p]$:"]
        parts.append(self._pose(equations.fk, "R", "p"))
        for i, frame in enumerate(equations.frames):
            name = _escaped(equations.mechanism.links[i].name)
            parts.append(f"Frame of {name}:")
            parts.append(self._pose(frame, f"R^{{({i + 1})}}", f"p^{{({i + 1})}}"))
        return "\n".join(parts)

    def _pose(self, T: Any, R: str, p: str) -> str:
        """LaTeX of the twelve entries of a pose, with as many on a line as fit."""
        entries = [(f"{R}_{{{i + 1}{j + 1}}}", T[i, j]) for i in range(3) for j in range(3)]
        entries += [(f"{p}_{{{axis}}}", T[i, 3]) for i, axis in enumerate("xyz")]
        rows, line = [], ""
        for left, value in entries:
            right = self.notation.write(value)
            item = f"{left} = {right}"
            if line and _printed_width(line) + _printed_width(item) > _WIDTH - 20:
                rows.append("& " + line)
                line = ""
            if _printed_width(item) > _WIDTH:
                rows += _broken_lines(left, right)
            else:
                line = rf"{line},\quad {item}" if line else item
        rows += ["& " + line] if line else []
        rows = [row.removesuffix(r" \\") for row in rows]
        return "\n".join([r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"])

    def _energy(self) -> str:
        equations = self.equations
        kinetic = (
            r"The kinetic energy is $\tfrac{1}{2}\,\dot q^{T} M(q)\,\dot q$, the potential energy"
        )
        return kinetic + "\n" + self._entry("P", equations.potential)

    def _entry(self, left: str, value: Expr) -> str:
        lines = _broken_lines(left, self.notation.write(sp.sympify(value)))
        return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"])


def _broken_lines(left: str, right: str) -> list[str]:
    """Rows of an align environment for an equation, broken into lines that fit the page."""
    lines = broken(right, _WIDTH - _printed_width(left), _printed_width)
    rows = [f"{left} &= {lines[0]}", *(rf"&\quad {{}} {line}" for line in lines[1:])]
    return [row + (r" \\" if i + 1 < len(rows) else "") for i, row in enumerate(rows)]


def _printed_width(text: str) -> float:
    """Upper estimate of the printed width of a formula (points)."""
    width = 0.0
    for command, digits, small, sign, bracket, letter in _PIECES.findall(text):
        if command:
            width += {r"\,": 1.8, r"\quad": 10.0, r"\tfrac": 1.5}.get(command, 0.0)
            if command in (r"\cos", r"\sin", r"\alpha", r"\delta", r"\theta", r"\pi"):
                width += 6.0 if len(command) > 4 else 14.0
        elif digits:
            width += 5.0 * len(digits)
        elif small:
            width += 3.9 * len(small.replace(r"\mathrm", "").strip("_^{}")) + 0.6
        elif sign:
            width += 12.6
        elif bracket:
            width += 3.9
        elif letter:
            width += 9.8 if letter in "mM" else 7.6 if letter.isupper() else 5.6
    return width


_PIECES = re.compile(
    r"(\\[A-Za-z]+|\\,)|([\d.]+)|([_^]\{(?:[^{}]|\{[^{}]*\})*\})|([+=-])|([()])|([A-Za-z])"
)


def _index(n: int, i: int, j: int) -> str:
    return f"{i + 1}{j + 1}" if n < 10 else f"{i + 1},{j + 1}"


_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\^{}", "~": r"\~{}", "²": r"$^2$", "…": r"\dots{}",
    "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def _escaped(text: str) -> str:
    """Escape the special characters of LaTeX; characters missing in its fonts become `?`."""
    return "".join(_ESCAPES.get(c, c if " " <= c < "\x7f" or c in _LATIN else "?") for c in text)


_LATIN = "áàâäãåæçéèêëíìîïñóòôöõøúùûüýßÁÀÂÄÃÅÆÇÉÈÊËÍÌÎÏÑÓÒÔÖÕØÚÙÛÜÝ"

_HEAD = r"""\documentclass[a4paper,10pt,fleqn]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=20mm]{geometry}
\usepackage{amsmath}
\usepackage{longtable}
\allowdisplaybreaks[4]
\setlength{\parindent}{0pt}
\setlength{\mathindent}{0pt}
\setlength{\LTleft}{0pt}
\AtBeginDocument{%%
  \setlength{\abovedisplayskip}{3pt plus 2pt}\setlength{\belowdisplayskip}{3pt plus 2pt}%%
  \setlength{\abovedisplayshortskip}{3pt}\setlength{\belowdisplayshortskip}{3pt}}
\begin{document}
\begin{center}\Large Equations of motion of %s\end{center}
"""
_FOOT = r"""
\end{document}
"""

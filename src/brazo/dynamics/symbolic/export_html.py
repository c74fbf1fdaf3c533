"""Export of the equations as an HTML fragment: text with italics, indices and exponents.

The fragment needs no scripts or fonts.  Lines break before a plus or a minus, not inside a product,
and copied text is readable.  Expressions too long for a page are cut after a term, and the number
of omitted terms is shown.
"""

from __future__ import annotations

import math
import re
from html import escape
from typing import Any

import sympy as sp

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.export_text import FORMS, ROUNDED
from brazo.dynamics.symbolic.notation import Notation

Expr = Any

MOST = 400_000  # characters of a sheet
_THIN = "\u202f"  # between factors: no line breaks here
_FRACTIONS = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾", (1, 8): "⅛"}
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "xi": "ξ", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω",
}  # fmt: skip


class HtmlNotation(Notation):
    """Notation with HTML tags for indices and exponents, for formulas such as m₂ L₁² c₁₂."""

    plus, minus = " +\u00a0", " -\u00a0"  # a line may break before a sign, not behind it
    times = _THIN

    def symbol(self, symbol: Expr) -> str:
        name = symbol.name
        bare = name.rstrip("_")
        prime = "′" * (len(name) - len(bare))
        if symbol in self._speeds:
            dot = "\u0307" if re.fullmatch(r"qd\d+", bare) else "\u0308"
            return f"<i>q{dot}{prime}</i><sub>{bare.lstrip('qd')}</sub>"
        head, _, tail = bare.partition("_")
        match = re.fullmatch(r"([^\W\d]+?)(\d.*)?", head)
        letters, index = (match[1], match[2] or "") if match else (head, "")
        index = ",".join(filter(None, [index, tail]))
        below = f"<sub>{escape(index)}</sub>" if index else ""
        return f"<i>{_GREEK.get(letters, escape(letters))}{prime}</i>{below}"

    def power(self, base: str, exponent: Expr) -> str:
        return f"{base}<sup>{exponent}</sup>"

    def trig(self, letter: str, indices: str) -> str:
        return f"{letter}<sub>{indices.replace('-', '−')}</sub>"

    def function(self, name: str, inside: str) -> str:
        return "π" if name == "pi" else {"sqrt": "√"}.get(name, name) + f"({inside})"

    def fraction(self, p: int, q: int) -> str:
        return _FRACTIONS.get((p, q), f"{p}/{q}")

    def float(self, x: float) -> str:
        text = super().float(x)
        if "e" not in text:
            return text
        mantissa, exponent = text.split("e")
        return f"{mantissa}·10<sup>{int(exponent)}</sup>"

    def maths(self, value: Expr, most: float = math.inf) -> str:
        """HTML of an expression, cut after about `most` characters.

        If the expression is cut, the number of omitted terms is shown.
        """
        terms: Any = sp.Add.make_args(sp.sympify(value))
        text = ""
        for i, term in enumerate(sorted(terms, key=self._term_order)):
            written = self._signed(term)
            if i and len(text) + len(written) > most:
                text += f"{self.plus}<em>{len(terms) - i} more terms</em>"
                break
            if i:
                written = self.minus + written[1:] if written[0] == "-" else self.plus + written
            text += written
        return text.replace("-", "−")


def equations_html(equations: Equations, most: int = MOST) -> str:
    """HTML sections of shared terms, M, C, G, friction and tool position.

    Shared terms are the `steps` of the equations.  Long entries are cut, so that shared terms, M,
    C, G and friction have about `most` characters in total.
    """
    return _Sheet(equations, most).html()


class _Sheet:
    def __init__(self, equations: Equations, most: int) -> None:
        self.equations = equations
        self.notation = HtmlNotation(equations)
        everything = [*equations.M, *equations.C, *equations.G, *equations.friction]
        everything += [value for _, value in equations.steps]
        self.each = _fair([len(self.notation.maths(x)) for x in everything], most)

    def html(self) -> str:
        equations = self.equations
        n = equations.n
        M = [
            (self._name("M", i, j) + (f" = {self._name('M', j, i)}" if i != j else ""), (i, j))
            for i in range(n)
            for j in range(i, n)
        ]
        sections = [
            self._section("Mass matrix", "M(q)", [(name, equations.M[at]) for name, at in M]),
            self._section(
                "Coriolis and centrifugal matrix",
                "C(q, q̇)",
                [(self._name("C", i, j), equations.C[i, j]) for i in range(n) for j in range(n)],
            ),
            self._section("Gravity", "G(q)", self._vector("G", equations.G)),
            self._section("Friction", "F(q̇)", self._vector("F", equations.friction)),
            self._section(
                "Tool position",
                "p(q)",
                [(f"<i>{a}</i>", x) for a, x in zip("xyz", equations.fk[:3, 3], strict=True)],
            ),
        ]
        if equations.steps:
            steps = [(self.notation.symbol(s), value) for s, value in equations.steps]
            sections.insert(0, self._section("Shared terms", "in order", steps))
        about = FORMS[equations.form] + ("" if equations.values else f"; {ROUNDED}")
        notes = "".join(f'<p class="note">{escape(note)}.</p>' for note in equations.notes)
        sheet = (
            '<p class="motion"><i>M</i>(<i>q</i>) <i>q̈</i> + <i>C</i>(<i>q</i>, <i>q̇</i>) <i>q̇</i> '
            "+ <i>G</i>(<i>q</i>) + <i>F</i>(<i>q̇</i>) = <i>τ</i></p>"
            f'<p class="about">{escape(equations.form)} form: {escape(about)}. '
            f"Entries that are not listed are zero.</p>{notes}{''.join(sections)}"
        )
        return sheet + self._abbreviations() + self._letters()

    def _section(self, title: str, of: str, entries: list[tuple[str, Expr]]) -> str:
        lines = "".join(
            f'<div class="entry"><span>{name}</span><span>= {self.notation.maths(x, self.each)}'
            "</span></div>"
            for name, x in entries
            if x != 0
        )
        shown = lines or '<div class="entry"><span></span><span>0</span></div>'
        return f"<section><h3>{escape(title)} <small>{escape(of)}</small></h3>{shown}</section>"

    def _vector(self, letter: str, vector: Any) -> list[tuple[str, Expr]]:
        return [(f"<i>{letter}</i><sub>{i + 1}</sub>", x) for i, x in enumerate(vector)]

    def _name(self, letter: str, i: int, j: int) -> str:
        comma = "" if self.equations.n < 10 else ","
        return f"<i>{letter}</i><sub>{i + 1}{comma}{j + 1}</sub>"

    def _abbreviations(self) -> str:
        """Section that explains the abbreviations used so far; called after all other sections."""
        short = [
            f"<span>{text} = {value.func.__name__}({self.notation.maths(value.args[0])})</span>"
            for text, value in sorted(self.notation.abbreviations.items())
        ]
        if not short:
            return ""
        return f'<section><h3>Abbreviations</h3><div class="short">{"".join(short)}</div></section>'

    def _letters(self) -> str:
        rows = []
        for entry in self.equations.symbols.values():
            formula = "" if entry.formula is None else f" = {self.notation.maths(entry.formula)}"
            rows.append(
                f"<tr><td>{self.notation.symbol(entry.symbol)}</td>"
                f"<td>{self.notation.maths(sp.Float(entry.value))}</td><td>{escape(entry.unit)}</td>"
                f"<td>{escape(entry.meaning)}{formula}</td></tr>"
            )
        if not rows:
            return ""
        return f"<section><h3>Symbols</h3><table>{''.join(rows)}</table></section>"


def _fair(lengths: list[int], most: int) -> float:
    """Max length of an entry such that all entries together have about `most` characters.

    It is at least 200, and infinite if no entry needs to be cut.
    """
    left = most
    for i, length in enumerate(sorted(lengths)):
        share = left / (len(lengths) - i)
        if length > share:
            return max(share, 200.0)
        left -= length
    return math.inf

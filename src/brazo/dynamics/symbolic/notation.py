"""Notations of expressions: m2 L1² c12 for a terminal, m_2 L_1^2 c_{12} for LaTeX.

Both notations order factors as textbooks do: numbers, masses, lengths, sines, speeds.  They write
cos(q1 + q2) as c12 and keep a list of such abbreviations.  `broken` breaks long sums into lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import sympy as sp

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.symbols import KINDS

Expr = Any

_SUPERSCRIPTS = str.maketrans("0123456789-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᐟ")
_GREEK = {
    "alpha", "beta", "gamma", "delta", "theta", "phi", "psi", "omega", "rho", "mu", "eta",
    "lambda", "tau", "kappa", "sigma", "xi", "zeta", "epsilon",
}  # fmt: skip
_TRIG = len(KINDS)
_BRACKET = len(KINDS) + 1
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


class Notation:
    """Base class of notations, which write expressions as text; subclasses define the symbols."""

    plus, minus = " + ", " - "
    times = " "

    def __init__(self, equations: Equations) -> None:
        entries = equations.mechanism.symbols
        self._place = {e.symbol: (_RANK[e.kind], i) for i, e in enumerate(entries)}
        for i, (symbol, _) in enumerate(equations.steps):
            self._place[symbol] = (_RANK["shared"], i)
        self._joint = {q: k + 1 for k, q in enumerate(equations.q)}
        self._speeds = set(equations.qd) | set(equations.qdd)
        self._orders: dict[Expr, tuple] = {}
        self.abbreviations: dict[str, Expr] = {}  # the abbreviations used so far

    # -- what the notations differ in ----------------------------------------------------------

    def symbol(self, symbol: Expr) -> str:
        raise NotImplementedError

    def power(self, base: str, exponent: Expr) -> str:
        raise NotImplementedError

    def trig(self, letter: str, indices: str) -> str:
        raise NotImplementedError

    def function(self, name: str, inside: str) -> str:
        raise NotImplementedError

    def fraction(self, p: int, q: int) -> str:
        raise NotImplementedError

    # -- trees ----------------------------------------------------------------------------------

    def write(self, value: Expr) -> str:
        """Write an expression on one line; sums are joined by `plus` and `minus`."""
        value = sp.sympify(value)
        if not value.is_Add:
            return self._signed(value)
        text = ""
        for term in sorted(value.args, key=self._term_order):
            written = self._signed(term)
            if not text:
                text = written
            elif written.startswith("-"):
                text += self.minus + written[1:]
            else:
                text += self.plus + written
        return text

    def _signed(self, value: Expr) -> str:
        number, rest = value.as_coeff_Mul()
        factors: list[Any] = [] if rest == 1 else list(sp.Mul.make_args(rest))
        sign = "-" if number < 0 else ""
        above = [f for f in factors if not (f.is_Pow and f.exp.is_negative)]
        below = [1 / f for f in factors if f.is_Pow and f.exp.is_negative]
        above.sort(key=self._order)
        size = abs(number)
        # 9/80000 is a decimal number of the file.
        p, q = (size.p, size.q) if size.is_Rational and size.q <= 12 else (None, 1)
        words = [self._factor(f) for f in above]
        if p is None:
            words.insert(0, self.float(float(size)))
        elif q == 1 and (p != 1 or not words):
            words.insert(0, str(p))
        elif q != 1:
            return sign + self._divided(p, q, words, below)
        for f in below:
            words.append("/ " + self._factor(f))
        return sign + self.times.join(words)

    def _divided(self, p: int, q: int, words: list[str], below: list[Expr]) -> str:
        text = self.times.join([self.fraction(p, q), *words])
        for f in below:
            text += self.times + "/ " + self._factor(f)
        return text

    def float(self, x: float) -> str:
        """Write a number with six significant digits."""
        return f"{x:.6g}"

    def _factor(self, value: Expr) -> str:
        if value.is_Symbol:
            return self.symbol(value)
        if value.is_Add:
            return f"({self.write(value)})"
        if value.is_Pow:
            if value.exp == sp.Rational(1, 2):
                return self.function("sqrt", self.write(value.base))
            return self.power(self._factor(value.base), value.exp)
        if isinstance(value, (sp.cos, sp.sin)):
            return self._circular(value)
        if value.is_Number:
            text = self._signed(value)
            return f"({text})" if value < 0 else text
        if value is sp.pi:
            return self.function("pi", "")
        name = {"sign": "sgn"}.get(type(value).__name__, type(value).__name__.lower())
        return self.function(name, ", ".join(self.write(x) for x in value.args))

    def _circular(self, value: Expr) -> str:
        """Write a sine or cosine: c12 for cos(q1 + q2); other angles are written in full."""
        angle = value.args[0]
        letter = "c" if isinstance(value, sp.cos) else "s"
        positive, negative = [], []
        for q, times in angle.as_coefficients_dict().items():
            if q not in self._joint or not times.is_Integer:
                return self.function(value.func.__name__, self.write(angle))
            (positive if times > 0 else negative).extend([self._joint[q]] * abs(int(times)))
        text = self.trig(letter, _indices(sorted(positive), sorted(negative)))
        self.abbreviations.setdefault(text, value)
        return text

    def _term_order(self, value: Expr) -> tuple:
        """Sort key of a term: its speeds, in the order of the joints, then its factors."""
        # A speed is a factor or in a bracket of speeds, never deeper in a sum.
        factors: Any = sp.Mul.make_args(value)
        parts = [x for f in factors for x in (f.args if f.is_Add else f.free_symbols)]
        speeds = [x for part in parts for x in (part, -part) if x in self._speeds]
        first = min((self._place[x] for x in speeds), default=(-1, -1))
        return (first, *self._order(value))

    def _order(self, value: Expr) -> tuple:
        """Sort key of a factor or term: masses, lengths, sines, brackets, speeds."""
        found = self._orders.get(value)
        if found is None:
            found = self._orders[value] = self._new_order(value)
        return found

    def _new_order(self, value: Expr) -> tuple:
        if value.is_Number:
            return ((-1, 0),)
        if value.is_Symbol:
            rank, place = self._place.get(value, (_BRACKET, 0))
            return ((rank + (10 if value in self._speeds else 0), place),)
        if isinstance(value, (sp.cos, sp.sin)):
            first = min((self._joint.get(s, 99) for s in value.free_symbols), default=99)
            return ((_TRIG, first, len(value.free_symbols), str(value)),)
        if value.is_Pow:
            return self._order(value.base)
        if value.is_Mul:
            keys = sorted(k for f in value.args if not f.is_Number for k in self._order(f)[:1])
            return (*keys, (len(keys),))
        if value.is_Add:
            keys = sorted(self._order(t)[0] for t in value.args)
            kinds = {key[0] for key in keys}
            light = {_RANK["motor"], _RANK["inertia"], _RANK["mass"]}
            if kinds <= light or all(t in self._speeds or -t in self._speeds for t in value.args):
                return (keys[0],)
            return ((_BRACKET, *keys[0]),)
        return ((_TRIG, 0, str(value)),)


class UnicodeNotation(Notation):
    """Notation for a terminal, with the names of the robot file: m2 L1² c12 q̇1."""

    plus, minus = " + ", " − "

    def symbol(self, symbol: Expr) -> str:
        name = symbol.name
        if symbol in self._speeds:
            dots = "\u0307" if re.fullmatch(r"qd\d+_*", name) else "\u0308"
            return f"q{dots}{name.lstrip('qd')}"
        return name

    def power(self, base: str, exponent: Expr) -> str:
        return base + str(exponent).translate(_SUPERSCRIPTS)

    def trig(self, letter: str, indices: str) -> str:
        return f"{letter}({indices})" if not indices.isdigit() else letter + indices

    def function(self, name: str, inside: str) -> str:
        return "π" if name == "pi" else {"sqrt": "√"}.get(name, name) + f"({inside})"

    def fraction(self, p: int, q: int) -> str:
        return f"{p}/{q}"

    def _divided(self, p: int, q: int, words: list[str], below: list[Expr]) -> str:
        # m1 L1²/4 reads better than 1/4 m1 L1²
        if below or not words:
            return super()._divided(p, q, words, below)
        return self.times.join([*([] if p == 1 else [str(p)]), *words]) + f"/{q}"


class LatexNotation(Notation):
    """Notation for LaTeX; brackets have a fixed size, so that lines can be broken inside them."""

    times = r"\,"

    def symbol(self, symbol: Expr) -> str:
        return latex_name(symbol.name, symbol in self._speeds)

    def power(self, base: str, exponent: Expr) -> str:
        return f"{base}^{{{exponent}}}"

    def trig(self, letter: str, indices: str) -> str:
        return f"{letter}_{{{indices}}}"

    def function(self, name: str, inside: str) -> str:
        if name == "pi":
            return r"\pi"
        if name == "sqrt":
            return rf"\sqrt{{{inside}}}"
        known = {"cos", "sin", "tan"}
        head = rf"\{name}" if name in known else rf"\operatorname{{{name}}}"
        return rf"{head}({inside})"

    def fraction(self, p: int, q: int) -> str:
        return rf"\tfrac{{{p}}}{{{q}}}"

    def float(self, x: float) -> str:
        text = super().float(x)
        if "e" not in text:
            return text
        mantissa, exponent = text.split("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}"


def latex_name(name: str, speed: bool = False) -> str:
    """LaTeX of a symbol's name: I1zz as I_{1zz}, L_base with an upright index, alpha2 as α₂."""
    bare = name.rstrip("_")
    prime = "'" * (len(name) - len(bare))
    if speed:
        accent = "dot" if re.fullmatch(r"qd\d+", bare) else "ddot"
        return rf"\{accent}{{q}}_{{{bare.lstrip('qd')}}}{prime}"
    head, _, tail = bare.partition("_")
    match = re.fullmatch(r"([A-Za-z]+?)(\d.*)?", head)
    letters, digits = (match[1], match[2] or "") if match else (head, "")
    if letters in _GREEK:
        base = rf"\{letters}"
    elif len(letters) == 1:
        base = letters
    elif len(letters) == 2 and digits and letters[0].isupper() and letters[1].islower():
        base, digits = letters[0], letters[1] + digits
    else:
        base = rf"\mathit{{{letters}}}"
    index = digits
    if tail:
        index += ("," if digits else "") + rf"\mathrm{{{tail.replace('_', ',')}}}"
    return f"{base}{prime}" + (f"_{{{index}}}" if index else "")


def broken(text: str, width: float, length: Callable[[str], float] = len) -> list[str]:
    """Break a long sum into lines of at most `width`, before a plus or minus.

    `length(text)` measures a line.  A single term that is longer than `width` is not broken.
    Breaks outside brackets are preferred to breaks inside them.
    """
    pieces = re.split(r"(?= [+−-] )", text)
    lines: list[str] = []
    line: list[tuple[int, str]] = []  # depth of brackets before a piece, the piece
    depth = 0
    for piece in pieces:
        while line and length("".join(x for _, x in line) + piece) > width:
            cut = _best_cut(line, depth, width, length)
            lines.append("".join(x for _, x in line[:cut]).lstrip())
            line = line[cut:]
        line.append((depth, piece))
        depth += piece.count("(") - piece.count(")")
    return [*lines, "".join(x for _, x in line).lstrip()]


def _best_cut(
    line: list[tuple[int, str]], after: int, width: float, length: Callable[[str], float]
) -> int:
    """Index at which to break a full line: lowest bracket depth first, then rightmost.

    Indices that would leave a line shorter than 0.4 `width` are ignored.
    """
    depths = [*(depth for depth, _ in line), after]
    best, so_far = len(line), ""
    for cut in range(1, len(line)):
        so_far += line[cut - 1][1]
        if depths[cut] < depths[best] and length(so_far) < 0.4 * width:
            continue  # would leave most of the line empty
        if depths[cut] < depths[best] or (cut > best and depths[cut] == depths[best]):
            best = cut
    return best


def _indices(positive: list[int], negative: list[int]) -> str:
    wide = max([*positive, *negative]) > 9

    def run(numbers: Iterable[int]) -> str:
        return ("," if wide else "").join(map(str, numbers))

    return run(positive) + "".join(f"-{k}" for k in negative)

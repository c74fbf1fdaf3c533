"""The equations as HTML: what is shown is what was derived."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sympy as sp

from brazo.dynamics.symbolic.export_html import HtmlNotation, equations_html
from tests.dynamics.symbolic.equations import equations


def computed(text: str, notation: HtmlNotation, letters: dict[str, str]) -> sp.Expr:
    """Read an expression back from the page: tags to names, thin spaces to products."""
    for shown, name in sorted(letters.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(shown, f"({name})")
    text = re.sub(r"<sup>(.*?)</sup>", r"**(\1)", text).replace("−", "-").replace("\u202f", "*")
    text = text.replace("\u00a0", " ")
    for sign, value in {"½": "1/2", "¼": "1/4", "⅛": "1/8", "·": "*", "π": "pi"}.items():
        text = text.replace(sign, f"({value})" if sign != "·" else value)
    return sp.sympify(text.replace("*/ ", "/"))  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("name", ["scara1", "scara2"])
def test_every_entry_can_be_read_back_and_computed_with(name):
    found = equations(name)
    notation = HtmlNotation(found)
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=found.n), rng.normal(size=found.n)
    numbers = {s: sp.Float(v, 17) for s, v in found.values.items()}
    numbers |= dict(zip((*found.q, *found.qd), (*q, *qd), strict=True))
    for matrix in (found.M, found.C, found.G):
        shown = [notation.maths(x) for x in matrix]
        names = {s: sp.Symbol(f"y{i}") for i, s in enumerate(numbers)}
        letters = {notation.symbol(s): names[s].name for s in names}
        values = {names[s]: x for s, x in numbers.items()}
        for i, (text, trig) in enumerate(sorted(notation.abbreviations.items())):
            letters[text] = f"t{i}"
            values[sp.Symbol(f"t{i}")] = sp.N(trig.subs(numbers))
        got = [float(computed(text, notation, letters).subs(values)) for text in shown]
        assert got == pytest.approx(found.evaluate(matrix, q, qd).ravel(), rel=1e-9, abs=1e-12)


def test_letters_indices_and_signs():
    notation = HtmlNotation(equations("scara2"))

    def written(name: str) -> str:
        return notation.symbol(sp.Symbol(name))

    assert written("L_base") == "<i>L</i><sub>base</sub>"
    assert written("I1zz") == "<i>I</i><sub>1zz</sub>"
    assert written("alpha3") == "<i>α</i><sub>3</sub>"
    assert written("m1_") == "<i>m′</i><sub>1</sub>"
    assert notation.symbol(equations("scara2").qd[0]) == "<i>q\u0307</i><sub>1</sub>"
    assert notation.maths(-sp.Symbol("a") / 4 - 1.5e-7).count("−") == 3


class Checker(HTMLParser):
    """Tags that open are closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["scara1", "puma560-drives", "panda"])
def test_a_sheet_is_well_formed_and_not_too_long(name):
    whole = equations_html(equations(name))
    for sheet in (whole, equations_html(equations(name), most=15_000)):
        checker = Checker()
        checker.feed(sheet)
        assert checker.open == [] and "script" not in checker.seen
    if name != "scara1":
        assert "more terms" in sheet and len(sheet) < len(whole)
    assert "more terms" not in whole
    assert "Mass matrix" in whole and "Symbols" in whole

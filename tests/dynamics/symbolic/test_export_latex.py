"""The LaTeX export: read by another program, and compiled by pdflatex."""

from __future__ import annotations

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from latex2mathml.converter import convert

from brazo.dynamics.symbolic import derive
from tests.dynamics.symbolic.equations import equations
from tests.dynamics.symbolic.test_derivation import ODD, POINT_MASSES, load_text


def formulas(document: str) -> list[str]:
    """The rows of all displayed equations."""
    found = []
    for body in re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", document, re.DOTALL):
        found += [row.replace("&", "").strip() for row in body.split(r"\\")]
    return found


@pytest.mark.parametrize("name", ["scara1", "scara2"])
def test_every_formula_is_well_formed(name):
    rows = formulas(equations(name).latex())
    assert len(rows) > 40
    for row in rows:
        assert row.count("{") == row.count("}")
        ElementTree.fromstring(convert(row))


def test_the_document_has_every_part():
    text = equations("scara1").latex()
    for part in (
        "Denavit--Hartenberg table, standard convention",
        r"L_{\mathrm{base}}",
        r"M_{11} &= I_{1zz}",
        r"C_{11} &=",
        r"\dot{q}_{2}",
        r"c_{2-4} = \cos(q_{2} - q_{4})",
        r"K = \operatorname{diag}(0, 0, 0, 0, 0)",
        r"p_{z} = L_{\mathrm{base}}",
        r"\documentclass",
        r"\end{document}",
    ):
        assert part in text


def test_environments_are_closed_and_prose_is_escaped(tmp_path):
    text = POINT_MASSES.replace("name: points", "name: 'a_b & c% #1 {x} \\ ^~ π'")
    document = derive(load_text(text, tmp_path)).latex()
    assert r"a\_b \& c\% \#1 \{x\} \textbackslash{}" in document
    assert "M is singular" in document
    opened = re.findall(r"\\begin\{(\w+\*?)\}", document)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\w+\*?)\}", document))


@pytest.mark.parametrize("name", ["scara1", "puma560", "odd"])
def test_document_compiles_without_overfull_boxes(name, tmp_path):
    assert shutil.which("pdflatex"), "pdflatex is not on PATH: make setup installs it on Debian"
    eqs = derive(load_text(ODD, tmp_path)) if name == "odd" else equations(name)
    (tmp_path / "equations.tex").write_text(eqs.latex(), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "equations.tex"],
        cwd=tmp_path,
        capture_output=True,
        encoding="latin-1",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "equations.pdf").stat().st_size > 10_000
    assert "Overfull" not in done.stdout

"""The equations as printed on a terminal."""

from __future__ import annotations

import pytest
import sympy as sp

from brazo.dynamics.symbolic.notation import LatexNotation, UnicodeNotation, broken, latex_name
from tests.dynamics.symbolic.equations import equations


def test_scara2_equations_have_textbook_form():
    lines = equations("scara2").text().splitlines()
    assert "M33 = I3zz + I4zz + I5zz + (m3/4 + m4 + m5) L3²" in lines
    assert "C32 = (m3/2 + m4 + m5) L2 L3 s3 (q̇1 + q̇2)" in lines
    assert "G4 = -(m4 + m5) g" in lines
    assert any("c23 = cos(q2 + q3)" in line for line in lines)
    assert "x = L1 c1 + L2 c12 + L3 c123" in lines
    assert "z = L_base − L5 − q4" in lines
    assert lines[1].startswith("expanded form")


def test_form_and_notes_are_printed():
    assert "recursive form" in equations("panda").text()
    assert (
        "M11 = 0.838287 + 0.575 c2 + 0.20625 c23 + 0.165 c3"
        in equations("scara2", "numeric").text()
    )
    friction = equations("puma560-drives").text()
    assert "F1 = b1 q̇1 + sgn(q̇1)" in friction


@pytest.mark.parametrize("width", [60, 90, 120])
@pytest.mark.parametrize("name", ["scara1", "puma560"])
def test_lines_fit_the_terminal(name, width):
    for line in equations(name).text(width).splitlines()[3:]:
        if line.count(" + ") + line.count(" − ") > 1:
            assert len(line.replace("\u0307", "")) <= width


def test_breaks_prefer_the_outside_of_brackets():
    text = "a + b (c + d + e) + f (g + h)"
    assert broken(text, 22) == ["a + b (c + d + e)", "+ f (g + h)"]
    assert broken(text, 100) == [text]
    assert " ".join(broken("x" * 5 + " + y" * 40, 20)) == "x" * 5 + " + y" * 40


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("L1", "L_{1}"), ("L_base", r"L_{\mathrm{base}}"), ("I2xy", "I_{2xy}"), ("g", "g"),
        ("alpha3", r"\alpha_{3}"), ("Jm1", "J_{m1}"), ("OA", r"\mathit{OA}"), ("m1_", "m'_{1}"),
        ("tool_x", r"\mathit{tool}_{\mathrm{x}}"), ("a_b_c", r"a_{\mathrm{b,c}}"),
    ],
)  # fmt: skip
def test_names_in_latex(name, wanted):
    assert latex_name(name) == wanted


def test_signs_fractions_and_functions():
    eqs = equations("scara1")
    q1, q2, q3, q4, q5 = eqs.q
    L1, m1 = sp.symbols("L1 m1")
    text, tex = UnicodeNotation(eqs), LatexNotation(eqs)
    assert text.write(-m1 * L1**2 / 4 + sp.cos(q2 - q4)) == "-m1 L1²/4 + c(2-4)"
    assert text.write(sp.sqrt(L1) / m1 - sp.Rational(9, 80000)) == "-0.0001125 + √(L1) / m1"
    assert text.write(sp.sin(2 * q5) * q3) == "q3 s55"
    assert text.write(sp.cos(q1 + L1)) == "cos(L1 + q1)"
    assert tex.write(-3 * m1 * eqs.qd[1] * sp.sin(q1 + q2) / 2) == (
        r"-\tfrac{3}{2}\,m_{1}\,s_{12}\,\dot{q}_{2}"
    )

"""Lagrange–Euler against Newton–Euler, reference numbers and theory."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
import pytest
import sympy as sp

import brazo
from brazo.dynamics.symbolic import Cancelled, derive
from brazo.errors import BrazoError
from brazo.formats.document import read_document
from brazo.formats.mistakes import mistakes
from brazo.formats.robot_yaml.robot_file import RobotFile
from tests.dynamics.symbolic.equations import WITH_MASSES, close, equations, robot, states

FORMS = [("symbolic", "auto"), ("symbolic", "recursive"), ("numeric", "auto")]

# Modified D-H, tilted base and twists, a load on the tool, friction and motors of every kind.
ODD = """\
name: odd
convention: modified
parameters: {L1: 0.3, L2: 0.8*L1, tilt: 25deg, m1: 0.2, q1: 0.11, g: 0.07, lambda: 0.4}
base: {xyz: [0.1, L1/2, 0.3], rpy: [tilt, -90deg, 20deg]}
gravity: [1, 2, -9]
joints:
  - {name: turn, a: L1, alpha: tilt/2, offset: 20deg, d: m1 + q1, mass: L1*4,
     com: {a: 0.1, theta: tilt, alpha: 30deg}, inertia: {box: [L1, 0.08, 0.06]},
     friction: {viscous: 0.3, coulomb: [0.3, 0.1]}, drive: {gear: 50, motor_inertia: 1e-4}}
  - {name: slide, type: prismatic, theta: 45deg, alpha: 180deg, offset: L2, mass: 2.5,
     com: [L1/3, 0.1, g], inertia: {cylinder: [0.03, L2], axis: y}, friction: {coulomb: 0.2}}
  - {name: bend, alpha: 35deg, a: sqrt(L1)*lambda, offset: -90deg, mass: 1,
     inertia: [[0.2, 0.01, -0.02], [0.01, 0.15, 0.03], [-0.02, 0.03, 0.18]]}
tool: {xyz: [0, L2, 0.1], rpy: [0, 30deg, tilt], mass: 0.7, com: [0.01, 0.02, L1],
       inertia: [0.01, 0.02, 0.015]}
"""

# The point-mass model of the cooperative SCARA #2: masses at the links' ends, no inertias.
POINT_MASSES = """\
name: points
parameters: {L_base: 0.4, L1: 0.25, L2: 0.2, L3: 0.15, L5: 0.1}
joints:
  - {d: L_base, a: L1, mass: 5, com: {a: -L1/2}}
  - {a: L2, mass: 3.5, com: {a: -L2/2}}
  - {a: L3, alpha: 180deg, mass: 2.5, com: {a: -L3/2}}
  - {name: quill, type: prismatic, mass: 1, com: {d: -0.15}}
  - {name: wrist, d: L5, mass: 0.5, com: {d: -L5/2}}
"""


def load_text(text, folder):
    path = folder / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    return brazo.load(path)


def agree(arm, eqs, relative=1e-12, count=30):
    """All results of Newton–Euler also follow from the equations."""
    compiled = eqs.compile()
    q, qd, qdd = states(arm.n, count)
    M, C, G = compiled.M(q), compiled.C(q, qd), compiled.G(q)
    assert close(M, arm.mass_matrix(q), relative)
    assert close(C, arm.coriolis(q, qd), relative)
    assert close(G, arm.gravity(q), relative)
    tau = np.einsum("bij,bj->bi", M, qdd) + np.einsum("bij,bj->bi", C, qd) + G + compiled.F(qd)
    assert close(tau, arm.inverse_dynamics(q, qd, qdd), relative)
    assert close(compiled.energy(q, qd), arm.energy(q, qd), relative)
    assert close(compiled.fk(q), arm.fk(q), relative)
    assert close(compiled.jacobian(q), arm.jacobian(q), relative)


@pytest.mark.parametrize("name", WITH_MASSES)
@pytest.mark.parametrize(("parameters", "form"), FORMS)
def test_equals_newton_euler_on_every_shipped_robot(name, parameters, form):
    agree(robot(name), equations(name, parameters, form))


@pytest.mark.parametrize("parameters", ["symbolic", "numeric"])
def test_equals_newton_euler_on_an_odd_robot(parameters, tmp_path):
    arm = load_text(ODD, tmp_path)
    eqs = derive(arm, parameters)
    assert eqs.form == "expanded"
    agree(arm, eqs)


def test_expressions_evaluate_without_the_compiler():
    eqs, arm = equations("scara1"), robot("scara1")
    q, qd, _ = states(arm.n, 3)
    for x, v in zip(q, qd, strict=True):
        assert close(eqs.evaluate(eqs.M, x), arm.mass_matrix(x), 1e-14)
        assert close(eqs.evaluate(eqs.C, x, v), arm.coriolis(x, v), 1e-14)
        assert close(eqs.evaluate(eqs.frames[2], x), arm.frames(x)[3], 1e-14)
        assert eqs.evaluate(eqs.potential, x) == pytest.approx(arm.energy(x, v)[1], rel=1e-14)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("puma560_corke", "puma560"),
        ("srm1_corrected", "srm1"),
        ("srm1_as_printed", "srm1-printed"),
        ("scara1_proposed", "scara1"),
        ("scara2_proposed", "scara2"),
    ],
)
def test_reference_numbers(golden, entry, name):
    numbers, compiled = golden["robots"][entry], equations(name).compile()
    for item in numbers["mass_matrix"]:
        assert close(compiled.M(item["q"]), item["M"], 1e-12)
    for item in numbers["rne"]:
        q, qd, qdd = (np.array(item[key]) for key in ("q", "qd", "qdd"))
        C, G = compiled.C(q, qd), compiled.G(q)
        assert close(G, item["gravity_part"], 1e-12)
        assert close(C @ qd, item["coriolis_part"], 1e-12)
        assert close(compiled.M(q) @ qdd + C @ qd + G, item["tau"], 1e-12)
    for item in numbers["forward_dynamics"]:
        q, qd, tau = (np.array(item[key]) for key in ("q", "qd", "tau"))
        rest = tau - compiled.C(q, qd) @ qd - compiled.G(q)
        # Ill-conditioned wrists: condition numbers reach 1e5.
        assert close(np.linalg.solve(compiled.M(q), rest), item["qdd"], 1e-10)
    for item in numbers["fk_tool" if "fk_tool" in numbers else "fk"]:
        if "T" in item:
            assert close(compiled.fk(item["q"]), item["T"], 1e-12)


@pytest.mark.parametrize("name", ["scara1", "scara2"])
def test_mass_rate_minus_twice_coriolis_is_skew(name):
    eqs = equations(name)
    rate = sum((eqs.M.diff(q) * qd for q, qd in zip(eqs.q, eqs.qd, strict=True)), sp.zeros(eqs.n))
    N = rate - 2 * eqs.C
    assert (N + N.T).applyfunc(sp.expand) == sp.zeros(eqs.n)


@pytest.mark.parametrize("name", WITH_MASSES)
def test_mass_matrix_is_symmetric_and_free_of_the_first_angle(name):
    eqs = equations(name)
    assert eqs.M == eqs.M.T
    used = set().union(*(x.free_symbols for x in eqs.M))
    assert eqs.q[0] not in used
    # Christoffel symbols: C q̇ of a rotation of everything about joint 1 is centrifugal only.
    assert eqs.C[0, 0].subs(dict.fromkeys(eqs.qd[1:], 0)) == 0


# -- what a person reads -------------------------------------------------------------------


def test_scara2_has_the_textbook_mass_matrix():
    """Written down by hand, link by link: Σ m v² of points that turn about parallel axes."""
    eqs = equations("scara2")
    s = {name: entry.symbol for name, entry in eqs.symbols.items()}
    L1, L2, L3 = s["L1"], s["L2"], s["L3"]
    _, q2, q3, _, _ = eqs.q
    m1, m2, m3, m4, m5 = (s[f"m{i}"] for i in range(1, 6))
    I = [s[f"I{i}zz"] for i in range(1, 6)]
    c2, c3, c23 = sp.cos(q2), sp.cos(q3), sp.cos(q2 + q3)
    whole = L1**2 + L2**2 + L3**2 + 2 * L1 * L2 * c2 + 2 * L1 * L3 * c23 + 2 * L2 * L3 * c3
    M11 = (
        sum(I)
        + m1 * (L1 / 2) ** 2
        + m2 * (L1**2 + (L2 / 2) ** 2 + L1 * L2 * c2)
        + m3 * (L1**2 + L2**2 + (L3 / 2) ** 2 + 2 * L1 * L2 * c2 + L1 * L3 * c23 + L2 * L3 * c3)
        + (m4 + m5) * whole
    )
    M33 = I[2] + I[3] + I[4] + m3 * (L3 / 2) ** 2 + (m4 + m5) * L3**2
    assert sp.expand(eqs.M[0, 0] - M11) == 0
    assert sp.expand(eqs.M[2, 2] - M33) == 0
    assert eqs.M[4, 4] == I[4] and eqs.M[0, 4] == -I[4]
    assert eqs.M[3, 3] == m4 + m5
    assert [sp.expand(x) for x in eqs.G] == [0, 0, 0, sp.expand(-(m4 + m5) * s["g"]), 0]


def test_scara_has_no_more_terms_than_the_textbook():
    """Counted by hand from Σ m v² and the inertias, each product once."""
    M = equations("scara2").M
    wanted = {
        (0, 0): 5 + 1 + 3 + 3 * 6, (0, 1): 4 + 2 + 3 * 5, (0, 2): 3 + 3 * 3,
        (1, 1): 4 + 1 + 3 * 3, (1, 2): 3 + 3 * 2, (2, 2): 3 + 3, (3, 3): 2, (4, 4): 1,
    }  # fmt: skip
    for place, count in wanted.items():
        assert len(sp.Add.make_args(sp.expand(M[place]))) == count


@pytest.mark.parametrize(("name", "parallel"), [("scara1", {0, 1, 3}), ("scara2", {0, 1, 2, 4})])
def test_scara_forms_are_normalised(name, parallel):
    """No s² + c² is left, and no cos a cos b ± sin a sin b of parallel axes."""
    eqs = equations(name)
    turning = {eqs.q[i] for i in parallel}
    for entry in (*eqs.M, *eqs.C, *eqs.G, *eqs.fk):
        terms = set(sp.Add.make_args(sp.expand(entry)))
        for term in terms:
            for sine in term.atoms(sp.sin):
                if term.has(sine**2):
                    assert term.subs(sine, sp.cos(sine.args[0])) not in terms
            cosines = [c for c in term.atoms(sp.cos) if c.free_symbols <= turning]
            for a, b in combinations(cosines, 2):
                twin = term.subs({a: sp.sin(a.args[0]), b: sp.sin(b.args[0])})
                assert twin not in terms and -twin not in terms


def test_sizes_of_the_expanded_forms():
    """Terms with brackets multiplied out; a longer form is a lost simplification."""
    assert equations("scara1").terms == {"M": 104, "C": 148, "G": 4}
    assert equations("scara2").terms == {"M": 140, "C": 88, "G": 2}
    puma = equations("puma560")
    assert puma.form == "expanded"
    assert puma.terms["M"] <= 585 and puma.terms["C"] <= 2500 and puma.terms["G"] <= 34
    assert equations("panda").form == "recursive" and len(equations("panda").steps) > 100


def test_symbols_are_those_of_the_file():
    eqs = equations("scara1")
    assert eqs.symbols["L1"].value == 0.3 and eqs.symbols["L1"].unit == "m"
    assert eqs.values[sp.Symbol("m1")] == 5.0
    assert eqs.fk[2, 3].has(sp.Symbol("L_base"))
    # What never shows up is not listed: link 1 turns about z only.
    assert "I1xx" not in eqs.symbols and "I1zz" in eqs.symbols
    L1, m1 = sp.symbols("L1 m1")
    assert (
        sp.expand(eqs.symbols["I1zz"].formula - m1 * (L1**2 + sp.Rational(8, 100) ** 2) / 12) == 0
    )
    assert [row.d for row in eqs.dh][:3] == [sp.Symbol("L_base"), 0, eqs.q[2]]


def test_plain_numbers_get_symbols_with_unique_names(tmp_path):
    arm = load_text(ODD, tmp_path)
    eqs = derive(arm)
    assert eqs.symbols["m1"].value == 0.2  # a length the file calls m1
    assert eqs.symbols["m1_"].meaning == "mass of link 1"
    assert eqs.q[0].name == "q1_" and eqs.symbols["q1"].value == 0.11
    assert {"gx", "gy", "gz"} <= eqs.symbols.keys()
    assert len({x.name for x in (*eqs.values, *eqs.q, *eqs.qd)}) == len(eqs.values) + 2 * eqs.n


def test_numbers_can_be_changed_before_deriving():
    longer = robot("scara1").with_parameters(L1=0.35)
    eqs = derive(longer)
    assert eqs.symbols["L1"].value == 0.35
    agree(longer, eqs)
    loaded = robot("scara1").with_payload(0.8, com=(0.0, 0.01, 0.05), inertia=(0.001, 0.002, 0.003))
    agree(loaded, derive(loaded))


def test_robot_without_a_file_gets_symbols():
    named = RobotFile.parse(ODD).build()
    plain = dataclasses.replace(named, expressions={})
    plain, named = derive(plain), derive(named)
    assert "a1" in plain.symbols and "a1" not in named.symbols
    q, qd, _ = (x[0] for x in states(3, 1))
    assert close(plain.compile().M(q), named.compile().M(q), 1e-14)
    assert close(plain.compile().C(q, qd), named.compile().C(q, qd), 1e-14)


@pytest.mark.parametrize("later", [None, ODD.replace("a: L1,", "a: 2*L1,")])
def test_the_file_is_not_opened_again(tmp_path, later):
    arm = load_text(ODD, tmp_path)
    before = derive(arm)
    path = tmp_path / "robot.yaml"
    path.unlink() if later is None else path.write_text(later, encoding="utf-8")
    after = derive(arm)
    assert after.M == before.M and after.symbols.keys() == before.symbols.keys()


@pytest.mark.parametrize("gap", ["", " ", "  "])
def test_space_between_number_and_unit_is_allowed(tmp_path, gap):
    text = f"""
name: spaced
parameters: {{L1: 60{gap}cm, L2: L1/2 + 5{gap}cm, rate: 90{gap}deg/s}}
joints:
  - {{a: L1, alpha: 90{gap}deg, offset: 30{gap}deg, mass: 2{gap}kg, com: [-L1/2, 0, 0],
     inertia: {{box: [L1, 5{gap}cm, 40{gap}mm]}}, drive: {{max_speed: rate}}}}
  - {{a: L2 + 10{gap}mm, mass: 500{gap}g, com: {{a: -L2/2}}, inertia: [1e-3, 2e-3, 2e-3]}}
tool: {{xyz: [0, 0, 2{gap}in], rpy: [0, 45{gap}deg, 0]}}
"""
    arm = load_text(text, tmp_path)
    root = read_document(tmp_path / "robot.yaml")
    assert mistakes(root, lambda root: RobotFile(root).build()) == []
    assert arm.findings == ()
    assert arm.parameters["L1"] == 0.6 and arm.parameters["L2"] == 0.35
    eqs = derive(arm)
    assert eqs.symbols["L2"].formula == sp.Symbol("L1") / 2 + sp.Rational(1, 20)
    agree(arm, eqs)
    q = [0.3, -0.4]
    assert close(eqs.compile().fk(q), arm.fk(q), 1e-13)


# -- singular, general and impossible robots ------------------------------------------------


def test_singular_mass_matrix_of_point_masses_is_reported(tmp_path):
    arm = load_text(POINT_MASSES, tmp_path)
    eqs = derive(arm)
    assert eqs.singular
    assert "row and column 5 (wrist) are zero" in eqs.notes[0]
    assert list(eqs.M.row(4)) == [0] * 5
    s = {name: entry.symbol for name, entry in eqs.symbols.items()}
    assert eqs.M[3, 3] == s["m4"] + s["m5"]
    assert sp.expand(eqs.G[3] + (s["m4"] + s["m5"]) * s["g"]) == 0
    agree(arm, eqs)
    assert not equations("scara2").singular


def test_hidden_singularity_is_found(tmp_path):
    """Two joints about one axis: no row is zero, yet M has rank 1."""
    arm = load_text(
        "name: twice\njoints:\n"
        "  - {mass: 0, inertia: [0, 0, 0]}\n"
        "  - {a: 0.3, mass: 1, inertia: [0.1, 0.1, 0.1]}\n",
        tmp_path,
    )
    assert derive(arm).notes == (
        "M is singular in every configuration; accelerations cannot be computed",
    )


def test_robots_of_other_formats_are_derived_by_numbers(tmp_path):
    from brazo.formats.urdf.writer import export_urdf

    export_urdf(robot("scara1").model, tmp_path / "scara1.urdf")
    arm = brazo.load(tmp_path / "scara1.urdf")
    eqs = derive(arm)
    assert eqs.form == "expanded" and not eqs.values
    agree(arm, eqs)
    assert len(sp.Add.make_args(eqs.M[0, 0])) <= 8  # rounding leaves no dust behind


@pytest.mark.parametrize("fingers", ["one slides", "both turn"])
def test_trees_and_mimicking_joints(fingers, tmp_path):
    """A turning palm with two fingers of which one follows the other, opposite in sense."""
    path = tmp_path / "hand.urdf"
    text = HAND
    if fingers == "both turn":  # about parallel axes, by q and -q
        text = HAND.replace("prismatic", "revolute").replace('axis xyz="1 0 0"', 'axis xyz="0 1 0"')
        text = text.replace('multiplier="-2.5"', 'multiplier="-1"').replace('offset="0.1"', "")
    path.write_text(text, encoding="utf-8")
    arm = brazo.load(path, tip="palm")
    assert arm.n == 3 and len(arm.model.joints) == 4
    agree(arm, derive(arm))
    agree(arm, derive(arm, form="recursive"))


HAND = """\
<robot name="hand">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
  <link name="palm"><inertial><origin xyz="0 0.01 0.05"/><mass value="0.7"/>
    <inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0.01 0 0.03"/><mass value="0.2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="-0.01 0 0.03"/><mass value="0.25"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.0015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="yaw" type="continuous"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.3" rpy="0 0.4 0"/><axis xyz="0 0 1"/></joint>
  <joint name="pitch" type="continuous"><parent link="arm"/><child link="palm"/>
    <origin xyz="0.3 0 0" rpy="0.2 0 1"/><axis xyz="0 0.6 0.8"/>
    <dynamics damping="0.1" friction="0.05"/></joint>
  <joint name="left finger" type="prismatic"><parent link="palm"/><child link="left"/>
    <origin xyz="0.02 0 0.1"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
  <joint name="right finger" type="revolute"><parent link="palm"/><child link="right"/>
    <origin xyz="-0.02 0 0.1"/><axis xyz="0 1 0"/><mimic joint="left finger" multiplier="-2.5"
    offset="0.1"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
</robot>
"""


@pytest.mark.parametrize(
    ("name", "reason"), [("pegasus", "kinematic only"), ("delta", "closed loops")]
)
def test_robots_without_equations_are_refused(name, reason):
    with pytest.raises(BrazoError, match=reason):
        derive(robot(name))


def test_arguments_are_checked():
    with pytest.raises(BrazoError, match="symbolic, numeric"):
        derive(robot("scara1"), "letters")  # type: ignore[arg-type]
    with pytest.raises(BrazoError, match="auto, expanded, recursive"):
        derive(robot("scara1"), form="short")  # type: ignore[arg-type]
    with pytest.raises(BrazoError, match="use --form recursive"):
        derive(robot("panda"), form="expanded")


def test_progress_increases_and_can_cancel():
    seen = []
    derive(robot("scara2"), progress=lambda fraction, text: seen.append((fraction, text)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[0] >= 0.0 and fractions[-1] <= 1.0
    assert any("Coriolis" in text for _, text in seen)
    calls = []

    def stop(fraction, text):
        calls.append(fraction)
        return len(calls) < 5

    with pytest.raises(Cancelled):
        derive(robot("puma560"), progress=stop)
    assert len(calls) == 5

"""`Equations`: the result of `derive`, with a method for each export."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import sympy as sp

from brazo.codegen.evaluation import evaluate
from brazo.codegen.graph import Graph
from brazo.dynamics.symbolic.lowering import Lowering
from brazo.dynamics.symbolic.mechanism import DHEntry, Mechanism
from brazo.dynamics.symbolic.symbols import Named

if TYPE_CHECKING:
    from brazo.dynamics.symbolic.compiled import CompiledEquations

Expr = Any
Matrix = Any  # sympy.ImmutableMatrix
Form = Literal["expanded", "recursive"]


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of motion as SymPy matrices.

        M(q) q̈ + C(q, q̇) q̇ + G(q) + K q̇ + Coulomb friction = τ + Jᵀ F

    K q̇ is the viscous friction, and F is the external force and moment on the tool.

    If `form` is `"recursive"`, the matrices contain symbols x1, x2, … for common subexpressions,
    the *shared terms*.  `steps` lists the shared terms as (symbol, expression) in the order of
    evaluation.  If `form` is `"expanded"`, `steps` is empty.
    """

    mechanism: Mechanism
    form: Form
    M: Matrix  # (n, n)
    C: Matrix  # (n, n), of Christoffel symbols
    G: Matrix  # (n, 1)
    K: Matrix  # (n, n), viscous friction
    coulomb: tuple[tuple[Expr, Expr], ...]  # magnitudes for q̇ > 0 and q̇ < 0
    potential: Expr  # zero for a mass at the base origin
    fk: Matrix  # (4, 4), the tool in the base
    frames: tuple[Matrix, ...]  # (4, 4) of every link
    jacobian: Matrix  # (6, n), tool point, base axes, linear rows first
    steps: tuple[tuple[Expr, Expr], ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<brazo.Equations of {self.name}: {self.n} joints, {self.form} form>"

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_latex_(self) -> str | None:
        """LaTeX of M, C and G for a notebook; None if they are too long or in recursive form."""
        import sympy as sp

        if self.form != "expanded" or sum(sp.count_ops(x) for x in (self.M, self.C, self.G)) > 2000:
            return None
        lines = (("M(q)", self.M), (r"C(q, \dot q)", self.C), ("G(q)", self.G))
        body = r" \\ ".join(f"{name} &= {sp.latex(matrix)}" for name, matrix in lines)
        return r"$$\begin{aligned} " + body + r" \end{aligned}$$"

    # -- what the letters are -------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.mechanism.name

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return self.mechanism.n

    @property
    def q(self) -> tuple[Expr, ...]:
        """Symbols of the joint positions: angles of revolute, lengths of prismatic joints."""
        return self.mechanism.q

    @property
    def qd(self) -> tuple[Expr, ...]:
        """Symbols of the joint speeds."""
        return self.mechanism.qd

    @property
    def qdd(self) -> tuple[Expr, ...]:
        """Symbols of the joint accelerations."""
        return self.mechanism.qdd

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return self.mechanism.joint_names

    @property
    def convention(self) -> str:
        """Convention of the D-H table: "standard" or "modified"; "general" without a table."""
        return self.mechanism.convention

    @property
    def dh(self) -> tuple[DHEntry, ...]:
        """The D-H table; empty if the robot is not a serial robot with D-H parameters."""
        return self.mechanism.dh

    @cached_property
    def symbols(self) -> dict[str, Named]:
        """Parameters that occur in the equations, by name.

        The parameters of the robot file come first, then the symbols of links, tool and gravity.
        """
        found: set[Expr] = set()
        todo: list[Expr] = [
            *self.M, *self.C, *self.G, *self.K, *self.fk, *self.jacobian, self.potential,
            *(x for pair in self.coulomb for x in pair), *(value for _, value in self.steps),
            *(x for frame in self.frames for x in frame),
        ]  # fmt: skip
        entries = {e.symbol: e for e in self.mechanism.symbols if e.symbol in self.mechanism.values}
        while todo:
            for symbol in sp.sympify(todo.pop()).free_symbols - found:
                found.add(symbol)
                if symbol in entries and entries[symbol].formula is not None:
                    todo.append(entries[symbol].formula)
        return {e.symbol.name: e for e in entries.values() if e.symbol in found}

    @property
    def values(self) -> dict[Expr, float]:
        """Numerical value (SI) of each parameter in `symbols`, from the robot file."""
        return {entry.symbol: entry.value for entry in self.symbols.values()}

    # -- more than the matrices -----------------------------------------------------------------

    @cached_property
    def kinetic(self) -> Expr:
        """Kinetic energy, ½ q̇ᵀ M q̇."""
        qd, n = self.qd, self.n
        terms = [self.M[i, i] * qd[i] ** 2 / 2 for i in range(n)]
        terms += [self.M[i, j] * qd[i] * qd[j] for i in range(n) for j in range(i)]
        return sp.Add(*terms)

    @cached_property
    def friction(self) -> Matrix:
        """Friction torques (n, 1): K q̇ plus Coulomb friction.

        If the Coulomb torques T₊ and T₋ differ, the Coulomb friction is
        ½ (T₊ + T₋) sgn q̇ + ½ (T₊ − T₋) sgn² q̇.  The speed `smooth` of the robot file is not used.
        """
        rows = []
        for speed, viscous, (plus, minus) in zip(
            self.qd, self.K.diagonal(), self.coulomb, strict=True
        ):
            sign = sp.sign(speed)
            rows.append(viscous * speed + (plus + minus) / 2 * sign + (plus - minus) / 2 * sign**2)
        return sp.ImmutableMatrix(rows)

    @property
    def singular(self) -> bool:
        """Whether M is singular in every configuration; `notes` gives the reason."""
        return any("singular" in note for note in self.notes)

    @cached_property
    def terms(self) -> dict[str, int]:
        """Number of terms of M, C and G, with all products multiplied out.

        Each shared term counts as one symbol.
        """
        return {
            name: sum(len(sp.Add.make_args(sp.expand(x))) for x in matrix if x != 0)
            for name, matrix in (("M", self.M), ("C", self.C), ("G", self.G))
        }

    def evaluate(self, value: Any, q: Any, qd: Any = None) -> np.ndarray:
        """Numeric value of an expression or matrix at the state (q, qd); `qd` is zero by default.

        The parameters have the values of the robot file.
        """
        graph = Graph()
        names = dict(zip(self.q, map(float, q), strict=True)) | self.mechanism.values
        names |= dict(zip(self.qd, map(float, np.zeros(self.n) if qd is None else qd), strict=True))
        lowering = Lowering(graph, names)
        for symbol, step in self.steps:
            lowering.define(symbol, step)
        entries = list(value) if hasattr(value, "shape") else [value]
        numbers = evaluate([graph.expression(lowering.lower(x)) for x in entries], {})
        return np.array(numbers).reshape(getattr(value, "shape", ()))

    # -- exports --------------------------------------------------------------------------------

    def text(self, width: int = 100) -> str:
        """Unicode text of M, C, G, friction and tool position; c12 means cos(q1 + q2)."""
        from brazo.dynamics.symbolic.export_text import text

        return text(self, width)

    def latex(self) -> str:
        """LaTeX source of a complete document for pdflatex."""
        from brazo.dynamics.symbolic.export_latex import latex

        return latex(self)

    def html(self) -> str:
        """M, C, G, friction and tool position as an HTML fragment without scripts."""
        from brazo.dynamics.symbolic.export_html import equations_html

        return equations_html(self)

    def c(self) -> dict[str, str]:
        """C99 source and header without dependencies, as a dictionary from file name to text."""
        from brazo.dynamics.symbolic.export_c import c_files

        return c_files(self)

    def python(self) -> str:
        """Source text of a Python module that needs only NumPy."""
        from brazo.dynamics.symbolic.export_python import python_module

        return python_module(self)

    def octave(self) -> dict[str, str]:
        """GNU Octave and MATLAB functions, as a dictionary from file name to text."""
        from brazo.dynamics.symbolic.export_octave import octave_files

        return octave_files(self)

    def compile(self) -> CompiledEquations:
        """Compile M(q), C(q, qd), G(q), … to machine code, with the values of the robot file."""
        return self._compiled

    @cached_property
    def _compiled(self) -> CompiledEquations:
        from brazo.dynamics.symbolic.compiled import CompiledEquations

        return CompiledEquations(self)

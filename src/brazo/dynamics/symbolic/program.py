"""The equations as an expression graph, from which code is exported or compiled.

Each function is a list of graph nodes that depend on q, qd and the parameters p.  Equal terms share
a node, so common subexpressions are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brazo.codegen.graph import Expr as Node
from brazo.codegen.graph import Graph
from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.lowering import Lowering


@dataclass(frozen=True)
class Output:
    """Signature of an exported function: its arguments without the parameters, and its result."""

    letter: str
    inputs: tuple[str, ...]
    meaning: str


OUTPUTS = {
    "fk": Output("T", ("q",), "Pose of the tool in the base frame, 4 x 4"),
    "jacobian": Output(
        "J", ("q",), "Jacobian of the tool point in base axes, linear rows first, 6 x n"
    ),
    "mass_matrix": Output("M", ("q",), "Mass matrix with motor inertia, n x n"),
    "coriolis": Output("C", ("q", "qd"), "Coriolis matrix from Christoffel symbols, n x n"),
    "gravity": Output("G", ("q",), "Gravity torques, which hold the robot at rest"),
    "friction": Output("F", ("qd",), "Torques of viscous and Coulomb friction"),
    "energy": Output("E", ("q", "qd"), "Kinetic and potential energy"),
}


@dataclass(frozen=True)
class ExpressionProgram:
    """Graph nodes of all exported functions.

    The inputs are q, qd and, if the program has symbolic parameters, p.
    """

    graph: Graph
    outputs: dict[str, list[Node]]
    shapes: dict[str, tuple[int, ...]]


def program_of(equations: Equations, letters: bool = True) -> ExpressionProgram:
    """Convert equations to a program; `letters=False` replaces parameters by values."""
    graph = Graph()
    n = equations.n
    names: dict[Any, Any] = dict(zip(equations.q, graph.inputs("q", n), strict=True))
    names |= dict(zip(equations.qd, graph.inputs("qd", n), strict=True))
    values = equations.values
    if letters and values:
        names |= dict(zip(values, graph.inputs("p", len(values)), strict=True))
    else:
        names |= values
    lowering = Lowering(graph, names)
    for symbol, value in equations.steps:
        lowering.define(symbol, value)
    functions: dict[str, tuple[Any, tuple[int, ...]]] = {  # as in OUTPUTS
        "fk": (equations.fk, (4, 4)),
        "jacobian": (equations.jacobian, (6, n)),
        "mass_matrix": (equations.M, (n, n)),
        "coriolis": (equations.C, (n, n)),
        "gravity": (equations.G, (n,)),
        "friction": (equations.friction, (n,)),
        "energy": ([equations.kinetic, equations.potential], (2,)),
    }
    outputs = {
        name: [graph.expression(lowering.lower(x)) for x in values]
        for name, (values, _) in functions.items()
    }
    return ExpressionProgram(
        graph, outputs, {name: shape for name, (_, shape) in functions.items()}
    )


def formulas(equations: Equations) -> list[tuple[str, Node]]:
    """Parameters computed from other parameters, as (name, node) in order of evaluation."""
    entries = equations.symbols
    waiting: dict[str, Any] = {k: e.formula for k, e in entries.items() if e.formula is not None}
    done: list[tuple[str, Node]] = []
    while waiting:
        unknown = {entries[key].symbol for key in waiting}
        # The file has no circles, so there is always one that is ready.
        key = next(k for k, formula in waiting.items() if not formula.free_symbols & unknown)
        graph = Graph()
        p = graph.inputs("p", len(equations.values))
        lowering = Lowering(graph, dict(zip(equations.values, p, strict=True)))
        done.append((key, graph.expression(lowering.lower(waiting.pop(key)))))
    return done

"""Generate machine code from algorithms that are written for any scalar type.

This package does not depend on robot models. An algorithm uses the scalar functions of :mod:`ring`.
When it runs on the inputs of an expression graph (:mod:`graph`), it builds expressions. From these,
:mod:`kernel` makes compiled functions of arrays, and :mod:`solver` makes compiled nonlinear
least-squares solvers.
"""

from brazo.codegen.fixed_entry import FixedEntry
from brazo.codegen.function import Columns, Function, GraphFunction
from brazo.codegen.graph import Expr, Graph
from brazo.codegen.guarded import Guarded
from brazo.codegen.kernel import Kernel, compile_kernel
from brazo.codegen.refine import Refinement
from brazo.codegen.ring import (
    absolute,
    atan2,
    maximum,
    minimum,
    rint,
    sign,
    sincos,
    sqrt,
    where,
)
from brazo.codegen.sharing import thread_count, threads
from brazo.codegen.solver import Solution, Solver, compile_solver
from brazo.codegen.vectorized import Vectorized

__all__ = [
    "Columns",
    "Expr",
    "FixedEntry",
    "Function",
    "Graph",
    "GraphFunction",
    "Guarded",
    "Kernel",
    "Refinement",
    "Solution",
    "Solver",
    "Vectorized",
    "absolute",
    "atan2",
    "compile_kernel",
    "compile_solver",
    "maximum",
    "minimum",
    "rint",
    "sign",
    "sincos",
    "sqrt",
    "thread_count",
    "threads",
    "where",
]

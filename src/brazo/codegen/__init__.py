"""Machine code from algorithms written once over any scalar. Independent of robots.

:mod:`ring` has the scalar functions such algorithms use, :mod:`graph` the expression graph they are
run on, :mod:`kernel` the compiled functions of arrays made from it, :mod:`solver` compiled
nonlinear least squares.
"""

from brazo.codegen.function import Columns, Function, GraphFunction
from brazo.codegen.graph import Expr, Graph
from brazo.codegen.kernel import Kernel, compile_kernel
from brazo.codegen.ring import absolute, maximum, minimum, sign, sincos, sqrt, where
from brazo.codegen.sharing import thread_count, threads
from brazo.codegen.solver import Solution, Solver, compile_solver

__all__ = [
    "Columns",
    "Expr",
    "Function",
    "Graph",
    "GraphFunction",
    "Kernel",
    "Solution",
    "Solver",
    "absolute",
    "compile_kernel",
    "compile_solver",
    "maximum",
    "minimum",
    "sign",
    "sincos",
    "sqrt",
    "thread_count",
    "threads",
    "where",
]

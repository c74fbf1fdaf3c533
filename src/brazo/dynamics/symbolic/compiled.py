"""Compilation of symbolic equations to machine code, by the compiler of all brazo kernels."""

from __future__ import annotations

from functools import cached_property

from brazo.codegen import Graph, Kernel, compile_kernel
from brazo.codegen.graph import transplant
from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.program import OUTPUTS, program_of


class CompiledEquations:
    """Equations compiled with the parameter values of the robot file.

    `M(q)`, `C(q, qd)`, `G(q)`, `F(qd)`, `fk(q)`, `jacobian(q)` and `energy(q, qd)` are compiled at
    first use.  Leading dimensions of the inputs are batches.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self._program = program_of(equations, letters=False)

    def _kernel(self, name: str) -> Kernel:
        graph = Graph()
        for key in OUTPUTS[name].inputs:
            graph.inputs(key, self.equations.n)
        nodes = transplant(self._program.outputs[name], graph)
        return compile_kernel(name, graph, {name: nodes}, {name: self._program.shapes[name]})

    @cached_property
    def M(self) -> Kernel:
        """Kernel q -> mass matrix (n, n)."""
        return self._kernel("mass_matrix")

    @cached_property
    def C(self) -> Kernel:
        """Kernel (q, qd) -> Coriolis matrix (n, n)."""
        return self._kernel("coriolis")

    @cached_property
    def G(self) -> Kernel:
        """Kernel q -> gravity torques (n)."""
        return self._kernel("gravity")

    @cached_property
    def F(self) -> Kernel:
        """Kernel qd -> friction torques (n)."""
        return self._kernel("friction")

    @cached_property
    def fk(self) -> Kernel:
        """Kernel q -> tool pose (4, 4) in the base frame."""
        return self._kernel("fk")

    @cached_property
    def jacobian(self) -> Kernel:
        """Kernel q -> Jacobian (6, n) of the tool point in base axes, linear rows first."""
        return self._kernel("jacobian")

    @cached_property
    def energy(self) -> Kernel:
        """Kernel (q, qd) -> kinetic and potential energy (2) in J."""
        return self._kernel("energy")

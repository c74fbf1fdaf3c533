"""`TreeDynamics`: the dynamics of a tree robot; `DeltaDynamics` has the same interface.

Frequently called methods are compiled: a call with C-contiguous float64 arrays runs no Python code.
Calls with a wrench, another gravity or a moving base use a more general kernel.  `out=` is the
output array, `threads=` the max number of threads for a large batch.

    tau = M(q) qdd + C(q, qd) qd + G(q) + friction(qd) − Jᵀ wrench
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen import Function, Graph, Kernel, compile_kernel
from brazo.dynamics.kernels import MOST_STRAIGHT, TreeDynamicsKernels
from brazo.dynamics.linear_model import solved_derivatives
from brazo.dynamics.regressor import DynamicParameters, InertialRegressor, RegressorKernels
from brazo.model.description import TreeModel

_NO_WRENCH = np.zeros(6)
_RESTING_BASE = np.zeros(9)


class TreeDynamics(RegressorKernels):
    """Forward and inverse dynamics of a `TreeModel`; arrays are (..., n) in SI units."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.n = model.n
        self.kernels = TreeDynamicsKernels(model)

    @cached_property
    def inverse_dynamics(self) -> Callable[..., Any]:
        return self.kernels.inverse_dynamics.entry_or(self._inverse_dynamics)

    @cached_property
    def forward_dynamics(self) -> Callable[..., Any]:
        return self.kernels.forward_dynamics.entry_or(self._forward_dynamics)

    @cached_property
    def mass_matrix(self) -> Callable[..., Any]:
        return self.kernels.mass_matrix.entry

    @cached_property
    def coriolis(self) -> Callable[..., Any]:
        return self.kernels.coriolis.entry

    @cached_property
    def gravity(self) -> Callable[..., Any]:
        return self.kernels.gravity.entry_or(self._gravity)

    @cached_property
    def energy(self) -> Callable[..., Any]:
        return self.kernels.energy.entry

    @cached_property
    def inverse_dynamics_derivatives(self) -> Callable[..., Any]:
        return self.kernels.inverse_dynamics_derivatives.entry

    @cached_property
    def forward_dynamics_derivatives(self) -> Callable[..., Any]:
        kernel = self.kernels.forward_dynamics_derivatives
        return solved_derivatives(self) if kernel is None else kernel.entry

    @cached_property
    def _regressor(self) -> InertialRegressor:
        return InertialRegressor(self.model)

    def parameters(self, drives: bool) -> DynamicParameters:
        """Parameters π of tau = Y π, where Y is `regressor`; `drives` adds drive parameters."""
        return self._regressor.parameters(drives)

    def _regressor_kernel(self, drives: bool) -> Kernel:
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        up = [-float(x) for x in self.model.gravity]
        rows = self._regressor.rows(q, qd, qdd, up, drives)
        outputs = {"Y": [x for row in rows for x in row]}
        many = len(self._regressor.bodies) > MOST_STRAIGHT
        shape = {"Y": (self.n, len(rows[0]))}
        return compile_kernel("regressor", g, outputs, shape, interpreted=many)

    @cached_property
    def rk4_step(self) -> Callable[..., Any]:
        return self.kernels.rk4_step.entry

    @property
    def motion(self) -> Function:
        """Forward dynamics (q, qd, tau) -> qdd as a function that other graphs can call."""
        return self.kernels.motion

    def forces(self, q: list[Any], qd: list[Any], qdd: list[Any]) -> list[Any]:
        """Joint torques of inverse dynamics, for any scalar type.

        For a robot with more than `MOST_STRAIGHT` links, the arguments must be graph expressions.
        """
        return self.kernels.forces(q, qd, qdd)

    def _inverse_dynamics(
        self, q, qd, qdd, wrench=None, gravity=None, base=None, out=None, threads=None
    ) -> np.ndarray:
        if wrench is None and gravity is None and base is None:
            return self.kernels.inverse_dynamics(q, qd, qdd, out=out, threads=threads)
        base = _RESTING_BASE if base is None else base
        kernel = self.kernels.inverse_dynamics_full
        wrench, gravity = self._wrench(wrench), self._field(gravity)
        return kernel(q, qd, qdd, wrench, gravity, base, out=out, threads=threads)

    def _forward_dynamics(
        self, q, qd, tau, wrench=None, gravity=None, out=None, threads=None
    ) -> np.ndarray:
        if wrench is None and gravity is None:
            return self.kernels.forward_dynamics(q, qd, tau, out=out, threads=threads)
        kernel = self.kernels.forward_dynamics_full
        wrench, gravity = self._wrench(wrench), self._field(gravity)
        return kernel(q, qd, tau, wrench, gravity, out=out, threads=threads)

    def _gravity(self, q, gravity=None, out=None, threads=None) -> np.ndarray:
        if gravity is None:
            return self.kernels.gravity(q, out=out, threads=threads)
        return self.kernels.gravity_full(q, gravity, out=out, threads=threads)

    def _wrench(self, wrench) -> Any:
        return _NO_WRENCH if wrench is None else wrench

    def _field(self, gravity) -> Any:
        return self.model.gravity if gravity is None else gravity

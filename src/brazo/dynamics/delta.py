"""Compiled dynamics of a Delta robot: arms, thin uniform rods, platform.

θ_i are the joint angles, C_i the positions of the elbows (shifted inward by the platform's radius),
E_i = dC_i/dθ_i, P is the position of the platform and u_i = P − C_i are the rods.  The loop
equations u_i·(Ṗ − Ċ_i) = 0 give Ṗ = J θ̇ and

    P̈ = J θ̈ + J̇ θ̇,     J̇ = U⁻¹ (Ḋ − U̇ J),     D_ii = u_i·E_i,  U = rows u_i.

A thin uniform rod of mass m whose ends move with v_a, v_b has the kinetic energy
m/6 (v_a² + v_a·v_b + v_b²), so the kinetic energy of rods and platform is ½ vᵀ W v, where
v = B θ̇ are the velocities of elbows and platform, and

    M = A + Bᵀ W B        C = Bᵀ W Ḃ        (then Ṁ − 2C is skew-symmetric)

A is diagonal: the inertia of each arm about its axis plus the motor inertia.  The two rods of a
parallelogram are modelled as one rod of mass `rod_mass`.  Ball joints are massless, and the
thickness of the rods is neglected.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen import Graph, GraphFunction, Kernel, compile_kernel
from brazo.codegen.derivative import derivative
from brazo.codegen.linear import definite_solve
from brazo.codegen.ring import sincos, sqrt, where
from brazo.dynamics.definite import mass_matrix_at, refuse_at, refuse_everywhere
from brazo.dynamics.derivatives import Slopes, forward_slopes, slope_shapes
from brazo.dynamics.friction import joint_friction
from brazo.dynamics.integrators import held_torque_step
from brazo.dynamics.linear_model import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from brazo.dynamics.regressor import (
    DynamicParameters,
    RegressorKernels,
    delta_parameters,
    friction_columns,
)
from brazo.dynamics.vectors import add, cross, dot, flat
from brazo.errors import BrazoError
from brazo.model.description import DeltaModel, Drive, Friction

Scalar = Any
Vector = list[Scalar]
_NO_FORCE = np.zeros(6)


@dataclass(frozen=True, slots=True)
class LoopMotion:
    """Positions of elbows and platform, and their derivatives, at one state (θ, θ̇)."""

    theta_sincos: list[tuple[Scalar, Scalar]]
    C: list[Vector]
    E: list[Vector]
    P: Vector
    J: list[Vector]  # three rows of three
    J_rate: list[Vector]
    E_rate: list[Vector]


class DeltaDynamics(RegressorKernels):
    """Compiled dynamics of a `DeltaModel`, with the interface of `TreeDynamics`."""

    n = 3

    def __init__(self, model: DeltaModel) -> None:
        if model.arm_inertia is None or model.rod_mass is None or model.platform_mass is None:
            raise BrazoError(
                f"robot '{model.name}' is kinematic only: a Delta's dynamics need 'arm', "
                "'rod_mass' and 'platform_mass' in the file"
            )
        self.model = model
        self.arm_mass = model.arm_inertia.mass
        self.rod_mass = model.rod_mass
        self.platform_mass = model.platform_mass
        self.arm_com = model.arm_inertia.com  # in the arm's frame: x along it, z up at theta = 0
        c = self.arm_com
        self.arm_inertia = float(
            model.arm_inertia.tensor[1, 1] + self.arm_mass * (c[0] ** 2 + c[2] ** 2)
        )

    @cached_property
    def inverse_dynamics(self) -> Callable[..., Any]:
        return self._inverse.entry_or(self._inverse_dynamics)

    @cached_property
    def forward_dynamics(self) -> Callable[..., Any]:
        return self._forward.entry_or(self._forward_dynamics)

    @cached_property
    def mass_matrix(self) -> Callable[..., Any]:
        g = Graph()
        M, _ = self._matrices(g.inputs("q", 3), [0.0] * 3)
        shape = {"M": (3, 3)}
        return compile_kernel("mass_matrix", g, {"M": flat(M)}, shape, explain=self._explain).entry

    @cached_property
    def coriolis(self) -> Callable[..., Any]:
        g = Graph()
        _, C = self._matrices(g.inputs("q", 3), g.inputs("qd", 3))
        shape = {"C": (3, 3)}
        return compile_kernel("coriolis", g, {"C": flat(C)}, shape, explain=self._explain).entry

    @cached_property
    def gravity(self) -> Callable[..., Any]:
        return self._weight.entry_or(self._gravity)

    @cached_property
    def energy(self) -> Callable[..., Any]:
        g = Graph()
        q, qd = g.inputs("q", 3), g.inputs("qd", 3)
        M, _ = self._matrices(q, [0.0] * 3)
        momentum = [dot(row, qd) for row in M]
        kinetic = 0.5 * dot(momentum, qd)
        E = [kinetic, self._potential(q)]
        return compile_kernel("energy", g, {"E": E}, explain=self._explain).entry

    @cached_property
    def inverse_dynamics_derivatives(self) -> Callable[..., Any]:
        g = Graph()
        slopes = self._slopes(*(g.inputs(name, 3) for name in ("q", "qd", "qdd")))
        outputs = {"dq": slopes.dq, "dqd": slopes.dqd, "dqdd": slopes.dqdd}
        return self._derivatives("inverse_dynamics", g, outputs, InverseDynamicsDerivatives)

    @cached_property
    def forward_dynamics_derivatives(self) -> Callable[..., Any]:
        g = Graph()
        q, qd, tau = (g.inputs(name, 3) for name in ("q", "qd", "tau"))
        outputs = forward_slopes(self._slopes(q, qd, self._acceleration(q, qd, tau)))
        return self._derivatives("forward_dynamics", g, outputs, ForwardDynamicsDerivatives)

    def _derivatives(
        self, name: str, g: Graph, outputs: dict[str, list[Vector]], result: type
    ) -> Callable[..., Any]:
        entries, shapes = {key: flat(x) for key, x in outputs.items()}, slope_shapes(outputs, 3)
        name = f"{name}_derivatives"
        return compile_kernel(name, g, entries, shapes, explain=self._explain, result=result).entry

    def parameters(self, drives: bool) -> DynamicParameters:
        """Parameters π of tau = Y π, where Y is `regressor`; `drives` adds drive parameters."""
        return delta_parameters(self.model, self.masses, drives)

    @property
    def masses(self) -> list[float]:
        """The five inertial parameters.

        They are the inertia of an arm about its axis (kg m²), the first moments of an arm along x
        and z (kg m), the rod mass and the platform mass (kg).
        """
        first = self.arm_mass * np.asarray(self.arm_com)
        return [self.arm_inertia, first[0], first[2], self.rod_mass, self.platform_mass]

    def _regressor_kernel(self, drives: bool) -> Kernel:
        g = Graph()
        q, qd, qdd = (g.inputs(name, 3) for name in ("q", "qd", "qdd"))
        bare = copy.copy(self)
        bare.model = replace(self.model, friction=Friction(), drive=Drive())
        columns = [bare.with_masses(unit).forces(q, qd, qdd) for unit in np.eye(5).tolist()]
        rows = [list(row) for row in zip(*columns, strict=True)]
        for row, speed, acceleration in zip(rows, qd, qdd, strict=True) if drives else ():
            row += friction_columns(self.model.friction, speed, acceleration)
        shape = {"Y": (3, len(rows[0]))}
        return compile_kernel("regressor", g, {"Y": flat(rows)}, shape, explain=self._explain)

    def with_masses(self, masses: list[float]) -> DeltaDynamics:
        """Return a copy with new values for the five parameters in `masses`."""
        inertia, x, z, rod, platform = masses
        one = copy.copy(self)
        one.arm_inertia, one.rod_mass, one.platform_mass = inertia, rod, platform
        one.arm_mass, one.arm_com = 1.0, np.array([x, 0.0, z])
        return one

    @cached_property
    def motion(self) -> GraphFunction:
        """Forward dynamics (q, qd, tau) -> qdd as a function that other graphs can call."""
        g = Graph()
        q, qd, tau = (g.inputs(name, 3) for name in ("q", "qd", "tau"))
        return GraphFunction("motion", g, {"qdd": self._acceleration(q, qd, tau)})

    def forces(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        """Joint torques of inverse dynamics, for any scalar type."""
        return self._torque(q, qd, qdd, self.model.gravity.tolist(), None)

    @cached_property
    def rk4_step(self) -> Callable[..., Any]:
        g = Graph()
        q, qd, tau = (g.inputs(name, 3) for name in ("q", "qd", "tau"))
        (dt,) = g.inputs("dt", 1)
        q1, qd1 = held_torque_step(g, self.motion, q, qd, tau, dt)
        return compile_kernel("rk4_step", g, {"q": q1, "qd": qd1}).entry

    def mass_matrix_over(self, q: Vector) -> list[Vector]:
        """Mass matrix M (3 x 3), for any scalar type."""
        return self._matrices(q, [0.0] * 3)[0]

    # -- kernels ------------------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> Kernel:
        g = Graph()
        q, qd, qdd = (g.inputs(name, 3) for name in ("q", "qd", "qdd"))
        tau = self._torque(q, qd, qdd, self.model.gravity.tolist(), None)
        return compile_kernel("inverse_dynamics", g, {"tau": tau}, explain=self._explain)

    @cached_property
    def _inverse_full(self) -> Kernel:
        g = Graph()
        q, qd, qdd = (g.inputs(name, 3) for name in ("q", "qd", "qdd"))
        wrench, gravity = g.inputs("wrench", 6), g.inputs("gravity", 3)
        tau = self._torque(q, qd, qdd, gravity, wrench)
        return compile_kernel("inverse_dynamics_full", g, {"tau": tau}, explain=self._explain)

    @cached_property
    def _forward(self) -> Kernel:
        g = Graph()
        q, qd, tau = (g.inputs(name, 3) for name in ("q", "qd", "tau"))
        qdd = self._acceleration(q, qd, tau)
        return compile_kernel("forward_dynamics", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def _forward_full(self) -> Kernel:
        g = Graph()
        q, qd, tau = (g.inputs(name, 3) for name in ("q", "qd", "tau"))
        wrench, gravity = g.inputs("wrench", 6), g.inputs("gravity", 3)
        qdd = self._acceleration(q, qd, tau, gravity, wrench)
        return compile_kernel("forward_dynamics_full", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def _weight(self) -> Kernel:
        g = Graph()
        G = self._holding(g.inputs("q", 3), self.model.gravity.tolist())
        return compile_kernel("gravity", g, {"G": G}, explain=self._explain)

    @cached_property
    def _gravity_full(self) -> Kernel:
        g = Graph()
        G = self._holding(g.inputs("q", 3), g.inputs("gravity", 3))
        return compile_kernel("gravity_full", g, {"G": G}, explain=self._explain)

    def _inverse_dynamics(
        self, q, qd, qdd, wrench=None, gravity=None, base=None, out=None, threads=None
    ) -> np.ndarray:
        if base is not None:
            raise BrazoError("base: a moving base is not supported for a Delta; omit this argument")
        if wrench is None and gravity is None:
            return self._inverse(q, qd, qdd, out=out, threads=threads)
        wrench = _NO_FORCE if wrench is None else wrench
        gravity = self.model.gravity if gravity is None else gravity
        return self._inverse_full(q, qd, qdd, wrench, gravity, out=out, threads=threads)

    def _forward_dynamics(
        self, q, qd, tau, wrench=None, gravity=None, out=None, threads=None
    ) -> np.ndarray:
        if wrench is None and gravity is None:
            return self._forward(q, qd, tau, out=out, threads=threads)
        wrench = _NO_FORCE if wrench is None else wrench
        gravity = self.model.gravity if gravity is None else gravity
        return self._forward_full(q, qd, tau, wrench, gravity, out=out, threads=threads)

    def _gravity(self, q, gravity=None, out=None, threads=None) -> np.ndarray:
        if gravity is None:
            return self._weight(q, out=out, threads=threads)
        return self._gravity_full(q, gravity, out=out, threads=threads)

    def _explain(self, q: np.ndarray, *others: np.ndarray) -> None:
        """Raise an error with the reason why a result at q is not finite, if the reason is known.

        `others` are the remaining inputs of the kernel, which are not used.
        """
        if not np.isfinite(mass_matrix_at(self.model, q)).all():
            angles = ", ".join(f"{x:.4g}" for x in q)
            raise BrazoError(
                f"the rods cannot meet at the arm angles q = [{angles}] rad: the platform has no "
                "pose; use other angles"
            )
        refuse_at(self.model, q)

    # -- the model for any scalar type ----------------------------------------------------------

    def _motion(self, theta: Vector, rate: Vector) -> LoopMotion:
        model = self.model
        pairs, C, E, H = [], [], [], []
        for angle, azimuth in zip(theta, model.azimuths, strict=True):
            s, c = sincos(angle)
            cx, sx = float(np.cos(azimuth)), float(np.sin(azimuth))
            out = (model.R - model.r) + model.L1 * c
            pairs.append((s, c))
            C.append([cx * out, sx * out, model.L1 * s])
            E.append([-(cx * model.L1) * s, -(sx * model.L1) * s, model.L1 * c])
            H.append([-(cx * model.L1) * c, -(sx * model.L1) * c, -model.L1 * s])
        P = self._platform(C)
        U = [[p - x for p, x in zip(P, elbow, strict=True)] for elbow in C]
        columns = [cross(U[1], U[2]), cross(U[2], U[0]), cross(U[0], U[1])]
        inverse = 1.0 / dot(U[0], columns[0])
        D = [dot(u, e) for u, e in zip(U, E, strict=True)]
        J = [[columns[j][i] * (D[j] * inverse) for j in range(3)] for i in range(3)]
        P_rate = [dot(row, rate) for row in J]
        E_rate = [[w * x for x in h] for w, h in zip(rate, H, strict=True)]
        U_rate = [
            [p - w * x for p, x in zip(P_rate, e, strict=True)]
            for w, e in zip(rate, E, strict=True)
        ]
        D_rate = [
            dot(du, e) + dot(u, de) for u, du, e, de in zip(U, U_rate, E, E_rate, strict=True)
        ]
        # J̇ = U⁻¹ (Ḋ − U̇ J); U⁻¹ has the columns above over the determinant.
        right = [
            [
                (D_rate[i] if i == j else 0.0) - dot(U_rate[i], [J[k][j] for k in range(3)])
                for j in range(3)
            ]
            for i in range(3)
        ]
        J_rate = [
            [inverse * dot([columns[k][i] for k in range(3)], [right[k][j] for k in range(3)])
             for j in range(3)]
            for i in range(3)
        ]  # fmt: skip
        return LoopMotion(pairs, C, E, P, J, J_rate, E_rate)

    def _platform(self, C: list[Vector]) -> Vector:
        """Platform position: lower intersection of three spheres of radius L2 about C_i."""
        a = [x - y for x, y in zip(C[1], C[0], strict=True)]
        b = [x - y for x, y in zip(C[2], C[0], strict=True)]
        n = cross(a, b)
        area2 = dot(n, n)
        scale = 0.5 / area2
        aa, bb = dot(a, a) * scale, dot(b, b) * scale
        centre = [aa * x + bb * y for x, y in zip(cross(b, n), cross(n, a), strict=True)]
        height = sqrt((self.model.L2**2 - dot(centre, centre)) / area2)
        height = where(n[2], -height, height)
        return [c + t + height * x for c, t, x in zip(C[0], centre, n, strict=True)]

    def _matrices(self, theta: Vector, rate: Vector) -> tuple[list[Vector], list[Vector]]:
        """Mass matrix M and Coriolis matrix C."""
        m = self._motion(theta, rate)
        share = self.rod_mass / 3.0
        total = self.platform_mass + 3.0 * share
        M = [[total * _column_dot(m.J, i, m.J, j) for j in range(3)] for i in range(3)]
        C = [[total * _column_dot(m.J, i, m.J_rate, j) for j in range(3)] for i in range(3)]
        half = 0.5 * share
        for i in range(3):
            e, de = m.E[i], m.E_rate[i]
            M[i][i] = M[i][i] + share * dot(e, e)
            C[i][i] = C[i][i] + share * dot(e, de)
            for j in range(3):
                column = [row[j] for row in m.J]
                column_rate = [row[j] for row in m.J_rate]
                M[i][j] = M[i][j] + half * dot(e, column)
                M[j][i] = M[j][i] + half * dot(e, column)
                C[i][j] = C[i][j] + half * dot(e, column_rate)
                C[j][i] = C[j][i] + half * dot(de, column)
            M[i][i] = M[i][i] + (self.arm_inertia + self.model.drive.armature)
        return M, C

    def _holding(self, theta: Vector, gravity: Vector) -> Vector:
        """Joint torques that hold the robot at rest, for a gravity vector (m/s²)."""
        m = self._motion(theta, [0.0] * 3)
        carried = self.platform_mass + 1.5 * self.rod_mass
        x, z = float(self.arm_com[0]), float(self.arm_com[2])
        tau = []
        for i, azimuth in enumerate(self.model.azimuths):
            s, c = m.theta_sincos[i]
            # The arm's centre of mass, x along the arm and z up, and its derivative by θ.
            along, up = -(x * s) - z * c, x * c - z * s
            com_rate = [float(np.cos(azimuth)) * along, float(np.sin(azimuth)) * along, up]
            load = add(
                [self.arm_mass * v for v in com_rate],
                [0.5 * self.rod_mass * v for v in m.E[i]],
                [carried * row[i] for row in m.J],
            )
            tau.append(-dot(gravity, load))
        return tau

    def _potential(self, theta: Vector) -> Scalar:
        m = self._motion(theta, [0.0] * 3)
        x, z = float(self.arm_com[0]), float(self.arm_com[2])
        moment = [(self.platform_mass + 1.5 * self.rod_mass) * p for p in m.P]
        for i, azimuth in enumerate(self.model.azimuths):
            s, c = m.theta_sincos[i]
            cx, sx = float(np.cos(azimuth)), float(np.sin(azimuth))
            out, up = self.model.R + x * c - z * s, x * s + z * c
            moment = add(
                moment,
                [self.arm_mass * v for v in (cx * out, sx * out, up)],
                [0.5 * self.rod_mass * v for v in m.C[i]],
            )
        return -dot(self.model.gravity.tolist(), moment)

    def _torque(self, q, qd, qdd, gravity, wrench) -> Vector:
        M, C = self._matrices(q, qd)
        tau = add(
            [dot(row, qdd) for row in M],
            [dot(row, qd) for row in C],
            self._holding(q, gravity),
            self._friction(qd),
        )
        if wrench is None:
            return tau
        J = self._motion(q, qd).J
        return [t - _column_dot(J, i, [[f] for f in wrench[:3]], 0) for i, t in enumerate(tau)]

    def _slopes(self, q: Vector, qd: Vector, qdd: Vector) -> Slopes:
        """Derivatives of the joint torques with respect to q, qd and qdd, as nodes of the graph."""
        # In a graph of its own, where qdd is an input and not a function of q and qd.
        g = Graph()
        inputs = [g.inputs(name, 3) for name in ("q", "qd", "qdd")]
        tau = self.forces(*inputs)
        dq, dqd, dqdd = ([derivative(tau, x) for x in each] for each in inputs)
        results = {
            key: [x for row in zip(*columns, strict=True) for x in row]
            for key, columns in {"dq": dq, "dqd": dqd, "dqdd": dqdd}.items()
        }
        function = GraphFunction("torque_slopes", g, results)
        found = q[0].graph.call(function, q, qd, qdd)
        return Slopes(*([x[0:3], x[3:6], x[6:9]] for x in found))

    def _acceleration(self, q, qd, tau, gravity=None, wrench=None) -> Vector:
        refuse_everywhere(self.model)
        M, C = self._matrices(q, qd)
        field = self.model.gravity.tolist() if gravity is None else gravity
        bias = add([dot(row, qd) for row in C], self._holding(q, field), self._friction(qd))
        rest = [t - b for t, b in zip(tau, bias, strict=True)]
        if wrench is not None:
            J = self._motion(q, qd).J
            rest = [t + _column_dot(J, i, [[f] for f in wrench[:3]], 0) for i, t in enumerate(rest)]
        return definite_solve(M, rest)

    def _friction(self, qd: Vector) -> Vector:
        return [joint_friction(self.model.friction, w) for w in qd]


def _column_dot(A: list[Vector], i: int, B: list[Vector], j: int) -> Scalar:
    """Dot product of column i of A and column j of B."""
    return A[0][i] * B[0][j] + A[1][i] * B[1][j] + A[2][i] * B[2][j]

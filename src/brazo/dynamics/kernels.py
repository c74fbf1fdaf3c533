"""Compiled dynamics of one tree robot; each kernel is compiled on first use.

Every kernel is an algorithm of this package, evaluated on the expression graph with the robot's
parameters.  The code is unrolled link by link or, for many joints, has loops.  Torques are computed
after regrouping (see `brazo.dynamics.links`), which moves inertial parameters without a separate
effect to the parent link and so saves operations.  Energies are computed without regrouping,
because it removes constants from the potential energy.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from brazo.codegen import Graph, GraphFunction, Kernel, compile_kernel
from brazo.dynamics.definite import refuse_at, refuse_everywhere
from brazo.dynamics.derivatives import Slopes, forward_slopes, slope_shapes
from brazo.dynamics.energy import kinetic_energy, potential_energy
from brazo.dynamics.friction import friction, friction_slope, has_friction
from brazo.dynamics.integrators import held_torque_step, retrace
from brazo.dynamics.linear_model import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from brazo.dynamics.links import Links, links_of
from brazo.dynamics.newton_euler import joint_transforms
from brazo.dynamics.unrolled import UnrolledDynamics
from brazo.dynamics.vectors import flat
from brazo.model.description import TreeModel

Scalar = Any

MOST_STRAIGHT = 12  # links; unrolled code for more takes seconds to compile
MOST_SLOPES = 8  # links; unrolled derivatives grow with their square
MOST_CHRISTOFFEL = 8  # coordinates; the number of symbols grows with their cube


class TreeDynamicsKernels:
    """Compiled dynamics of one tree robot; raises an error if a moving body has no inertia."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.links: Links = links_of(model)
        self.rigid = self._algorithms(len(self.links.links) > MOST_STRAIGHT)
        self.n = model.n
        self._explain = partial(refuse_at, model)
        self._up = [-float(g) for g in model.gravity]

    @cached_property
    def inverse_dynamics(self) -> Kernel:
        """Kernel (q, qd, qdd) -> tau, with friction, motors and the gravity of the robot file."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        return compile_kernel("inverse_dynamics", g, {"tau": self.forces(q, qd, qdd)})

    @cached_property
    def inverse_dynamics_full(self) -> Kernel:
        """Kernel (q, qd, qdd, wrench, gravity, base) -> tau.

        `base` (9) is the angular velocity, angular acceleration and linear acceleration of the
        base.
        """
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        wrench, gravity, base = g.inputs("wrench", 6), g.inputs("gravity", 3), g.inputs("base", 9)
        up = [a - x for a, x in zip(base[6:], gravity, strict=True)]
        tau = self.forces(q, qd, qdd, up, wrench, (base[:3], base[3:6]))
        return compile_kernel("inverse_dynamics_full", g, {"tau": tau})

    @cached_property
    def mass_matrix(self) -> Kernel:
        """Kernel q -> mass matrix M (n, n), including motor inertia."""
        g = Graph()
        M = self.rigid.mass_matrix(g.inputs("q", self.n))
        return compile_kernel("mass_matrix", g, {"M": flat(M)}, {"M": (self.n, self.n)})

    @cached_property
    def coriolis(self) -> Kernel:
        """Kernel (q, qd) -> Coriolis matrix C (n, n), from Christoffel symbols."""
        g = Graph()
        q, qd = g.inputs("q", self.n), g.inputs("qd", self.n)
        rigid = self.rigid if self.n <= MOST_CHRISTOFFEL else self._algorithms(looped=True)
        C = rigid.coriolis_matrix(q, qd)
        return compile_kernel("coriolis", g, {"C": flat(C)}, {"C": (self.n, self.n)})

    @cached_property
    def gravity(self) -> Kernel:
        """Kernel q -> gravity torques G (n), for the gravity of the robot file."""
        g = Graph()
        G = self.rigid.inverse(g.inputs("q", self.n), None, None, self._up)
        return compile_kernel("gravity", g, {"G": G})

    @cached_property
    def gravity_full(self) -> Kernel:
        """Kernel (q, gravity) -> gravity torques G (n), for a gravity vector (3) in m/s²."""
        g = Graph()
        q, up = g.inputs("q", self.n), [-x for x in g.inputs("gravity", 3)]
        return compile_kernel("gravity_full", g, {"G": self.rigid.inverse(q, None, None, up)})

    @cached_property
    def forward_dynamics(self) -> Kernel:
        """Kernel (q, qd, tau) -> joint accelerations qdd (n)."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        qdd = self.acceleration(q, qd, tau)
        return compile_kernel("forward_dynamics", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def forward_dynamics_full(self) -> Kernel:
        """Kernel (q, qd, tau, wrench, gravity) -> joint accelerations qdd (n)."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        wrench, gravity = g.inputs("wrench", 6), g.inputs("gravity", 3)
        qdd = self.acceleration(q, qd, tau, [-x for x in gravity], wrench)
        return compile_kernel("forward_dynamics_full", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Kernel:
        """Kernel (q, qd, qdd) -> derivatives (n, n) of tau with respect to each input."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        slopes = self.slopes(q, qd, qdd)
        outputs = {"dq": flat(slopes.dq), "dqd": flat(slopes.dqd), "dqdd": flat(slopes.dqdd)}
        name, shapes = "inverse_dynamics_derivatives", slope_shapes(outputs, self.n)
        return compile_kernel(
            name, g, outputs, shapes, result=InverseDynamicsDerivatives, fused=True
        )

    @cached_property
    def forward_dynamics_derivatives(self) -> Kernel | None:
        """Kernel (q, qd, tau) -> derivatives (n, n) of qdd with respect to each input.

        None if `many_slopes` is True; `solved_derivatives` then computes the derivatives.
        """
        if self.many_slopes:
            return None
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        slopes = self.slopes(q, qd, self.acceleration(q, qd, tau))
        outputs = {key: flat(x) for key, x in forward_slopes(slopes).items()}
        name, shapes = "forward_dynamics_derivatives", slope_shapes(outputs, self.n)
        result = ForwardDynamicsDerivatives
        return compile_kernel(
            name, g, outputs, shapes, explain=self._explain, result=result, fused=True
        )

    @property
    def many_slopes(self) -> bool:
        """Whether derivatives are computed by loops instead of unrolled code."""
        return len(self.links.links) > MOST_SLOPES

    @cached_property
    def energy(self) -> Kernel:
        """Kernel (q, qd) -> kinetic and potential energy (2) in J."""
        g = Graph()
        q, qd = g.inputs("q", self.n), g.inputs("qd", self.n)
        own = links_of(self.model, regroup=False)
        transforms = joint_transforms(own, q)
        K = kinetic_energy(own, transforms, qd)
        P = potential_energy(own, transforms, [float(x) for x in self.model.gravity])
        return compile_kernel("energy", g, {"E": [K, P]})

    @cached_property
    def motion(self) -> GraphFunction:
        """Forward dynamics (q, qd, tau) -> qdd as a function that other graphs can call."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        return GraphFunction("motion", g, {"qdd": self.acceleration(q, qd, tau)})

    @cached_property
    def rk4_step(self) -> Kernel:
        """Kernel (q, qd, tau, dt) -> (q, qd) after one Runge–Kutta step with constant tau."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        (dt,) = g.inputs("dt", 1)
        q1, qd1 = held_torque_step(g, self.motion, q, qd, tau, dt)
        explain = partial(retrace, self.forward_dynamics)
        return compile_kernel("rk4_step", g, {"q": q1, "qd": qd1}, explain=explain)

    def acceleration(
        self,
        q: list[Scalar],
        qd: list[Scalar],
        tau: list[Scalar],
        up: list[Scalar] | None = None,
        wrench: list[Scalar] | None = None,
    ) -> list[Scalar]:
        """Joint accelerations of forward dynamics on a graph, with friction and motors.

        `up` is minus the gravity vector, by default that of the robot file.  `wrench` is the
        external force and moment on the tool point, in base axes.  Raises an error if a joint moves
        no positive inertia (`refuse_everywhere`).
        """
        refuse_everywhere(self.model)
        if has_friction(self.links):
            tau = [t - f for t, f in zip(tau, friction(self.links, qd), strict=True)]
        return self.rigid.forward(q, qd, tau, up or self._up, wrench)

    def forces(
        self,
        q: list[Scalar],
        qd: list[Scalar],
        qdd: list[Scalar],
        up: list[Scalar] | None = None,
        wrench: list[Scalar] | None = None,
        base_spin: tuple[list[Scalar], list[Scalar]] | None = None,
    ) -> list[Scalar]:
        """Joint torques of inverse dynamics on a graph, with friction and motors.

        `up` is minus the gravity vector, by default that of the robot file.  `wrench` is the
        external force and moment on the tool point, in base axes.  `base_spin` is the angular
        velocity and acceleration of a moving base.
        """
        tau = self.rigid.inverse(q, qd, qdd, up or self._up, wrench, base_spin)
        if has_friction(self.links):
            tau = [t + f for t, f in zip(tau, friction(self.links, qd), strict=True)]
        for link in self.links.links:
            i = link.coordinate
            tau[i] = tau[i] + link.multiplier**2 * link.armature * qdd[i]
        return tau

    def slopes(self, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar]) -> Slopes:
        """Derivatives of the joint torques with respect to q, qd and qdd; see `forces`."""
        rigid = self._algorithms(looped=True) if self.many_slopes else self.rigid
        slopes = rigid.slopes(q, qd, qdd, self._up)
        for i, slope in enumerate(friction_slope(self.links, qd)):
            slopes.dqd[i][i] = slopes.dqd[i][i] + slope
        for link in self.links.links:
            i = link.coordinate
            slopes.dqdd[i][i] = slopes.dqdd[i][i] + link.multiplier**2 * link.armature
        return slopes

    def _algorithms(self, looped: bool) -> UnrolledDynamics:
        if not looped:
            return UnrolledDynamics(self.links)
        from brazo.dynamics.looped import LoopedDynamics

        return LoopedDynamics(self.links)

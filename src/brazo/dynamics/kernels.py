"""Compiled dynamics of one tree robot; each kernel is compiled on first use.

Every kernel is an algorithm of this folder, evaluated on the expression graph with the robot's
parameters: unrolled link by link or, for many joints, as loops.  There are two sets of links:
regrouped ones (`links`) for forces, which need fewer operations, and those of the file for
energies, since regrouping removes constants from the potential.
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
from brazo.dynamics.straight import StraightDynamics
from brazo.dynamics.vectors import flat
from brazo.model.description import TreeModel

Scalar = Any

MOST_STRAIGHT = 12  # links; unrolled code for more takes seconds to compile
MOST_SLOPES = 8  # links; unrolled derivatives grow with their square
MOST_CHRISTOFFEL = 8  # coordinates; the number of symbols grows with their cube


class TreeDynamicsKernels:
    """Compiled dynamics of one model; raises an error for a robot without inertia."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.links: Links = links_of(model)
        self.rigid = self._algorithms(len(self.links.links) > MOST_STRAIGHT)
        self.n = model.n
        self._explain = partial(refuse_at, model)
        self._up = [-float(g) for g in model.gravity]

    @cached_property
    def inverse_dynamics(self) -> Kernel:
        """(q, qd, qdd) -> tau, in the file's gravity, friction and motors included."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        return compile_kernel("inverse_dynamics", g, {"tau": self.forces(q, qd, qdd)})

    @cached_property
    def inverse_dynamics_full(self) -> Kernel:
        """(q, qd, qdd, wrench, gravity, base) -> tau; `base` (9): ω, α, acceleration."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        wrench, gravity, base = g.inputs("wrench", 6), g.inputs("gravity", 3), g.inputs("base", 9)
        up = [a - x for a, x in zip(base[6:], gravity, strict=True)]
        tau = self.forces(q, qd, qdd, up, wrench, (base[:3], base[3:6]))
        return compile_kernel("inverse_dynamics_full", g, {"tau": tau})

    @cached_property
    def mass_matrix(self) -> Kernel:
        """q -> M (n, n), motors included."""
        g = Graph()
        M = self.rigid.mass_matrix(g.inputs("q", self.n))
        return compile_kernel("mass_matrix", g, {"M": flat(M)}, {"M": (self.n, self.n)})

    @cached_property
    def coriolis(self) -> Kernel:
        """(q, qd) -> C (n, n) of Christoffel symbols."""
        g = Graph()
        q, qd = g.inputs("q", self.n), g.inputs("qd", self.n)
        rigid = self.rigid if self.n <= MOST_CHRISTOFFEL else self._algorithms(looped=True)
        C = rigid.coriolis_matrix(q, qd)
        return compile_kernel("coriolis", g, {"C": flat(C)}, {"C": (self.n, self.n)})

    @cached_property
    def gravity(self) -> Kernel:
        """q -> G (n), the gravity torques for the file's gravity."""
        g = Graph()
        G = self.rigid.inverse(g.inputs("q", self.n), None, None, self._up)
        return compile_kernel("gravity", g, {"G": G})

    @cached_property
    def gravity_full(self) -> Kernel:
        """(q, gravity) -> G (n)."""
        g = Graph()
        q, up = g.inputs("q", self.n), [-x for x in g.inputs("gravity", 3)]
        return compile_kernel("gravity_full", g, {"G": self.rigid.inverse(q, None, None, up)})

    @cached_property
    def forward_dynamics(self) -> Kernel:
        """(q, qd, tau) -> qdd."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        qdd = self.acceleration(q, qd, tau)
        return compile_kernel("forward_dynamics", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def forward_dynamics_full(self) -> Kernel:
        """(q, qd, tau, wrench, gravity) -> qdd."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        wrench, gravity = g.inputs("wrench", 6), g.inputs("gravity", 3)
        qdd = self.acceleration(q, qd, tau, [-x for x in gravity], wrench)
        return compile_kernel("forward_dynamics_full", g, {"qdd": qdd}, explain=self._explain)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Kernel:
        """(q, qd, qdd) -> derivatives of tau with respect to each, (n, n)."""
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
        """(q, qd, tau) -> derivatives (n, n) of qdd with respect to each input.

        None for many joints, whose linear systems are not unrolled.
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
        """True if derivatives are computed by loops instead of unrolled code."""
        return len(self.links.links) > MOST_SLOPES

    @cached_property
    def energy(self) -> Kernel:
        """(q, qd) -> (kinetic, potential)."""
        g = Graph()
        q, qd = g.inputs("q", self.n), g.inputs("qd", self.n)
        own = links_of(self.model, regroup=False)
        transforms = joint_transforms(own, q)
        K = kinetic_energy(own, transforms, qd)
        P = potential_energy(own, transforms, [float(x) for x in self.model.gravity])
        return compile_kernel("energy", g, {"E": [K, P]})

    @cached_property
    def motion(self) -> GraphFunction:
        """(q, qd, tau) -> qdd as a function callable from other graphs."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        return GraphFunction("motion", g, {"qdd": self.acceleration(q, qd, tau)})

    @cached_property
    def rk4_step(self) -> Kernel:
        """(q, qd, tau, dt) -> (q, qd) after one Runge–Kutta step with tau held."""
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
        """Forward dynamics on a graph, friction and motors included.

        Raises an error if a joint moves no inertia.
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
        """Inverse dynamics on a graph, friction and motors included."""
        tau = self.rigid.inverse(q, qd, qdd, up or self._up, wrench, base_spin)
        if has_friction(self.links):
            tau = [t + f for t, f in zip(tau, friction(self.links, qd), strict=True)]
        for link in self.links.links:
            i = link.coordinate
            tau[i] = tau[i] + link.multiplier**2 * link.armature * qdd[i]
        return tau

    def slopes(self, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar]) -> Slopes:
        """Derivatives of `forces` on a graph, friction and motors included."""
        rigid = self._algorithms(looped=True) if self.many_slopes else self.rigid
        slopes = rigid.slopes(q, qd, qdd, self._up)
        for i, slope in enumerate(friction_slope(self.links, qd)):
            slopes.dqd[i][i] = slopes.dqd[i][i] + slope
        for link in self.links.links:
            i = link.coordinate
            slopes.dqdd[i][i] = slopes.dqdd[i][i] + link.multiplier**2 * link.armature
        return slopes

    def _algorithms(self, looped: bool) -> StraightDynamics:
        if not looped:
            return StraightDynamics(self.links)
        from brazo.dynamics.looped import LoopedDynamics

        return LoopedDynamics(self.links)

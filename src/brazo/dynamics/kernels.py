"""The compiled dynamics of one tree robot, each kernel made when first asked for.

Every kernel is a ring-generic algorithm of this folder run on the expression graph with the
robot's numbers.  Two sets of links serve: regrouped ones for forces (fewer operations) and the
file's own for energies (regrouping drops constants from the potential).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from brazo.codegen import Graph, GraphFunction, Kernel, compile_kernel
from brazo.codegen.linear import ldl_solve
from brazo.dynamics.composite import mass_matrix
from brazo.dynamics.coriolis import coriolis_matrix
from brazo.dynamics.energy import kinetic_energy, potential_energy
from brazo.dynamics.friction import friction, has_friction
from brazo.dynamics.integrators import held_torque_step
from brazo.dynamics.links import Links, links_of
from brazo.dynamics.newton_euler import joint_transforms, newton_euler
from brazo.model.description import TreeModel

Scalar = Any


class TreeDynamicsKernels:
    """Kernels of one model; raises for a robot without inertia."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.links: Links = links_of(model)
        self.n = model.n
        self._up = [-float(g) for g in model.gravity]

    @cached_property
    def inverse_dynamics(self) -> Kernel:
        """(q, qd, qdd) -> tau, in the file's gravity, friction and motors included."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        return compile_kernel("inverse_dynamics", g, {"tau": self._rne(q, qd, qdd, self._up)})

    @cached_property
    def inverse_dynamics_full(self) -> Kernel:
        """(q, qd, qdd, wrench, gravity, base) -> tau; base: its ω, α and acceleration (9)."""
        g = Graph()
        q, qd, qdd = (g.inputs(name, self.n) for name in ("q", "qd", "qdd"))
        wrench, gravity, base = g.inputs("wrench", 6), g.inputs("gravity", 3), g.inputs("base", 9)
        up = [a - x for a, x in zip(base[6:], gravity, strict=True)]
        tau = self._rne(q, qd, qdd, up, wrench, (base[:3], base[3:6]))
        return compile_kernel("inverse_dynamics_full", g, {"tau": tau})

    @cached_property
    def mass_matrix(self) -> Kernel:
        """q -> M (n, n), motors included."""
        g = Graph()
        M = mass_matrix(self.links, joint_transforms(self.links, g.inputs("q", self.n)))
        return compile_kernel("mass_matrix", g, {"M": _flat(M)}, {"M": (self.n, self.n)})

    @cached_property
    def coriolis(self) -> Kernel:
        """(q, qd) -> C (n, n) of Christoffel symbols."""
        g = Graph()
        q, qd = g.inputs("q", self.n), g.inputs("qd", self.n)
        M = mass_matrix(self.links, joint_transforms(self.links, q), armature=False)
        C = coriolis_matrix(M, q, qd)
        return compile_kernel("coriolis", g, {"C": _flat(C)}, {"C": (self.n, self.n)})

    @cached_property
    def gravity(self) -> Kernel:
        """q -> G (n), the torques that hold the robot still in the file's gravity."""
        g = Graph()
        transforms = joint_transforms(self.links, g.inputs("q", self.n))
        G = newton_euler(self.links, transforms, None, None, self._up)
        return compile_kernel("gravity", g, {"G": G})

    @cached_property
    def gravity_full(self) -> Kernel:
        """(q, gravity) -> G (n)."""
        g = Graph()
        transforms = joint_transforms(self.links, g.inputs("q", self.n))
        up = [-x for x in g.inputs("gravity", 3)]
        return compile_kernel(
            "gravity_full", g, {"G": newton_euler(self.links, transforms, None, None, up)}
        )

    @cached_property
    def forward_dynamics(self) -> Kernel:
        """(q, qd, tau) -> qdd."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        return compile_kernel("forward_dynamics", g, {"qdd": self.acceleration(q, qd, tau)})

    @cached_property
    def forward_dynamics_full(self) -> Kernel:
        """(q, qd, tau, wrench, gravity) -> qdd."""
        g = Graph()
        q, qd, tau = (g.inputs(name, self.n) for name in ("q", "qd", "tau"))
        wrench, gravity = g.inputs("wrench", 6), g.inputs("gravity", 3)
        qdd = self.acceleration(q, qd, tau, [-x for x in gravity], wrench)
        return compile_kernel("forward_dynamics_full", g, {"qdd": qdd})

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
        """(q, qd, tau) -> qdd as a function that other graphs call."""
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
        return compile_kernel("rk4_step", g, {"q": q1, "qd": qd1})

    def acceleration(
        self,
        q: list[Scalar],
        qd: list[Scalar],
        tau: list[Scalar],
        up: list[Scalar] | None = None,
        wrench: list[Scalar] | None = None,
    ) -> list[Scalar]:
        """Forward dynamics over any scalar: M qdd = tau − h(q, qd), by L D Lᵀ."""
        transforms = joint_transforms(self.links, q)
        bias = newton_euler(self.links, transforms, qd, None, up or self._up, wrench)
        M = mass_matrix(self.links, transforms)
        resisting = friction(self.links, qd) if has_friction(self.links) else [0.0] * self.n
        rest = [t - h - f for t, h, f in zip(tau, bias, resisting, strict=True)]
        return ldl_solve(M, rest)[0]

    def forces(self, q: list[Scalar], qd: list[Scalar], qdd: list[Scalar]) -> list[Scalar]:
        """Inverse dynamics over any scalar, in the file's gravity."""
        return self._rne(q, qd, qdd, self._up)

    def _rne(self, q, qd, qdd, up, wrench=None, spin=None) -> list[Scalar]:
        transforms = joint_transforms(self.links, q)
        tau = newton_euler(self.links, transforms, qd, qdd, up, wrench, spin)
        if has_friction(self.links):
            tau = [t + f for t, f in zip(tau, friction(self.links, qd), strict=True)]
        for link in self.links.links:
            i = link.coordinate
            tau[i] = tau[i] + link.multiplier**2 * link.armature * qdd[i]
        return tau


def _flat(rows: list[list[Scalar]]) -> list[Scalar]:
    return [x for row in rows for x in row]

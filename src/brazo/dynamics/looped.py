"""Dynamics of robots with many joints: recursions as compiled loops over a table of links.

Unrolled code grows with the number n of joints; code for the mass matrix grows with n².  Beyond a
dozen joints, unrolled code takes seconds to compile.  Here the step of one link is compiled once
and run in a loop (`brazo.codegen.sweep`).  The methods below have the interface of the unrolled
algorithms and call these loops on a graph.

Let RNE(q, q̇, q̈) be the joint torques of the recursive Newton–Euler algorithm without gravity,
h(q, q̇) = C(q, q̇) q̇, and e_j the unit vector of coordinate j.  The columns of the mass matrix M and
of the Coriolis matrix C are

    M e_j = RNE(q, 0, e_j)        C(q, q̇) e_j = ¼ (h(q, q̇ + e_j) − h(q, q̇ − e_j))

The second equation holds because h is a quadratic form in q̇, whose polar form has the Christoffel
symbols as coefficients.  Derivatives with respect to q and q̇ are computed for one coordinate at a
time, by Newton–Euler passes with dual numbers (`brazo.codegen.dual`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen import Columns, Expr, Graph, GraphFunction
from brazo.codegen.dual import duals, slopes, values
from brazo.codegen.sweep import Pass, Sweep
from brazo.dynamics.articulated import (
    Articulated,
    JointTerms,
    accelerated,
    speed_terms,
    through_joint,
)
from brazo.dynamics.derivatives import Slopes
from brazo.dynamics.frames import JointTransform, euler_turns
from brazo.dynamics.links import Links
from brazo.dynamics.newton_euler import (
    Spin,
    carried_force,
    inertial_force,
    joint_transforms,
    outward,
    tip_load,
)
from brazo.dynamics.unrolled import UnrolledDynamics
from brazo.dynamics.vectors import subtract

__all__ = ["LoopedDynamics"]

Scalar = Any
Vector = list[Scalar]
ZERO: Vector = [0.0, 0.0, 0.0]


class LoopedDynamics(UnrolledDynamics):
    """Dynamics by compiled loops on a graph, with the interface of `UnrolledDynamics`."""

    def __init__(self, links: Links) -> None:
        super().__init__(links)
        self.count = len(links.links)
        turns = [euler_turns(link.K[:3, :3]) for link in links.links]
        self._constants = {
            "phi": np.array([phi for phi, _, _ in turns]),
            "alpha": np.array([alpha for _, alpha, _ in turns]),
            "turning": np.array([link.turning for link in links.links]),
            "mass": np.array([link.inertia.mass for link in links.links]),
            "first": np.array([link.inertia.first for link in links.links]),
            "second": np.array([link.inertia.second for link in links.links]),
            "tensor": np.array([link.inertia.tensor for link in links.links]),
            "armature": np.array([link.armature for link in links.links]),
        }

    @property
    def coupled(self) -> bool:
        """Whether a joint follows the coordinate of another joint (mimic joint)."""
        return self.count != self.links.n or any(x.multiplier != 1.0 for x in self.links.links)

    def inverse(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar] | None,
        qdd: Sequence[Scalar] | None,
        up: Vector,
        wrench: Vector | None = None,
        base_spin: tuple[Vector, Vector] | None = None,
    ) -> Vector:
        transforms = joint_transforms(self.links, q)
        load = self._load(transforms, wrench)
        return self._inverse(q[0].graph, _places(transforms), qd, qdd, up, load, base_spin)

    def mass_matrix(self, q: Sequence[Scalar], armature: bool = True) -> list[Vector]:
        places = _places(joint_transforms(self.links, q))
        M = self._mass_with_motors if armature else self._mass
        return q[0].graph.call(M, *places.values())

    def slopes(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], up: Vector
    ) -> Slopes:
        graph, places = q[0].graph, _places(joint_transforms(self.links, q))
        dq, dqd = (
            graph.call(columns, *places.values(), qd, qdd, up)
            for columns in (self._place_slopes, self._speed_slopes)
        )
        return Slopes(dq, dqd, graph.call(self._mass, *places.values()))

    def coriolis_matrix(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Vector]:
        places = _places(joint_transforms(self.links, q))
        return q[0].graph.call(self._coriolis, *places.values(), qd)

    def forward(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        tau: Sequence[Scalar],
        up: Vector,
        wrench: Vector | None = None,
    ) -> Vector:
        if self.coupled:  # articulated bodies move independently
            return super().forward(q, qd, tau, up, wrench)
        transforms = joint_transforms(self.links, q)
        inputs = _places(transforms) | {
            "rate": self._each(qd),
            "tau": self._each(tau),
            "load": self._load(transforms, wrench),
            "base_a": up,
        }
        qdd: Vector = [0.0] * self.links.n
        results = _call(q[0].graph, self._articulated_sweep, inputs)
        for link, value in zip(self.links.links, results["gain"], strict=True):
            qdd[link.coordinate] = value
        return qdd

    # -- inputs of the loops --------------------------------------------------------------------

    def _inverse(
        self,
        graph: Graph,
        places: dict[str, Vector],
        qd: Sequence[Scalar] | None,
        qdd: Sequence[Scalar] | None,
        up: Vector,
        load: Vector,
        base_spin: tuple[Vector, Vector] | None = None,
    ) -> Vector:
        """Joint torques by Newton–Euler.

        `places` are the transforms of all links, as returned by `_places`.  `up` is minus the
        gravity vector, and `load` is the external force and moment on each link.
        """
        omega, alpha = base_spin or (ZERO, ZERO)
        inputs = places | {
            "rate": self._each(qd),
            "gain": self._each(qdd),
            "load": load,
            "base_w": omega,
            "base_al": alpha,
            "base_a": up,
        }
        resting = qd is None and base_spin is None
        sweep = self._rest_sweep if resting else self._newton_euler_sweep
        tau: Vector = [0.0] * self.links.n
        for link, value in zip(self.links.links, _call(graph, sweep, inputs)["tau"], strict=True):
            tau[link.coordinate] = tau[link.coordinate] + link.multiplier * value
        return tau

    def _each(self, values: Sequence[Scalar] | None) -> Vector:
        """Velocity (or acceleration) of the joint of each link, from those of the coordinates.

        A mimic joint has a multiple of its coordinate's value.  All are zero if `values` is None.
        """
        if values is None:
            return [0.0] * self.count
        return [link.multiplier * values[link.coordinate] for link in self.links.links]

    def _load(self, transforms: Sequence[JointTransform], wrench: Vector | None) -> Vector:
        load: list[Vector] = [[0.0] * 6 for _ in range(self.count)]
        if wrench is not None and self.links.tip >= 0:  # a wrench on the base loads no link
            f, n = tip_load(self.links, transforms, wrench)
            load[self.links.tip] = [*f, *n]
        return [x for row in load for x in row]

    def _place_inputs(self, g: Graph) -> dict[str, Vector]:
        return {"theta": g.inputs("theta", 2 * self.count), "p": g.inputs("p", 3 * self.count)}

    # -- the loops ------------------------------------------------------------------------------

    @cached_property
    def _mass(self) -> Columns:
        return self._mass_columns("mass", armature=False)

    @cached_property
    def _mass_with_motors(self) -> Columns:
        return self._mass_columns("mass_with_motors", armature=True)

    def _mass_columns(self, name: str, armature: bool) -> Columns:
        g = Graph()
        places, unit = self._place_inputs(g), g.inputs("unit", self.links.n)
        column = self._inverse(g, places, None, unit, ZERO, self._load((), None))
        for link in self.links.links if armature else ():
            i = link.coordinate
            column[i] = column[i] + link.multiplier**2 * link.armature * unit[i]
        return Columns(name, GraphFunction(f"{name}_column", g, {"M": column}))

    @cached_property
    def _coriolis(self) -> Columns:
        g = Graph()
        places, n = self._place_inputs(g), self.links.n
        qd, unit = g.inputs("qd", n), g.inputs("unit", n)
        faster, slower = (
            self._inverse(
                g,
                places,
                [a + s * b for a, b in zip(qd, unit, strict=True)],
                None,
                ZERO,
                self._load((), None),
            )
            for s in (1.0, -1.0)
        )
        column = [0.25 * (a - b) for a, b in zip(faster, slower, strict=True)]
        return Columns("coriolis_terms", GraphFunction("coriolis_column", g, {"C": column}))

    @cached_property
    def _place_slopes(self) -> Columns:
        return self._slope_columns("place_slopes", of_places=True)

    @cached_property
    def _speed_slopes(self) -> Columns:
        return self._slope_columns("speed_slopes", of_places=False)

    def _slope_columns(self, name: str, of_places: bool) -> Columns:
        """Function that computes derivatives of the joint torques, column by column.

        The derivatives are with respect to the positions if `of_places`, otherwise to the
        velocities.
        """
        g, n, rows = Graph(), self.links.n, self.links.links
        places = self._place_inputs(g)
        qd, qdd, up = g.inputs("qd", n), g.inputs("qdd", n), g.inputs("up", 3)
        along = self._each(g.inputs("unit", n))
        turn, shift, speed = [0.0] * (2 * self.count), [0.0] * (3 * self.count), along
        if of_places:
            speed = [0.0] * self.count
            for i, (link, step) in enumerate(zip(rows, along, strict=True)):
                c, s = places["theta"][2 * i : 2 * i + 2]
                turn[2 * i : 2 * i + 2] = [-(link.turning * s * step), link.turning * c * step]
                slide = (1.0 - link.turning) * step
                shift[3 * i : 3 * i + 3] = [float(x) * slide for x in link.K[:3, 2]]
        inputs = places | {
            "rate": self._each(qd),
            "gain": self._each(qdd),
            "dtheta": turn,
            "dp": shift,
            "drate": speed,
            "base_a": up,
        }
        column: Vector = [0.0] * n
        results = _call(g, self._slope_sweep, inputs)["dtau"]
        for link, value in zip(rows, results, strict=True):
            column[link.coordinate] = column[link.coordinate] + link.multiplier * value
        return Columns(name, GraphFunction(f"{name}_column", g, {"dtau": column}))

    @cached_property
    def _slope_sweep(self) -> Sweep:
        """Newton–Euler with dual numbers: directional derivative of the joint torques."""
        g = Graph()
        T, turning = _dual_place(g), g.inputs("link_turning", 1)[0]
        spin0 = Spin(_dual(g, "up_w", "up_dw", 3), _dual(g, "up_al", "up_dal", 3))
        (rate,) = _dual(g, "in_rate", "in_drate", 1)
        (gain,) = g.inputs("in_gain", 1)
        spin, a = outward(T, turning, spin0, _dual(g, "up_a", "up_da", 3), rate, gain)
        m, h = g.inputs("link_mass", 1)[0], g.inputs("link_first", 3)
        f, n = inertial_force(m, h, g.inputs("link_second", 6), spin, a)
        fields = {"w": spin.omega, "al": spin.alpha, "a": a, "f": f, "n": n}
        outputs = {f"own_{key}": values(x) for key, x in fields.items()}
        outputs |= {f"own_d{key}": slopes(x) for key, x in fields.items()}
        out = Pass(g, outputs)

        g = Graph()
        T, turning = _dual_place(g), g.inputs("link_turning", 1)[0]
        f, n = _dual(g, "own_f", "own_df", 3), _dual(g, "own_n", "own_dn", 3)
        along = turning * n[2] + (1.0 - turning) * f[2]
        fields = dict(zip("fn", carried_force(T, f, n), strict=True))
        outputs = {f"up_{key}": values(x) for key, x in fields.items()}
        outputs |= {f"up_d{key}": slopes(x) for key, x in fields.items()}
        back = Pass(g, {"out_dtau": slopes([along]), **outputs}, inward=True)
        parents = [link.parent for link in self.links.links]
        return Sweep("newton_euler_slope", parents, self._constants, [out, back], ("a",))

    @cached_property
    def _newton_euler_sweep(self) -> Sweep:
        return self._forces("newton_euler", resting=False)

    @cached_property
    def _rest_sweep(self) -> Sweep:
        """Newton–Euler for links at rest (ω = 0), with a third fewer operations."""
        return self._forces("newton_euler_at_rest", resting=True)

    def _forces(self, name: str, resting: bool) -> Sweep:
        g = Graph()
        T, turning = _place(g), g.inputs("link_turning", 1)[0]
        omega = ZERO if resting else g.inputs("up_w", 3)
        rate = 0.0 if resting else g.inputs("in_rate", 1)[0]
        spin, a = outward(
            T,
            turning,
            Spin(omega, g.inputs("up_al", 3)),
            g.inputs("up_a", 3),
            rate,
            g.inputs("in_gain", 1)[0],
        )
        load = g.inputs("in_load", 6)
        f, n = inertial_force(
            g.inputs("link_mass", 1)[0],
            g.inputs("link_first", 3),
            g.inputs("link_second", 6),
            spin,
            a,
        )
        outputs = {"own_al": spin.alpha, "own_a": a}
        if not resting:
            outputs["own_w"] = spin.omega
        outputs |= {"own_f": subtract(f, load[:3]), "own_n": subtract(n, load[3:])}
        out = Pass(g, outputs)

        g = Graph()
        T, turning = _place(g), g.inputs("link_turning", 1)[0]
        f, n = g.inputs("own_f", 3), g.inputs("own_n", 3)
        tau = turning * n[2] + (1.0 - turning) * f[2]
        f, n = carried_force(T, f, n)
        back = Pass(g, {"out_tau": [tau], "up_f": f, "up_n": n}, inward=True)
        base = ("al", "a") if resting else ("w", "al", "a")
        parents = [link.parent for link in self.links.links]
        return Sweep(name, parents, self._constants, [out, back], base)

    @cached_property
    def _articulated_sweep(self) -> Sweep:
        g = Graph()
        T, turning = _place(g), g.inputs("link_turning", 1)[0]
        h, S, I = g.inputs("link_first", 3), g.inputs("link_second", 6), g.inputs("link_tensor", 6)
        (m,) = g.inputs("link_mass", 1)
        load = g.inputs("in_load", 6)
        (rate,) = g.inputs("in_rate", 1)
        w, (c_al, c_a), (n, f) = speed_terms(T, turning, g.inputs("up_w", 3), rate, h, S)
        body = Articulated(
            J=I,
            H=[[0.0, -h[2], h[1]], [h[2], 0.0, -h[0]], [-h[1], h[0], 0.0]],
            M=[m, 0.0, 0.0, m, 0.0, m],
            n=subtract(n, load[3:]),
            f=subtract(f, load[:3]),
        )
        first = Pass(g, {"own_w": w, "own_c": [*c_al, *c_a], "own_body": _packed(body)})

        g = Graph()
        T, turning = _place(g), g.inputs("link_turning", 1)[0]
        body, c = _unpacked(g.inputs("own_body", 27)), g.inputs("own_c", 6)
        (tau,), (armature,) = g.inputs("in_tau", 1), g.inputs("link_armature", 1)
        joint, felt = through_joint(T, turning, body, (c[:3], c[3:]), tau, armature)
        yielding = [*joint.Un, *joint.Uf, joint.u, joint.inverse]
        second = Pass(g, {"own_joint": yielding, "up_body": _packed(felt)}, inward=True)

        g = Graph()
        T, turning = _place(g), g.inputs("link_turning", 1)[0]
        c, joint = g.inputs("own_c", 6), g.inputs("own_joint", 8)
        parent = g.inputs("up_al", 3), g.inputs("up_a", 3)
        yielding = JointTerms(joint[:3], joint[3:6], joint[6], joint[7])
        gain, (alpha, a) = accelerated(T, turning, parent, (c[:3], c[3:]), yielding)
        third = Pass(g, {"own_al": alpha, "own_a": a, "out_gain": [gain]})
        parents = [link.parent for link in self.links.links]
        return Sweep("articulated", parents, self._constants, [first, second, third], ("a",))


def _place(g: Graph) -> JointTransform:
    """Transform of one link; its constants and its q-dependent parts are inputs of the graph."""
    (c1, s1), (c2, s2) = g.inputs("link_phi", 2), g.inputs("link_alpha", 2)
    c3, s3 = g.inputs("in_theta", 2)
    return JointTransform((c1, s1), (c2, s2), (c3, s3), g.inputs("in_p", 3))


def _dual_place(g: Graph) -> JointTransform:
    """Same as `_place`, but the q-dependent parts are dual numbers (values and derivatives)."""
    (c1, s1), (c2, s2) = g.inputs("link_phi", 2), g.inputs("link_alpha", 2)
    c3, s3 = _dual(g, "in_theta", "in_dtheta", 2)
    return JointTransform((c1, s1), (c2, s2), (c3, s3), _dual(g, "in_p", "in_dp", 3))


def _dual(g: Graph, value: str, slope: str, size: int) -> Vector:
    return duals(g.inputs(value, size), g.inputs(slope, size))


def _packed(body: Articulated) -> Vector:
    return [*body.J, *(x for row in body.H for x in row), *body.M, *body.n, *body.f]


def _unpacked(values: Vector) -> Articulated:
    J, H, M, n, f = values[:6], values[6:15], values[15:21], values[21:24], values[24:]
    return Articulated(J, [H[:3], H[3:6], H[6:]], M, n, f)


def _places(transforms: Sequence[JointTransform]) -> dict[str, Vector]:
    """Parts of the transforms that depend on q, link by link: `theta` (cosine, sine) and `p`."""
    return {
        "theta": [x for T in transforms for x in T.theta],
        "p": [x for T in transforms for x in T.p],
    }


def _call(graph: Graph, sweep: Sweep, inputs: dict[str, Vector]) -> dict[str, list[Expr]]:
    results = graph.call(sweep, *(inputs[key] for key in sweep.inputs))
    return dict(zip(sweep.outputs, results, strict=True))

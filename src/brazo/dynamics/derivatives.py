"""Derivatives of inverse and forward dynamics for any scalar type, by composite bodies (O(n²)).

This is the recursion of Singh, Russell and Wensing (2022), which needs no derivative of a
transform.  For all bodies moved by joint i, about the origin and in the axes of frame i:

    m, h, I    mass, first moment and inertia tensor        İ       time derivative of I
    P, L       linear and angular momentum                  f, n    force and moment on the bodies

z is the direction of the joint axis, and S is the axis as a motion (angular; linear).  ω and α are
the angular velocity and acceleration of the parent.  v and a are the velocity and acceleration of
the parent at the origin of frame i.  With U z = α×z + ω×(ω×z), the axis moves with the parent:

    revolute    S = (z; 0)    Ψ' = (ω×z; v×z)    Ψ'' = (U z; a×z + 2 v×(ω×z))
    prismatic   S = (0; z)    Ψ' = (0; ω×z)      Ψ'' = (0; U z)

For a motion (w; u), the forces are

    inertia   𝓘 (w; u) = (I w + h×u; m u + w×h)        Coriolis   𝓑 (w; u) = (İ w + w×L; 2 w×P)

and for joint i and an ancestor j (or i itself)

    ∂τ_j/∂q̈_i = S_j·𝓘 S_i                              ∂τ_i/∂q̈_j = the same
    ∂τ_j/∂q̇_i = S_j·(𝓑 S_i + 2 𝓘 Ψ'_i)                  ∂τ_i/∂q̇_j = S_i·(𝓑 S_j + 2 𝓘 Ψ'_j)
    ∂τ_j/∂q_i  = S_j·(𝓑 Ψ'_i + 𝓘 Ψ''_i + S_i ×* (f, n))   ∂τ_i/∂q_j  = S_i·(𝓑 Ψ'_j + 𝓘 Ψ''_j)

where 𝓘 and 𝓑 are always those of joint i.  In the left column, the forces that S_j multiplies are
propagated to the base link by link.  In the right column, 𝓘 S_i and 𝓑ᵀ S_i are propagated.  𝓑ᵀ S_i
is a couple, so it is only rotated.

Forward dynamics q̈(q, q̇, τ) follows from τ = ID(q, q̇, q̈(q, q̇, τ)):

    ∂q̈/∂τ = M⁻¹        ∂q̈/∂q = −M⁻¹ ∂ID/∂q        ∂q̈/∂q̇ = −M⁻¹ ∂ID/∂q̇
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from brazo.codegen.linear import definite_columns
from brazo.dynamics.composite import carried
from brazo.dynamics.frames import JointTransform
from brazo.dynamics.links import Link, Links
from brazo.dynamics.newton_euler import ZERO, Spin, carried_force, inertial_force, outward
from brazo.dynamics.vectors import add, cross, dot, tensor_times

__all__ = ["Slopes", "forward_slopes", "inverse_slopes", "slope_shapes"]

Scalar = Any
Vector = list[Scalar]
Matrix = list[Vector]
Wrench = tuple[Vector, Vector]  # force and moment about the frame's origin


@dataclass(frozen=True, slots=True)
class Slopes:
    """Derivatives of the joint torques with respect to q, qd and qdd, (n x n) each.

    Element [i][j] is the derivative of torque i with respect to coordinate j.
    """

    dq: Matrix
    dqd: Matrix
    dqdd: Matrix


@dataclass(slots=True)
class _Composite:
    """A link with its descendants: mass moments, momenta, inertia rate, force and moment.

    The module docstring defines the symbols.
    """

    m: Scalar
    h: Vector
    I: Vector  # xx, xy, xz, yy, yz, zz
    P: Vector
    L: Vector
    I_rate: Vector
    f: Vector
    n: Vector

    def absorb(self, child: _Composite, T: JointTransform) -> None:
        """Add the composite body of a child; T is the pose of the child's frame in this frame."""
        m, h, I = carried(child.m, child.h, child.I, T)
        # The same theorem of parallel axes, for points that move: P instead of h, no mass.
        _, _, I_rate = carried(0.0, child.P, child.I_rate, T)
        P, L = carried_force(T, child.P, child.L)
        f, n = carried_force(T, child.f, child.n)
        self.m = self.m + m
        self.h, self.I = add(self.h, h), add(self.I, I)
        self.P, self.L, self.I_rate = add(self.P, P), add(self.L, L), add(self.I_rate, I_rate)
        self.f, self.n = add(self.f, f), add(self.n, n)

    def inertia(self, w: Vector, u: Vector) -> Wrench:
        """Inertial force 𝓘 (w; u) of a motion, as force and moment."""
        f = add([self.m * x for x in u], cross(w, self.h))
        return f, add(tensor_times(self.I, w), cross(self.h, u))

    def coriolis(self, w: Vector) -> Wrench:
        """Return 𝓑 (w; u) of the module docstring, as force and moment.

        w is the angular part of a motion, such as a joint axis S; it is not the velocity of the
        body.  The linear part u is no argument, because the result does not depend on it.
        """
        f = [2.0 * x for x in cross(w, self.P)]
        return f, add(tensor_times(self.I_rate, w), cross(w, self.L))

    def coriolis_couple(self, revolute: bool) -> Vector:
        """Couple 𝓑ᵀ S of a joint axis S."""
        if revolute:
            _, _, xz, _, yz, zz = self.I_rate
            return [xz + self.L[1], yz - self.L[0], zz]
        return [2.0 * self.P[1], -2.0 * self.P[0], 0.0]


@dataclass(frozen=True, slots=True)
class _JointAxis:
    """A joint axis S as a motion, with its derivatives Ψ' and Ψ''; each (angular, linear)."""

    S: tuple[Vector, Vector]
    first: tuple[Vector, Vector]
    second: tuple[Vector, Vector]


def inverse_slopes(
    model: Links,
    transforms: Sequence[JointTransform],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base_acceleration: Vector,
) -> Slopes:
    """Derivatives of the joint torques of the rigid links, without friction and motors."""
    links = model.links
    axes, bodies = _outward(model, transforms, qd, qdd, base_acceleration)
    dq, dqd, dqdd = ([[0.0] * model.n for _ in range(model.n)] for _ in range(3))
    for i in reversed(range(len(links))):
        link, body, axis = links[i], bodies[i], axes[i]
        if link.parent >= 0:
            bodies[link.parent].absorb(body, transforms[i])
        reaction = body.inertia(*axis.S)
        couple = body.coriolis_couple(link.kind == "revolute")
        for_speed = _sum(body.coriolis(axis.S[0]), _twice(body.inertia(*axis.first)))
        for_place = _sum(
            _sum(body.coriolis(axis.first[0]), body.inertia(*axis.second)),
            _moved_force(link, body.f, body.n),
        )
        j = i
        while True:
            other, own = links[j], axes[j]
            a, b = link.coordinate, other.coordinate
            scale = link.multiplier * other.multiplier
            inertia = scale * _along(other, reaction)
            dqdd[b][a] = dqdd[b][a] + inertia
            dqd[b][a] = dqd[b][a] + scale * _along(other, for_speed)
            dq[b][a] = dq[b][a] + scale * _along(other, for_place)
            if i != j:
                dqdd[a][b] = dqdd[a][b] + inertia
                speed = dot(couple, own.S[0]) + 2.0 * _power(reaction, own.first)
                dqd[a][b] = dqd[a][b] + scale * speed
                place = dot(couple, own.first[0]) + _power(reaction, own.second)
                dq[a][b] = dq[a][b] + scale * place
            if other.parent < 0:
                break
            T = transforms[j]
            reaction, for_speed, for_place = (
                carried_force(T, *force) for force in (reaction, for_speed, for_place)
            )
            couple, j = T.to_parent(couple), other.parent
    return Slopes(dq, dqd, dqdd)


def forward_slopes(inverse: Slopes) -> dict[str, Matrix]:
    """Derivatives of the joint accelerations, from the torque derivatives at the same q, qd, qdd.

    The keys are `dq`, `dqd` and `dtau`.  Some values are infinite or NaN if the mass matrix is not
    positive definite.
    """
    n = len(inverse.dqdd)
    # From tip to base, as in forward dynamics.
    M = [row[::-1] for row in inverse.dqdd[::-1]]
    columns = [[1.0 if i == j else 0.0 for i in range(n)] for j in range(n)]
    for matrix in (inverse.dq, inverse.dqd):
        columns += [[-row[j] for row in reversed(matrix)] for j in range(n)]
    solved = definite_columns(M, *columns)
    dq, dqd = ([[solved[k * n + j][n - 1 - i] for j in range(n)] for i in range(n)] for k in (1, 2))
    # One triangle of the inverse is enough; the first solution carries the mark of a singular M.
    inverse_M = [[solved[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
    return {"dq": dq, "dqd": dqd, "dtau": [row[::-1] for row in inverse_M[::-1]]}


def slope_shapes(outputs: Iterable[str], n: int) -> dict[str, tuple[int, ...]]:
    """Shape of each output of a kernel that computes derivatives."""
    return dict.fromkeys(outputs, (n, n))


def _outward(
    model: Links,
    transforms: Sequence[JointTransform],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base_acceleration: Vector,
) -> tuple[list[_JointAxis], list[_Composite]]:
    """Joint axes S, Ψ', Ψ'' of all joints, and a `_Composite` of each single link."""
    spins: list[Spin] = []
    accel: list[Vector] = []
    speeds: list[Vector] = []
    axes: list[_JointAxis] = []
    bodies: list[_Composite] = []
    for link, T in zip(model.links, transforms, strict=True):
        spin0, a0, v0 = Spin(ZERO, ZERO), base_acceleration, ZERO
        if link.parent >= 0:
            spin0, a0, v0 = spins[link.parent], accel[link.parent], speeds[link.parent]
        rate, gain = (link.multiplier * x[link.coordinate] for x in (qd, qdd))
        w = T.to_link(spin0.omega)
        v = T.to_link(add(v0, cross(spin0.omega, T.p)))
        before = Spin(w, T.to_link(spin0.alpha))
        axes.append(_axis(link, before, T.to_link(add(a0, spin0.times(T.p))), v))
        spin, a = outward(T, link.turning, spin0, a0, rate, gain)
        v = [v[0], v[1], v[2] + (1.0 - link.turning) * rate]
        spins.append(spin)
        accel.append(a)
        speeds.append(v)
        bodies.append(_alone(link, spin, a, v))
    return axes, bodies


def _axis(link: Link, parent: Spin, a: Vector, v: Vector) -> _JointAxis:
    """Axis S of a joint, with Ψ' and Ψ'' (see the module docstring), in the joint frame.

    `parent` is the spin of the parent link.  `a` and `v` are the acceleration and velocity of the
    parent link at the joint's origin.
    """
    w = parent.omega
    turned = [w[1], -w[0], 0.0]  # ω×z
    column = [row[2] for row in parent.U]
    if link.kind == "prismatic":
        return _JointAxis((ZERO, [0.0, 0.0, 1.0]), (ZERO, turned), (ZERO, column))
    fall = add([a[1], -a[0], 0.0], [2.0 * x for x in cross(v, turned)])
    return _JointAxis(([0.0, 0.0, 1.0], ZERO), (turned, [v[1], -v[0], 0.0]), (column, fall))


def _alone(link: Link, spin: Spin, a: Vector, v: Vector) -> _Composite:
    """`_Composite` of a single link, without its descendants."""
    m, h, S = link.inertia.mass, list(link.inertia.first), link.inertia.second
    I, w = list(link.inertia.tensor), spin.omega
    f, n = inertial_force(m, h, S, spin, a)
    P = add([m * x for x in v], cross(w, h))
    L = add(tensor_times(I, w), cross(h, v))
    return _Composite(m, h, I, P, L, _tensor_rate(S, h, w, v), f, n)


def _tensor_rate(S: Sequence[Scalar], h: Vector, w: Vector, v: Vector) -> Vector:
    """Time derivative of the inertia tensor: İ = tr(Ṡ) 1 − Ṡ.

    Ṡ = [ω×] S − S [ω×] + v hᵀ + h vᵀ, where the first two terms have trace zero.
    """
    xx, xy, xz, yy, yz, zz = S
    x, y, z = w
    hv = [a * (2.0 * b) for a, b in zip(v, h, strict=True)]
    return [
        hv[1] + hv[2] - 2.0 * (y * xz - z * xy),
        z * (yy - xx) + x * xz - y * yz - (v[0] * h[1] + v[1] * h[0]),
        y * (xx - zz) + z * yz - x * xy - (v[0] * h[2] + v[2] * h[0]),
        hv[0] + hv[2] - 2.0 * (z * xy - x * yz),
        x * (zz - yy) + y * xy - z * xz - (v[1] * h[2] + v[2] * h[1]),
        hv[0] + hv[1] - 2.0 * (x * yz - y * xz),
    ]


def _moved_force(link: Link, f: Vector, n: Vector) -> Wrench:
    """S ×* (f, n): derivative by the joint position of a wrench (f, n) that moves with the link."""
    if link.kind == "prismatic":
        return ZERO, [-f[1], f[0], 0.0]
    return [-f[1], f[0], 0.0], [-n[1], n[0], 0.0]


def _along(link: Link, force: Wrench) -> Scalar:
    """Joint torque or force S·(f, n): the component of a wrench along the joint axis."""
    return force[1][2] if link.kind == "revolute" else force[0][2]


def _power(force: Wrench, motion: tuple[Vector, Vector]) -> Scalar:
    return dot(force[1], motion[0]) + dot(force[0], motion[1])


def _sum(a: Wrench, b: Wrench) -> Wrench:
    return add(a[0], b[0]), add(a[1], b[1])


def _twice(a: Wrench) -> Wrench:
    return [2.0 * x for x in a[0]], [2.0 * x for x in a[1]]

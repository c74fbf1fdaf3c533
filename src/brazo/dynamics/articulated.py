"""Steps of Featherstone's articulated-body algorithm (forward dynamics in O(n)) for one link.

Let (α, a) be the acceleration of a link's frame, as in `brazo.dynamics.newton_euler`.  The moment
and force that move this link and all its descendants are

    n = J α + H a + n_b         f = Hᵀ α + M a + f_b          (J, M symmetric)

The matrix A = [J H; Hᵀ M] is the articulated inertia, and b = (n_b, f_b) is the bias force.  A
single link with mass m, first moment h and inertia tensor I has J = I, H = [h×] and M = m 1.  The
bias force of a single link is the velocity-dependent force minus the external force.

For a revolute or prismatic joint, let s be the unit motion (rotation or translation) along its
axis z.  U = A s, D = s·U plus the motor inertia, u = τ − s·b, and c is the velocity-dependent
acceleration of the link.  Then

    A' = A − U Uᵀ/D        b' = b + A' c + U u/D           q̈ = (u − U·(α₀, a₀))/D

A' and b' are added to the inertia and bias force of the parent.  q̈ is the joint acceleration, and
(α₀, a₀) is the acceleration that the link would have if q̈ were 0.  Scalars may be of any type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brazo.codegen.ring import where
from brazo.dynamics.frames import JointTransform
from brazo.dynamics.newton_euler import ZERO, Spin, carried_force, outward
from brazo.dynamics.vectors import add, cross, dot, tensor_times

__all__ = ["Articulated", "JointTerms", "accelerated", "speed_terms", "through_joint"]

Scalar = Any
Vector = list[Scalar]


@dataclass(frozen=True, slots=True)
class Articulated:
    """Articulated inertia (J, H, M) and bias force (n, f) of a link with its descendants."""

    J: Vector  # xx, xy, xz, yy, yz, zz
    H: list[Vector]  # three rows
    M: Vector
    n: Vector
    f: Vector


@dataclass(frozen=True, slots=True)
class JointTerms:
    """Joint terms of the articulated-body recursion: U (moment, force), u and 1/D."""

    Un: Vector
    Uf: Vector
    u: Scalar
    inverse: Scalar


def speed_terms(
    T: JointTransform,
    turning: Scalar,
    w0: Vector,
    qd: Scalar,
    h: Vector,
    S: Sequence[Scalar],
) -> tuple[Vector, tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Velocity-dependent terms of a link: ω, acceleration (α, a) and bias force (n_b, f_b).

    `turning` is 1 for a revolute and 0 for a prismatic joint.  `w0` is the parent's ω and `qd` is
    the joint velocity.  `h` and `S` are the first and second moment of the link.
    """
    spin, a = outward(T, turning, Spin(w0, ZERO), ZERO, qd, 0.0)
    alone = Spin(spin.omega, ZERO)
    return spin.omega, (spin.alpha, a), (alone.moment(S), alone.times(h))


def through_joint(
    T: JointTransform,
    turning: Scalar,
    body: Articulated,
    c: tuple[Vector, Vector],
    tau: Scalar,
    armature: Scalar,
) -> tuple[JointTerms, Articulated]:
    """Return the joint terms for torque `tau`, and the inertia and bias force for the parent.

    The inertia and bias force are expressed in the parent's frame.  `body` describes the link with
    its descendants.  `c` is the acceleration (α, a) that `speed_terms` returns, and `armature` is
    the motor inertia.
    """
    sliding = 1.0 - turning
    J, H, M = body.J, body.H, body.M

    def along(revolute: Sequence[Scalar], prismatic: Sequence[Scalar]) -> Vector:
        return [turning * x + sliding * y for x, y in zip(revolute, prismatic, strict=True)]

    Un = along((J[2], J[4], J[5]), [row[2] for row in H])
    Uf = along(H[2], (M[2], M[4], M[5]))
    D = turning * Un[2] + sliding * Uf[2] + armature
    u = tau - (turning * body.n[2] + sliding * body.f[2])
    inverse = 1.0 / where(-D, 0.0, D)  # infinite if the joint moves no positive inertia
    Vn, Vf = [x * inverse for x in Un], [x * inverse for x in Uf]
    J = [x - y for x, y in zip(J, _symmetric(Un, Vn), strict=True)]
    M = [x - y for x, y in zip(M, _symmetric(Uf, Vf), strict=True)]
    H = [[H[i][j] - Un[i] * Vf[j] for j in range(3)] for i in range(3)]
    alpha, a = c
    n = add(body.n, tensor_times(J, alpha), [dot(row, a) for row in H], [x * u for x in Vn])
    across = [dot([row[j] for row in H], alpha) for j in range(3)]
    f = add(body.f, across, tensor_times(M, a), [x * u for x in Vf])
    return JointTerms(Un, Uf, u, inverse), _in_parent(T, Articulated(J, H, M, n, f))


def accelerated(
    T: JointTransform,
    turning: Scalar,
    parent: tuple[Vector, Vector],
    c: tuple[Vector, Vector],
    joint: JointTerms,
) -> tuple[Scalar, tuple[Vector, Vector]]:
    """Return q̈ and the acceleration (α, a) of a link, from the acceleration of its parent.

    `parent` is the acceleration (α, a) of the parent.  `c` is the velocity-dependent acceleration
    that `speed_terms` returns.
    """
    alpha0, a0 = parent
    alpha = add(T.to_link(alpha0), c[0])
    a = add(T.to_link(add(a0, cross(alpha0, T.p))), c[1])
    qdd = (joint.u - (dot(joint.Un, alpha) + dot(joint.Uf, a))) * joint.inverse
    alpha = [alpha[0], alpha[1], alpha[2] + turning * qdd]
    return qdd, (alpha, [a[0], a[1], a[2] + (1.0 - turning) * qdd])


def _symmetric(u: Vector, v: Vector) -> Vector:
    """Matrix u vᵀ for parallel u and v, as its elements xx, xy, xz, yy, yz, zz."""
    return [u[0] * v[0], u[0] * v[1], u[0] * v[2], u[1] * v[1], u[1] * v[2], u[2] * v[2]]


def _in_parent(T: JointTransform, body: Articulated) -> Articulated:
    """Express articulated inertia and bias force in the parent's frame.

    They are rotated, then moved by the origin p of the link's frame.  With P = [p×], moving changes
    H to H' = H + P M, and J to J − H P + P H'ᵀ.
    """
    p = T.p
    J, M = T.matrix_to_parent(body.J), T.matrix_to_parent(body.M)
    rows = [T.to_parent(row) for row in body.H]  # H Rᵀ
    columns = [T.to_parent([row[j] for row in rows]) for j in range(3)]
    H = [[columns[j][i] for j in range(3)] for i in range(3)]
    xx, xy, xz, yy, yz, zz = M
    shift = [cross(p, column) for column in ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz])]
    H1 = [[H[i][j] + shift[j][i] for j in range(3)] for i in range(3)]
    # Row i of −H P is p × (row i of H); column j of P H1ᵀ is p × (row j of H1).
    old = [cross(p, row) for row in H]
    new = [cross(p, row) for row in H1]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    J = [x + (old[i][j] + new[j][i]) for x, (i, j) in zip(J, pairs, strict=True)]
    f, n = carried_force(T, body.f, body.n)
    return Articulated(J, H1, M, n, f)

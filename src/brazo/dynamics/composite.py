"""Mass matrix by the composite-rigid-body algorithm (Walker and Orin's third method).

From tip to base, each body is combined with its children.  m, h and I are mass, first moment and
inertia tensor of all bodies moved by joint j, about the origin of frame j and in its axes.  z is
the axis of joint j.  A unit acceleration of joint j alone requires the force f and moment n at this
frame:

    revolute    f = z×h,  n = I z          prismatic   f = m z,  n = h×z

Row j of M follows from f and n, propagated from joint to joint towards the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.dynamics.frames import JointTransform
from brazo.dynamics.links import Links
from brazo.dynamics.vectors import add, cross

Scalar = Any
Vector = list[Scalar]


def mass_matrix(
    model: Links, transforms: Sequence[JointTransform], armature: bool = True
) -> list[list[Scalar]]:
    """Mass matrix M (n x n); `armature=False` leaves out the motor inertia on the diagonal."""
    links = model.links
    masses: list[Scalar] = [link.inertia.mass for link in links]
    firsts: list[Vector] = [list(link.inertia.first) for link in links]
    tensors: list[Vector] = [list(link.inertia.tensor) for link in links]
    M: list[list[Scalar]] = [[0.0] * model.n for _ in range(model.n)]
    for i in reversed(range(len(links))):
        link = links[i]
        if link.parent >= 0:
            m, h, I = carried(masses[i], firsts[i], tensors[i], transforms[i])
            k = link.parent
            masses[k] = masses[k] + m
            firsts[k] = add(firsts[k], h)
            tensors[k] = add(tensors[k], I)
        h = firsts[i]
        if link.kind == "revolute":
            _, _, xz, _, yz, zz = tensors[i]
            f = [-h[1], h[0], 0.0]
            n = [xz, yz, zz]
        else:
            f = [0.0, 0.0, masses[i]]
            n = [h[1], -h[0], 0.0]
        j = i
        while True:
            other = links[j]
            value = (
                link.multiplier * other.multiplier * (n[2] if other.kind == "revolute" else f[2])
            )
            a, b = link.coordinate, other.coordinate
            M[a][b] = M[a][b] + value
            if i != j:
                M[b][a] = M[b][a] + value
            if other.parent < 0:
                break
            T = transforms[j]
            f0 = T.to_parent(f)
            n = add(T.to_parent(n), cross(T.p, f0))
            f, j = f0, other.parent
        if armature:
            a = link.coordinate
            M[a][a] = M[a][a] + link.multiplier**2 * link.armature
    return M


def carried(m: Scalar, h: Vector, I: Vector, T: JointTransform) -> tuple[Scalar, Vector, Vector]:
    """Mass, first moment and inertia tensor of a subtree, transformed to the parent's frame.

    `T` is the pose of the subtree's frame in the parent's frame.
    """
    p, g = T.p, T.to_parent(h)
    # Steiner, linear in m and h: tr(A) 1 − A, where A = u pᵀ + p uᵀ with u = g + m p / 2.
    u = [x + (0.5 * m) * y for x, y in zip(g, p, strict=True)]
    xx, yy, zz = (x * (2.0 * y) for x, y in zip(u, p, strict=True))
    shift = [
        yy + zz,
        -(u[0] * p[1] + u[1] * p[0]),
        -(u[0] * p[2] + u[2] * p[0]),
        xx + zz,
        -(u[1] * p[2] + u[2] * p[1]),
        xx + yy,
    ]
    return m, [x + m * y for x, y in zip(g, p, strict=True)], add(T.matrix_to_parent(I), shift)

"""The mass matrix by composite rigid bodies (Walker and Orin's third method), over any scalar.

Tip to base, each body takes its children in: (m, h, I) of all that moves with joint i, in frame i.
Accelerating joint j alone by 1 then needs, at its own frame,

    revolute    f = z×h,  n = I z          prismatic   f = m z,  n = h×z

and carrying f and n down to the base reads off row j of M on the way.
"""

from __future__ import annotations

from typing import Any

from brazo.dynamics.links import Links
from brazo.dynamics.vectors import add, cross, dot, rotate

Scalar = Any
Vector = list[Scalar]


def mass_matrix(
    model: Links, transforms: list[tuple[Vector, Vector]], armature: bool = True
) -> list[list[Scalar]]:
    """M (n x n), with motor inertia on the diagonal unless told otherwise."""
    links = model.links
    masses: list[Scalar] = [link.inertia.mass for link in links]
    moments: list[Vector] = [list(link.inertia.moment) for link in links]
    tensors: list[Vector] = [list(link.inertia.tensor) for link in links]
    M: list[list[Scalar]] = [[0.0] * model.n for _ in range(model.n)]
    for i in reversed(range(len(links))):
        link, (R, p) = links[i], transforms[i]
        if link.parent >= 0:
            m, h, I = carried(masses[i], moments[i], tensors[i], R, p)
            k = link.parent
            masses[k] = masses[k] + m
            moments[k] = add(moments[k], h)
            tensors[k] = add(tensors[k], I)
        h = moments[i]
        if link.kind == "revolute":
            f = [-h[1], h[0], 0.0]
            n = [tensors[i][2], tensors[i][4], tensors[i][5]]
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
            R, p = transforms[j]
            f0 = rotate(R, f)
            n = add(rotate(R, n), cross(p, f0))
            f, j = f0, other.parent
        if armature:
            a = link.coordinate
            M[a][a] = M[a][a] + link.multiplier**2 * link.armature
    return M


def carried(m: Scalar, h: Vector, I: Vector, R: Vector, p: Vector) -> tuple[Scalar, Vector, Vector]:
    """Inertial parameters in the parent's frame."""
    g = rotate(R, h)
    xx, xy, xz, yy, yz, zz = I
    rows = ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz])
    # R I Rᵀ, symmetric: six entries.
    RI = [[dot(R[3 * i : 3 * i + 3], [row[j] for row in rows]) for j in range(3)] for i in range(3)]

    def entry(i: int, j: int) -> Scalar:
        return dot(RI[i], R[3 * j : 3 * j + 3])

    # Steiner, linear in m and h: 2(g·p)1 − gpᵀ − pgᵀ + m(p² 1 − ppᵀ), with u = g + m p / 2.
    u = [x + 0.5 * (m * y) for x, y in zip(g, p, strict=True)]
    up = [x * y for x, y in zip(u, p, strict=True)]
    tensor = [
        entry(0, 0) + 2.0 * (up[1] + up[2]),
        entry(0, 1) - (u[0] * p[1] + u[1] * p[0]),
        entry(0, 2) - (u[0] * p[2] + u[2] * p[0]),
        entry(1, 1) + 2.0 * (up[0] + up[2]),
        entry(1, 2) - (u[1] * p[2] + u[2] * p[1]),
        entry(2, 2) + 2.0 * (up[0] + up[1]),
    ]
    return m, [x + m * y for x, y in zip(g, p, strict=True)], tensor

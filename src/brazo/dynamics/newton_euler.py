"""Recursive Newton–Euler over any scalar: joint forces from motion, O(n).

Outward, for each link in its own joint frame (ω, α: angular velocity and acceleration; a: linear
acceleration of the frame's origin, with gravity as an upward acceleration of the base).  A point r
of a link accelerates by a + U r,

    U = [α×] + ω ωᵀ − ω² 1

    revolute    ω = Rᵀω' + z q̇     α = Rᵀα' + (Rᵀω')×z q̇ + z q̈     a = Rᵀ(a' + U'p)
    prismatic   ω = Rᵀω'           α = Rᵀα'                         a as above + 2 ω×z q̇ + z q̈

Inward, with the moments m, h, S of a link's mass:

    f = ∫ (a + U r) dm     = m a + U h + Σ R_c f_c
    n = ∫ r × (a + U r) dm = h×a + (U S)× + Σ (R_c n_c + p_c × R_c f_c)
    τ = z·n  or  z·f

where (A)× = (A_zy − A_yz, A_xz − A_zx, A_yx − A_xy).  Everything is linear in (m, h, S), so
regrouped moments give the same forces; and U, made once, serves the link's mass and its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.dynamics.frames import JointTransform, joint_transform
from brazo.dynamics.links import Links
from brazo.dynamics.vectors import add, cross

Scalar = Any
Vector = list[Scalar]
ZERO: Vector = [0.0, 0.0, 0.0]


def joint_transforms(model: Links, q: Sequence[Scalar]) -> list[JointTransform]:
    """Pose of each link's frame in its parent's."""
    return [
        joint_transform(link.K, link.kind, link.multiplier * q[link.coordinate] + link.offset)
        for link in model.links
    ]


def newton_euler(
    model: Links,
    transforms: Sequence[JointTransform],
    qd: Sequence[Scalar] | None,
    qdd: Sequence[Scalar] | None,
    base_acceleration: Vector,
    wrench: Vector | None = None,
    base_spin: tuple[Vector, Vector] | None = None,
) -> list[Scalar]:
    """Joint forces (n) of the rigid links; no friction, no motors.

    `base_acceleration` is minus gravity; `qd` or `qdd` None means at rest, and costs nothing.
    `wrench` is the force and moment the surroundings put on the tool's point, in base axes.
    `base_spin` is the angular velocity and acceleration of a base that moves; its linear
    acceleration adds to `base_acceleration`.
    """
    links = model.links
    base = Spin(*(base_spin or (ZERO, ZERO)))
    spins: list[Spin] = []
    accel: list[Vector] = []
    for link, T in zip(links, transforms, strict=True):
        spin0, a0 = base, base_acceleration
        if link.parent >= 0:
            spin0, a0 = spins[link.parent], accel[link.parent]
        rate = 0.0 if qd is None else link.multiplier * qd[link.coordinate]
        gain = 0.0 if qdd is None else link.multiplier * qdd[link.coordinate]
        w, al = T.to_link(spin0.omega), T.to_link(spin0.alpha)
        a = T.to_link(add(a0, spin0.times(T.p)))
        if link.kind == "revolute":
            # (Rᵀω')×z q̇ = (ω_y, −ω_x, 0) q̇
            al = [al[0] + w[1] * rate, al[1] - w[0] * rate, al[2] + gain]
            w = [w[0], w[1], w[2] + rate]
        else:
            twice = 2.0 * rate
            a = [a[0] + w[1] * twice, a[1] - w[0] * twice, a[2] + gain]
        spins.append(Spin(w, al))
        accel.append(a)
    forces: list[Vector] = []
    moments: list[Vector] = []
    for link, spin, a in zip(links, spins, accel, strict=True):
        h = list(link.inertia.first)
        forces.append(add([link.inertia.mass * x for x in a], spin.times(h)))
        moments.append(add(spin.moment(link.inertia.second), cross(h, a)))
    if wrench is not None:
        _apply_wrench(model, transforms, wrench, forces, moments)
    tau: list[Scalar] = [0.0] * model.n
    for i in reversed(range(len(links))):
        link, T = links[i], transforms[i]
        f, n = forces[i], moments[i]
        along = n[2] if link.kind == "revolute" else f[2]
        tau[link.coordinate] = tau[link.coordinate] + link.multiplier * along
        if link.parent >= 0:
            f0 = T.to_parent(f)
            forces[link.parent] = add(forces[link.parent], f0)
            moments[link.parent] = add(moments[link.parent], T.to_parent(n), cross(T.p, f0))
    return tau


class Spin:
    """How a link turns, and the matrix U of the accelerations that gives its points."""

    def __init__(self, omega: Vector, alpha: Vector) -> None:
        self.omega, self.alpha = omega, alpha
        x, y, z = omega
        self.xy, xz, yz = x * y, x * z, y * z
        self.xx, self.yy, self.zz = x * x, y * y, z * z
        ax, ay, az = alpha
        self.U = [
            [-(self.yy + self.zz), self.xy - az, xz + ay],
            [self.xy + az, -(self.xx + self.zz), yz - ax],
            [xz - ay, yz + ax, -(self.xx + self.yy)],
        ]

    def times(self, r: Vector) -> Vector:
        """U r: what the turning adds to the acceleration of a point."""
        return [row[0] * r[0] + row[1] * r[1] + row[2] * r[2] for row in self.U]

    def moment(self, S: Sequence[Scalar]) -> Vector:
        """(U S)×, written so that S_zz = 0, or S_xx = S_yy, makes terms vanish."""
        (_, Uxy, Uxz), (Uyx, _, Uyz), (Uzx, Uzy, _) = self.U
        Sxx, Sxy, Sxz, Syy, Syz, Szz = S
        return [
            Uzx * Sxy - Uyx * Sxz + Uzy * Syy - Uyz * Szz + (self.zz - self.yy) * Syz,
            Uxy * Syz - Uzy * Sxy + Uxz * Szz - Uzx * Sxx + (self.xx - self.zz) * Sxz,
            Uyz * Sxz
            - Uxz * Syz
            + (Sxx + Syy) * self.alpha[2]
            + (Sxx - Syy) * self.xy
            + (self.yy - self.xx) * Sxy,
        ]


def _apply_wrench(
    model: Links,
    transforms: Sequence[JointTransform],
    wrench: Vector,
    forces: list[Vector],
    moments: list[Vector],
) -> None:
    """Subtract an outside wrench on the tool from the tip's balance."""
    path = []
    i = model.tip
    while i >= 0:
        path.append(i)
        i = model.links[i].parent
    f, n = list(wrench[:3]), list(wrench[3:])
    for i in reversed(path):
        f, n = transforms[i].to_link(f), transforms[i].to_link(n)
    point = model.tool[:3, 3].tolist()
    tip = model.tip
    forces[tip] = [x - y for x, y in zip(forces[tip], f, strict=True)]
    total = add(n, cross(point, f))
    moments[tip] = [x - y for x, y in zip(moments[tip], total, strict=True)]

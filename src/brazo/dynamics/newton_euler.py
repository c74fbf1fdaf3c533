"""Recursive Newton–Euler: joint torques from motion in O(n), for any scalar type.

The outward pass computes for each link, in its own joint frame, the angular velocity ω, the angular
acceleration α and the linear acceleration a of the frame's origin.  Gravity is modelled as an
upward acceleration of the base.  Values of the parent have a prime.  R and p are the rotation and
position of the link's frame in the frame of the parent, and z is the joint axis.  A point r of a
link has the acceleration a + U r, where

    U = [α×] + ω ωᵀ − ω² 1

    revolute    ω = Rᵀω' + z q̇     α = Rᵀα' + (Rᵀω')×z q̇ + z q̈     a = Rᵀ(a' + U'p)
    prismatic   ω = Rᵀω'           α = Rᵀα'                         a as above + 2 ω×z q̇ + z q̈

The inward pass computes force f and moment n from mass m, first moment h and second moment S of
each link, and from its children c:

    f = m a + U h    + Σ R_c f_c                         m a + U h    = ∫ (a + U r) dm
    n = h×a + (U S)× + Σ (R_c n_c + p_c × R_c f_c)       h×a + (U S)× = ∫ r × (a + U r) dm
    τ = z·n (revolute)  or  z·f (prismatic)

where (A)× = (A_zy − A_yz, A_xz − A_zx, A_yx − A_xy).  f, n and τ are linear in (m, h, S), so
regrouped parameters (`brazo.dynamics.links`) give the same torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.dynamics.frames import JointTransform, joint_transform
from brazo.dynamics.links import Links
from brazo.dynamics.vectors import add, cross, subtract

Scalar = Any
Vector = list[Scalar]
ZERO: Vector = [0.0, 0.0, 0.0]


def joint_transforms(model: Links, q: Sequence[Scalar]) -> list[JointTransform]:
    """Pose of each link's frame in the frame of its parent."""
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
    """Joint torques (n) of the rigid links, without friction and motors.

    `base_acceleration` is minus the gravity vector.  None for `qd` or `qdd` means zero and saves
    operations.  `wrench` is the external force and moment on the tool point, in base axes.
    `base_spin` is the angular velocity and acceleration of a moving base; add its linear
    acceleration to `base_acceleration`.
    """
    spins, accel = outward_pass(model, transforms, qd, qdd, base_acceleration, base_spin)
    forces: list[Vector] = []
    moments: list[Vector] = []
    for link, spin, a in zip(model.links, spins, accel, strict=True):
        f, n = inertial_force(link.inertia.mass, link.inertia.first, link.inertia.second, spin, a)
        forces.append(f)
        moments.append(n)
    if wrench is not None and model.tip >= 0:
        f, n = tip_load(model, transforms, wrench)
        tip = model.tip
        forces[tip], moments[tip] = subtract(forces[tip], f), subtract(moments[tip], n)
    return inward_pass(model, transforms, forces, moments)


def outward_pass(
    model: Links,
    transforms: Sequence[JointTransform],
    qd: Sequence[Scalar] | None,
    qdd: Sequence[Scalar] | None,
    base_acceleration: Vector,
    base_spin: tuple[Vector, Vector] | None = None,
) -> tuple[list[Spin], list[Vector]]:
    """`Spin` of each link, and acceleration of the origin of each link's frame.

    The arguments are described in `newton_euler`.
    """
    base = Spin(*(base_spin or (ZERO, ZERO)))
    spins: list[Spin] = []
    accel: list[Vector] = []
    for link, T in zip(model.links, transforms, strict=True):
        spin0, a0 = base, base_acceleration
        if link.parent >= 0:
            spin0, a0 = spins[link.parent], accel[link.parent]
        rate = 0.0 if qd is None else link.multiplier * qd[link.coordinate]
        gain = 0.0 if qdd is None else link.multiplier * qdd[link.coordinate]
        spin, a = outward(T, link.turning, spin0, a0, rate, gain)
        spins.append(spin)
        accel.append(a)
    return spins, accel


def inward_pass(
    model: Links,
    transforms: Sequence[JointTransform],
    forces: list[Vector],
    moments: list[Vector],
) -> list[Scalar]:
    """Joint torques (n) from the force and moment on each link; changes these lists in place."""
    tau: list[Scalar] = [0.0] * model.n
    for i in reversed(range(len(model.links))):
        link, T = model.links[i], transforms[i]
        f, n = forces[i], moments[i]
        along = link.turning * n[2] + (1.0 - link.turning) * f[2]
        tau[link.coordinate] = tau[link.coordinate] + link.multiplier * along
        if link.parent >= 0:
            f, n = carried_force(T, f, n)
            forces[link.parent] = add(forces[link.parent], f)
            moments[link.parent] = add(moments[link.parent], n)
    return tau


def outward(
    T: JointTransform, turning: Scalar, spin: Spin, a: Vector, qd: Scalar, qdd: Scalar
) -> tuple[Spin, Vector]:
    """`Spin` and acceleration of a link, from `spin` and acceleration `a` of its parent.

    `a` and the returned acceleration are those of the origins of the link frames.  `turning` is 1
    for a revolute and 0 for a prismatic joint.  `qd` and `qdd` are the velocity and acceleration of
    the joint.
    """
    sliding = 1.0 - turning
    w, al = T.to_link(spin.omega), T.to_link(spin.alpha)
    a = T.to_link(add(a, spin.times(T.p)))
    # w×z q̇ = (w_y, −w_x, 0) q̇, once for a rotation and twice for a translation
    turn, shift = turning * qd, sliding * (2.0 * qd)
    al = [al[0] + w[1] * turn, al[1] - w[0] * turn, al[2] + turning * qdd]
    a = [a[0] + w[1] * shift, a[1] - w[0] * shift, a[2] + sliding * qdd]
    return Spin([w[0], w[1], w[2] + turn], al), a


def inertial_force(
    m: Scalar, h: Sequence[Scalar], S: Sequence[Scalar], spin: Spin, a: Vector
) -> tuple[Vector, Vector]:
    """Inertial force and moment of one link about the origin of its frame.

    `m`, `h` and `S` are mass, first moment and second moment of the link.  `a` is the acceleration
    of the frame's origin.
    """
    h = list(h)
    return add([m * x for x in a], spin.times(h)), add(spin.moment(S), cross(h, a))


def carried_force(T: JointTransform, f: Vector, n: Vector) -> tuple[Vector, Vector]:
    """Express force and moment of a link in the parent's frame, about the parent's origin."""
    f0 = T.to_parent(f)
    return f0, add(T.to_parent(n), cross(T.p, f0))


def tip_load(
    model: Links, transforms: Sequence[JointTransform], wrench: Vector
) -> tuple[Vector, Vector]:
    """Force and moment on the link that carries the tool, in its frame about its origin.

    `wrench` is the external force and moment at the tool point, in base axes.
    """
    path = []
    i = model.tip
    while i >= 0:
        path.append(i)
        i = model.links[i].parent
    f, n = list(wrench[:3]), list(wrench[3:])
    for i in reversed(path):
        f, n = transforms[i].to_link(f), transforms[i].to_link(n)
    return f, add(n, cross(model.tool[:3, 3].tolist(), f))


class Spin:
    """Angular velocity ω and acceleration α of a link, and the matrix U = [α×] + ω ωᵀ − ω² 1."""

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
        """Acceleration U r of a point r due to the rotation of the link."""
        return [row[0] * r[0] + row[1] * r[1] + row[2] * r[2] for row in self.U]

    def moment(self, S: Sequence[Scalar]) -> Vector:
        """Moment (U S)×, written such that terms vanish if S_zz = 0 or S_xx = S_yy."""
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

"""Recursive Newton–Euler over any scalar: joint forces from motion, O(n).

Outward, for each link in its own joint frame (ω, α: angular velocity and acceleration; a: linear
acceleration of the frame's origin, with gravity as an upward acceleration of the base):

    revolute    ω = Rᵀω' + z q̇     α = Rᵀα' + (Rᵀω')×z q̇ + z q̈
                a = Rᵀ(a' + α'×p + ω'×(ω'×p))
    prismatic   ω = Rᵀω'   α = Rᵀα'   a as above + 2 ω×z q̇ + z q̈

Inward, with mass m, first moment h and tensor I about the frame's origin:

    f = m a + α×h + ω×(ω×h) + Σ R_c f_c
    n = I α + ω×(I ω) + h×a + Σ (R_c n_c + p_c × R_c f_c)
    τ = z·n  or  z·f

This form is linear in (m, h, I), so regrouped parameters give the same forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import sincos
from brazo.dynamics.links import Link, Links
from brazo.dynamics.vectors import add, cross, rotate, rotate_back, tensor_times
from brazo.kinematics.forward import compose, constant

Scalar = Any
Vector = list[Scalar]
ZERO: Vector = [0.0, 0.0, 0.0]


def joint_transforms(model: Links, q: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
    """Rotation (nine scalars) and origin of each link's frame in its parent's."""
    return [_transform(link, q[link.coordinate]) for link in model.links]


def newton_euler(
    model: Links,
    transforms: list[tuple[Vector, Vector]],
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
    base_omega, base_alpha = base_spin or (ZERO, ZERO)
    omega: list[Vector] = []
    alpha: list[Vector] = []
    accel: list[Vector] = []
    for link, (R, p) in zip(links, transforms, strict=True):
        if link.parent < 0:
            w0, al0, a0 = base_omega, base_alpha, base_acceleration
        else:
            w0, al0, a0 = omega[link.parent], alpha[link.parent], accel[link.parent]
        rate = 0.0 if qd is None else link.multiplier * qd[link.coordinate]
        gain = 0.0 if qdd is None else link.multiplier * qdd[link.coordinate]
        w, al = rotate_back(R, w0), rotate_back(R, al0)
        a = rotate_back(R, add(a0, cross(al0, p), cross(w0, cross(w0, p))))
        if link.kind == "revolute":
            # (Rᵀω')×z q̇ = (ω_y, −ω_x, 0) q̇
            al = [al[0] + w[1] * rate, al[1] - w[0] * rate, al[2] + gain]
            w = [w[0], w[1], w[2] + rate]
        else:
            twice = 2.0 * rate
            a = [a[0] + w[1] * twice, a[1] - w[0] * twice, a[2] + gain]
        omega.append(w)
        alpha.append(al)
        accel.append(a)
    forces: list[Vector] = []
    moments: list[Vector] = []
    for i, link in enumerate(links):
        h = list(link.inertia.moment)
        w, al, a = omega[i], alpha[i], accel[i]
        forces.append(add([link.inertia.mass * x for x in a], cross(al, h), cross(w, cross(w, h))))
        Iw = tensor_times(link.inertia.tensor, w)
        moments.append(add(tensor_times(link.inertia.tensor, al), cross(w, Iw), cross(h, a)))
    if wrench is not None:
        _apply_wrench(model, transforms, wrench, forces, moments)
    tau: list[Scalar] = [0.0] * model.n
    for i in reversed(range(len(links))):
        link, (R, p) = links[i], transforms[i]
        f, n = forces[i], moments[i]
        along = n[2] if link.kind == "revolute" else f[2]
        tau[link.coordinate] = tau[link.coordinate] + link.multiplier * along
        if link.parent >= 0:
            f0 = rotate(R, f)
            forces[link.parent] = add(forces[link.parent], f0)
            moments[link.parent] = add(moments[link.parent], rotate(R, n), cross(p, f0))
    return tau


def _transform(link: Link, q: Scalar) -> tuple[Vector, Vector]:
    K = constant(link.K)
    value = link.multiplier * q + link.offset
    if link.kind == "prismatic":
        return compose(K, ([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, value]))
    s, c = sincos(value)
    return compose(K, ([c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0], ZERO))


def _apply_wrench(
    model: Links,
    transforms: list[tuple[Vector, Vector]],
    wrench: Vector,
    forces: list[Vector],
    moments: list[Vector],
) -> None:
    """Subtract an outside wrench on the tool from the tip's balance."""
    R: Vector = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    path = []
    i = model.tip
    while i >= 0:
        path.append(i)
        i = model.links[i].parent
    for i in reversed(path):
        R = compose((R, ZERO), transforms[i])[0]
    f, n = rotate_back(R, list(wrench[:3])), rotate_back(R, list(wrench[3:]))
    point = model.tool[:3, 3].tolist()
    tip = model.tip
    forces[tip] = [x - y for x, y in zip(forces[tip], f, strict=True)]
    total = add(n, cross(point, f))
    moments[tip] = [x - y for x, y in zip(moments[tip], total, strict=True)]

"""Kinetic energy K and potential energy P, as sums over the links of a robot.

    K = Σ ½ m v² + h·(v×ω) + ½ ω·I ω + ½ J_m q̇²       P = −Σ g·(m p + R h)

m is the mass of a link; h and I are its first moment and inertia tensor about the origin of the
link frame, in link axes.  p and R are the position and rotation of the link frame in the base
frame, and v and ω are its linear and angular velocity in link axes.  J_m is the motor inertia
reflected to the joint, q̇ the joint velocity, and g the gravity vector.  The potential energy of a
mass at the base origin is zero.  The links must be those of the robot file: regrouping
(`brazo.dynamics.links`) would change P by a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.dynamics.frames import JointTransform
from brazo.dynamics.links import Links
from brazo.dynamics.vectors import add, cross, dot, rotate, tensor_times
from brazo.kinematics.forward import compose

Scalar = Any
Vector = list[Scalar]


def kinetic_energy(
    model: Links, transforms: Sequence[JointTransform], qd: Sequence[Scalar]
) -> Scalar:
    """Kinetic energy (J), including motor inertia."""
    omega: list[Vector] = []
    speed: list[Vector] = []
    total: Scalar = 0.0
    for link, T in zip(model.links, transforms, strict=True):
        w0, v0 = [0.0] * 3, [0.0] * 3
        if link.parent >= 0:
            w0, v0 = omega[link.parent], speed[link.parent]
        rate = link.multiplier * qd[link.coordinate]
        w, v = T.to_link(w0), T.to_link(add(v0, cross(w0, T.p)))
        if link.kind == "revolute":
            w = [w[0], w[1], w[2] + rate]
        else:
            v = [v[0], v[1], v[2] + rate]
        omega.append(w)
        speed.append(v)
        inertia = link.inertia
        total = total + 0.5 * (
            inertia.mass * dot(v, v)
            + 2.0 * dot(list(inertia.first), cross(v, w))
            + dot(w, tensor_times(inertia.tensor, w))
            + link.armature * (rate * rate)
        )
    return total


def potential_energy(model: Links, transforms: Sequence[JointTransform], gravity: Vector) -> Scalar:
    """Potential energy (J) in a uniform gravity field (m/s²)."""
    poses: list[tuple[Vector, Vector]] = []
    total: Scalar = 0.0
    for link, T in zip(model.links, transforms, strict=True):
        R, p = T.pose() if link.parent < 0 else compose(poses[link.parent], T.pose())
        poses.append((R, p))
        moment = add(rotate(R, list(link.inertia.first)), [link.inertia.mass * x for x in p])
        total = total - dot(gravity, moment)
    return total

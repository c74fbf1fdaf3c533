"""Forward kinematics and the geometric Jacobian, for any scalar type.

A pose is a pair (R, p): nine scalars of a rotation, row by row, and three of a position. The
scalars may be floats, long doubles, NumPy columns or nodes of the expression graph. The compiled
code and the long double reference therefore have the same source.

    T_body = T_parent · before · motion(axis, multiplier·q + offset) · after

`before` and `after` are the fixed transforms on both sides of the joint. `motion(axis, x)` is the
rotation about the axis by x, or the translation along the axis by x. z and p_joint are the axis and
origin of the joint in the base frame. ω is the angular velocity of the body that carries the joint.
A joint adds this column to the Jacobian J or its time derivative J̇, the three linear rows first:

    column of J     revolute:   (z × (p_tool − p_joint), z)
                    prismatic:  (z, 0)
    column of J̇     revolute:   (ż × (p_tool − p_joint) + z × (ṗ_tool − ṗ_joint), ż)
                    prismatic:  (ż, 0)                                         with ż = ω × z
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.ring import sincos
from brazo.model.description import Joint, TreeModel

Scalar = Any
Pose = tuple[list[Scalar], list[Scalar]]

_IDENTITY: Pose = ([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True)
class Posture:
    """Poses of all bodies, and axes and origins of all joints, in the base frame at one q."""

    bodies: list[Pose]  # one per body, base first
    axes: list[list[Scalar]]  # one per moving body
    origins: list[list[Scalar]]


def posture(model: TreeModel, q: Sequence[Scalar]) -> Posture:
    """Return the poses of all bodies and the axes and origins of all joints at q."""
    bodies: list[Pose] = [_IDENTITY]
    axes, origins = [], []
    for body in model.bodies[1:]:
        joint = body.joint
        assert joint is not None
        frame = compose(bodies[body.parent], constant(joint.before))
        axes.append(rotate(frame[0], joint.axis.tolist()))
        origins.append(frame[1])
        moved = compose(frame, _motion(joint, q[joint.coordinate]))
        bodies.append(compose(moved, constant(joint.after)))
    return Posture(bodies, axes, origins)


def tool_pose(model: TreeModel, where: Posture) -> Pose:
    """Return the pose of the tool in the base frame."""
    return compose(where.bodies[model.tip], constant(model.tool))


def jacobian_rows(
    model: TreeModel, where: Posture, body: int, point: list[Scalar]
) -> list[list[Scalar]]:
    """Return the 6 × n Jacobian of a point fixed in a body, in the base frame."""
    rows: list[list[Scalar]] = [[0.0] * model.n for _ in range(6)]
    while body > 0:
        _add_column(rows, model, where, body, point, 1.0)
        body = model.bodies[body].parent
    return rows


def jacobian_rate_rows(
    model: TreeModel, where: Posture, body: int, point: list[Scalar], qd: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return the time derivative (6 × n) of `jacobian_rows`, and the body's angular velocity.

    qd are the joint velocities. The angular velocity (3) is in the base frame.
    """
    path = []
    while body > 0:
        path.append(body)
        body = model.bodies[body].parent
    # The point is appended as the last origin, so its velocity is computed like that of a joint.
    origins = [where.origins[i - 1] for i in reversed(path)] + [point]
    omega, speed, motions = [0.0] * 3, [0.0] * 3, []
    for k, i in enumerate(reversed(path)):
        joint = model.bodies[i].joint
        assert joint is not None
        z, rate = where.axes[i - 1], joint.multiplier * qd[joint.coordinate]
        motions.append((joint, z, cross(omega, z), speed, origins[k]))
        step = [rate * x for x in z]
        if joint.kind == "revolute":
            omega = [x + y for x, y in zip(omega, step, strict=True)]
            step = [0.0] * 3
        turned = cross(omega, subtract(origins[k + 1], origins[k]))
        speed = [x + y + u for x, y, u in zip(speed, turned, step, strict=True)]
    rows: list[list[Scalar]] = [[0.0] * model.n for _ in range(6)]
    for joint, z, z_rate, origin_rate, origin in motions:
        if joint.kind == "revolute":
            turned = cross(z_rate, subtract(point, origin))
            moved = cross(z, subtract(speed, origin_rate))
            column = [x + y for x, y in zip(turned, moved, strict=True)] + z_rate
        else:
            column = [*z_rate, 0.0, 0.0, 0.0]
        for row, value in zip(rows, column, strict=True):
            row[joint.coordinate] = row[joint.coordinate] + joint.multiplier * value
    return rows, omega


def selected_rows(
    model: TreeModel, where: Posture, moved_by: Sequence[Scalar], point: list[Scalar]
) -> list[list[Scalar]]:
    """Return the 6 × n Jacobian of a point, in the base frame.

    `moved_by` has one entry per joint: 1 if the joint moves the point, otherwise 0.
    """
    rows: list[list[Scalar]] = [[0.0] * model.n for _ in range(6)]
    for body, share in enumerate(moved_by, start=1):
        _add_column(rows, model, where, body, point, share)
    return rows


def _add_column(
    rows: list[list[Scalar]],
    model: TreeModel,
    where: Posture,
    body: int,
    point: list[Scalar],
    share: Scalar,
) -> None:
    """Add the column for the joint of a body, times `share`, to the Jacobian `rows` of a point."""
    joint = model.bodies[body].joint
    assert joint is not None
    z = where.axes[body - 1]
    if joint.kind == "revolute":
        column = cross(z, subtract(point, where.origins[body - 1])) + z
    else:
        column = [*z, 0.0, 0.0, 0.0]
    for row, value in zip(rows, column, strict=True):
        row[joint.coordinate] = row[joint.coordinate] + share * (joint.multiplier * value)


def compose(a: Pose, b: Pose) -> Pose:
    """Return the product of two poses."""
    R, p = a
    S, r = b
    rotation = [
        R[3 * i] * S[j] + R[3 * i + 1] * S[3 + j] + R[3 * i + 2] * S[6 + j]
        for i in range(3)
        for j in range(3)
    ]
    return rotation, [x + y for x, y in zip(rotate(R, r), p, strict=True)]


def constant(T: np.ndarray) -> Pose:
    """Convert a 4 × 4 array to a pose of plain floats."""
    return T[:3, :3].ravel().tolist(), T[:3, 3].tolist()


def matrix(pose: Pose) -> list[Scalar]:
    """Return the 16 entries of the 4 × 4 matrix of a pose, row by row."""
    R, p = pose
    return [*R[0:3], p[0], *R[3:6], p[1], *R[6:9], p[2], 0.0, 0.0, 0.0, 1.0]


def rotate(R: list[Scalar], v: list[Scalar]) -> list[Scalar]:
    return [R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2] for i in range(3)]


def rotate_back(R: list[Scalar], v: list[Scalar]) -> list[Scalar]:
    return [R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2] for i in range(3)]


def cross(a: list[Scalar], b: list[Scalar]) -> list[Scalar]:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def subtract(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _motion(joint: Joint, q: Scalar) -> Pose:
    value = joint.multiplier * q + joint.offset
    x, y, z = joint.axis.tolist()
    if joint.kind == "prismatic":
        return _IDENTITY[0], [x * value, y * value, z * value]
    s, c = sincos(value)
    zero = [0.0, 0.0, 0.0]
    # Special cases for axes along x, y, z: 1·(1 − c) + c would not fold to exactly 1.
    if abs(z) == 1.0:
        s = z * s
        return [c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0], zero
    if abs(y) == 1.0:
        s = y * s
        return [c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c], zero
    if abs(x) == 1.0:
        s = x * s
        return [1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c], zero
    v = 1.0 - c
    return [
        x * x * v + c, x * y * v - z * s, x * z * v + y * s,
        x * y * v + z * s, y * y * v + c, y * z * v - x * s,
        x * z * v - y * s, y * z * v + x * s, z * z * v + c,
    ], zero  # fmt: skip

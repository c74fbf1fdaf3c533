"""Motion of one joint as a 4 × 4 transform, and the resulting poses of all bodies.

    revolute     [ 1 + sin(v) K + (1 − cos(v)) K²  0 ]
    prismatic    [ 1                             v·a ]

v is the joint value (rad or m), a is the unit axis, and K is the matrix with K u = a × u for every
vector u. The last row of the transform is omitted.

The importers of robot files use these formulas. The compiled kinematics are in `brazo.kinematics`.
"""

from __future__ import annotations

import numpy as np

from brazo.model.description import Array, JointKind, TreeModel
from brazo.model.transforms import exact_sincos


def motion(kind: JointKind, axis: Array, value: float) -> Array:
    """Return the transform (4, 4) of a joint: rotation about or translation along a unit axis."""
    T = np.eye(4)
    if kind == "prismatic":
        T[:3, 3] = value * np.asarray(axis)
        return T
    x, y, z = axis
    s, c = exact_sincos(value)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    T[:3, :3] += s * K + (1.0 - c) * (K @ K)
    return T


def body_poses(model: TreeModel, q: Array) -> Array:
    """Return the poses (bodies, 4, 4) of all bodies in the base frame at q (n,), base first."""
    poses = [np.eye(4)]
    for body in model.bodies[1:]:
        joint = body.joint
        assert joint is not None
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        moved = motion(joint.kind, joint.axis, value)
        poses.append(poses[body.parent] @ joint.before @ moved @ joint.after)
    return np.array(poses)

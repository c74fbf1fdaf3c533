"""Conversion between rotation matrices and MuJoCo quaternions (w, x, y, z), exact to rounding."""

from __future__ import annotations

import math

import numpy as np

from brazo.model.description import Array


def quat_of(R: Array) -> Array:
    """Return the unit quaternion wxyz of a rotation matrix (3, 3).

    The largest of the four components is computed first, from the diagonal of R.  It is the divisor
    in the formulas of the others, which avoids division by small numbers.
    """
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    squares = np.array([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz])
    k = int(np.argmax(squares))
    sums = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], squares[1], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], squares[2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], squares[3]],
        ]
    )
    q = sums[k] / (2.0 * math.sqrt(squares[k]))
    return q / np.linalg.norm(q)


def rotation_of(quat_wxyz: Array) -> Array:
    """Return the rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = quat_wxyz
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def pose_of(position: Array, quat_wxyz: Array) -> Array:
    """Return the transform (4, 4) of a position and a unit quaternion."""
    T = np.eye(4)
    T[:3, :3] = rotation_of(quat_wxyz)
    T[:3, 3] = position
    return T

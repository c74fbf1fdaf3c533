"""Representations of rotations: O-A-T, roll-pitch-yaw, Z-Y-Z, quaternion wxyz, rotation vector.

    oat     (O, A, T)   R = Rz(O) · [[0, 1, 0], [0, 0, −1], [−1, 0, 0]] · Ry(A) · Rz(T)
    rpy     (r, p, y)   R = Rz(y) · Ry(p) · Rx(r)      rotations about the fixed x, then y, then z
    zyz     (a, b, c)   R = Rz(a) · Ry(b) · Rz(c)
    wxyz    w + xi + yj + zk, w ≥ 0
    rotvec  axis · angle, 0 ≤ angle ≤ π

O-A-T is Unimation's convention (VAL; Fu, Gonzalez, Lee, *Robotics*, 1987). If all angles are zero,
the hand points along −y with its fingers level; at A = 90° it points straight down. O-A-T is
equivalent to Z-Y-Z: oat(O, A, T) = zyz(O − 90°, A + 90°, T). Kawasaki uses the name O-A-T for plain
Z-Y-Z.

In results, A and p are in [−90°, 90°], b is in [0, 180°], and the other angles are in (−180°,
180°]. At a singularity only a sum or difference of two angles is determined. The outer angle is
then set to 0: O = 0 at A = ±90°, a = 0 at b = 0 or 180°, y = 0 at p = ±90°. The angles still
represent R.

All functions take leading batch dimensions: matrices (..., 3, 3), angles (..., 3).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from brazo.errors import BrazoError

Array = np.ndarray

# Below this sine an angle is determined by rounding noise only.
_SINGULAR = 1e-14


def matrix_from_oat(oat: ArrayLike) -> Array:
    """Convert Unimation's O, A, T angles (rad) to a rotation matrix."""
    return matrix_from_zyz(np.asarray(oat, dtype=float) + (-math.pi / 2, math.pi / 2, 0.0))


def oat_from_matrix(R: ArrayLike) -> Array:
    """Convert a rotation matrix to O, A, T angles (rad); O = 0 where A = ±90°."""
    a, b, c = _zyz(np.asarray(R, dtype=float), singular=-math.pi / 2)
    return np.stack([_wrap(a + math.pi / 2), b - math.pi / 2, c], axis=-1)


def matrix_from_rpy(rpy: ArrayLike) -> Array:
    """Convert roll, pitch, yaw (rad, about the fixed x, y and z axes) to a rotation matrix."""
    (sr, sp, sy), (cr, cp, cy) = _sincos(rpy)
    return _matrix(
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    )


def rpy_from_matrix(R: ArrayLike) -> Array:
    """Convert a rotation matrix to roll, pitch, yaw (rad); yaw = 0 where pitch = ±90°."""
    R = np.asarray(R, dtype=float)
    cos_pitch = np.hypot(R[..., 0, 0], R[..., 1, 0])
    yaw = np.where(cos_pitch > _SINGULAR, np.arctan2(R[..., 1, 0], R[..., 0, 0]), 0.0)
    s, c = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(
        s * R[..., 0, 2] - c * R[..., 1, 2],
        c * R[..., 1, 1] - s * R[..., 0, 1],
    )
    return np.stack([roll, np.arctan2(-R[..., 2, 0], cos_pitch), yaw], axis=-1)


def matrix_from_zyz(zyz: ArrayLike) -> Array:
    """Convert Z-Y-Z Euler angles (rad) to a rotation matrix."""
    (sa, sb, sc), (ca, cb, cc) = _sincos(zyz)
    return _matrix(
        [ca * cb * cc - sa * sc, -ca * cb * sc - sa * cc, ca * sb],
        [sa * cb * cc + ca * sc, -sa * cb * sc + ca * cc, sa * sb],
        [-sb * cc, sb * sc, cb],
    )


def zyz_from_matrix(R: ArrayLike) -> Array:
    """Convert a rotation matrix to Z-Y-Z Euler angles (rad).

    The first angle is 0 where the second is 0 or π.
    """
    return np.stack(_zyz(np.asarray(R, dtype=float), singular=0.0), axis=-1)


def matrix_from_wxyz(wxyz: ArrayLike) -> Array:
    """Convert a quaternion (w, x, y, z) of any non-zero length to a rotation matrix."""
    wxyz = np.asarray(wxyz, dtype=float)
    length = np.linalg.norm(wxyz, axis=-1, keepdims=True)
    if not np.all(length > 0):
        raise BrazoError(
            "a quaternion (w, x, y, z) of length 0 is not a rotation; the identity is (1, 0, 0, 0)"
        )
    w, x, y, z = np.moveaxis(wxyz / length, -1, 0)
    return _matrix(
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    )


def wxyz_from_matrix(R: ArrayLike) -> Array:
    """Convert a rotation matrix to a unit quaternion (w, x, y, z) with w ≥ 0.

    The matrix gives all products 4·qᵢ·qⱼ. The quaternion is computed from the products with the
    largest qᵢ, which avoids cancellation (Shepperd).
    """
    R = np.asarray(R, dtype=float)
    x, y, z = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    products = np.stack(
        [
            np.stack([1 + x + y + z, wx, wy, wz], axis=-1),
            np.stack([wx, 1 + x - y - z, xy, xz], axis=-1),
            np.stack([wy, xy, 1 - x + y - z, yz], axis=-1),
            np.stack([wz, xz, yz, 1 - x - y + z], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(products, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    row = row / np.linalg.norm(row, axis=-1, keepdims=True)
    return np.where(row[..., :1] < 0, -row, row)


def matrix_from_rotvec(rotvec: ArrayLike) -> Array:
    """Convert a rotation vector (rad) to a rotation matrix (exponential map, Rodrigues)."""
    rotvec = np.asarray(rotvec, dtype=float)
    angle = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    K = skew(rotvec)
    # np.sinc(x) is sin(πx)/(πx), and (1 − cos a)/a² = ½ (sin(a/2)/(a/2))² has no cancellation.
    first = np.sinc(angle / math.pi)
    second = 0.5 * np.sinc(angle / (2 * math.pi)) ** 2
    return np.eye(3) + first * K + second * (K @ K)


def rotvec_from_matrix(R: ArrayLike) -> Array:
    """Convert a rotation matrix to a rotation vector (rad, length ≤ π); the logarithm map."""
    wxyz = wxyz_from_matrix(R)
    w, v = wxyz[..., :1], wxyz[..., 1:]
    half_sine = np.linalg.norm(v, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(half_sine, w)
    # angle / sin(angle/2) tends to 2 where the sine is 0.
    return v * np.divide(angle, half_sine, out=np.full_like(angle, 2.0), where=half_sine > 0)


def angle_between(Ra: ArrayLike, Rb: ArrayLike) -> Array:
    """Return the angle (rad, 0..π) between two rotations, accurate to rounding for any angle."""
    R = np.swapaxes(np.asarray(Ra, dtype=float), -1, -2) @ np.asarray(Rb, dtype=float)
    x = R[..., 2, 1] - R[..., 1, 2]
    y = R[..., 0, 2] - R[..., 2, 0]
    z = R[..., 1, 0] - R[..., 0, 1]
    twice_sine = np.sqrt(x * x + y * y + z * z)
    return np.arctan2(twice_sine, R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0)


def nearest_rotation(M: ArrayLike) -> Array:
    """Return the rotation nearest to a 3 × 3 matrix (least squares), e.g. for rounded input."""
    U, _, Vt = np.linalg.svd(np.asarray(M, dtype=float))
    U = U.copy()
    U[..., :, 2] *= np.linalg.det(U @ Vt)[..., None]
    return U @ Vt


def skew(v: ArrayLike) -> Array:
    """Return the skew-symmetric matrix [v]× with [v]× u = v × u."""
    v = np.asarray(v, dtype=float)
    K = np.zeros((*v.shape, 3))
    K[..., 2, 1] = v[..., 0]
    K[..., 0, 2] = v[..., 1]
    K[..., 1, 0] = v[..., 2]
    return K - np.swapaxes(K, -1, -2)


def _zyz(R: Array, singular: float) -> tuple[Array, Array, Array]:
    """Return the Z-Y-Z angles of R; the first is `singular` where it is not determined."""
    sine = np.hypot(R[..., 0, 2], R[..., 1, 2])
    a = np.where(sine > _SINGULAR, np.arctan2(R[..., 1, 2], R[..., 0, 2]), singular)
    s, c = np.sin(a), np.cos(a)
    last = np.arctan2(
        c * R[..., 1, 0] - s * R[..., 0, 0],
        c * R[..., 1, 1] - s * R[..., 0, 1],
    )
    return a, np.arctan2(sine, R[..., 2, 2]), last


def _sincos(angles: ArrayLike) -> tuple[Array, Array]:
    angles = np.moveaxis(np.asarray(angles, dtype=float), -1, 0)
    return np.sin(angles), np.cos(angles)


def _matrix(*rows: list[Array]) -> Array:
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def _wrap(angle: Array) -> Array:
    """Wrap angles (rad) to (−π, π]."""
    return math.pi - np.mod(math.pi - angle, 2 * math.pi)

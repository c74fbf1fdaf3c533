"""Homogeneous transforms as 4 × 4 arrays: constructors and conversions for the model.

Right angles are exact: the cosine of a quarter turn is 0, not 6e-17. Zeros in a D-H table therefore
stay zeros in all derived values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brazo.arrays import float_array
from brazo.errors import BrazoError

_SNAP = 1e-15


def exact_sincos(angle: float) -> tuple[float, float]:
    """Return sine and cosine of an angle (rad); values within 1e-15 of 0 and ±1 are made exact."""
    return _snap(math.sin(angle)), _snap(math.cos(angle))


def rot_x(angle: float) -> np.ndarray:
    s, c = exact_sincos(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]], dtype=float)


def rot_y(angle: float) -> np.ndarray:
    s, c = exact_sincos(angle)
    return np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]], dtype=float)


def rot_z(angle: float) -> np.ndarray:
    s, c = exact_sincos(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)


def translate(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def pose(xyz=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Return a pose (4, 4) from a translation (m) and roll, pitch, yaw (rad) about fixed x, y, z.

    The rotation is R = Rz(yaw) Ry(pitch) Rx(roll).
    """
    return translate(*xyz) @ rot_z(rpy[2]) @ rot_y(rpy[1]) @ rot_x(rpy[0])


def as_pose(value: Any, what: str = "pose") -> np.ndarray:
    """Convert a matrix (4, 4), a position (3,) or a spatialmath pose to a transform (4, 4).

    A spatialmath pose (SE3) is any object whose attribute `A` is a matrix. Error messages start
    with `what`.
    """
    T = float_array(getattr(value, "A", value), what)
    if T.shape == (3,):
        T = translate(*T)
    if T.shape != (4, 4):
        raise BrazoError(f"{what}: shape {T.shape}; expected a (4, 4) pose or a (3,) position")
    if not np.isfinite(T).all():
        raise BrazoError(f"{what}: contains values that are not finite")
    R = T[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise BrazoError(f"{what}: the upper left 3x3 block is not a rotation matrix")
    if np.abs(T[3] - (0.0, 0.0, 0.0, 1.0)).max() > 1e-9:
        raise BrazoError(f"{what}: the last row must be 0 0 0 1")
    return T


def rpy_of(R: np.ndarray) -> tuple[float, float, float]:
    """Return (roll, pitch, yaw) in rad with R = Rz(yaw) Ry(pitch) Rx(roll), up to rounding errors.

    Yaw is computed from the first column of R, then roll and pitch from Rz(-yaw) R. Near
    pitch = ±90° yaw is ill-conditioned, but roll compensates the error of yaw, so the product is
    still R.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def invert(T: np.ndarray) -> np.ndarray:
    """Return the inverse of a rigid transform."""
    inverse = np.eye(4)
    inverse[:3, :3] = T[:3, :3].T
    inverse[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return inverse


def align_z(direction: np.ndarray) -> np.ndarray:
    """Return the smallest rotation (4x4) that maps the z axis to `direction`."""
    d = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    if d[2] > 1.0 - 1e-15:
        return np.eye(4)
    if d[2] < -1.0 + 1e-15:
        return rot_x(math.pi)
    v = np.cross([0.0, 0.0, 1.0], d)
    skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    T = np.eye(4)
    T[:3, :3] += skew + skew @ skew / (1.0 + d[2])
    return T


def _snap(x: float) -> float:
    for exact in (0.0, 1.0, -1.0):
        if abs(x - exact) < _SNAP:
            return exact
    return x

"""Closed-form kinematics of a Delta robot: three driven arms, parallelogram rods, a level platform.

The origin is at the centre of the fixed base, z is up, and the platform is below the base (z < 0).
Arm i is at azimuth φᵢ, with its drive at radius R. At θᵢ = 0 the arm points outward in the plane of
the base; θᵢ > 0 raises its elbow. L₁ is the length of the arms, L₂ the length of the rods, and r
the radius of the platform. The rods keep the platform level. Shifting the lower end of each rod to
the centre P of the platform therefore gives three spheres,

    |P − Cᵢ| = L₂,     Cᵢ = Rz(φᵢ) (R − r + L₁ cos θᵢ, 0, L₁ sin θᵢ).

Forward kinematics: the spheres intersect in two points P, the lower and the upper *assembly*.
Inverse kinematics: with (x, y, z) = Rz(−φᵢ) P and X = x + r − R,

    X cos θᵢ + z sin θᵢ = (X² + y² + z² + L₁² − L₂²) / (2 L₁).

This equation has two solutions per arm: elbow OUT with the larger cos θ, and elbow IN with the
smaller. Jacobian: uᵢ · dP = uᵢ · dCᵢ with uᵢ = P − Cᵢ. If P is on the z axis, the platform rises
with θ only up to acos((R − r)/(L₂ − L₁)); larger angles lower it again and should be avoided.

`shape` is any object with R, r, L1, L2 (m) and azimuths (rad), such as `DeltaModel`. θ and P may
have leading batch dimensions. Reference: Clavel 1991.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen.ring import absolute
from brazo.kinematics.closed_form.pairs import (
    Pair,
    Scalar,
    Vector,
    angle_of,
    both_roots,
    length,
    select,
)

Array = np.ndarray

BRANCH_NAMES = tuple(" ".join(words) for words in itertools.product(("OUT", "IN"), repeat=3))
# Relative tolerance of the workspace boundary.
_EDGE = 1e-12


class DeltaShape(Protocol):
    """Dimensions of a Delta robot: lengths (m) and the azimuths of its arms (rad)."""

    @property
    def R(self) -> float: ...
    @property
    def r(self) -> float: ...
    @property
    def L1(self) -> float: ...
    @property
    def L2(self) -> float: ...
    @property
    def azimuths(self) -> tuple[float, float, float]: ...


@dataclass(frozen=True, slots=True, eq=False)
class LoopFrames:
    """Poses of the moving bodies of a Delta robot in the base frame."""

    arms: Array  # (..., 3, 4, 4) at the drive axis: x along the arm to the elbow, y along the axis
    rods: Array  # (..., 3, 2, 4, 4) at the elbow: z along the rod to the platform, length L2
    platform: Array  # (..., 4, 4) at the platform's centre, axes of the base


def fk(shape: DeltaShape, theta: ArrayLike) -> tuple[Array, Array]:
    """Return the two possible platform centres (..., 2, 3) at θ (..., 3), and a mask (...).

    `centres[..., 0, :]` is the lower centre, at which the robot works, `centres[..., 1, :]` the
    upper centre. If the rods cannot be connected to the platform at these angles, both centres are
    NaN and the mask is False.
    """
    C = _centres(shape, np.asarray(theta, dtype=float))
    first, second, third = C[..., 0, :], C[..., 1, :], C[..., 2, :]
    # The spheres have equal radii, so P is on the line through the circumcentre of the Cᵢ that is
    # perpendicular to their plane.
    a, b = second - first, third - first
    normal = np.cross(a, b)
    area2 = _dot(normal, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_centre = (
            _dot(a, a)[..., None] * np.cross(b, normal)
            + _dot(b, b)[..., None] * np.cross(normal, a)
        ) / (2 * area2[..., None])
        height2 = shape.L2**2 - _dot(to_centre, to_centre)
        exists = height2 >= -_EDGE * shape.L2**2
        away = normal * np.sqrt(np.maximum(height2, 0.0) / area2)[..., None]
    away = np.where(away[..., 2:] > 0, -away, away)
    middle = first + to_centre
    both = np.stack([middle + away, middle - away], axis=-2)
    exists &= np.isfinite(both).all(axis=(-2, -1))
    return np.where(exists[..., None, None], both, np.nan), exists


def elbows(shape: DeltaShape, P: Vector) -> list[tuple[Pair, Pair, Scalar]]:
    """Return (OUT, IN, reaches) for each arm, for any scalar type.

    P contains the three coordinates of the platform centre. OUT and IN are (cos θ, sin θ) for the
    two elbow positions. `reaches` is ≥ 0 if the arm reaches P.
    """
    arms = []
    for phi in shape.azimuths:
        c, s = math.cos(phi), math.sin(phi)
        X, y, z = c * P[0] + s * P[1] + (shape.r - shape.R), c * P[1] - s * P[0], P[2]
        wanted = (X * X + y * y + z * z + shape.L1**2 - shape.L2**2) * (0.5 / shape.L1)
        first, second = both_roots(X, z, wanted)
        outer = first[0] - second[0]
        exists = length(X, z) * (1 + _EDGE) + _EDGE * shape.L1 - absolute(wanted)
        arms.append((select(outer, first, second), select(outer, second, first), exists))
    return arms


def ik(shape: DeltaShape, P: ArrayLike) -> tuple[Array, Array]:
    """Return θ (..., 3, 2) for a platform centre P (..., 3), and a mask (..., 3) of the arms.

    The last axis of θ contains elbow OUT, then elbow IN. Angles are in (−π, π], and NaN if the arm
    does not reach P. The mask is True for arms that reach P.
    """
    P = np.asarray(P, dtype=float)
    batch = P.shape[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        arms = elbows(shape, list(P.reshape(-1, 3).T))
    theta = [np.stack([angle_of(outer), angle_of(inner)], axis=-1) for outer, inner, _ in arms]
    reaches = np.stack([exists >= 0 for *_, exists in arms], axis=-1).reshape(*batch, 3)
    both = np.stack(theta, axis=-2).reshape(*batch, 3, 2)
    return np.where(reaches[..., None], both, np.nan), reaches


def branch_of(shape: DeltaShape, theta: ArrayLike, P: ArrayLike | None = None) -> Array:
    """Return branch indices (...) into `BRANCH_NAMES` at θ (..., 3).

    P (..., 3) is the centre of the platform. If it is None, the lower of the two possible centres
    at θ is used.
    """
    theta = np.asarray(theta, dtype=float)
    P = fk(shape, theta)[0][..., 0, :] if P is None else np.asarray(P, dtype=float)
    both, _ = ik(shape, P)
    inward = np.cos(theta) < np.cos(both).mean(axis=-1) - 1e-12
    return inward @ np.array([4, 2, 1])


def jacobian(shape: DeltaShape, theta: ArrayLike, P: ArrayLike | None = None) -> Array:
    """Return dP/dθ (..., 3, 3) in m/rad at θ (..., 3).

    P (..., 3) is the centre of the platform. If it is None, the lower of the two possible centres
    at θ is used. The result is infinite or NaN at singularities, where the directions of the rods
    are linearly dependent.
    """
    theta = np.asarray(theta, dtype=float)
    P = fk(shape, theta)[0][..., 0, :] if P is None else np.asarray(P, dtype=float)
    u = P[..., None, :] - _centres(shape, theta)
    s, c = np.sin(theta), np.cos(theta)
    azimuths = np.asarray(shape.azimuths)
    dC = shape.L1 * np.stack([-s * np.cos(azimuths), -s * np.sin(azimuths), c], axis=-1)
    rates = _dot(u, dC)
    # The inverse of a 3x3 matrix with rows uᵢ has the columns (uⱼ × uₖ) / det.
    columns = np.stack([np.cross(u[..., i - 2, :], u[..., i - 1, :]) for i in range(3)], axis=-1)
    det = _dot(u[..., 0, :], columns[..., :, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return columns * rates[..., None, :] / det[..., None, None]


def loop_frames(
    shape: DeltaShape, theta: ArrayLike, P: ArrayLike | None = None, rod_spacing: float = 0.06
) -> LoopFrames:
    """Return the poses of arms, rods and platform at θ (..., 3).

    P (..., 3) is the centre of the platform. If it is None, the lower of the two possible centres
    at θ is used. `rod_spacing` (m) is the distance between the two rods of an arm.
    """
    theta = np.asarray(theta, dtype=float)
    P = fk(shape, theta)[0][..., 0, :] if P is None else np.asarray(P, dtype=float)
    azimuths = np.asarray(shape.azimuths)
    zero, one = np.zeros(3), np.ones(3)
    outward = np.stack([np.cos(azimuths), np.sin(azimuths), zero], axis=-1)
    up = np.stack([zero, zero, one], axis=-1)
    s, c = np.sin(theta)[..., None], np.cos(theta)[..., None]
    along = c * outward + s * up
    # θ raises the arm, so it turns about −y of a frame with x outward and z up.
    sideways = np.broadcast_to(np.cross(up, outward), along.shape)
    base = np.broadcast_to(shape.R * outward, along.shape)
    elbow = base + shape.L1 * along
    rod = P[..., None, :] + shape.r * outward - elbow
    rod = rod / np.linalg.norm(rod, axis=-1, keepdims=True)
    across = np.cross(sideways, rod)
    across = across / np.linalg.norm(across, axis=-1, keepdims=True)
    ends = (
        elbow[..., None, :] + 0.5 * rod_spacing * np.array([[1.0], [-1.0]]) * sideways[..., None, :]
    )
    rods = [part[..., None, :] for part in (across, np.cross(rod, across), rod)]
    x, y, z = np.eye(3)
    return LoopFrames(
        arms=_pose(along, sideways, np.cross(along, sideways), base),
        rods=_pose(rods[0], rods[1], rods[2], ends),
        platform=_pose(x, y, z, P),
    )


def why_unreachable(shape: DeltaShape, P: ArrayLike) -> str | None:
    """Return a message about the arms that cannot reach P (3,); None if all arms reach it."""
    P = np.asarray(P, dtype=float)
    X, y, z = _in_arm_frames(shape, P)
    _, reaches = ik(shape, P)
    if reaches.all():
        return None
    distance = np.sqrt(X**2 + y**2 + z**2)
    reported = []
    for i in np.flatnonzero(~reaches):
        # The elbow moves on a circle round the drive axis: nearest and farthest point of it.
        flat = math.hypot(X[i], z[i])
        near, far = math.hypot(abs(flat - shape.L1), y[i]), math.hypot(flat + shape.L1, y[i])
        if near > shape.L2:
            reported.append(
                f"arm {i + 1}: its platform joint would be {distance[i]:.4g} m from its drive, "
                f"{near - shape.L2:.3g} m out of reach of arm and rod"
            )
        else:
            reported.append(
                f"arm {i + 1}: its platform joint would be {distance[i]:.4g} m from its drive, "
                f"{shape.L2 - far:.3g} m too close for the rod of {shape.L2:.4g} m"
            )
    return "; ".join(reported)


def _centres(shape: DeltaShape, theta: Array) -> Array:
    """Return the elbow positions (..., 3, 3), shifted inward by the radius r of the platform."""
    azimuths = np.asarray(shape.azimuths)
    out = shape.R - shape.r + shape.L1 * np.cos(theta)
    return np.stack(
        [out * np.cos(azimuths), out * np.sin(azimuths), shape.L1 * np.sin(theta)], axis=-1
    )


def _in_arm_frames(shape: DeltaShape, P: Array) -> tuple[Array, Array, Array]:
    """Return (X, y, z), each (..., 3): P in the frame of each arm, where X = x + r − R."""
    azimuths = np.asarray(shape.azimuths)
    c, s = np.cos(azimuths), np.sin(azimuths)
    X = P[..., :1] * c + P[..., 1:2] * s + shape.r - shape.R
    y = P[..., 1:2] * c - P[..., :1] * s
    return X, y, np.broadcast_to(P[..., 2:], X.shape)


def _pose(x: Array, y: Array, z: Array, origin: Array) -> Array:
    columns = np.stack(np.broadcast_arrays(x, y, z, origin), axis=-1)
    T = np.zeros((*columns.shape[:-2], 4, 4))
    T[..., :3, :] = columns
    T[..., 3, 3] = 1.0
    return T


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)

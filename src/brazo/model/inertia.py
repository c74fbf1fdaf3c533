"""Rigid-body inertia: physical validity, change of frame, combination of two bodies.

An `Inertia` consists of mass m, centre of mass c and tensor I about c, in the axes of its frame.

    another frame     c' = R c + p          I' = R I Rᵀ                   (T = [R p])
    two bodies        m = m₁ + m₂           c  = (m₁ c₁ + m₂ c₂) / m
                      I = Σ Iₖ + mₖ (|dₖ|² 1 − dₖ dₖᵀ),   dₖ = cₖ − c     (Steiner)

A real body has m > 0 and principal moments A ≤ B ≤ C with A ≥ 0 and A + B ≥ C. Published tables
often violate these rules. Violations are reported by `broken_rules`; they are not corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Array, Inertia, frozen

MAX_LINK_MASS = 500.0  # kg; a heavier link of an arm is more likely a unit mistake
MAX_GYRATION = 1.0  # m; principal radius of gyration of a link, likewise

_RELATIVE = 1e-9  # tolerance of the triangle inequality and of symmetry, for rounding in text files


def broken_rules(inertia: Inertia) -> list[str]:
    """Return messages for the physical rules that an inertia violates; empty if it is valid."""
    m, c, I = inertia.mass, inertia.com, inertia.tensor
    if not (math.isfinite(m) and np.isfinite(c).all() and np.isfinite(I).all()):
        return ["mass, centre of mass and tensor must be finite numbers"]
    found = []
    size = float(np.abs(I).max())
    if m < 0.0:
        found.append(f"mass {m:g} kg is negative")
    elif m == 0.0 and size > 0.0:
        found.append("mass is zero but the tensor is not")
    if float(np.abs(I - I.T).max()) > _RELATIVE * size:
        found.append("the tensor is not symmetric")
    A, B, C = (float(x) for x in np.linalg.eigvalsh((I + I.T) / 2.0))
    if -_RELATIVE * size > A:
        found.append(
            "the tensor is not positive semidefinite: "
            f"its smallest principal moment is {A:.4g} kg m²"
        )
    elif A + B < C * (1.0 - _RELATIVE):
        found.append(
            "the triangle inequality is violated: "
            f"principal moments {A:.4g} + {B:.4g} < {C:.4g} kg m²"
        )
    return found


def doubts(inertia: Inertia, reach: float = 2.0) -> list[str]:
    """Return messages about values that are implausible for a link of an arm, if any.

    `reach` (m) is the max plausible distance of the centre of mass from the link's frame.
    """
    m, I = inertia.mass, inertia.tensor
    if not (math.isfinite(m) and np.isfinite(inertia.com).all() and np.isfinite(I).all()):
        return []
    found = []
    if m > MAX_LINK_MASS:
        found.append(
            f"mass {m:g} kg is more than {MAX_LINK_MASS:g} kg, which is implausible for a link"
        )
    if (distance := float(np.linalg.norm(inertia.com))) > reach:
        found.append(
            f"the centre of mass is {distance:.3g} m from the link's frame, which is implausible"
        )
    if m > 0.0 and not I.any():
        found.append("mass without a tensor: as a point mass, it may make the mass matrix singular")
    elif m > 0.0:
        greatest = float(np.linalg.eigvalsh((I + I.T) / 2.0)[2])
        if greatest > m * MAX_GYRATION**2:
            radius = math.sqrt(greatest / m)
            found.append(
                f"radius of gyration {radius:.3g} m is more than {MAX_GYRATION:g} m, which is "
                "implausible for a link"
            )
    return found


def shape_tensor(shape: str, mass: float, sizes: Sequence[float], axis: str = "z") -> Array:
    """Return the inertia tensor (3, 3) of a homogeneous solid about its centre.

    The `sizes` (m) depend on `shape`: `"box"` [x, y, z] full widths, `"cylinder"` [radius, length],
    `"sphere"` [radius], `"capsule"` [radius, length of the straight part]. `axis` is the axis of a
    cylinder or capsule.
    """
    if shape == "box":
        x2, y2, z2 = (s * s for s in sizes)
        return np.diag([y2 + z2, x2 + z2, x2 + y2]) * (mass / 12.0)
    if shape == "sphere":
        return np.eye(3) * (0.4 * mass * sizes[0] ** 2)
    if shape == "cylinder":
        along, across = _cylinder(mass, *sizes)
    elif shape == "capsule":
        along, across = _capsule(mass, *sizes)
    else:
        raise BrazoError(
            f"no inertia for shape '{shape}'; known: 'box', 'cylinder', 'sphere', 'capsule'"
        )
    moments = [across, across, across]
    moments["xyz".index(axis)] = along
    return np.diag(moments)


def rotated(tensor: Array, R: Array) -> Array:
    """Return the tensor R I Rᵀ: an inertia tensor (3, 3) expressed in other axes.

    The columns of `R` are the old axes, expressed in the new axes.
    """
    return _symmetric(R @ tensor @ R.T)


def transformed(inertia: Inertia, T: Array) -> Inertia:
    """Return an inertia expressed in another frame.

    `T` (4, 4) is the pose of the old frame in the new frame.
    """
    R, p = T[:3, :3], T[:3, 3]
    return Inertia(
        inertia.mass,
        frozen(R @ inertia.com + p),
        frozen(rotated(inertia.tensor, R)),
    )


def merge(a: Inertia, b: Inertia) -> Inertia:
    """Return the inertia of two rigidly joined bodies; both are given in the same frame."""
    m = a.mass + b.mass
    if m == 0.0:
        return Inertia(0.0, a.com, frozen(a.tensor + b.tensor))
    c = (a.mass * a.com + b.mass * b.com) / m
    tensor = np.zeros((3, 3))
    for part in (a, b):
        d = part.com - c
        tensor += part.tensor + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(m, frozen(c), frozen(_symmetric(tensor)))


def principal(tensor: Array) -> tuple[Array, Array]:
    """Return principal moments (3,) in ascending order and right-handed axes (3, 3) in columns."""
    moments, axes = np.linalg.eigh(_symmetric(tensor))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return moments, axes


def _cylinder(mass: float, radius: float, length: float) -> tuple[float, float]:
    """Return the moments of inertia about the cylinder axis and about a perpendicular axis."""
    return mass * radius**2 / 2.0, mass * (3.0 * radius**2 + length**2) / 12.0


def _capsule(mass: float, radius: float, length: float) -> tuple[float, float]:
    straight, caps = length, 4.0 / 3.0 * radius  # volumes divided by pi r²
    if straight + caps == 0.0:
        return 0.0, 0.0
    m_caps = mass * caps / (straight + caps)
    along, across = _cylinder(mass - m_caps, radius, length)
    ball = 0.4 * m_caps * radius**2
    # The centre of mass of a half ball is 3/8 r from its flat side; Steiner for both caps.
    shift = m_caps * (length**2 / 4.0 + 3.0 / 8.0 * length * radius)
    return along + ball, across + ball + shift


def _symmetric(tensor: Array) -> Array:
    return (tensor + tensor.T) / 2.0

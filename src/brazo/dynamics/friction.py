"""Joint friction for any scalar type: viscous and Coulomb, sharp or smooth at rest.

    τ_f = B q̇ + T₊ (q̇ > 0)  |  B q̇ − T₋ (q̇ < 0)  |  0 (q̇ = 0)

B is the viscous coefficient.  T₊ and T₋ are the magnitudes of Coulomb friction.  If the robot file
gives a speed `smooth` v₀ > 0, T₊ and T₋ are multiplied by |q̇|/√(q̇² + v₀²).  This replaces the
step at rest by a smooth function, which integrators can handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import sign, sqrt, where
from brazo.dynamics.links import Links
from brazo.model.description import Friction

Scalar = Any


def friction(model: Links, qd: Sequence[Scalar]) -> list[Scalar]:
    """Friction torques (n), to be added to the torques of the rigid motion."""
    tau: list[Scalar] = [0.0] * model.n
    for link in model.links:
        i = link.coordinate
        value = joint_friction(link.friction, link.multiplier * qd[i])
        tau[i] = tau[i] + link.multiplier * value
    return tau


def joint_friction(f: Friction, rate: Scalar) -> Scalar:
    """Friction torque or force of one joint; `rate` is the joint speed."""
    plus, minus = f.coulomb
    value = f.viscous * rate
    if not (plus or minus):
        return value
    shape = rate / sqrt(rate * rate + f.smooth * f.smooth) if f.smooth else sign(rate)
    size = plus if plus == minus else where(rate, plus, minus)
    return value + size * shape


def friction_slope(model: Links, qd: Sequence[Scalar]) -> list[Scalar]:
    """Derivatives (n) of the friction torques with respect to the speeds; see `joint_slope`."""
    slope: list[Scalar] = [0.0] * model.n
    for link in model.links:
        i = link.coordinate
        value = joint_slope(link.friction, link.multiplier * qd[i])
        slope[i] = slope[i] + link.multiplier**2 * value
    return slope


def joint_slope(f: Friction, rate: Scalar) -> Scalar:
    """Derivative of `joint_friction` with respect to `rate`; a sharp Coulomb step adds 0."""
    plus, minus = f.coulomb
    if not (plus or minus) or not f.smooth:
        return f.viscous
    square = f.smooth * f.smooth
    around = rate * rate + square
    size = plus if plus == minus else where(rate, plus, minus)
    return f.viscous + size * (square / (around * sqrt(around)))


def has_friction(model: Links) -> bool:
    """Return whether any joint has friction."""
    return any(link.friction.viscous or any(link.friction.coulomb) for link in model.links)

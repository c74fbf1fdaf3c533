"""Joint friction over any scalar: viscous and Coulomb, sharp or smooth at rest.

    τ_f = B q̇ + T₊ (q̇ > 0)  |  B q̇ − T₋ (q̇ < 0)  |  0 (q̇ = 0)

With a `smooth` speed v₀ > 0 the step at rest becomes q̇/√(q̇² + v₀²), which integrators can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.codegen.ring import sign, sqrt, where
from brazo.dynamics.links import Links

Scalar = Any


def friction(model: Links, qd: Sequence[Scalar], smooth: float = 0.0) -> list[Scalar]:
    """Friction torques (n), to be added to the torques of the rigid motion."""
    tau: list[Scalar] = [0.0] * model.n
    for link in model.links:
        f = link.friction
        i = link.coordinate
        rate = link.multiplier * qd[i]
        plus, minus = f.coulomb
        value = f.viscous * rate
        if plus or minus:
            shape = rate / sqrt(rate * rate + smooth * smooth) if smooth else sign(rate)
            size = plus if plus == minus else where(rate, plus, minus)
            value = value + size * shape
        tau[i] = tau[i] + link.multiplier * value
    return tau


def has_friction(model: Links) -> bool:
    """True when any joint has friction."""
    return any(link.friction.viscous or any(link.friction.coulomb) for link in model.links)

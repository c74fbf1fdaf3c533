"""Inertias that MuJoCo's compiler accepts for a moving body.

The compiler requires a mass m and principal moments A ≤ B ≤ C with

    m > ε,      A > ε,      A + B ≥ C,      ε = 1e-15.

Published tables often violate these rules: a link that only rotates about one axis gets one moment
and no mass.  `acceptable` keeps the mass, centre of mass, principal axes and largest moment, and
increases the two smaller moments equally until A + B = C.  This is the smallest change ΔI
(Frobenius norm) that decreases no moment.  Gravity torques are unchanged, and the mass matrix grows
by Σ Jᵀ ΔI J, so it stays positive definite.  A mass or moment below 1e-14 becomes 1e-14.
"""

from __future__ import annotations

import numpy as np

from brazo.model.description import Inertia, frozen
from brazo.model.inertia import principal, rotated

PLACEHOLDER = Inertia(1.0, frozen(np.zeros(3)), frozen(np.eye(3) * 1e-2))

_LEAST = 1e-15  # mjMINVAL
_WRITTEN = 1e-14  # kg, kg m²: replaces zero
_ROUNDING = 1e-12


def mujoco_accepts(inertia: Inertia) -> bool:
    """Return whether MuJoCo's compiler accepts this inertia for a moving body."""
    if not (np.isfinite(inertia.mass) and np.isfinite(inertia.tensor).all()):
        return False
    A, B, C = principal(inertia.tensor)[0]
    return bool(inertia.mass > _LEAST and A > _LEAST and A + B >= C * (1 - _ROUNDING))


def acceptable(inertia: Inertia) -> Inertia:
    """Return the inertia if MuJoCo accepts it, otherwise the most similar inertia it accepts."""
    if mujoco_accepts(inertia):
        return inertia
    moments, axes = principal(inertia.tensor)
    A, B, C = np.maximum(moments, _WRITTEN)
    lack = max(0.0, C - A - B)
    raised = [A + lack / 2.0, B + lack / 2.0, C]
    mass = max(inertia.mass, _WRITTEN)
    return Inertia(mass, inertia.com, frozen(rotated(np.diag(raised), axes)))


def change(given: Inertia, written: Inertia) -> str:
    """Return a text that lists the changes from `given` to `written` (`acceptable` of `given`)."""
    changes = []
    if given.mass != written.mass:
        changes.append(f"mass {given.mass:g} -> {written.mass:g} kg")
    before, after = (principal(inertia.tensor)[0] for inertia in (given, written))
    if np.abs(after - before).max() > _ROUNDING * np.abs(before).max():
        old, new = (", ".join(f"{x:.4g}" for x in moments) for moments in (before, after))
        changes.append(f"principal moments {old} -> {new} kg m²")
    return "; ".join(changes)
